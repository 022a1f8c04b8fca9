//! Permit of a reply or of one stream event.

use super::Counted;
use crate::{
    answer_right::Answer, arrived::Answered, facts::Facts, meter::Metered, shadow::Differs,
    stream::StreamState, turn::Step,
};
use bytes::Bytes;
use std::sync::Arc;

/// Permission to return one reply, or one stream event, to the caller, once.
#[derive(Debug)]
#[must_use = "a permit that is not spent forwards nothing"]
pub struct ReplyPermit {
    body: Bytes,
    status: u16,
    written: Written,
    facts: Facts,
    step: Option<Arc<Step>>,
    /// The answer right that this reply has taken. Dropping the permit unspent gives it back.
    answers: Option<Answer>,
}

/// Author of a reply's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The agent. The bytes are exactly those that were checked.
    ByAgent,
    /// The gateway: a filtered list, a redacted reply, or an answer in the agent's place.
    ///
    /// The bytes are JSON in the inspected form. A transport with another encoding has to convert them.
    ByGateway,
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

    /// The same reply, holding the right to answer its request.
    pub(crate) fn answering(mut self, answers: Option<Answer>) -> Self {
        self.answers = answers;
        self
    }

    /// The same reply, rewritten by the gateway without these members.
    pub(crate) fn redacted(mut self, members: Vec<String>) -> Self {
        self.written = Written::ByGateway;
        self.facts.redacted = members;
        self
    }

    /// The same reply, rewritten by the gateway without members removed before judgement.
    pub(crate) fn rewritten(self) -> Self {
        Self { written: Written::ByGateway, ..self }
    }

    /// The same reply with the shadow set's decision from its first judgement.
    pub(crate) fn with_shadow(mut self, shadow: Option<Box<Differs>>) -> Self {
        self.facts.shadow = shadow;
        self
    }

    /// The same reply, authored by the gateway in the agent's place.
    pub(crate) fn by_gateway(mut self) -> Self {
        self.written = Written::ByGateway;
        self.facts.said_by = Some("gateway");
        self
    }

    /// The agent's own status, always 2xx.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Author of the bytes.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Bytes to return, for a look before they are recorded and spent.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Facts for the audit record.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Gives the permit back for another one: its proposal step, the shadow set's decision, and the proof of
    /// counting.
    pub(crate) fn into_counted(self) -> (Option<Arc<Step>>, Option<Box<Differs>>, Counted) {
        (self.step, self.facts.shadow, Counted(()))
    }

    /// Spends the permit. Returns the status and the exact bytes that were checked; empty for an
    /// acknowledgement.
    ///
    /// The reply then answers its proposal. Dropping the permit reopens the proposal.
    pub fn spend(self) -> (u16, Bytes) {
        self.step.iter().for_each(|step| step.delivered());
        self.answers.iter().for_each(Answer::delivered);
        (self.status, self.body)
    }

    /// Spends the permit of one stream event. If the stream breaks, its answer may be delivered again.
    pub fn spend_on(self, stream: &mut StreamState) -> Bytes {
        stream.carries(self.answers.clone());
        self.spend().1
    }
}
