//! The handle to the book for messages, people and channels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use ring::rand::SecureRandom;
use semgate_approvals::{
    Answer, ApprovalFault, Approved, Asked, Book, Event, Hold, HoldId, HumanCard, HumanId, HumanRegistry,
    HumanStatus, Pass, Question, Used,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use super::journal::Journal;
use super::keys::ApprovalKeys;
use super::scribe::{Change, Moment, Scribe};
use super::seal::{CardKey, address};
use crate::fault::RunFault;

/// Changes that wait for the disk: far more than a disk takes in a second.
const QUEUE: usize = 4_096;

/// The reason why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeskFault {
    /// The rules of the book.
    Refused(ApprovalFault),
    /// The journal cannot be written, or the queue is full.
    Unavailable,
}

impl From<ApprovalFault> for DeskFault {
    fn from(why: ApprovalFault) -> Self {
        Self::Refused(why)
    }
}

/// State that everybody reads.
pub(super) struct DeskState {
    pub(super) book: RwLock<Book>,
    pub(super) registry: ArcSwap<HumanRegistry>,
    pub(super) keys: ApprovalKeys,
    waiters: Mutex<HashMap<HoldId, watch::Sender<u64>>>,
    /// Secret answers, until their agent reads them once.
    secrets: Mutex<HashMap<HoldId, Value>>,
}

/// Handle to the book. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(super) state: Arc<DeskState>,
    changes: mpsc::Sender<Change>,
}

/// A handle, and the owner of the journal behind it.
pub(super) fn pair(
    book: Book,
    journal: Journal,
    registry: HumanRegistry,
    keys: ApprovalKeys,
) -> (Desk, Scribe) {
    let state = Arc::new(DeskState {
        book: RwLock::new(book),
        registry: ArcSwap::from_pointee(registry),
        keys,
        waiters: Mutex::default(),
        secrets: Mutex::default(),
    });
    let (changes, queue) = mpsc::channel(QUEUE);
    (Desk { state: Arc::clone(&state), changes }, Scribe::new(state, journal, queue))
}

impl DeskState {
    /// Wakes everybody who waits for a change of these holds.
    pub(super) fn wake(&self, events: &[Event]) {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        for id in events.iter().filter_map(Event::hold) {
            if let Some(waiter) = waiters.get(id) {
                waiter.send_modify(|count| *count = count.wrapping_add(1));
            }
        }
        waiters.retain(|_, waiter| waiter.receiver_count() > 0);
    }
}

impl Desk {
    /// Reads the book.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Book) -> T) -> T {
        read(&self.state.book.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The hold of this name.
    pub(crate) fn hold(&self, id: &HoldId) -> Option<Arc<Hold>> {
        self.read(|book| book.get(id).map(Arc::clone))
    }

    /// The people of the moment.
    pub(crate) fn registry(&self) -> Arc<HumanRegistry> {
        self.state.registry.load_full()
    }

    /// Replaces the cards.
    pub(crate) fn set_registry(&self, registry: HumanRegistry) {
        self.state.registry.store(Arc::new(registry));
    }

    /// The key of sealed endpoints, if there is one.
    pub(super) fn card_key(&self) -> Option<&CardKey> {
        self.state.keys.cards()
    }

    /// The address of a person at a channel, opened.
    fn address(&self, card: &HumanCard, channel: &str) -> Option<String> {
        address(self.state.keys.cards(), card, channel)
    }

    /// The card with its addresses opened, for whoever sends.
    pub(super) fn opened(&self, card: &HumanCard) -> HumanCard {
        let open = |channel: &String| Some((channel.clone(), self.address(card, channel)?));
        HumanCard { endpoints: card.endpoints.keys().filter_map(open).collect(), ..card.clone() }
    }

    /// The card with this address at a channel, sealed or not.
    pub(super) fn by_address(&self, channel: &str, wanted: &str) -> Option<HumanCard> {
        let registry = self.registry();
        registry.cards().find(|card| self.address(card, channel).as_deref() == Some(wanted)).cloned()
    }

    /// A signed statement that a request is over, as a compact JWS.
    ///
    /// # Errors
    /// The system's random source failed.
    pub(crate) fn statement_of_end(&self, hold: &Hold, now: u64) -> Result<String, RunFault> {
        self.state.keys.sign_end(hold, now)
    }

    /// The public key of decisions, as a JWK set.
    pub(crate) fn jwks(&self) -> Value {
        self.state.keys.jwks()
    }

    /// Makes a change and waits until it is on disk.
    ///
    /// # Errors
    /// The book's reason; [`DeskFault::Unavailable`] if the journal failed.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Book, &Moment<'_>) -> Result<(T, Vec<Event>), ApprovalFault> + Send + 'static,
    ) -> Result<T, DeskFault> {
        let (reply, answer) = oneshot::channel();
        let change: Change = Box::new(move |book, moment| match change(book, moment) {
            Ok((value, events)) => (
                events,
                Box::new(move |durable: bool| {
                    // the one who asked may have left
                    let _ = reply.send(if durable { Ok(value) } else { Err(DeskFault::Unavailable) });
                }),
            ),
            Err(why) => (
                Vec::new(),
                Box::new(move |_| {
                    let _ = reply.send(Err(why.into()));
                }),
            ),
        });
        self.changes.try_send(change).map_err(|_| DeskFault::Unavailable)?;
        answer.await.unwrap_or(Err(DeskFault::Unavailable))
    }

    /// Asks people for an action, or finds what they answered.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn ask(&self, question: Question) -> Result<Asked, DeskFault> {
        self.change(move |book, moment| {
            match book.ask(question, moment.id()?, moment.registry, moment.now)? {
                Asked::Opens(id, events) => Ok((Asked::Waits(id), events)),
                other => Ok((other, Vec::new())),
            }
        })
        .await
    }

    /// Opens an agent's own question.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn interact(&self, question: Question) -> Result<HoldId, DeskFault> {
        self.change(move |book, moment| {
            let (id, event) = book.interact(question, moment.id()?, moment.now)?;
            Ok((id, vec![event]))
        })
        .await
    }

    /// Uses an approval up. Forward only with the proof.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn used(&self, approved: Approved, decision: String) -> Result<Used, DeskFault> {
        self.change(move |book, moment| {
            let (used, event) = book.used(&approved, &decision, moment.registry, moment.now)?;
            Ok((used, vec![event]))
        })
        .await
    }

    /// Records a person's answer, signed.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn answer(&self, answer: Answer) -> Result<(), DeskFault> {
        let secret = answer.reply.data.clone().map(|data| (answer.id.clone(), data));
        let is_kept = self.change(move |book, moment| {
            let mut decision = book.decide(&answer, moment.registry, moment.now)?;
            let hold = book.get(&answer.id).ok_or(ApprovalFault::Unknown)?;
            decision.evidence = moment.sign(hold, &decision)?;
            let is_kept = decision.data.is_some();
            let event = book.settle(&answer.id, decision, moment.registry)?;
            Ok((is_kept, vec![event]))
        });
        if let (false, Some((id, data))) = (is_kept.await?, secret) {
            let mut secrets = self.state.secrets.lock().unwrap_or_else(PoisonError::into_inner);
            secrets.retain(|id, _| self.hold(id).is_some());
            secrets.insert(id, data);
        }
        Ok(())
    }

    /// Takes a secret answer, once.
    pub(crate) fn take_secret(&self, id: &HoldId) -> Option<Value> {
        self.state.secrets.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }

    /// Passes a request on.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn delegate(&self, pass: Pass) -> Result<(), DeskFault> {
        self.change(move |book, moment| Ok(((), vec![book.delegate(&pass, moment.registry)?]))).await
    }

    /// Withdraws an agent's question.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn cancel(&self, id: HoldId, sender: Arc<str>) -> Result<(), DeskFault> {
        self.change(move |book, _| Ok(((), vec![book.cancel(&id, &sender)?]))).await
    }

    /// Records that a person saw a request.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn seen(&self, id: HoldId, human: HumanId) -> Result<(), DeskFault> {
        self.change(move |book, _| {
            let unseen = book
                .get(&id)
                .is_some_and(|hold| hold.state.is_open() && hold.state != semgate_approvals::HoldState::Seen);
            Ok(((), if unseen { vec![Event::Seen { id, human }] } else { Vec::new() }))
        })
        .await
    }

    /// Sets a person's availability.
    ///
    /// # Errors
    /// As [`Desk::change`].
    pub(crate) async fn set_status(&self, human: HumanId, status: HumanStatus) -> Result<(), DeskFault> {
        self.change(move |_, _| Ok(((), vec![Event::Status { human, status }]))).await
    }

    /// Waits for any change of a hold, at most so long.
    pub(crate) async fn changed(&self, id: &HoldId, time: Duration, is_awaited: impl Fn(&Hold) -> bool) {
        let mut waiter = {
            let mut waiters = self.state.waiters.lock().unwrap_or_else(PoisonError::into_inner);
            waiters.entry(id.clone()).or_insert_with(|| watch::channel(0).0).subscribe()
        };
        let awaited = async {
            while !self.hold(id).is_none_or(|hold| is_awaited(&hold)) {
                if waiter.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(time, awaited).await;
    }
}

impl Moment<'_> {
    /// A new random id.
    pub(crate) fn id(&self) -> Result<HoldId, ApprovalFault> {
        let mut bytes = [0; 16];
        ring::rand::SystemRandom::new().fill(&mut bytes).map_err(|_| ApprovalFault::Unknown)?;
        Ok(HoldId::of(u128::from_be_bytes(bytes)))
    }
}
