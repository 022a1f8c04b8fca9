//! Sends every request to the people who may decide it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use semgate_approvals::render::{Background, Card, Links};
use semgate_approvals::{
    End, Event, Hold, HoldId, HoldState, HumanCard, HumanId, HumanStatus, Subject, Verdict, token_hash,
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::super::scribe::Listener;
use super::super::{Desk, DeskFault};
use super::fault::{ChannelFault, random_text};
use super::pace::{Gathered, Pace};
use super::send::Channels;
use crate::clock::unix_now;
use crate::config::ApprovalsConfig;

/// Errands that wait: as many as there may be open requests. One past them is left to console and command line.
const QUEUE: usize = 16_384;
/// Messages that are sent at once.
const AT_ONCE: usize = 16;
/// The longest sleep between looks at the clock.
const LOOK: Duration = Duration::from_secs(1);

/// Work of the courier.
#[derive(Debug)]
pub(crate) enum Errand {
    /// Tell those who may decide it now and were not notified yet.
    Ask(HoldId),
    /// It is over.
    Over(HoldId),
    /// Tell Slack how a click ended.
    Clicked {
        /// The address that Slack signed.
        url: String,
        /// The gateway's words.
        text: String,
        /// True if the message is replaced: its buttons have done their work.
        replace: bool,
    },
}

/// Sending end and receiving end of the courier's work.
pub(crate) fn errands() -> (mpsc::Sender<Errand>, mpsc::Receiver<Errand>) {
    mpsc::channel(QUEUE)
}

/// Hands events to the courier.
pub(crate) fn listener(errands: mpsc::Sender<Errand>) -> Listener {
    Box::new(move |event, hold| {
        let Some(hold) = hold else { return };
        let errand = match event {
            Event::Opened(_) | Event::Delegated { .. } | Event::Escalated { .. } => {
                Errand::Ask(hold.id.clone())
            }
            Event::Decided { .. } | Event::Ended { .. } if !hold.state.is_open() => {
                Errand::Over(hold.id.clone())
            }
            _ => return,
        };
        if errands.try_send(errand).is_err() {
            tracing::warn!(request = %hold.id, "too many requests wait to be sent: people see this one in the list only");
        }
    })
}

/// The parts that one message needs.
struct Office {
    desk: Desk,
    channels: Channels,
    config: Arc<ApprovalsConfig>,
    /// Address of people, up to the token of a link.
    links: String,
    slots: Semaphore,
}

/// Sends requests to people.
pub(crate) struct Courier {
    office: Arc<Office>,
    errands: mpsc::Receiver<Errand>,
    pace: Pace,
    /// People who were notified of each open request.
    asked: HashMap<HoldId, BTreeSet<HumanId>>,
    tasks: JoinSet<()>,
}

impl Courier {
    /// A courier for this desk. `url` is the address of people.
    pub(crate) fn new(
        desk: Desk,
        channels: Channels,
        config: Arc<ApprovalsConfig>,
        url: &str,
        errands: mpsc::Receiver<Errand>,
    ) -> Self {
        let links = format!("{}/decide/", url.trim_end_matches('/'));
        let office = Office { desk, channels, config, links, slots: Semaphore::new(AT_ONCE) };
        let (pace, asked, tasks) = (Pace::default(), HashMap::new(), JoinSet::new());
        Self { office: Arc::new(office), errands, pace, asked, tasks }
    }

    /// Runs in a `LocalSet` until every sender of errands is gone. Starts with the requests that nobody learnt of before the
    /// last stop.
    pub(crate) async fn run(mut self) {
        let unsent = |hold: &&Arc<Hold>| hold.state == HoldState::Pending;
        let waiting: Vec<HoldId> =
            self.office.desk.read(|book| book.holds().filter(unsent).map(|hold| hold.id.clone()).collect());
        waiting.iter().for_each(|id| self.ask(id));
        loop {
            let due = self.pace.next_due();
            let sleep = due.map_or(LOOK, |due| Duration::from_secs(due.saturating_sub(unix_now())).min(LOOK));
            tokio::select! {
                errand = self.errands.recv() => match errand {
                    Some(errand) => self.take(errand),
                    None => return,
                },
                Some(_) = self.tasks.join_next(), if !self.tasks.is_empty() => {}
                () = tokio::time::sleep(sleep) => {}
            }
            for gathered in self.pace.due(unix_now()) {
                let office = Arc::clone(&self.office);
                self.tasks.spawn_local(async move { office.tell_all(gathered).await });
            }
        }
    }

    fn take(&mut self, errand: Errand) {
        match errand {
            Errand::Ask(id) => self.ask(&id),
            Errand::Over(id) => {
                self.asked.remove(&id);
                let office = Arc::clone(&self.office);
                self.tasks.spawn_local(async move { office.call_back(&id).await });
            }
            Errand::Clicked { url, text, replace } => {
                let office = Arc::clone(&self.office);
                self.tasks.spawn_local(async move {
                    let body =
                        json!({"response_type": "ephemeral", "replace_original": replace, "text": text});
                    // the person sees the outcome in console and command line too
                    if let Err(why) = office.channels.post(&url, &body).await {
                        tracing::debug!(%why, "slack did not learn how a click ended");
                    }
                });
            }
        }
    }

    fn ask(&mut self, id: &HoldId) {
        let office = Arc::clone(&self.office);
        let Some(hold) = office.desk.hold(id).filter(|hold| hold.state.is_open()) else { return };
        let asked = self.asked.entry(id.clone()).or_default();
        let now = unix_now();
        let mut people = office.approvers(&hold);
        people.retain(|card| asked.insert(card.id.clone()));
        let (at_once, later): (Vec<HumanCard>, Vec<HumanCard>) =
            people.into_iter().partition(|card| self.pace.admits(&card.id, id, now));
        // whoever is asked later is asked for certain
        let is_first = hold.state == HoldState::Pending && later.is_empty();
        self.tasks.spawn_local(async move { office.tell(hold, at_once, is_first).await });
    }
}

impl Office {
    /// People who may decide a request and are there; everybody if nobody is.
    fn approvers(&self, hold: &Hold) -> Vec<HumanCard> {
        let registry = self.desk.registry();
        self.desk.read(|book| {
            let all = book.approvers(hold, &registry);
            let is_there = |card: &&HumanCard| book.status(card) != HumanStatus::Offline;
            let there: Vec<HumanCard> = all.iter().copied().filter(is_there).cloned().collect();
            if there.is_empty() { all.into_iter().cloned().collect() } else { there }
        })
    }

    /// Sends one request to these people. A request that nobody can get or see has failed.
    async fn tell(self: Arc<Self>, hold: Arc<Hold>, people: Vec<HumanCard>, is_first: bool) {
        let mut sending = JoinSet::new();
        let card = Arc::new(self.card(&hold));
        for human in people {
            let (office, hold, card) = (Arc::clone(&self), Arc::clone(&hold), Arc::clone(&card));
            sending.spawn_local(async move {
                match office.send(&hold, &human, &card).await {
                    Ok(()) => true,
                    Err(why) => {
                        tracing::warn!(human = %human.id, request = %hold.id, %why, "a person was not reached");
                        false
                    }
                }
            });
        }
        let reached = sending.join_all().await.contains(&true);
        if is_first && !reached && !self.is_visible(&hold) {
            self.fail(hold.id.clone()).await;
        }
    }

    async fn send(&self, hold: &Hold, human: &HumanCard, card: &Card) -> Result<(), ChannelFault> {
        let _slot = self.slots.acquire().await.map_err(|_| ChannelFault::Unreachable)?;
        let human = &self.desk.opened(human);
        let links = self.draw(hold, human, card).await?;
        self.channels.notify(card, &links, human).await?;
        self.sent(hold.id.clone(), human.id.clone()).await;
        Ok(())
    }

    fn card(&self, hold: &Hold) -> Card {
        let last =
            self.desk.read(|book| book.last_approved(hold).map(|(canonical, _)| Arc::clone(canonical)));
        Card::new(hold, Background { last_approved: last.as_deref(), page: self.config.page.as_deref() })
    }

    /// Draws the person's links. Their hashes are on disk before the links leave.
    async fn draw(&self, hold: &Hold, human: &HumanCard, card: &Card) -> Result<Links, ChannelFault> {
        if !card.takes_link() || !self.channels.uses_links(human) {
            return Ok(Links::default());
        }
        let (approve, deny) = (random_text()?, random_text()?);
        let linked = |verdict, token: &str| Event::Linked {
            id: hold.id.clone(),
            human: human.id.clone(),
            verdict,
            hash: token_hash(token),
        };
        let events = vec![linked(Verdict::Approved, &approve), linked(Verdict::Denied, &deny)];
        let kept = self.desk.change(move |_, _| Ok(((), events))).await;
        kept.map_err(|_| ChannelFault::Unreachable)?;
        let url = |token: &str| Some(format!("{}{token}", self.links));
        Ok(Links { approve: url(&approve), deny: url(&deny) })
    }

    /// Wakes an agent whose request is over (F1-19). Nothing of the answer leaves here: the agent asks for it.
    async fn call_back(&self, id: &HoldId) {
        let Some(hold) = self.desk.hold(id) else { return };
        let Subject::Interaction(asked) = &hold.subject else { return };
        let Some(url) = &asked.callback else { return };
        let Ok(_slot) = self.slots.acquire().await else { return };
        // an unsigned call could come from anybody, so without a signature none is made
        let Ok(statement) = self.desk.statement_of_end(&hold, unix_now()) else { return };
        let body = json!({"interaction_id": hold.id, "state": hold.state, "statement": statement});
        if let Err(why) = self.channels.post(url, &body).await {
            tracing::warn!(request = %hold.id, %why, "the agent was not called back");
        }
    }

    /// Sends the list of requests that exceeded a person's pace.
    async fn tell_all(self: Arc<Self>, gathered: Gathered) {
        let Gathered { human, ids } = gathered;
        let is_open = |hold: &Arc<Hold>| hold.state.is_open();
        let holds: Vec<Arc<Hold>> = ids.iter().filter_map(|id| self.desk.hold(id)).filter(is_open).collect();
        let registry = self.desk.registry();
        let (Some(card), Some(human)) =
            (Card::gathered(&holds, self.config.page.as_deref()), registry.get(&human))
        else {
            return;
        };
        let Ok(_slot) = self.slots.acquire().await else { return };
        match self.channels.notify(&card, &Links::default(), &self.desk.opened(human)).await {
            Ok(_) => {
                for hold in holds {
                    self.sent(hold.id.clone(), human.id.clone()).await;
                }
            }
            Err(why) => tracing::warn!(human = %human.id, %why, "a person was not reached"),
        }
    }

    /// Returns true if somebody can decide the request without a message: in the console, or with a certificate.
    fn is_visible(&self, hold: &Hold) -> bool {
        let registry = self.desk.registry();
        let all =
            self.desk.read(|book| book.approvers(hold, &registry).into_iter().cloned().collect::<Vec<_>>());
        let has_console = !self.config.console.is_empty();
        all.iter().any(|card| has_console || card.certificate.is_some())
    }

    async fn sent(&self, id: HoldId, human: HumanId) {
        let sent = self.desk.change(move |_, _| Ok(((), vec![Event::Sent { id, human }]))).await;
        report(sent);
    }

    async fn fail(&self, id: HoldId) {
        let failed = self.desk.change(move |book, _| {
            let is_open = book.get(&id).is_some_and(|hold| hold.state.is_open());
            let why = "nobody who may decide it can be reached".to_owned();
            Ok(((), if is_open { vec![Event::Ended { id, end: End::Failed, why }] } else { Vec::new() }))
        });
        report(failed.await);
    }
}

/// The scribe has logged a journal that cannot be written.
fn report(change: Result<(), DeskFault>) {
    if let Err(why) = change {
        tracing::debug!(?why, "an event about a message was not recorded");
    }
}
