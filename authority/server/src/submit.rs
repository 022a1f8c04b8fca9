//! submit → record → check → sign → append → publish. One thread owns the log and does nothing else. Another one before it records
//! intentions while the previous commit is under way.
//!
//! Submissions queue up during a commit; the next commit takes all of them (group commit), so a batch shares its fsyncs. A submission is
//! answered when the head that covers it is public. The order within a batch is: documents and chains, entry bundles, hash tiles,
//! checkpoint (the commit point), index, head, answers.

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
use crate::config::BATCH;
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
pub(crate) use recover::{fold, fold_anchors};
pub(crate) use request::Request;

/// The result of a request, new or repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    /// True if a new entry was appended for it.
    pub fresh: bool,
    /// Position of the statement in the log.
    pub index: u64,
    /// Size of the log under the public head.
    pub seq: u64,
}

/// The state of the required consents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// All are there.
    Enough,
    /// A second person's is missing: a repeated act is answered, and nothing new is appended.
    SecondMissing,
}

/// One request with the channel for its answer.
pub(crate) struct Job {
    pub request: Request,
    /// SPIFFE id of the caller, for evidence and the operator's log.
    pub by: String,
    pub consent: Consent,
    /// Number of the audit line with the intention; none if nothing is intended.
    pub intended: Option<u64>,
    pub answer: oneshot::Sender<Result<Done, Problem>>,
}

/// A message between the threads: a job before or after its record.
pub(crate) enum Message<J> {
    Job(Box<J>),
    Reindex,
    Stop,
}

/// Pause for a key after its device failed.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The queue to the recorder, and from there to the sequencer.
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

    /// Asks for a rebuild of an unreadable index. If the queue is full, a later reader asks again.
    pub fn reindex(&self) {
        let _ = self.0.try_send(Message::Reindex);
    }

    /// Asks the sequencer to end after everything queued before this.
    pub fn stop(&self) {
        let _ = self.0.send(Message::Stop);
    }
}

/// The index, replaceable during reads.
pub(crate) type SharedIndex = Arc<RwLock<Index>>;

/// The index as it is now.
pub(crate) fn index_of(shared: &SharedIndex) -> Index {
    shared.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The only writer of log, documents, evidence and index.
pub(crate) struct Sequencer {
    pub prefix: Prefix,
    pub limits: Limits,
    /// Half of `status_lifetime`: the age at which a head is renewed.
    pub renew_after: Duration,
    pub keys: Arc<Keys>,
    pub log: Log,
    pub ledger: Ledger,
    pub trust: Trust,
    /// The configured trust, before the statements of the root.
    pub configured: Anchors,
    pub anchors: Anchors,
    pub documents: Documents,
    pub leftovers: Leftovers,
    pub evidence: Evidence,
    pub index: SharedIndex,
    pub index_dir: PathBuf,
    pub head_file: PathBuf,
    /// The witnesses that cosign checkpoints.
    pub cosigners: Option<Cosigners>,
    /// The last checkpoint, apart from the state.
    pub pinned: Option<PinnedCheckpoint>,
    pub heads: Heads,
    pub public: watch::Sender<Arc<Published>>,
    pub verified: VerifiedLeaves,
    /// Lengths of the documents that followers read, and the charges of the current batch.
    pub room: FollowerCapacity,
    /// Reserved room on the disk that publications leave alone.
    pub reserve: Arc<Reserve>,
    /// The bytes that each publisher has brought to the disk.
    pub quota: Quota,
    /// The compiled size of published documents.
    pub compiled: Arc<Compiled>,
    /// Bytes that the disk must take before it gets a batch again; 0 unless a write failed.
    pub doubt: usize,
    /// Second of the last look at the role keys.
    pub looked: u64,
    /// Time at which a key last failed to sign a batch because of its device; none while all sign.
    pub unsigned: Option<Instant>,
    /// The same for a head to be renewed: a failure that delays submissions must not delay heads.
    pub unrenewed: Option<Instant>,
    /// True if the public head is by another feed key than the one in use: the change was not committed.
    pub feed_changed: bool,
    pub clock: Arc<Clock>,
    /// The last fault of the clock.
    pub misread: Option<ClockFault>,
    pub metrics: Arc<Metrics>,
}

/// A queue and its reader.
pub(crate) fn queue(limits: &Limits) -> (Submit, Receiver<Message<Job>>) {
    let (to, from) = sync_channel(limits.queue);
    (Submit(to), from)
}

/// The queue from the recorder to the sequencer: as long as one batch of the sequencer.
pub(crate) fn recorded_queue() -> (SyncSender<Message<RecordedJob>>, Queue) {
    let (to, from) = sync_channel(BATCH);
    (to, Queue(from))
}

/// The reading end of the recorded jobs.
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
                // refills the reserved room before it is needed again
                Err(RecvTimeoutError::Timeout) => drop(self.reserve.restore()),
            }
            // while the clock has jumped, nothing is signed and no key made: the public head stays
            if matches!(self.check_clock(), Some(ClockFault::Jumped(_))) {
                continue;
            }
            // the public head is never signed by a key near its end: a new feed key signs a new head at once
            let new_feed = self.renewed_feed() | std::mem::take(&mut self.feed_changed);
            if new_feed {
                // status tokens are signed by the key of the head
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

    /// The fault of the clock now; logged when it begins and when it ends.
    fn check_clock(&mut self) -> Option<ClockFault> {
        let fault = self.clock.fault(self.heads.issued_at().max(self.ledger.replay().last_logged_at()));
        if fault.map(ClockFault::kind) != self.misread.map(ClockFault::kind) {
            match fault {
                Some(fault) => tracing::error!("{fault}: {}", fault.advice()),
                None => tracing::warn!("the clock is right again, and the authority accepts writes"),
            }
            for kind in ClockFault::KINDS {
                let wrong = u64::from(fault.is_some_and(|fault| fault.kind() == kind));
                self.metrics.gauge("semgate_authority_clock_wrong", &[("how", kind.to_owned())], wrong);
            }
        }
        self.misread = fault;
        fault
    }

    /// Renews the keys that are due, at most once a second: each look at them costs as much as a few statements.
    fn renewed_feed(&mut self) -> bool {
        let at = self.clock.now();
        if self.looked == at {
            return false;
        }
        self.looked = at;
        self.keys.renew(at).contains(&Usage::Feed)
    }

    /// Time to wait for a submission: until the next renewal, and at most a second. So a changed clock, or sleep of the machine, is
    /// noticed.
    fn nap(&self, renewed: Instant) -> Duration {
        if self.unrenewed.is_some() || self.misread.is_some() {
            return ASK_AGAIN;
        }
        let left = self.renew_after.saturating_sub(renewed.elapsed());
        left.clamp(Duration::from_millis(1), Duration::from_secs(1))
    }

    /// Returns true if a key failed within the last second.
    fn is_recent(failed: Option<Instant>) -> bool {
        failed.is_some_and(|at| at.elapsed() < ASK_AGAIN)
    }

    /// Renews the head. If a device does not sign, the public head stays and is renewed later. Followers refuse it past its `next_update`;
    /// nobody else is affected meanwhile.
    fn renew_if_signed(&mut self) -> Result<bool, RunFault> {
        match self.renew() {
            Ok(()) => {
                if self.unrenewed.take().is_some() {
                    tracing::warn!("the feed key signs again");
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

    /// All waiting jobs, up to a batch.
    fn gather(&mut self, first: RecordedJob, queue: &Queue) -> (Vec<RecordedJob>, bool) {
        let mut batch = vec![first];
        while batch.len() < BATCH {
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

    /// Rebuilds the index from the ledger, while running. If even that fails, look-ups are answered 503 and the log goes on.
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

    /// Answers the queued jobs and leaves the index in step with the log.
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
