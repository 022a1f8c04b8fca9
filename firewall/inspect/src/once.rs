//! One request of MCP has one answer: whoever hands an answer to the caller takes the request before, and nobody takes it twice.
//!
//! The answer can come on the exchange of the request, on the stream of its session, or from the gateway as an error. All of them take the
//! same [`Proposal`], which every core shares.

use crate::{
    Code, Refusal, Remedy,
    turn::{Proposal, Side, Step},
};
use semgate_contexts::Digest;
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};

/// One request and its answer.
#[derive(Debug)]
struct Request {
    open: Arc<Proposal>,
    /// The answer that was handed on first. After a stream broke, no other passes.
    first: OnceLock<Digest>,
}

/// The right to answer one request. Requests outside of MCP have none, and may always be answered.
#[derive(Clone, Debug, Default)]
pub struct AnswerRight(Option<Arc<Request>>);

impl AnswerRight {
    /// The right to answer a request of MCP that has an id.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::new(Request { open: Proposal::new(Side::Caller, None), first: OnceLock::new() })))
    }

    /// Takes the right for an error of the gateway, which is handed on at once. False if the request was answered, also where the stream of
    /// its answer broke.
    pub fn take(&self) -> bool {
        if self.0.as_ref().is_some_and(|request| request.first.get().is_some()) {
            return false;
        }
        let Ok(taken) = self.begin(Digest::of(b"")) else { return false };
        taken.iter().for_each(Answer::delivered);
        true
    }

    /// Takes the right for an answer that may pass, by the digest of its bytes. It is given back if the answer is dropped before its delivery.
    ///
    /// # Errors
    /// `malformed`, which is left out of a stream: the request was answered, or is answered differently than before.
    pub(crate) fn begin(&self, said: Digest) -> Result<Option<Answer>, Refusal> {
        let Some(request) = &self.0 else { return Ok(None) };
        if request.first.get().is_some_and(|first| *first != said) {
            return Err(withheld(ANSWERED));
        }
        let step = Step::begin(Some(Arc::clone(&request.open).into()), || None);
        let step = step.map_err(|_| withheld(ANSWERED))?;
        Ok(step.map(|step| Answer { step, request: Arc::clone(request), said }))
    }

    /// True if it can be taken now.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|request| request.open.is_open())
    }

    /// Whether the request was answered, and no stream that carried the answer can still give the right back.
    pub(crate) fn is_settled(&self) -> bool {
        self.0.as_ref().is_none_or(|request| {
            request.open.is_over() && Arc::strong_count(request) == 1 && Arc::strong_count(&request.open) == 1
        })
    }
}

/// An answer that has taken the right to its request.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    step: Arc<Step>,
    request: Arc<Request>,
    said: Digest,
}

impl Answer {
    /// The answer is handed on.
    pub(crate) fn delivered(&self) {
        let _ = self.request.first.set(self.said);
        self.step.delivered();
    }

    /// The stream that carried it broke: the same answer may be handed on again.
    fn undelivered(&self) {
        self.step.undelivered();
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

/// The answers that a stream has carried. If the stream breaks, they may not have arrived: the same bytes can be handed on again by a stream
/// that resumes it, and no others. Otherwise [`Carried::arrived`] says that they did.
#[derive(Debug, Default)]
pub(crate) struct Carried(VecDeque<Answer>);

impl Carried {
    pub(crate) fn add(&mut self, answer: Option<Answer>) {
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
        self.0.iter().for_each(Answer::undelivered);
    }
}
