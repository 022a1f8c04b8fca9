//! A stream of events: each is judged like a reply, as it passes. Appended text is judged with the text of its artifact so far.

mod artifact_texts;

pub(crate) use artifact_texts::{TEXT, TextReceipt, TextUpdates};

use crate::{
    Code, Delivered, Inspector, Now, Peer, Refusal, ReplyPermit, Sent,
    arrived::Answered,
    belongs::in_session,
    case::{Case, Turn},
    decide::Decided,
    inspector::{judged, same_agent, taken},
    meter::meter,
    once::{Answer, Carried},
    parse::{Reply, read, reply},
    redact, removal,
    reply::refused,
    resolve::still_stands,
    subscriptions, tools,
};
use artifact_texts::ArtifactTexts;
use semgate_contexts::Performative;
use semgate_message::{Binding, Message, a2a::State};

/// What is remembered of one stream while it runs. It is made by [`Inspector::stream`] and ends with the stream.
#[derive(Debug, Default)]
pub struct StreamState {
    task: Option<String>,
    /// The second at which the lock ends that the request was judged under.
    locked_until: Option<u64>,
    end: End,
    texts: ArtifactTexts,
    /// Something came: in MCP on the stream of a subscription, in native L8 on any.
    begun: bool,
    carried: Carried,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// A message came, or the task ended, and nothing may follow.
    Over,
}

impl StreamState {
    /// Judges the text that a notification appends.
    ///
    /// # Errors
    /// As an event of a stream.
    pub(crate) fn judge_texts(&self, decided: &Decided<'_, '_>) -> Result<TextUpdates, Refusal> {
        self.texts.judge(decided)
    }

    /// Judges the text of a notification again that passed before.
    ///
    /// # Errors
    /// As an event of a stream.
    pub(crate) fn judge_texts_again(&self, decided: &Decided<'_, '_>) -> Result<(), Refusal> {
        self.texts.judge_again(decided)
    }

    /// Records that a notification may leave. It may come again, and after the end of the task too, so it ends nothing. Nothing is
    /// appended to its text until [`StreamState::settle`].
    pub(crate) fn notified(&mut self, updates: TextUpdates, most: usize) -> TextReceipt {
        self.texts.post(updates, most)
    }

    /// This answer was handed to the caller on the stream.
    pub(crate) fn carries(&mut self, answer: Option<Answer>) {
        self.carried.add(answer);
    }

    /// The stream was handed to its caller to the end: no answer on it is handed on again. A stream that is dropped without this broke.
    pub fn arrived(&mut self) {
        self.carried.arrived();
    }

    /// Records the outcome of a notification.
    pub(crate) fn settle(&mut self, receipt: &TextReceipt, outcome: Delivered) {
        self.texts.settle(receipt, outcome);
    }

    /// Whether events may still pass: the context of the request still counts, neither end was disabled, the lock of the request lasts,
    /// and the session of MCP that the stream is in is not over. A gateway asks
    /// whenever the generation moves and at least once a second, so that a revocation ends streams that are silent too.
    ///
    /// # Errors
    /// As for a reply, with `delivered: yes`: the stream has to be ended by an error of its protocol.
    pub fn still_counts(
        &self,
        inspector: &Inspector,
        sent: &Sent,
        replier: &Peer,
        now: Now,
    ) -> Result<(), Refusal> {
        let generation = inspector.generation();
        let case = inspector.reply_case(&generation, sent, (replier, 0), now);
        let stands = still_stands(&case, sent)
            .and_then(|()| enabled(&case, sent))
            .and_then(|()| self.in_lock(now))
            .and_then(|()| in_session(&case));
        stands.map_err(|inner| {
            let facts = case.facts();
            refused(inner.with_facts(facts)).with_rpc_id(sent.rpc_id.clone())
        })
    }

    /// What is remembered of the stream that answers this.
    pub(crate) fn of(sent: &Sent) -> Self {
        Self { locked_until: sent.session.map(|session| session.until), ..Self::default() }
    }

    /// A lock ends what is said under it, whether or not the events hold it too.
    fn in_lock(&self, now: Now) -> Result<(), Refusal> {
        if self.locked_until.is_none_or(|until| now.unix < until) {
            return Ok(());
        }
        Err(Refusal::new(Code::LockMismatch, "the lock is over that the stream was asked for under")
            .with_hint("negotiate a new lock, and ask for the stream again"))
    }

    /// Whether the stream is over: nothing that comes after may pass.
    pub fn is_over(&self) -> bool {
        self.end == End::Over
    }

    /// Whether no event of a task and no message passed: a stream of A2A that ends so by an error of the agent began nothing.
    pub fn tells_nothing(&self) -> bool {
        self.task.is_none() && self.end == End::Open
    }

    /// Who may follow whom: one stream is about one task, and after a message or the end of the task nothing comes.
    fn follows(&self, sent: &Sent, message: &Message<'_>) -> Result<(), Refusal> {
        let fault = |reason: &str| {
            Err(Refusal::new(Code::Malformed, reason)
                .with_hint("a stream is about one task, or is one message"))
        };
        if self.end == End::Over {
            return fault("the stream goes on after its end");
        }
        let of = about_task(message);
        if of.is_none() && self.task.is_some() {
            return fault("a message comes in the stream of a task");
        }
        if let (Some(task), Some(before)) = (of, self.task.as_deref())
            && task != before
        {
            return fault("an event is about another task than the stream");
        }
        let subscribed = sent.operation() == Some(semgate_message::a2a::Operation::SubscribeToTask);
        let asked = sent.threads.iter().find(|(kind, _)| *kind == crate::Kind::Task);
        match (asked, of) {
            (Some((_, asked)), Some(task)) if subscribed && task != asked => {
                fault("an event is about another task than was asked about")
            }
            _ => Ok(()),
        }
    }

    /// The first message of a subscription of MCP says that it begins (2026-07-28 "Acknowledgment"), and no other does.
    fn begins(&mut self, sent: &Sent, ends: tools::Ends) -> Result<(), Refusal> {
        if !sent.listens() || sent.opens_session_stream() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        if ends == tools::Ends::Answer || first == (ends == tools::Ends::Waiting) {
            return Ok(());
        }
        Err(Refusal::new(Code::Malformed, "a subscription does not begin with its acknowledgement")
            .with_hint("acknowledge a subscription once, before anything else is told"))
    }

    fn said(&mut self, says: Performative) {
        self.begun = true;
        if says == Performative::Refuse {
            self.end = End::Over;
        }
    }

    fn passed(&mut self, message: &Message<'_>, updates: TextUpdates, most: usize) {
        match about_task(message) {
            Some(task) if self.task.is_none() => self.task = Some(task.to_owned()),
            Some(_) => {}
            None => self.end = End::Over,
        }
        if message.state.is_some_and(State::ends) {
            self.end = End::Over;
        }
        self.texts.keep(updates, most);
    }
}

/// The task that an event is about; none for a message outside of tasks.
pub(crate) fn about_task<'j>(message: &Message<'j>) -> Option<&'j str> {
    if let Some(chunk) = &message.chunk {
        return Some(chunk.task);
    }
    // a task or the status of one
    message.state.and(message.threads.own.task)
}

/// Neither end of an answer is disabled, which is asked of each: what says no concept is no question of the policies.
pub(crate) fn enabled(case: &Case<'_>, sent: &Sent) -> Result<(), Refusal> {
    let disabled = |id: &str| case.generation.policies().agent(id).is_some_and(|agent| agent.disabled);
    if disabled(sent.caller.id()) || disabled(case.sender.id()) {
        return Err(Refusal::new(Code::PolicyDenied, "an end of the exchange is disabled")
            .with_hint("ask the operator; the decision id finds the full record"));
    }
    Ok(())
}

impl Inspector {
    /// The beginning of the stream that answers a request.
    pub fn stream(&self, sent: &Sent) -> StreamState {
        StreamState::of(sent)
    }

    /// Whether one event may pass back to the caller. Each is judged under what is in force now, like a reply. Appended text
    /// is judged together with the text of its artifact so far on this stream; data is never appended.
    ///
    /// # Errors
    /// As [`Inspector::inspect_reply`]. The stream has to be ended by an error of its protocol; the events before stay said.
    pub fn inspect_event(
        &self,
        sent: &Sent,
        stream: &mut StreamState,
        replier: &Peer,
        event: impl Into<Answered>,
        now: Now,
    ) -> Result<ReplyPermit, Refusal> {
        let event = event.into();
        let generation = self.generation();
        let case = Case {
            turn: Turn::Event,
            ..self.reply_case(&generation, sent, (replier, event.judged.len()), now)
        };
        let outcome = same_agent(sent, replier, case.facts())
            .and_then(|facts| {
                let lasts = stream.in_lock(now).and_then(|()| enabled(&case, sent));
                lasts.map_err(|refusal| refusal.with_facts(facts))
            })
            .and_then(|()| self.judge_event(&case, sent, stream, &event));
        outcome.map_err(|inner| {
            if inner.is_by_agent() && stream.tells_nothing() {
                self.declined(sent);
            }
            // on the stream of a session an error can answer a request that was made before
            let id = inner.rpc_id().or(sent.rpc_id.as_ref()).cloned();
            refused(inner).with_rpc_id(id)
        })
    }

    fn judge_event(
        &self,
        case: &Case<'_>,
        sent: &Sent,
        stream: &mut StreamState,
        event: &Answered,
    ) -> Result<ReplyPermit, Refusal> {
        if case.route.binding == Binding::Mcp {
            in_session(case).map_err(|refusal| refusal.with_facts(case.facts()))?;
            let (permit, ends) = tools::judge(self, case, sent, 200, event)?;
            stream.begins(sent, ends).map_err(|refusal| refusal.with_facts(case.facts()))?;
            if ends == tools::Ends::Answer {
                stream.end = End::Over;
            }
            return Ok(permit);
        }
        if let Some(redacted) = redact::reply(case, sent, event)? {
            let case = &Case { before: &redacted.before, ..*case };
            let permit = self.judge_piece(case, sent, stream, &redacted.answered())?;
            return Ok(permit.redacted(redacted.members));
        }
        self.judge_piece(case, sent, stream, event)
    }

    fn judge_piece(
        &self,
        case: &Case<'_>,
        sent: &Sent,
        stream: &mut StreamState,
        event: &Answered,
    ) -> Result<ReplyPermit, Refusal> {
        let strict = read(case, &event.judged)?;
        if let Some(removed) = removal::of_agent(case, &strict) {
            let case = &Case { removed: &removed.pointers, ..*case };
            return self.judge_event(case, sent, stream, &removed.message).map(ReplyPermit::rewritten);
        }
        let Reply::Said(said) = reply(case, &strict)? else {
            return Err(Refusal::new(Code::Malformed, "an event is a list").with_facts(case.facts()));
        };
        let decided = judged(case, *said)?;
        let message = decided.resolved().message();
        let facts = || decided.facts();
        if case.route.binding == Binding::A2a {
            stream.follows(sent, message).map_err(|refusal| refusal.with_facts(facts()))?;
        }
        if case.route.binding == Binding::L8 {
            let turn = subscriptions::turn(sent, stream.begun, stream.is_over(), &decided);
            turn.map_err(|refusal| refusal.with_facts(facts()))?;
        }
        let updates = stream.texts.judge(&decided).map_err(|refusal| {
            // what refuses the whole text is not what let the piece pass
            if refusal.facts().policies.is_empty() { refusal.with_facts(facts()) } else { refusal }
        })?;
        let metered = meter(decided, self.meters())?;
        let step = taken(case, sent, &metered)?;
        let message = metered.decided().resolved().message();
        match case.route.binding {
            Binding::L8 => stream.said(message.performative),
            _ => stream.passed(message, updates, case.limits.appended_text),
        }
        Ok(ReplyPermit::of(&metered, 200, event, step))
    }
}
