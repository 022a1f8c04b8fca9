//! The conditions under which a batch may be written now: the clock, the keys, and the room on the disk.

use std::time::Instant;

use super::commit::refuse_batch;
use super::{Job, RecordedJob, Sequencer};
use crate::http::problem::Code;
use crate::{RunFault, disk};

/// A test text to sign. No reader takes it for a statement.
const ARE_YOU_THERE: &[u8] = b"semgate: nothing is said by this";

impl Sequencer {
    /// Returns the requests of a batch that may be written now, and answers the others. After a failed write, a trial write must succeed
    /// first. A refusal here changes nothing, and saves a new read of the log for each batch while the disk is full.
    pub(super) fn writable(&mut self, batch: Vec<RecordedJob>) -> Vec<RecordedJob> {
        if self.check_clock().is_some() {
            return refused(batch, Code::ClockWrong);
        }
        if Self::is_recent(self.unsigned) {
            return refused(batch, Code::SignerUnavailable);
        }
        if self.unsigned.is_some()
            && let Err(fault) = self.check_keys_sign()
        {
            tracing::error!("the keys do not sign yet: {fault}");
            self.unsigned = Some(Instant::now());
            return refused(batch, Code::SignerUnavailable);
        }
        self.with_room(batch)
    }

    /// After a key failed, takes a batch only once all keys of the log sign again. A refusal here changes nothing, and saves a new read of
    /// the log for each batch while a device is away.
    fn check_keys_sign(&self) -> Result<(), RunFault> {
        self.log.check_key_signs()?;
        let signed = self.keys.feed()?.identity.key.sign(&self.keys.random, ARE_YOU_THERE);
        signed.map(drop).map_err(|fault| RunFault::Signer { role: "feed", fault })
    }

    /// The requests with room on the disk. On a full disk, those with reserved room take from it; the others wait until all of it is back.
    fn with_room(&mut self, batch: Vec<RecordedJob>) -> Vec<RecordedJob> {
        let reserved = batch.iter().any(|one| one.job.request.is_reserved());
        if self.doubt > 0 {
            let probe = || disk::probe(&self.head_file, self.doubt);
            let probed = if reserved { self.reserve.lend(probe) } else { probe() };
            if let Err(fault) = probed {
                return refused(batch, Code::of_write(&fault));
            }
            self.doubt = 0;
            tracing::warn!("the disk accepts writes again");
        }
        // the room is not refilled beside a request that may need it
        let complete = if reserved { self.reserve.is_complete() } else { self.reserve.restore().is_ok() };
        if complete {
            return batch;
        }
        let (reserved, others) = batch.into_iter().partition(|one| one.job.request.is_reserved());
        refused(others, Code::StorageFull);
        reserved
    }
}

fn refused(batch: Vec<RecordedJob>, code: Code) -> Vec<RecordedJob> {
    refuse_batch(jobs(batch), code);
    Vec::new()
}

fn jobs(batch: Vec<RecordedJob>) -> impl Iterator<Item = Job> {
    batch.into_iter().map(|one| one.job)
}
