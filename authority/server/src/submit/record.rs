//! What is about to be done is on record before anything of it is done; and a volume that hangs over that keeps no head waiting.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::thread;

use super::commit::refuse_batch;
use super::{Job, Sequencer};
use crate::RunFault;
use crate::http::problem::Code;

/// Lines that are being forced to a disk which did not answer in time. Nothing is done by them, also when they are there at last.
pub(crate) type Hanging = Receiver<Result<(), RunFault>>;

impl Sequencer {
    /// What is about to be done is on record, on the disk, before anything of it is done; else it is refused.
    pub(super) fn recorded(&mut self, batch: Vec<Job>) -> Option<Vec<Job>> {
        let lines = || batch.iter().filter_map(|job| job.intended);
        let (Some(first), Some(last)) = (lines().min(), lines().max()) else { return Some(batch) };
        match self.force(first, last) {
            Ok(()) => Some(batch),
            Err(fault) => {
                tracing::error!("nothing of a batch was done, for it is not on record: {fault}");
                refuse_batch(batch, Code::of_write(&fault));
                None
            }
        }
    }

    /// Forces lines of the audit log to the disk on a thread of its own, and waits for `limits.audit_timeout`. While what was begun before
    /// still hangs nothing is begun.
    fn force(&mut self, first: u64, last: u64) -> Result<(), RunFault> {
        if let Some(before) = &self.hanging
            && matches!(before.try_recv(), Err(TryRecvError::Empty))
        {
            return Err(self.audit.hangs());
        }
        self.hanging = None;
        let (to, from) = sync_channel(1);
        let audit = Arc::clone(&self.audit);
        let forcing = move || {
            // nobody may wait for it any more
            let _ = to.send(audit.force(first, last));
        };
        thread::Builder::new()
            .name("audit".to_owned())
            .spawn(forcing)
            .map_err(|e| RunFault::Stopped(format!("a thread for the audit log: {e}")))?;
        match from.recv_timeout(self.limits.audit_timeout) {
            Ok(forced) => forced,
            Err(RecvTimeoutError::Timeout) => {
                self.hanging = Some(from);
                Err(self.audit.hangs())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.audit.hangs()),
        }
    }
}
