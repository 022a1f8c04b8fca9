//! The owner of the journal: the only one who changes the book.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use semgate_approvals::{ApprovalFault, Book, Decision, Event, Hold, HumanRegistry};
use tokio::sync::mpsc;

use super::desk::DeskState;
use super::journal::Journal;
use super::keys::ApprovalKeys;
use crate::clock::unix_now;

/// Changes that are taken from the queue at once.
const BATCH: usize = 256;
/// The longest sleep: a step of the system's clock goes unnoticed for no longer.
const LOOK: Duration = Duration::from_secs(1);

/// The circumstances of a change.
pub(crate) struct Moment<'s> {
    /// Unix seconds.
    pub(crate) now: u64,
    /// The people.
    pub(crate) registry: &'s HumanRegistry,
    keys: &'s ApprovalKeys,
}

impl Moment<'_> {
    /// Signs a decision.
    pub(crate) fn sign(&self, hold: &Hold, decision: &Decision) -> Result<String, ApprovalFault> {
        self.keys.sign(hold, decision).map_err(|_| ApprovalFault::NotCanonical)
    }
}

/// Hands a result over, once it is on disk or is not.
pub(super) type Handover = Box<dyn FnOnce(bool) + Send>;
/// Computes events, and what happens after they are on disk.
pub(super) type Change = Box<dyn FnOnce(&Book, &Moment<'_>) -> (Vec<Event>, Handover) + Send>;
/// Learns every event that is on disk, after the book has changed.
pub(crate) type Listener = Box<dyn Fn(&Event, Option<&Arc<Hold>>)>;

/// The owner of the journal.
pub(crate) struct Scribe {
    state: Arc<DeskState>,
    journal: Journal,
    queue: mpsc::Receiver<Change>,
    /// True once a write failed. Then nothing is changed any more, since the disk may be ahead of the book.
    failed: bool,
}

impl Scribe {
    pub(super) fn new(state: Arc<DeskState>, journal: Journal, queue: mpsc::Receiver<Change>) -> Self {
        Self { state, journal, queue, failed: false }
    }

    /// Runs until every handle is gone. Each listener learns every event that is on disk.
    pub(crate) async fn run(mut self, listeners: Vec<Listener>) {
        loop {
            let due = self.read(Book::next_due);
            let sleep = due.map_or(LOOK, |due| Duration::from_secs(due.saturating_sub(unix_now())).min(LOOK));
            let mut changes = Vec::new();
            tokio::select! {
                received = self.queue.recv_many(&mut changes, BATCH) => if received == 0 { return },
                () = tokio::time::sleep(sleep), if !self.failed => {}
            }
            self.write(changes, &listeners);
        }
    }

    /// Makes one change after the other. Each is on disk before the book has it, so nobody reads what a crash could take back.
    fn write(&mut self, changes: Vec<Change>, listeners: &[Listener]) {
        let registry = self.state.registry.load_full();
        let now = unix_now();
        let due = self.read(|book| book.due(now));
        self.commit(due, listeners);
        for change in changes {
            if self.failed {
                // a change ends by being dropped, which its author sees
                return;
            }
            let moment = Moment { now, registry: &registry, keys: &self.state.keys };
            let (events, handover) = self.read(|book| change(book, &moment));
            self.commit(events, listeners);
            handover(!self.failed);
        }
    }

    fn read<T>(&self, read: impl FnOnce(&Book) -> T) -> T {
        read(&self.state.book.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes events, then applies them and reports them.
    fn commit(&mut self, events: Vec<Event>, listeners: &[Listener]) {
        if events.is_empty() || self.failed {
            return;
        }
        if let Err(why) = self.journal.append(&events) {
            tracing::error!(%why, "the journal of approvals cannot be written: nothing that needs people passes until a restart");
            self.failed = true;
            return;
        }
        {
            let mut book = self.state.book.write().unwrap_or_else(PoisonError::into_inner);
            events.iter().for_each(|event| book.apply(event));
        }
        if let Err(why) = self.tidy() {
            tracing::error!(%why, "the journal of approvals cannot be rewritten");
            self.failed = true;
        }
        self.state.wake(&events);
        self.report(&events, listeners);
    }

    fn tidy(&mut self) -> std::io::Result<()> {
        let book = self.state.book.read().unwrap_or_else(PoisonError::into_inner);
        self.journal.tidy(&book)
    }

    fn report(&self, events: &[Event], listeners: &[Listener]) {
        for event in events {
            let hold = event.hold().and_then(|id| {
                let book = self.state.book.read().unwrap_or_else(PoisonError::into_inner);
                book.get(id).map(Arc::clone)
            });
            listeners.iter().for_each(|listener| listener(event, hold.as_ref()));
        }
    }
}
