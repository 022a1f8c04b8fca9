//! Effects of a permitted message on the state: conversations, proposals, ownership and settled terms.

use crate::{
    Refusal, Sent,
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
use semgate_protocol::{OwnThread, Turns};
use std::sync::Arc;

/// Records the conversation and the proposal that a permitted request begins. Takes the proposal or question
/// that it answers.
pub(crate) fn begun(case: &Inspection<'_>, metered: &Metered<'_, '_>) -> Result<Option<Arc<Step>>, Refusal> {
    let resolved = metered.decided().resolved();
    let message = resolved.message();
    begin(case, message, resolved.about()).map_err(|refusal| refusal.with_facts(metered.facts()))?;
    let nothing = || answers_nothing(case).with_facts(metered.facts());
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
