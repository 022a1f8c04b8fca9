//! Streams of events. Each event is judged like a reply as it passes. Appended text is judged together with
//! the text of its artifact so far.

mod artifact_texts;

pub(crate) use artifact_texts::{TEXT, TextReceipt, TextUpdates};

use crate::{
    Code, Delivered, Inspector, Now, Peer, Refusal, ReplyPermit, Sent,
    answer_right::{Answer, Carried},
    arrived::Answered,
    decide::Decided,
    effects::taken,
    inspection::{Inspection, Turn},
    meter::meter,
    ownership::in_session,
    parse::{read, reply},
    redact, removal,
    reply::{refused, same_agent},
    resolve::still_stands,
    stages::judged,
    subscriptions, tools,
};
use artifact_texts::ArtifactTexts;
use semgate_contexts::Performative;
use semgate_protocol::{Message, Reply, StreamRules, a2a::State};

/// State of one running stream. [`Inspector::stream`] creates it, and it ends with the stream.
#[derive(Debug, Default)]
pub struct StreamState {
    task: Option<String>,
    /// Second at which the lock of the request ends.
    locked_until: Option<u64>,
    end: End,
    texts: ArtifactTexts,
    /// True after the first message: on MCP subscription streams, and on all streams of native L8.
    begun: bool,
    carried: Carried,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum End {
    #[default]
    Open,
    /// A message came, or the task ended. Nothing may follow.
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

    /// Records a permitted notification. It may come again, even after the end of the task, so it ends nothing.
    /// Nothing is appended to its text until [`StreamState::settle`].
    pub(crate) fn notified(&mut self, updates: TextUpdates, most: usize) -> TextReceipt {
        self.texts.post(updates, most)
    }

    /// Records an answer delivered to the caller on the stream.
    pub(crate) fn carries(&mut self, answer: Option<Answer>) {
        self.carried.add(answer);
    }

    /// Confirms that the stream reached its caller to the end, so no answer on it is delivered again. A
    /// stream dropped without this call counts as broken.
    pub fn arrived(&mut self) {
        self.carried.arrived();
    }

    /// Records the outcome of a notification.
    pub(crate) fn settle(&mut self, receipt: &TextReceipt, outcome: Delivered) {
        self.texts.settle(receipt, outcome);
    }

    /// Checks that further events may pass. The request's context must be usable, both ends enabled, and the
    /// lock and MCP session in effect.
    ///
    /// Call it on every generation change, and at least once a second. A revocation then ends silent streams
    /// too.
    ///
    /// # Errors
    /// As for a reply, with `delivered: yes`. The stream must then end with an error of its protocol.
    pub fn still_counts(
        &self,
        inspector: &Inspector,
        sent: &Sent,
        replier: &Peer,
        now: Now,
    ) -> Result<(), Refusal> {
        let generation = inspector.generation();
        let case = Inspection::reply(inspector.setting(&generation, now), sent, replier, 0);
        let stands = still_stands(&case, sent)
            .and_then(|()| enabled(&case, sent))
            .and_then(|()| self.in_lock(now))
            .and_then(|()| in_session(&case));
        stands.map_err(|inner| {
            let facts = case.facts();
            refused(inner.with_facts(facts)).with_rpc_id(sent.rpc_id.clone())
        })
    }

    /// Initial state of the stream that answers this request.
    pub(crate) fn of(sent: &Sent) -> Self {
        Self { locked_until: sent.session.map(|session| session.until), ..Self::default() }
    }

    /// Refuses events after the end of the lock, even if they do not carry it.
    fn in_lock(&self, now: Now) -> Result<(), Refusal> {
        if self.locked_until.is_none_or(|until| now.unix < until) {
            return Ok(());
        }
        Err(Refusal::new(Code::LockMismatch, "the lock has ended, and the stream depends on it")
            .with_hint("negotiate a new lock, and ask for the stream again"))
    }

    /// Returns true if the stream is over: nothing more may pass.
    pub fn is_over(&self) -> bool {
        self.end == End::Over
    }

    /// Returns true if no message and no event of a task passed. An A2A stream that ends so with an agent
    /// error has begun nothing.
    pub fn tells_nothing(&self) -> bool {
        self.task.is_none() && self.end == End::Open
    }

    /// Checks the order of events: one stream is about one task, and nothing follows a message or the end of
    /// the task.
    fn follows(&self, sent: &Sent, message: &Message<'_>) -> Result<(), Refusal> {
        let fault = |reason: &str| {
            Err(Refusal::new(Code::Malformed, reason)
                .with_hint("a stream is about one task, or is one message"))
        };
        if self.end == End::Over {
            return fault("the stream continues after its end");
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
        let subscribed = sent.operation() == Some(semgate_protocol::a2a::Operation::SubscribeToTask);
        let asked = sent.threads.iter().find(|(kind, _)| *kind == crate::Kind::Task);
        match (asked, of) {
            (Some((_, asked)), Some(task)) if subscribed && task != asked => {
                fault("an event is about another task than the request names")
            }
            _ => Ok(()),
        }
    }

    /// Checks that an MCP subscription stream begins with its acknowledgement, and holds no other (2026-07-28
    /// "Acknowledgment").
    fn begins(&mut self, sent: &Sent, ends: tools::Ends) -> Result<(), Refusal> {
        if !sent.listens() || sent.opens_session_stream() {
            return Ok(());
        }
        let first = !std::mem::replace(&mut self.begun, true);
        if ends == tools::Ends::Answer || first == (ends == tools::Ends::Waiting) {
            return Ok(());
        }
        Err(Refusal::new(Code::Malformed, "a subscription does not begin with its acknowledgement")
            .with_hint("acknowledge a subscription once, before any other event"))
    }

    fn answered(&mut self, says: Performative) {
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

/// The task of an event; none for a message outside of tasks.
pub(crate) fn about_task<'j>(message: &Message<'j>) -> Option<&'j str> {
    if let Some(chunk) = &message.chunk {
        return Some(chunk.task);
    }
    // a task, or its status
    message.state.and(message.threads.own.task)
}

/// Checks that neither end is disabled. Answers without concepts pose no policy question, so every answer is
/// checked here.
pub(crate) fn enabled(case: &Inspection<'_>, sent: &Sent) -> Result<(), Refusal> {
    let disabled = |id: &str| case.generation.policies().agent(id).is_some_and(|agent| agent.disabled);
    if disabled(sent.caller.id()) || disabled(case.sender.id()) {
        return Err(Refusal::new(Code::PolicyDenied, "an agent of this exchange is disabled")
            .with_hint("ask the operator and quote the decision id"));
    }
    Ok(())
}

impl Inspector {
    /// Initial state of the stream that answers a request.
    pub fn stream(&self, sent: &Sent) -> StreamState {
        StreamState::of(sent)
    }

    /// Judges one event for the caller, under the generation in force, like a reply.
    ///
    /// Appended text is judged together with the text of its artifact so far on this stream. Data is never
    /// appended.
    ///
    /// # Errors
    /// As [`Inspector::inspect_reply`]. The stream must then end with an error of its protocol. Earlier
    /// events stay delivered.
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
        let case = Inspection::reply(self.setting(&generation, now), sent, replier, event.judged.len());
        let case = Inspection { turn: Turn::Event, ..case };
        let outcome = same_agent(sent, replier, case.facts())
            .and_then(|facts| {
                let lasts = stream.in_lock(now).and_then(|()| enabled(&case, sent));
                lasts.map_err(|refusal| refusal.with_facts(facts))
            })
            .and_then(|()| judge_event(&case, sent, stream, &event));
        outcome.map_err(|inner| {
            if inner.is_by_agent() && stream.tells_nothing() {
                self.declined(sent);
            }
            // on a session stream an error can answer an earlier request
            let id = inner.rpc_id().or(sent.rpc_id.as_ref()).cloned();
            refused(inner).with_rpc_id(id)
        })
    }
}

/// Judges the bytes of an event: without removed members and, if policies redact, without those.
fn judge_event(
    case: &Inspection<'_>,
    sent: &Sent,
    stream: &mut StreamState,
    event: &Answered,
) -> Result<ReplyPermit, Refusal> {
    if case.protocol().traits().stream == StreamRules::Server {
        in_session(case).map_err(|refusal| refusal.with_facts(case.facts()))?;
        let (permit, ends) = tools::judge(case, sent, 200, event)?;
        stream.begins(sent, ends).map_err(|refusal| refusal.with_facts(case.facts()))?;
        if ends == tools::Ends::Answer {
            stream.end = End::Over;
        }
        return Ok(permit);
    }
    if let Some(redacted) = redact::reply(case, sent, &event.judged)? {
        let case = &Inspection { before: &redacted.before, ..*case };
        let permit = judge_piece(case, sent, stream, &redacted.answered())?;
        return Ok(permit.redacted(redacted.members));
    }
    judge_piece(case, sent, stream, event)
}

fn judge_piece(
    case: &Inspection<'_>,
    sent: &Sent,
    stream: &mut StreamState,
    event: &Answered,
) -> Result<ReplyPermit, Refusal> {
    let strict = read(case, &event.judged)?;
    if let Some(removed) = removal::of_agent(case, &strict) {
        let case = &Inspection { removed: &removed.pointers, ..*case };
        return judge_event(case, sent, stream, &removed.message).map(ReplyPermit::rewritten);
    }
    let Reply::Message(message) = reply(case, &strict)? else {
        return Err(Refusal::new(Code::Malformed, "an event is a list").with_facts(case.facts()));
    };
    let decided = judged(case, *message)?;
    let message = decided.resolved().message();
    let facts = || decided.facts();
    let rules = case.protocol().traits().stream;
    if rules == StreamRules::Task {
        stream.follows(sent, message).map_err(|refusal| refusal.with_facts(facts()))?;
    }
    if rules == StreamRules::Messages {
        let turn = subscriptions::turn(sent, stream.begun, stream.is_over(), &decided);
        turn.map_err(|refusal| refusal.with_facts(facts()))?;
    }
    let updates = stream.texts.judge(&decided).map_err(|refusal| {
        // the policies that refuse the whole text did not permit the piece
        if refusal.facts().policies.is_empty() { refusal.with_facts(facts()) } else { refusal }
    })?;
    let metered = meter(decided, None)?;
    let step = taken(case, sent, &metered)?;
    let message = metered.decided().resolved().message();
    match rules {
        StreamRules::Messages => stream.answered(message.performative),
        _ => stream.passed(message, updates, case.state.limits.appended_text),
    }
    Ok(ReplyPermit::of(&metered, 200, event, step))
}
