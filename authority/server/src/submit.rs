//! submit → record → check → sign → append → publish: one thread owns the log and does nothing else; one before it brings on record what is
//! about to be done, while the commit before is under way.
//!
//! Submissions queue up while a commit is on its way to the disk; the next commit takes all of them (group commit), so the fsyncs are
//! paid once for each batch. A submission is answered when the head that covers it is public. The order within a batch is: documents
//! and chains, entry bundles, hash tiles, checkpoint (the commit point), index, head, answers.

mod check;
mod commit;
mod compiled;
mod evidence;
mod follower_capacity;
mod quota;
mod record;
mod recover;
mod request;
mod writable;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use semgate_certs::Usage;
use semgate_contexts::Prefix;
use semgate_statement::{Anchors, Trust};
use tokio::sync::{oneshot, watch};

use crate::clock::{Clock, ClockFault};
use crate::cosign::Cosigners;
use crate::disk::Reserve;
use crate::http::problem::{Code, Problem};
use crate::index::{Index, Position, Reason};
use crate::keys::Keys;
use crate::ledger::Ledger;
use crate::metrics::Metrics;
use crate::publish::{Heads, Published};
use crate::store::{Documents, Evidence, Leftovers, Log, PinnedCheckpoint};
use crate::{Limits, RunFault};

pub(crate) use check::{SUSPENSION, VerifiedLeaves, recognised_again};
pub(crate) use compiled::Compiled;
pub(crate) use follower_capacity::FollowerCapacity;
pub(crate) use quota::{Quota, blocks};
pub(crate) use record::{RecordedJob, Recorder};
pub(crate) use recover::{fold_anchors, reopen};
pub(crate) use request::Request;

/// What was said, now or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    /// Whether a new entry was appended for it.
    pub fresh: bool,
    /// Position of the statement in the log.
    pub index: u64,
    /// Size of the log under the head that is public now.
    pub seq: u64,
}

/// Whether those agreed who have to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// All of them.
    Enough,
    /// A second person did not yet: what was said before is answered, and nothing new is appended.
    SecondMissing,
}

/// One request with the place for its answer.
pub(crate) struct Job {
    pub request: Request,
    /// SPIFFE id of who asks, for evidence and the operator's log.
    pub by: String,
    pub consent: Consent,
    /// The line of the audit log that says that it is about to be done; none where nothing is.
    pub intended: Option<u64>,
    pub answer: oneshot::Sender<Result<Done, Problem>>,
}

/// What one thread tells the next: jobs on their way to the record, or such as are on it.
pub(crate) enum Message<J> {
    Job(Box<J>),
    Reindex,
    Stop,
}

/// How long a key whose device failed is left alone.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The way to the record, and from there to the sequencer.
#[derive(Clone)]
pub(crate) struct Submit(SyncSender<Message<Job>>);

impl Submit {
    /// Queues a job; a full queue is answered at once.
    pub fn send(&self, job: Job) -> Result<(), Problem> {
        self.0.try_send(Message::Job(Box::new(job))).map_err(|e| match e {
            TrySendError::Full(_) => Problem::new(Code::Busy, "too many submissions are waiting"),
            TrySendError::Disconnected(_) => Problem::from(Code::Stopping),
        })
    }

    /// Asks for a new index, because the one there is cannot be read. A full queue means that it is asked for again.
    pub fn reindex(&self) {
        let _ = self.0.try_send(Message::Reindex);
    }

    /// Asks the sequencer to end after what is queued before this.
    pub fn stop(&self) {
        let _ = self.0.send(Message::Stop);
    }
}

/// The index, replaceable while it is read.
pub(crate) type SharedIndex = Arc<RwLock<Index>>;

/// The index as it is now.
pub(crate) fn index_of(shared: &SharedIndex) -> Index {
    shared.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The only writer of log, documents, evidence and index.
pub(crate) struct Sequencer {
    pub prefix: Prefix,
    pub limits: Limits,
    /// Half of `status_lifetime`: a head is renewed when it is this old.
    pub renew_after: Duration,
    pub keys: Arc<Keys>,
    pub log: Log,
    pub ledger: Ledger,
    pub trust: Trust,
    /// What was configured, and with it what the root of this log says.
    pub configured: Anchors,
    pub anchors: Anchors,
    pub documents: Documents,
    pub leftovers: Leftovers,
    pub evidence: Evidence,
    pub index: SharedIndex,
    pub index_dir: PathBuf,
    pub head_file: PathBuf,
    /// Who cosigns checkpoints.
    pub cosigners: Option<Cosigners>,
    /// The last checkpoint, apart from the state.
    pub pinned: Option<PinnedCheckpoint>,
    pub heads: Heads,
    pub public: watch::Sender<Arc<Published>>,
    pub verified: VerifiedLeaves,
    /// How long what followers read will be, and what the batch at hand is charged.
    pub room: FollowerCapacity,
    /// Room on the disk that publications leave alone.
    pub reserve: Arc<Reserve>,
    /// The bytes that each publisher has brought to the disk.
    pub quota: Quota,
    /// The compiled size of published documents.
    pub compiled: Arc<Compiled>,
    /// Bytes that the disk has to take before it is trusted with a batch again; 0 unless a write failed.
    pub doubt: usize,
    /// In which second the role keys were last looked at.
    pub looked: u64,
    /// When a key last did not sign a batch, because its device failed; none while all do.
    pub unsigned: Option<Instant>,
    /// The same of a head that was to be renewed: what keeps submissions waiting does not keep heads waiting.
    pub unrenewed: Option<Instant>,
    /// Whether the head that is public is by another feed key than the one in use: what made it so was not committed.
    pub feed_changed: bool,
    pub clock: Arc<Clock>,
    /// What was last found wrong with it.
    pub misread: Option<ClockFault>,
    pub metrics: Arc<Metrics>,
}

/// A queue and its reader.
pub(crate) fn queue(limits: &Limits) -> (Submit, Receiver<Message<Job>>) {
    let (to, from) = sync_channel(limits.queue);
    (Submit(to), from)
}

/// The way from the record to the sequencer: as much as the sequencer takes at once.
pub(crate) fn recorded_queue(limits: &Limits) -> (SyncSender<Message<RecordedJob>>, Queue) {
    let (to, from) = sync_channel(limits.batch);
    (to, Queue(from))
}

/// The reading end of what is on record.
pub(crate) struct Queue(Receiver<Message<RecordedJob>>);

impl Sequencer {
    /// Runs until it is asked to stop or the disk fails at the commit point.
    pub fn run(mut self, queue: &Queue) -> Result<(), RunFault> {
        let mut renewed = Instant::now();
        self.check_clock();
        loop {
            match queue.0.recv_timeout(self.nap(renewed)) {
                Ok(Message::Job(first)) => {
                    let (batch, stop) = self.gather(*first, queue);
                    if self.commit(batch)? {
                        renewed = Instant::now();
                    }
                    if stop {
                        break;
                    }
                }
                Ok(Message::Reindex) => self.reindex(),
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                // what was taken from the reserved room comes back before it is needed again
                Err(RecvTimeoutError::Timeout) => drop(self.reserve.restore()),
            }
            // by a clock that jumped nothing is signed, nor a key made: the head that is public goes on
            if matches!(self.check_clock(), Some(ClockFault::Jumped(_))) {
                continue;
            }
            // what is served is never signed by a key near its end: a new feed key signs a new head at once
            let new_feed = self.renewed_feed() | std::mem::take(&mut self.feed_changed);
            if new_feed {
                // status tokens are by the key of the head
                self.heads.new_feed();
            }
            let cosigned = self.cosigners.as_ref().is_some_and(Cosigners::is_due);
            if (new_feed || cosigned || self.is_due(renewed))
                && !Self::is_recent(self.unrenewed)
                && self.renew_if_signed()?
            {
                renewed = Instant::now();
            }
        }
        self.end(queue);
        Ok(())
    }

    /// What is wrong with the clock now; said when it begins and when it ends.
    fn check_clock(&mut self) -> Option<ClockFault> {
        let fault = self.clock.fault(self.heads.issued_at().max(self.ledger.replay().last_logged_at()));
        if fault.map(ClockFault::kind) != self.misread.map(ClockFault::kind) {
            match fault {
                Some(fault) => tracing::error!("{fault}: {}", fault.advice()),
                None => tracing::warn!("the clock fits again what was signed, and writes are taken"),
            }
            for kind in ClockFault::KINDS {
                let wrong = u64::from(fault.is_some_and(|fault| fault.kind() == kind));
                self.metrics.gauge("semgate_authority_clock_wrong", &[("how", kind.to_owned())], wrong);
            }
        }
        self.misread = fault;
        fault
    }

    /// Renews what keys are due, once in a second: each look at them costs as much as a few statements.
    fn renewed_feed(&mut self) -> bool {
        let at = self.clock.now();
        if self.looked == at {
            return false;
        }
        self.looked = at;
        self.keys.renew(at).contains(&Usage::Feed)
    }

    /// How long to wait for a submission: never past the next renewal, and at most a second, so that a clock that was set or a machine
    /// that slept is noticed.
    fn nap(&self, renewed: Instant) -> Duration {
        if self.unrenewed.is_some() || self.misread.is_some() {
            return ASK_AGAIN;
        }
        let left = self.renew_after.saturating_sub(renewed.elapsed());
        left.clamp(Duration::from_millis(1), Duration::from_secs(1))
    }

    /// Whether a key failed within the last second: it is left alone so long.
    fn is_recent(failed: Option<Instant>) -> bool {
        failed.is_some_and(|at| at.elapsed() < ASK_AGAIN)
    }

    /// Renews the head. Where a device does not sign, the head that is public goes on and is renewed later: past its `next_update` followers
    /// refuse, and nobody else does anything meanwhile.
    fn renew_if_signed(&mut self) -> Result<bool, RunFault> {
        match self.renew() {
            Ok(()) => {
                if self.unrenewed.take().is_some() {
                    tracing::warn!("the key of heads signs again");
                }
                Ok(true)
            }
            Err(fault @ RunFault::Signer { .. }) => {
                tracing::error!("the head could not be renewed: {fault}");
                self.metrics.count("semgate_authority_unsigned_total", &[]);
                self.unrenewed = Some(Instant::now());
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    fn is_due(&self, renewed: Instant) -> bool {
        let by_clock =
            self.clock.now() >= self.heads.issued_at().saturating_add(self.renew_after.as_secs().max(1));
        renewed.elapsed() >= self.renew_after || (by_clock && renewed.elapsed() >= Duration::from_millis(500))
    }

    /// Everything that is waiting, up to a batch.
    fn gather(&mut self, first: RecordedJob, queue: &Queue) -> (Vec<RecordedJob>, bool) {
        let mut batch = vec![first];
        while batch.len() < self.limits.batch {
            match queue.0.try_recv() {
                Ok(Message::Job(job)) => batch.push(*job),
                Ok(Message::Reindex) => self.reindex(),
                Ok(Message::Stop) => return (batch, true),
                Err(_) => break,
            }
        }
        (batch, false)
    }

    fn reindex(&mut self) {
        self.rebuild_index(&Reason::Damaged("it could not be read while running".to_owned()));
    }

    /// Builds the index anew from the ledger, while running. If even that fails, look-ups are answered 503 and the log goes on.
    fn rebuild_index(&mut self, reason: &Reason) {
        let listed = self.ledger.replay().listing().contexts;
        match Index::rebuild(&self.index_dir, &self.prefix, self.position(), &listed) {
            Ok(index) => {
                *self.index.write().unwrap_or_else(PoisonError::into_inner) = index;
                self.metrics.count("semgate_authority_index_rebuilt_total", &[]);
                tracing::warn!("the index was {reason}; rebuilt from the log: {} contexts", listed.len());
            }
            Err(fault) => tracing::error!("the index was {reason}, and could not be rebuilt: {fault}"),
        }
    }

    fn position(&self) -> Position {
        Position { size: self.log.size(), root: self.log.root() }
    }

    /// Answers what is still queued and leaves the index where the log is.
    fn end(self, queue: &Queue) {
        while let Ok(message) = queue.0.try_recv() {
            if let Message::Job(job) = message {
                let _ = job.job.answer.send(Err(Code::Stopping.into()));
            }
        }
        if let Err(fault) = index_of(&self.index).flush() {
            tracing::warn!("the index could not be flushed and will be rebuilt at the next start: {fault}");
        }
    }
}
