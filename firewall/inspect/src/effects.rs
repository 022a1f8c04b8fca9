//! Effects of a permitted message on the state: conversations, proposals, ownership and settled terms.

use crate::{
    Code, LONGEST_SESSION, Refusal, Sent,
    dialogues::{AlreadyBegun, NotOpened, Opening, SessionClaim, TaskTerms},
    inspection::Inspection,
    mcp_session::NotOpen,
    meter::Metered,
    ownership::{begin, take, told_of},
    parse::{answers_nothing, asked_at},
    push,
    resolve::{Resolved, has_turns, out_of_turn, side},
    term_negotiation,
    turn::{Between, Proposal, Step, proposes, same},
};
use semgate_protocol::{Echo, Message, OwnThread, PayloadMode, SessionStep, Turns};
use std::sync::Arc;

/// Records the conversation and the proposal that a permitted request begins. Takes the proposal or question
/// that it answers.
pub(crate) fn begun(case: &Inspection<'_>, metered: &Metered<'_, '_>) -> Result<Option<Arc<Step>>, Refusal> {
    let resolved = metered.decided().resolved();
    let message = resolved.message();
    begin(case, message, resolved.about()).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    let nothing = || answers_nothing(case).with_facts(metered.facts());
    speaks(case, message).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    let question = message.answers.as_ref().map(|id| case.state.mcp_sessions.question(asked_at(case), id));
    let question = question.transpose().map_err(|NotOpen| nothing())?;
    let step = match &question {
        // taken until delivery, so nobody else can answer; open again if delivery fails
        Some(question) => Step::begin(Some(Arc::clone(question).into()), || None).map_err(|_| nothing())?,
        None => step(case, resolved).map_err(|refusal| refusal.with_facts(metered.facts()))?,
    };
    if let Some(made) = step.as_deref().and_then(Step::makes) {
        opens(case, message.threads.own, made);
    }
    Ok(step)
}

/// Records everything that a permitted reply tells the caller. Takes the proposal that it answers.
pub(crate) fn taken(
    case: &Inspection<'_>,
    sent: &Sent,
    metered: &Metered<'_, '_>,
) -> Result<Option<Arc<Step>>, Refusal> {
    let resolved = metered.decided().resolved();
    let message = resolved.message();
    let things = told_of(sent, &message.threads);
    let step = take(case, sent, &things, resolved.about())
        .and_then(|()| step(case, resolved))
        .map_err(|refusal| refusal.with_facts(metered.facts()))?;
    if let SessionStep::Accept { id, mode } = message.dialogue.step {
        accepted(case, sent, id, mode).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    }
    term_negotiation::answered(case, sent, message);
    if let Some(token) = &sent.delivery {
        push::bind(case, token, message).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    }
    let own = message.threads.own;
    match (step.as_deref().and_then(Step::makes), sent.step.as_deref().and_then(Step::makes)) {
        (Some(made), _) => {
            let own = if own == OwnThread::default() { sent.own() } else { own };
            opens(case, own, made);
        }
        // the request's proposal is also known under the ids that its answer names
        (None, Some(made)) => case.state.owners.attach(&case.route.scope(), own, made),
        (None, None) => {}
    }
    Ok(step)
}

/// Records what a permitted request does in its session.
///
/// # Errors
/// `malformed` for the id of a task that was begun before.
fn speaks(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let Some(dialogue) = case.live.and_then(|live| live.dialogue.as_ref()) else { return Ok(()) };
    let (dialogues, owner) = (&case.state.dialogues, case.sender.id());
    dialogues.touch(dialogue, case.now.monotonic_ms);
    match &message.dialogue.step {
        SessionStep::Submit(submission) => {
            let echo = case.echo.map(|echo| Echo::clone(echo)).unwrap_or_default();
            let terms = TaskTerms { echo, bounds: submission.bounds.unwrap_or_default() };
            dialogues.begin(owner, submission.task, dialogue, terms).map_err(|AlreadyBegun| {
                Refusal::new(Code::Malformed, "a task of this id was begun before")
                    .with_hint("give each task an id of its own")
            })?;
        }
        SessionStep::Close => dialogues.close(owner, dialogue),
        _ => {}
    }
    Ok(())
}

/// Opens the session that the upstream agent accepts.
///
/// # Errors
/// `upstream_invalid` for the id of another open session. `rate_limited` if no more sessions can be remembered.
fn accepted(case: &Inspection<'_>, sent: &Sent, id: &str, mode: PayloadMode) -> Result<(), Refusal> {
    let Some(proposed) = &sent.proposed else { return Ok(()) };
    let longest = case.route.options.dialogue.session_seconds.min(LONGEST_SESSION);
    let life_ms = proposed.ttl.unwrap_or(longest).min(longest).saturating_mul(1_000);
    let claim = proposed.claims.clone().map(|lock| SessionClaim { about: Arc::clone(&sent.about), lock });
    let opening = Opening { mode, claim, life_ms };
    let (scope, owner) = (case.route.scope(), sent.caller.key());
    case.state.dialogues.open(&scope, owner, id, opening, case.now.monotonic_ms).map_err(|why| match why {
        NotOpened::Taken => Refusal::new(
            Code::UpstreamInvalid,
            "the upstream agent accepts a session under an id that is taken",
        )
        .with_hint("propose another session"),
        NotOpened::Full => Refusal::new(Code::RateLimited, "too many sessions are open here")
            .with_hint("close sessions that are no longer used"),
    })
}

/// The proposal step of a message.
fn step(case: &Inspection<'_>, resolved: &Resolved<'_, '_>) -> Result<Option<Arc<Step>>, Refusal> {
    let (message, named) = (resolved.message(), resolved.named());
    let proposes = proposes(message.performative) && has_turns(case, message, named);
    let make = || match case.protocol().traits().turns {
        Turns::Pairs => {
            let proposal = Proposal::named(side(case), message.message_id, same(message));
            let between =
                Between { by: case.sender.id(), to: case.receiver, line: named.urn().line().as_str() };
            case.state.owners.pairs().propose(between, proposal)
        }
        Turns::Threads => Proposal::new(side(case), message.threads.own.task),
    };
    // the first of several concurrent answers takes it; the others are not moved to another proposal
    Step::begin(resolved.answers().cloned(), || proposes.then(make)).map_err(|why| out_of_turn(message, why))
}

/// Lets the other side answer the proposal under its task and conversation. Bindings without conversations
/// need no such step.
fn opens(case: &Inspection<'_>, own: OwnThread<'_>, made: &Arc<Proposal>) {
    case.state.owners.propose(&case.route.scope(), own, made);
}
