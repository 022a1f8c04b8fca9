//! The same records as events of the Open Cybersecurity Schema Framework, for a SIEM: class API Activity (6003), one JSON
//! line each.
//!
//! Derived and best effort: the audit file alone holds the promise. A thread of its own writes, so a slow file holds up
//! nothing. An event that finds no room or cannot be written is counted and lost.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::line::Stamp;
use super::{Health, Outcome, Record};
use crate::fault::RunFault;

/// Version of the schema.
const VERSION: &str = "1.8.0";
/// Batches that wait for the file: a quarter of a second of full load.
const WAITING: usize = 128;
/// Text for a party or operation that was refused before it was known. The schema demands one.
const UNKNOWN: &str = "unknown";

/// Events for the file.
#[derive(Default)]
struct Batch {
    lines: Vec<u8>,
    events: u64,
}

/// The file of events.
pub(super) struct Ocsf {
    batch: Batch,
    queue: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<()>>,
    health: Arc<Health>,
}

impl Ocsf {
    /// Opens the file (mode 0600, append) and starts the thread.
    ///
    /// # Errors
    /// The file cannot be opened, which stops the start.
    pub(super) fn open(path: PathBuf, health: Arc<Health>) -> Result<Self, RunFault> {
        let fault = |why: std::io::Error| RunFault::File {
            path: path.clone(),
            what: "OCSF file",
            why: why.to_string(),
        };
        let _ = append(&path).map_err(fault)?;
        let (queue, batches) = sync_channel(WAITING);
        let lost = Arc::clone(&health);
        let thread = std::thread::Builder::new()
            .name("semgate-ocsf".to_owned())
            .spawn(move || write(&path, &batches, &lost))
            .map_err(|why| RunFault::system("ocsf thread", why))?;
        Ok(Self { batch: Batch::default(), queue: Some(queue), thread: Some(thread), health })
    }

    /// Adds an event to the batch.
    pub(super) fn record(&mut self, record: &Record, stamp: Stamp<'_>) {
        // only strings and numbers, so writing to memory cannot fail
        if serde_json::to_writer(&mut self.batch.lines, &event(record, stamp)).is_ok() {
            self.batch.lines.push(b'\n');
            self.batch.events = self.batch.events.saturating_add(1);
        }
    }

    /// Hands the batch to the thread.
    pub(super) fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let Some(queue) = self.queue.as_ref().filter(|_| batch.events > 0) else { return };
        let events = batch.events;
        if queue.try_send(batch).is_err() {
            self.health.ocsf_lost.fetch_add(events, Ordering::Relaxed);
        }
    }
}

impl Drop for Ocsf {
    /// Waits until everything is written. The end of the gateway does not wait longer than for its audit.
    fn drop(&mut self) {
        self.flush();
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Writes batches until the sender ends. The file is opened for each, so that it can be moved away at any time.
fn write(path: &Path, batches: &Receiver<Batch>, health: &Health) {
    let mut working = true;
    for Batch { lines, events } in batches {
        match append(path).and_then(|mut file| file.write_all(&lines)) {
            Ok(()) => working = true,
            Err(why) => {
                health.ocsf_lost.fetch_add(events, Ordering::Relaxed);
                if std::mem::replace(&mut working, false) {
                    tracing::warn!(%why, "the OCSF file accepts no events; they are lost");
                }
            }
        }
    }
}

/// Verdict of a record in the words of the schema.
struct Verdict {
    action: (u8, &'static str),
    disposition: (u8, &'static str),
    status: (u8, &'static str),
    severity: (u8, &'static str),
}

impl Verdict {
    const fn of(outcome: Outcome) -> Self {
        let (failed, informs) = ((2, "Failure"), (1, "Informational"));
        let other = (99, "Other");
        match outcome {
            Outcome::Allowed => Self {
                action: (1, "Allowed"),
                disposition: (1, "Allowed"),
                status: (1, "Success"),
                severity: informs,
            },
            Outcome::Refused(_) => Self {
                action: (2, "Denied"),
                disposition: (2, "Blocked"),
                status: failed,
                severity: (2, "Low"),
            },
            Outcome::Abandoned | Outcome::OfPeople(_) => {
                Self { action: other, disposition: other, status: failed, severity: informs }
            }
        }
    }
}

fn event(record: &Record, stamp: Stamp<'_>) -> Value {
    let Record { facts, traced, outcome, .. } = record;
    let known = |text: &str| if text.is_empty() { UNKNOWN.to_owned() } else { text.to_owned() };
    let (sender, receiver) = (known(&facts.sender), known(&facts.receiver));
    let verdict = Verdict::of(*outcome);
    let operation = facts.method.or(facts.performative.map(|act| act.as_str())).unwrap_or(UNKNOWN);
    let decision = record.decision.to_string();
    let policies = facts.policy_ids().into_iter();
    let policies: Vec<Value> =
        policies.map(|id| json!({"decision": verdict.action.1, "policy": {"uid": id}})).collect();
    let concepts: Vec<Value> =
        facts.concepts.iter().map(|name| json!({"name": name, "type": "concept"})).collect();
    let mut event = json!({
        "metadata": {
            "version": VERSION,
            "product": {"name": "Semgate", "vendor_name": "Semgate", "version": env!("CARGO_PKG_VERSION")},
            "profiles": ["security_control", "trace"],
            "loggers": [{"name": stamp.gateway}],
            "uid": format!("{}:{}", stamp.gateway, stamp.n),
            "sequence": stamp.n,
            "correlation_uid": decision,
        },
        "time": record.time.saturating_mul(1_000),
        "category_uid": 6, "category_name": "Application Activity",
        "class_uid": 6003, "class_name": "API Activity",
        "activity_id": 99, "activity_name": facts.direction.as_str(),
        "type_uid": 600_399, "type_name": "API Activity: Other",
        "severity_id": verdict.severity.0, "severity": verdict.severity.1,
        "status_id": verdict.status.0, "status": verdict.status.1,
        "action_id": verdict.action.0, "action": verdict.action.1,
        "disposition_id": verdict.disposition.0, "disposition": verdict.disposition.1,
        "count": record.others.saturating_add(1),
        "duration": record.duration_us / 1_000,
        "actor": {"user": {"uid": sender}},
        "src_endpoint": {"name": sender},
        "dst_endpoint": {"name": receiver},
        "api": {
            "operation": operation,
            "service": {"name": known(facts.protocol)},
            "request": {"uid": decision},
        },
        "authorizations": policies,
        "resources": concepts,
        "unmapped": {
            "context": facts.context,
            "digest": facts.digest.map(|digest| digest.to_string()),
            "performative": facts.performative.map(|act| act.as_str()),
            "generation": facts.generation,
        },
    });
    if let Some(members) = event.as_object_mut() {
        if let Outcome::Refused(code) = outcome {
            members.insert("status_code".to_owned(), code.as_str().into());
        }
        if let Some(id) = traced.trace_id {
            members.insert("trace".to_owned(), json!({"uid": format!("{id:032x}")}));
        }
    }
    event
}
