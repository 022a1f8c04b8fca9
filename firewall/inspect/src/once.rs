//! One request of MCP has one answer: whoever hands an answer to the caller takes the request before, and nobody takes it twice.
//!
//! The answer can come on the exchange of the request, on the stream of its session, or from the gateway as an error. All of them take the
//! same [`Proposal`], which every core shares.

use crate::{
    Code, Refusal, Remedy,
    turn::{Proposal, Side, Step},
};
use std::{collections::VecDeque, sync::Arc};

/// The right to answer one request. Requests outside of MCP have none, and may always be answered.
#[derive(Clone, Debug, Default)]
pub struct AnswerRight(Option<Arc<Proposal>>);

impl AnswerRight {
    /// The right to answer a request of MCP that has an id.
    pub(crate) fn new() -> Self {
        Self(Some(Proposal::new(Side::Caller, None)))
    }

    /// Takes the right for an answer that is handed on at once, such as an error of the gateway. False if the request was answered.
    pub fn take(&self) -> bool {
        let Ok(taken) = self.begin() else { return false };
        taken.iter().for_each(|step| step.delivered());
        true
    }

    /// Takes the right for an answer that may pass. It is given back if the step is dropped before its delivery.
    ///
    /// # Errors
    /// `malformed`, which is left out of a stream: the request was answered.
    pub(crate) fn begin(&self) -> Result<Option<Arc<Step>>, Refusal> {
        let answers = self.0.clone().map(Into::into);
        Step::begin(answers, || None).map_err(|_| withheld(ANSWERED))
    }

    /// Whether it can be taken now.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|request| request.is_open())
    }

    /// Whether the request was answered, and no stream that carried the answer can still give the right back.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.as_ref().is_none_or(|request| request.is_over() && Arc::strong_count(request) == 1)
    }
}

/// The reason of a second answer.
pub(crate) const ANSWERED: &str = "the request of this id was answered before";

/// An answer that is left out of its stream, which goes on.
pub(crate) fn withheld(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
        .with_hint("answer each request once, on its own exchange or on a stream that resumes it")
        .with_remedy(Remedy::Withhold)
}

/// Answers that one stream carried and that can still be undone.
const MOST: usize = 256;

/// The answers that a stream has carried. If the stream breaks, they may not have arrived, and can be handed on again by a stream that
/// resumes it. Otherwise [`Carried::arrived`] says that they did.
#[derive(Debug, Default)]
pub(crate) struct Carried(VecDeque<Arc<Step>>);

impl Carried {
    pub(crate) fn add(&mut self, answer: Option<Arc<Step>>) {
        self.0.extend(answer);
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    pub(crate) fn arrived(&mut self) {
        self.0.clear();
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.0.iter().for_each(|answer| answer.undelivered());
    }
}
