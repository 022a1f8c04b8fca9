//! Ids of a client's requests in its sessions.
//!
//! A server tells its answers apart by id alone. A second request under an open id would get the first one's
//! answer, and would be judged by it. MCP 2025-11-25 "Requests" forbids it: an id MUST NOT have been used
//! before within the session.

use super::{PART, SessionKey};
use crate::{Code, Refusal};
use semgate_protocol::RpcId;
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering, fence},
    },
};

/// An id as servers see it: some store numbers as text, so `7` equals `"7"`.
pub(super) fn text(id: &RpcId) -> Cow<'_, str> {
    match id {
        RpcId::Text(text) => Cow::Borrowed(text),
        RpcId::Integer(number) => Cow::Owned(number.to_string()),
    }
}

/// Reason why an id cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotFree {
    /// Another request of the session uses it.
    Used,
    /// The limit of tracked open ids is reached.
    Full,
    /// The session is over.
    Over,
}

/// A request's hold on an id in a session. The id stays reserved while the request may still be sent, and
/// after it was sent.
#[derive(Debug, Default)]
pub(crate) struct Asking(AtomicU8);

const SENT: u8 = 1;
const NEVER: u8 = 2;

impl Asking {
    /// Marks the request as sent: it may reach the server from now on.
    pub(crate) fn sent(&self) {
        self.0.store(SENT, Ordering::Release);
    }

    /// Marks the request as never sent: no byte reached the server.
    pub(crate) fn never_sent(&self) {
        self.0.store(NEVER, Ordering::Release);
    }
}

#[derive(Debug)]
struct Used {
    asking: Arc<Asking>,
    /// Position of the answer among events and answers.
    answered: Option<u64>,
}

impl Used {
    fn is(&self) -> bool {
        let held = Arc::strong_count(&self.asking) > 1;
        // sees the last state that the other holder stored before it let go
        fence(Ordering::Acquire);
        match self.asking.0.load(Ordering::Acquire) {
            SENT => true,
            NEVER => false,
            _ => held,
        }
    }
}

#[derive(Debug, Default)]
struct Session {
    used: HashMap<Box<str>, Used>,
    /// Position in the order of use.
    last: u64,
    /// True if the agent keeps its callers apart, so the session cannot be ended here.
    apart: bool,
}

/// The request ids of one agent.
#[derive(Debug, Default)]
pub(super) struct Ids {
    of: HashMap<SessionKey, Session>,
    len: usize,
    answered: usize,
    bound: usize,
    turns: u64,
}

impl NotFree {
    /// The refusal of a server's request whose id cannot be taken.
    pub(crate) fn refusal(self) -> Refusal {
        if self != Self::Used {
            return Refusal::new(Code::RateLimited, "the server has more open requests than the gateway tracks")
                .with_hint("answer the earlier requests of the server; if none are left, ask the operator: too many agents have sessions here");
        }
        Refusal::new(Code::Malformed, "the server reuses the id of another open request")
            .with_hint("give each request of a session a unique id, as MCP requires")
    }
}

impl Ids {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn answered_ones(&self) -> usize {
        self.answered
    }

    pub(super) fn is_idle(&self) -> bool {
        self.len == self.answered
    }

    pub(super) fn bound(&mut self, bound: usize) {
        self.bound = bound;
    }

    pub(super) fn has_room(&self) -> bool {
        self.len < self.bound
    }

    pub(super) fn is_used(&self, key: &SessionKey, id: &RpcId) -> bool {
        let session = self.of.get(key);
        session.and_then(|session| session.used.get(&*text(id))).is_some_and(Used::is)
    }

    /// Returns true if the exchange of the request under this id is still open.
    pub(super) fn is_held(&self, key: &SessionKey, id: &RpcId) -> bool {
        let used = self.of.get(key).and_then(|session| session.used.get(&*text(id)));
        used.is_some_and(|used| Arc::strong_count(&used.asking) > 1)
    }

    /// Frees an id whose request was never sent, or was answered for good. `replayed` returns true if the
    /// answer can come again.
    pub(super) fn free(
        &mut self,
        key: &SessionKey,
        id: &RpcId,
        replayed: impl Fn(u64) -> bool,
    ) -> Result<(), NotFree> {
        let session = self.of.get(key);
        let Some(used) = session.and_then(|session| session.used.get(&*text(id))) else { return Ok(()) };
        if used.is() && used.answered.is_none_or(replayed) {
            return Err(NotFree::Used);
        }
        self.remove(key, &text(id));
        Ok(())
    }

    /// Takes a free id.
    pub(super) fn take(&mut self, key: SessionKey, id: &RpcId, apart: bool) -> Arc<Asking> {
        let asking = Arc::new(Asking::default());
        self.turns += 1;
        let session = self.of.entry(key).or_default();
        session.last = self.turns;
        session.apart |= apart;
        let used = Used { asking: Arc::clone(&asking), answered: None };
        session.used.insert(text(id).into(), used);
        self.len += 1;
        asking
    }

    /// Records the server's answer. With `at`, a resumed stream may bring the answer again.
    pub(super) fn answered(&mut self, key: &SessionKey, id: &RpcId, at: Option<u64>) {
        if at.is_none() {
            self.remove(key, &text(id));
            return;
        }
        let session = self.of.get_mut(key);
        if let Some(used) = session.and_then(|session| session.used.get_mut(&*text(id))) {
            self.answered += usize::from(used.answered.is_none());
            used.answered = at;
        }
    }

    /// Forgets an answered id.
    pub(super) fn forget(&mut self, key: &SessionKey, id: &RpcId) {
        let used = self.of.get(key).and_then(|session| session.used.get(&*text(id)));
        if used.is_some_and(|used| used.answered.is_some()) {
            self.remove(key, &text(id));
        }
    }

    /// Forgets an eighth of the answered ids, oldest first. Returns each session with the position of its
    /// last forgotten answer.
    pub(super) fn forget_answered(&mut self) -> Vec<(SessionKey, u64)> {
        let mut all: Vec<(u64, SessionKey, Box<str>)> = Vec::with_capacity(self.answered);
        for (key, session) in &self.of {
            let answered = session.used.iter().filter_map(|(id, used)| Some((used.answered?, id)));
            all.extend(answered.map(|(at, id)| (at, key.clone(), id.clone())));
        }
        all.sort_unstable_by_key(|(at, ..)| *at);
        all.truncate(all.len().div_ceil(PART));
        let mut until: HashMap<SessionKey, u64> = HashMap::new();
        for (at, key, id) in all {
            self.remove(&key, &id);
            until.insert(key, at);
        }
        until.into_iter().collect()
    }

    /// Forgets ids of requests that can no longer be sent.
    pub(super) fn forget_unsent(&mut self) {
        for session in self.of.values_mut() {
            session.used.retain(|_, used| used.is());
        }
        self.recount();
    }

    /// The least recently used other session that can be ended.
    pub(super) fn oldest_but(&self, key: &SessionKey) -> Option<&SessionKey> {
        let others = self.of.iter().filter(|(other, session)| *other != key && !session.apart);
        others.min_by_key(|(_, session)| session.last).map(|(other, _)| other)
    }

    pub(super) fn end(&mut self, key: &SessionKey) {
        if self.of.remove(key).is_some() {
            self.recount();
        }
    }

    fn recount(&mut self) {
        self.of.retain(|_, session| !session.used.is_empty());
        let used = || self.of.values().flat_map(|session| session.used.values());
        self.len = used().count();
        self.answered = used().filter(|used| used.answered.is_some()).count();
    }

    fn remove(&mut self, key: &SessionKey, id: &str) {
        let Some(session) = self.of.get_mut(key) else { return };
        if let Some(used) = session.used.remove(id) {
            self.len -= 1;
            self.answered -= usize::from(used.answered.is_some());
        }
        if session.used.is_empty() {
            self.of.remove(key);
        }
    }
}
