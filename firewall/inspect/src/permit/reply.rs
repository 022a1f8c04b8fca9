//! The permit of a reply or of one event of a stream.

use super::Counted;
use crate::{
    arrived::Answered, facts::Facts, meter::Metered, once::Answer, shadow::Differs, stream::StreamState,
    turn::Step,
};
use bytes::Bytes;
use std::sync::Arc;

/// Leave to hand one reply, or one event of a stream, back to the caller, once.
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub struct ReplyPermit {
    body: Bytes,
    status: u16,
    written: Written,
    facts: Facts,
    step: Option<Arc<Step>>,
    /// The right to answer that this reply has taken. It is given back if the permit is dropped unspent.
    answers: Option<Answer>,
}

/// Whose bytes a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The agent's, exactly as they were checked.
    ByAgent,
    /// The gateway's: a list without what is not the caller's, a reply without what a policy redacts, or an answer in the agent's place, as JSON in the form that is judged. A transport that carries
    /// something else has to write it in its own form.
    Anew,
}

impl ReplyPermit {
    pub(crate) fn of(
        metered: &Metered<'_, '_>,
        status: u16,
        answered: &Answered,
        step: Option<Arc<Step>>,
    ) -> Self {
        let facts = metered.facts();
        Self { body: answered.body.clone(), status, written: Written::ByAgent, facts, step, answers: None }
    }

    pub(crate) fn acknowledge(facts: Facts, status: u16) -> Self {
        Self { body: Bytes::new(), status, written: Written::ByAgent, facts, step: None, answers: None }
    }

    pub(crate) fn listed(facts: Facts, status: u16, body: Bytes, written: Written) -> Self {
        Self { body, status, written, facts, step: None, answers: None }
    }

    /// The same reply, which has taken the right to answer its request.
    pub(crate) fn answering(mut self, answers: Option<Answer>) -> Self {
        self.answers = answers;
        self
    }

    /// The same reply, whose bytes the gateway wrote anew without these members.
    pub(crate) fn redacted(mut self, members: Vec<String>) -> Self {
        self.written = Written::Anew;
        self.facts.redacted = members;
        self
    }

    /// The same reply, whose bytes the gateway wrote without members that were taken out before it was judged.
    pub(crate) fn rewritten(self) -> Self {
        Self { written: Written::Anew, ..self }
    }

    /// The same reply, of which the shadow set said this when it was first judged.
    pub(crate) fn beside(mut self, shadow: Option<Box<Differs>>) -> Self {
        self.facts.shadow = shadow;
        self
    }

    /// The same reply, which the gateway says in the agent's place.
    pub(crate) fn by_gateway(mut self) -> Self {
        self.written = Written::Anew;
        self.facts.said_by = Some("gateway");
        self
    }

    /// The agent's own status, always 2xx.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the bytes are the agent's or written anew.
    pub fn written(&self) -> Written {
        self.written
    }

    /// What will be handed back, to be looked at before it is recorded and spent.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// For the audit record.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Gives the permit back for another one: what it does to the turns, what the shadow set said of it, and that it was counted.
    pub(crate) fn into_counted(self) -> (Option<Arc<Step>>, Option<Box<Differs>>, Counted) {
        (self.step, self.facts.shadow, Counted(()))
    }

    /// Spends the permit: status, and the exact bytes that were checked (empty for an acknowledgement).
    /// A proposal that the reply answers is answered then, and open again if the permit is dropped instead.
    pub fn spend(self) -> (u16, Bytes) {
        self.step.iter().for_each(|step| step.delivered());
        self.answers.iter().for_each(Answer::delivered);
        (self.status, self.body)
    }

    /// Spends the permit of one event of a stream. The answer that it is can be handed on again if the stream breaks.
    pub fn spend_on(self, stream: &mut StreamState) -> Bytes {
        stream.carries(self.answers.clone());
        self.spend().1
    }
}
