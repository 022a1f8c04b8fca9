//! Open sessions and their tasks: bounded for each sender, lost in a restart.

use crate::{
    InspectLimits,
    owners::{About, Scope},
};
use semgate_protocol::{Bounds, Echo, PayloadMode, SessionRef, Usage};
use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// An open session between a sender and the receiver of a route.
#[derive(Debug)]
pub(crate) struct Dialogue {
    scope: Scope<'static>,
    pub(crate) id: String,
    pub(crate) mode: PayloadMode,
    /// The context that its proposal named; none if it named none.
    pub(crate) claim: Option<SessionClaim>,
    life_ms: u64,
    used_ms: AtomicU64,
    tokens: AtomicU64,
    micro_usd: AtomicU64,
}

/// The context of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionClaim {
    pub(crate) about: Arc<About>,
    pub(crate) lock: Option<String>,
}

/// The terms under which a session opens.
pub(crate) struct Opening {
    pub(crate) mode: PayloadMode,
    pub(crate) claim: Option<SessionClaim>,
    pub(crate) life_ms: u64,
}

/// The request that begins a task.
pub(crate) struct TaskTerms {
    pub(crate) echo: Echo,
    pub(crate) bounds: Bounds,
}

/// A task that was begun in a session.
#[derive(Debug)]
pub(crate) struct DialogueTask {
    id: String,
    pub(crate) dialogue: Arc<Dialogue>,
    /// The texts of the request that began it.
    pub(crate) echo: Echo,
    pub(crate) bounds: Bounds,
    /// The most that one report of the task named so far.
    tokens: AtomicU64,
    micro_usd: AtomicU64,
}

/// The session and task that a message names, if they are open and its sender's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Live {
    pub(crate) dialogue: Option<Arc<Dialogue>>,
    pub(crate) task: Option<Arc<DialogueTask>>,
}

/// The session was not opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    /// Another session of this id is open.
    Taken,
    /// No more sessions can be remembered.
    Full,
}

/// A task of this id was begun before, and is still remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AlreadyBegun;

/// All open sessions.
pub(crate) struct Dialogues {
    each: usize,
    all: usize,
    tasks: usize,
    rows: Mutex<Rows>,
}

#[derive(Default)]
struct Rows {
    owners: HashMap<Arc<str>, Row>,
    /// The owner of each session.
    ids: HashMap<(Scope<'static>, String), Arc<str>>,
}

#[derive(Default)]
struct Row {
    dialogues: Vec<Arc<Dialogue>>,
    tasks: VecDeque<Arc<DialogueTask>>,
}

impl Dialogue {
    fn is_over(&self, now_ms: u64) -> bool {
        self.idle_ms(now_ms) >= self.life_ms
    }

    fn is(&self, scope: &Scope<'_>, id: &str) -> bool {
        self.id == id && self.scope == *scope
    }

    /// Milliseconds since its last use.
    pub(crate) fn idle_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(self.used_ms.load(Ordering::Relaxed))
    }

    /// Tokens that its tasks reported so far.
    pub(crate) fn tokens(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed)
    }

    /// The reported cost of its tasks so far, in millionths of a US dollar.
    pub(crate) fn micro_usd(&self) -> u64 {
        self.micro_usd.load(Ordering::Relaxed)
    }
}

impl DialogueTask {
    fn is(&self, scope: &Scope<'_>, id: &str) -> bool {
        self.id == id && self.dialogue.scope == *scope
    }

    /// Counts the reported use of a task against its session: of several reports the largest, since a result is repeated.
    pub(crate) fn report(&self, usage: Usage) {
        let more = |own: &AtomicU64, all: &AtomicU64, reported: Option<u64>| {
            let reported = reported.unwrap_or_default();
            let before = own.fetch_max(reported, Ordering::Relaxed);
            all.fetch_add(reported.saturating_sub(before), Ordering::Relaxed);
        };
        more(&self.tokens, &self.dialogue.tokens, usage.tokens);
        more(&self.micro_usd, &self.dialogue.micro_usd, usage.micro_usd);
    }
}

impl Dialogues {
    /// An empty memory with these bounds.
    pub(crate) fn new(limits: &InspectLimits) -> Self {
        let (each, all) = (limits.dialogues_of_one.max(1), limits.dialogues_of_all);
        Self { each, all, tasks: limits.dialogue_tasks.max(1), rows: Mutex::default() }
    }

    /// The session and task that a message names, if they are this owner's. A task leads to its session.
    pub(crate) fn live(&self, scope: &Scope<'_>, owner: &str, named: SessionRef<'_>, now_ms: u64) -> Live {
        let rows = self.locked();
        let Some(row) = rows.owners.get(owner) else { return Live::default() };
        let is_open = |one: &Arc<Dialogue>| !one.is_over(now_ms);
        let task = named.task.and_then(|id| {
            let own = |task: &&Arc<DialogueTask>| task.is(scope, id);
            row.tasks.iter().find(own).filter(|task| is_open(&task.dialogue)).cloned()
        });
        let dialogue = match named.session {
            Some(id) => {
                row.dialogues.iter().find(|one| one.is(scope, id)).filter(|one| is_open(one)).cloned()
            }
            None => task.as_ref().map(|task| Arc::clone(&task.dialogue)),
        };
        Live { dialogue, task }
    }

    /// Opens a session. The least recently used one of the same owner is forgotten beyond the owner's bound.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub(crate) fn open(
        &self,
        scope: &Scope<'_>,
        owner: &Arc<str>,
        id: &str,
        opening: Opening,
        now_ms: u64,
    ) -> Result<(), NotOpened> {
        let mut rows = self.locked();
        rows.forget_over(owner, now_ms);
        let key = (scope.kept(), id.to_owned());
        if let Some(other) = rows.ids.get(&key).cloned() {
            rows.forget_over(&other, now_ms);
            if rows.ids.contains_key(&key) {
                return Err(NotOpened::Taken);
            }
        }
        if rows.ids.len() >= self.all {
            let owners: Vec<_> = rows.owners.keys().cloned().collect();
            owners.iter().for_each(|owner| rows.forget_over(owner, now_ms));
        }
        if rows.ids.len() >= self.all {
            return Err(NotOpened::Full);
        }
        let Opening { mode, claim, life_ms } = opening;
        let dialogue = Arc::new(Dialogue {
            scope: scope.kept(),
            id: id.to_owned(),
            mode,
            claim,
            life_ms,
            used_ms: AtomicU64::new(now_ms),
            tokens: AtomicU64::new(0),
            micro_usd: AtomicU64::new(0),
        });
        rows.ids.insert(key, Arc::clone(owner));
        let row = rows.owners.entry(Arc::clone(owner)).or_default();
        row.dialogues.push(dialogue);
        if row.dialogues.len() > self.each {
            let oldest = row.dialogues.iter().min_by_key(|one| one.used_ms.load(Ordering::Relaxed)).cloned();
            oldest.iter().for_each(|oldest| rows.remove(owner, oldest));
        }
        Ok(())
    }

    /// Returns true if anybody has an open session of this id.
    pub(crate) fn is_open(&self, scope: &Scope<'_>, id: &str, now_ms: u64) -> bool {
        let rows = self.locked();
        let owner = rows.ids.get(&(scope.kept(), id.to_owned()));
        let row = owner.and_then(|owner| rows.owners.get(owner));
        row.is_some_and(|row| row.dialogues.iter().any(|one| one.is(scope, id) && !one.is_over(now_ms)))
    }

    /// Records the use of a session, which prolongs its life.
    pub(crate) fn touch(&self, dialogue: &Dialogue, now_ms: u64) {
        dialogue.used_ms.fetch_max(now_ms, Ordering::Relaxed);
    }

    /// Records a task that begins. The oldest one of the same owner is forgotten beyond the bound.
    ///
    /// # Errors
    /// [`AlreadyBegun`]: a second task of one id would be judged by the terms of the first.
    pub(crate) fn begin(
        &self,
        owner: &str,
        id: &str,
        dialogue: &Arc<Dialogue>,
        of: TaskTerms,
    ) -> Result<(), AlreadyBegun> {
        let mut rows = self.locked();
        let Some(row) = rows.owners.get_mut(owner) else { return Ok(()) };
        if row.tasks.iter().any(|task| task.is(&dialogue.scope, id)) {
            return Err(AlreadyBegun);
        }
        let TaskTerms { echo, bounds } = of;
        let (dialogue, tokens, micro_usd) = (Arc::clone(dialogue), AtomicU64::new(0), AtomicU64::new(0));
        let task = DialogueTask { id: id.to_owned(), dialogue, echo, bounds, tokens, micro_usd };
        row.tasks.push_back(Arc::new(task));
        if row.tasks.len() > self.tasks {
            row.tasks.pop_front();
        }
        Ok(())
    }

    /// Closes a session and forgets its tasks.
    pub(crate) fn close(&self, owner: &str, dialogue: &Dialogue) {
        self.locked().remove(owner, dialogue);
    }

    /// Takes the lock, also after a panic: each change leaves whole rows.
    fn locked(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn remove(&mut self, owner: &str, dialogue: &Dialogue) {
        self.ids.remove(&(dialogue.scope.clone(), dialogue.id.clone()));
        let Some(row) = self.owners.get_mut(owner) else { return };
        row.dialogues.retain(|one| !one.is(&dialogue.scope, &dialogue.id));
        row.tasks.retain(|task| !task.dialogue.is(&dialogue.scope, &dialogue.id));
        if row.dialogues.is_empty() {
            self.owners.remove(owner);
        }
    }

    fn forget_over(&mut self, owner: &str, now_ms: u64) {
        let of = |row: &Row| row.dialogues.iter().filter(|one| one.is_over(now_ms)).cloned().collect();
        let over: Vec<_> = self.owners.get(owner).map(of).unwrap_or_default();
        over.iter().for_each(|one| self.remove(owner, one));
    }
}

impl fmt::Debug for Dialogues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} open sessions", self.locked().ids.len())
    }
}

#[cfg(test)]
mod tests;
