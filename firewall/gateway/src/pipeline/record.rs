//! The audit log. Each permitted message has one line, queued before the message is forwarded. Repeated refusals of one agent
//! share lines, which count them.
//!
//! A bounded queue leads to one thread that owns the file. If the queue is full, or from a failed write until the next
//! success, messages are refused. No partial line is left behind: unwritten bytes are kept, and written first once the file
//! accepts them.

pub(crate) mod exemplars;
mod line;
mod ocsf;
pub(crate) mod repeated;
pub(crate) mod ring;
pub(crate) mod spans;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use semgate_inspect::{Code, Facts};

use self::ring::VerdictRing;
use self::spans::{Collector, Ended};
use crate::clock::unix_now;
use crate::config::{Config, Share};
use crate::fault::RunFault;
use crate::pipeline::decision::DecisionId;

/// Maximum wait for the file at the end. A full queue is 4 MB, which a disk takes in a fraction of it. A write that hangs
/// longer will not return, and SIGTERM is usually followed by SIGKILL. A seventh of the default `drain_timeout`.
const FINISH: Duration = Duration::from_secs(5);
/// Interval of checks for the thread's end.
const FINISH_LOOK: Duration = Duration::from_millis(2);

/// Outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The message may pass.
    Allowed,
    /// The message was refused.
    Refused(Code),
    /// The caller left before its message was forwarded, or before the reply, which nobody received.
    Abandoned,
    /// A request to people changed: `asked`, `approved`, `denied`, `delegated`, `escalated`, `expired`, `cancelled`.
    OfPeople(&'static str),
}

impl Outcome {
    /// Verdict of the record.
    pub(crate) const fn verdict(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Refused(_) => "refused",
            Self::Abandoned => "abandoned",
            Self::OfPeople(verdict) => verdict,
        }
    }
}

/// One record for the writer. Holds identifiers only, never a payload value.
#[derive(Debug)]
pub(crate) struct Record {
    /// Unix seconds.
    pub(crate) time: u64,
    pub(crate) decision: DecisionId,
    pub(crate) outcome: Outcome,
    pub(crate) facts: Facts,
    pub(crate) duration_us: u64,
    /// Number of further refusals of the same agent and code that this record covers.
    pub(crate) others: u64,
    pub(crate) traced: Traced,
}

/// Ids of the spans of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpanIds {
    pub(crate) trace_id: u128,
    /// The caller's span.
    pub(crate) parent: Option<u64>,
    pub(crate) server: u64,
    pub(crate) client: u64,
}

/// The trace of a message, as its record shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traced {
    /// Id of the trace, if there is one.
    pub(crate) trace_id: Option<u128>,
    /// Spans that are made of the record.
    pub(crate) spans: Option<SpanIds>,
    /// Trace headers that did not fit.
    pub(crate) dropped: Vec<&'static str>,
}

impl Record {
    /// Record at the present time of a message that arrived at `began`.
    pub(crate) fn of(decision: DecisionId, outcome: Outcome, facts: Facts, began: Instant) -> Self {
        let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        Self { time: unix_now(), decision, outcome, facts, duration_us, others: 0, traced: Traced::default() }
    }
}

/// Proof that a record is in the queue, which `forward` requires besides the permit.
#[derive(Debug)]
#[must_use = "a message whose record is not queued may not be forwarded"]
pub(crate) struct Recorded(());

/// The queue is full, or the file accepts nothing.
#[derive(Debug)]
pub(crate) struct NotRecorded;

enum Item {
    Record(Box<Record>),
    /// The end of a message that has spans.
    Ended(Box<Ended>),
    Reopen,
    End,
}

#[derive(Debug, Default)]
struct Health {
    failing: AtomicBool,
    /// True once recording has ended, so that a failing file is not waited for.
    ending: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
    ocsf_lost: AtomicU64,
}

/// Sending end of the queue. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Audit {
    queue: SyncSender<Item>,
    health: Arc<Health>,
    ring: Arc<VerdictRing>,
    /// Share of messages that have spans, and the counter of lost spans.
    spans: Option<(Share, Arc<AtomicU64>)>,
}

/// The file, and what else is made of the records.
pub(crate) struct AuditFile {
    pub(crate) path: PathBuf,
    pub(crate) fsync: bool,
    /// Name of the gateway.
    pub(crate) gateway: String,
    /// File of the same records in OCSF.
    pub(crate) ocsf: Option<PathBuf>,
    pub(crate) spans: Option<Spans>,
}

impl AuditFile {
    /// The files that a configuration names.
    pub(crate) fn of(config: &Config, spans: Option<Spans>) -> Self {
        Self {
            path: config.audit.clone(),
            fsync: config.audit_fsync,
            gateway: config.name.clone(),
            ocsf: config.audit_ocsf.clone(),
            spans,
        }
    }
}

/// Maker of spans, and the share of messages that have some.
pub(crate) struct Spans {
    pub(crate) sample: Share,
    pub(crate) collector: Collector,
}

/// The writing thread.
pub(crate) struct AuditWriter {
    queue: SyncSender<Item>,
    health: Arc<Health>,
    thread: JoinHandle<()>,
}

impl Audit {
    /// Opens the file (mode 0600, append) and starts the thread.
    ///
    /// # Errors
    /// The file cannot be opened. A gateway without an audit does not run.
    pub(crate) fn open(file: AuditFile, queue: usize) -> Result<(Self, AuditWriter), RunFault> {
        let health = Arc::new(Health::default());
        let spans = file.spans.as_ref().map(|spans| (spans.sample, spans.collector.lost()));
        let ring = Arc::new(VerdictRing::default());
        let file = writer::Writer::open(file, Arc::clone(&health), Arc::clone(&ring))?;
        let (sender, receiver) = sync_channel(queue);
        let thread = std::thread::Builder::new()
            .name("semgate-audit".to_owned())
            .spawn(move || file.run(&receiver))
            .map_err(|e| RunFault::system("audit thread", e))?;
        let writer = AuditWriter { queue: sender.clone(), health: Arc::clone(&health), thread };
        Ok((Self { queue: sender, health, ring, spans }, writer))
    }

    /// Opens the file as [`Audit::open`] does, and closes it again.
    ///
    /// # Errors
    /// As [`Audit::open`].
    pub(crate) fn check(file: AuditFile) -> Result<(), RunFault> {
        writer::Writer::open(file, Arc::default(), Arc::default()).map(drop)
    }

    /// Queues a record. While writes fail, only refusals are queued: a message that was not forwarded must not appear as
    /// allowed.
    ///
    /// # Errors
    /// [`NotRecorded`]; the message may not pass.
    pub(crate) fn record(&self, record: Record) -> Result<Recorded, NotRecorded> {
        if record.outcome == Outcome::Allowed {
            let _ = self.working()?;
        }
        match self.queue.try_send(Item::Record(Box::new(record))) {
            Ok(()) => self.working(),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.health.lost.fetch_add(1, Ordering::Relaxed);
                Err(NotRecorded)
            }
        }
    }

    /// Checks that the last write succeeded.
    ///
    /// # Errors
    /// [`NotRecorded`] if it failed.
    pub(crate) fn working(&self) -> Result<Recorded, NotRecorded> {
        if self.health.failing.load(Ordering::Relaxed) { Err(NotRecorded) } else { Ok(Recorded(())) }
    }

    /// Share of messages that have spans, if any have.
    pub(crate) fn sample(&self) -> Option<Share> {
        self.spans.as_ref().map(|(sample, _)| *sample)
    }

    /// Finishes the spans of a message. Without room they are lost.
    pub(crate) fn ended(&self, ended: Ended) {
        let sent = self.queue.try_send(Item::Ended(Box::new(ended)));
        if let (Err(_), Some((_, lost))) = (sent, &self.spans) {
            lost.fetch_add(spans::PAIR, Ordering::Relaxed);
        }
    }

    /// Number of records written since the start.
    pub(crate) fn written(&self) -> u64 {
        self.health.written.load(Ordering::Relaxed)
    }

    /// Number of records that found no room.
    pub(crate) fn lost(&self) -> u64 {
        self.health.lost.load(Ordering::Relaxed)
    }

    /// Number of OCSF events that were lost.
    pub(crate) fn ocsf_lost(&self) -> u64 {
        self.health.ocsf_lost.load(Ordering::Relaxed)
    }

    /// The last records, for the operator.
    pub(crate) fn ring(&self) -> &Arc<VerdictRing> {
        &self.ring
    }

    /// Reopens the file by its name, for log rotation. Keeps the old file if that fails.
    pub(crate) fn reopen(&self) {
        // a full queue is being worked on; the next signal will do
        let _ = self.queue.try_send(Item::Reopen);
    }
}

impl AuditWriter {
    /// Writes queued records, forces them to disk, and ends the thread, within [`FINISH`] in any case.
    pub(crate) fn finish(self) {
        let end = Instant::now() + FINISH;
        self.health.ending.store(true, Ordering::Relaxed);
        let mut reported = false;
        while !self.thread.is_finished() {
            // a full queue is being emptied, or given up
            reported = reported || self.queue.try_send(Item::End).is_ok();
            if Instant::now() >= end {
                tracing::error!("the audit file is too slow at shutdown; its last records may be lost");
                return;
            }
            std::thread::sleep(FINISH_LOOK);
        }
        let _ = self.thread.join();
    }
}
