//! One answer per MCP request. Each answer takes the request before it goes to the caller, and nothing takes
//! it twice.
//!
//! The answer can come on the request's own exchange, on its session's stream, or from the gateway as an
//! error. All of them take the same [`Proposal`], which all cores share.

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
    /// Digest of the first answer given to the caller. After a broken stream no other passes.
    first: OnceLock<Digest>,
}

/// The right to answer one request. Requests outside of MCP have no such right, and may always be answered.
#[derive(Clone, Debug, Default)]
pub struct AnswerRight(Option<Arc<Request>>);

impl AnswerRight {
    /// The right to answer an MCP request that has an id.
    pub(crate) fn new() -> Self {
        Self(Some(Arc::new(Request { open: Proposal::new(Side::Caller, None), first: OnceLock::new() })))
    }

    /// Takes the right for an error of the gateway, which goes to the caller at once. False if the request
    /// was answered, even on a stream that broke.
    pub fn take(&self) -> bool {
        if self.0.as_ref().is_some_and(|request| request.first.get().is_some()) {
            return false;
        }
        let Ok(taken) = self.begin(Digest::of(b"")) else { return false };
        taken.iter().for_each(Answer::delivered);
        true
    }

    /// Takes the right for a permitted answer, by the digest of its bytes. Dropping the answer before
    /// delivery gives the right back.
    ///
    /// # Errors
    /// `malformed`, which leaves the answer out of its stream: the request was answered, or got another
    /// answer before.
    pub(crate) fn begin(&self, digest: Digest) -> Result<Option<Answer>, Refusal> {
        let Some(request) = &self.0 else { return Ok(None) };
        if request.first.get().is_some_and(|first| *first != digest) {
            return Err(withheld(ANSWERED));
        }
        let step = Step::begin(Some(Arc::clone(&request.open).into()), || None);
        let step = step.map_err(|_| withheld(ANSWERED))?;
        Ok(step.map(|step| Answer { step, request: Arc::clone(request), digest }))
    }

    /// Returns true if the right can be taken now.
    pub(crate) fn is_open(&self) -> bool {
        self.0.as_ref().is_none_or(|request| request.open.is_open())
    }

    /// Returns true if the request was answered, and no stream that carried the answer can still give the
    /// right back.
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
    digest: Digest,
}

impl Answer {
    /// Marks the answer as delivered.
    pub(crate) fn delivered(&self) {
        let _ = self.request.first.set(self.digest);
        self.step.delivered();
    }

    /// Reopens the request after the stream broke: the same answer may be delivered again.
    fn undelivered(&self) {
        self.step.undelivered();
    }
}

/// Reason for refusing a second answer.
pub(crate) const ANSWERED: &str = "the request with this id is already answered";

/// The refusal that leaves an answer out of its stream. The stream goes on.
pub(crate) fn withheld(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
        .with_hint("answer each request once, on its own exchange or on a stream that resumes it")
        .with_remedy(Remedy::Withhold)
}

/// Maximum number of answers on one stream that can still be undone.
const MOST: usize = 256;

/// Answers that a stream has carried.
///
/// If the stream breaks, they may not have arrived: a resuming stream may deliver the same bytes again, and
/// no others. [`Carried::arrived`] confirms them.
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
