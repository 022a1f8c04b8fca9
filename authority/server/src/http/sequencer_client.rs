//! Requests to the sequencer: a place in the queue, the request, and the head that covers the result.

use http::StatusCode;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::App;
use super::attempt::Attempt;
use super::author::Author;
use super::problem::{Code, Problem};
use crate::account::{Charge, Excess, Owner, ScarceResource};
use crate::submit::{Consent, Done, Job, Request};

/// The status of a new act, or of one that was done before.
pub(super) fn status_of(done: &Done) -> StatusCode {
    if done.fresh { StatusCode::CREATED } else { StatusCode::OK }
}

/// Charges a submission to the account of its author while it is under way. Past `limits.queue` of all, or past the share of this account,
/// the caller is answered `busy` at once.
pub(super) fn charge_submission(app: &App, author: &Author) -> Result<Charge, Problem> {
    let charge = app.accounts.charge(&Owner::verified(author.id()), ScarceResource::Submission);
    charge.map_err(|excess| match excess {
        Excess::Account => {
            Problem::new(Code::Busy, format_args!("too many submissions of `{}` are under way", author.id()))
        }
        Excess::All | Excess::Strangers => Problem::new(Code::Busy, "too many submissions are under way"),
    })
}

/// The size of the public log once its head covers an entry. The index runs ahead of the head by the time of a commit and of the witnesses.
pub(super) async fn wait_until_covered(app: &App, index: u64) -> Result<u64, Problem> {
    let mut public = app.public.clone();
    let covered = timeout(app.config.limits.answer_timeout, public.wait_for(|head| head.size > index)).await;
    match covered {
        Ok(Ok(head)) => Ok(head.size),
        Ok(Err(_)) => Err(Code::Stopping.into()),
        Err(_) => Err(Code::Unfinished.into()),
    }
}

/// Hands a request to the sequencer and waits for its head. Records the intention first. Without a second person's consent nothing new is
/// appended.
pub(super) async fn submit_and_wait(
    app: &App,
    attempt: &mut Attempt,
    request: Request,
    by: String,
    consent: Consent,
) -> Result<Done, Problem> {
    // a conflict appends nothing
    let intended = match (consent, &request) {
        (Consent::SecondMissing, _) | (_, Request::Conflict { .. }) => None,
        (Consent::Enough, _) => Some(attempt.intend()?),
    };
    let handed = hand_over(app, request, by, consent, intended)?;
    wait_for_answer(app, handed).await
}

/// A request handed to the sequencer, which may carry it out from now on.
pub(super) struct HandedOver(oneshot::Receiver<Result<Done, Problem>>);

/// Hands over a request whose intention is recorded under this number.
///
/// # Errors
/// The sequencer did not take it, and will do nothing.
pub(super) fn hand_over(
    app: &App,
    request: Request,
    by: String,
    consent: Consent,
    intended: Option<u64>,
) -> Result<HandedOver, Problem> {
    let (to, from) = oneshot::channel();
    app.submit.send(Job { request, by, consent, intended, answer: to })?;
    Ok(HandedOver(from))
}

/// Waits for the outcome.
///
/// # Errors
/// The refusal; or a timeout, after which the outcome is unknown.
pub(super) async fn wait_for_answer(app: &App, HandedOver(from): HandedOver) -> Result<Done, Problem> {
    match timeout(app.config.limits.answer_timeout, from).await {
        Ok(Ok(answered)) => answered,
        Ok(Err(_)) => Err(Code::Stopping.into()),
        Err(_) => Err(Code::Unfinished.into()),
    }
}
