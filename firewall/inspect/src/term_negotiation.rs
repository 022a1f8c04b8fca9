//! Negotiation of an undefined name (F0-31). The name is refused, and its sender is asked for the possible
//! values. The sender answers with `parameter_options`, and may then use the name in that session.

use crate::{
    Code, Direction, Refusal, Sent,
    clarify::{OPTIONS, PARAMETER},
    conform::{Definition, Origin},
    inspection::{Inspection, Turn},
    negotiated_terms::{InSession, NegotiatedTerms, Parties, meaning as write},
    resolve::Resolved,
    route::Undefined,
};
use semgate_contexts::{Context, Performative, Term, json::Json};
use semgate_protocol::{Instance, Message, Vocabulary, a2a::State};
use std::sync::Arc;

/// The member that names a task. Negotiated terms are never tasks.
const TASK: &str = "task";

/// A term that a message settles if the upstream agent accepts it.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    pub name: String,
    context: Arc<Context>,
    session: InSession,
}

impl Meaning {
    /// Returns true if the two give different codes to one name.
    fn is_against(&self, other: &Self) -> bool {
        self.name == other.name && self.context.digest() != other.context.digest()
    }
}

/// The session for negotiating this instance, which the lock proves. None if the route does not allow it.
fn session(resolved: &Resolved<'_, '_>, instance: &Instance<'_>) -> Option<InSession> {
    let case = resolved.case();
    let own = instance.of == Vocabulary::Context && !case.protocol().traits().calls_tools;
    let may = case.route.options.undefined == Undefined::Disambiguate && own;
    may.then(|| resolved.session()).flatten()
}

/// The settled definition of a name. Used only if neither the context nor the control vocabulary defines it.
pub(crate) fn settled<'c>(
    resolved: &Resolved<'c, '_>,
    instance: &Instance<'_>,
) -> Option<(&'c Context, &'c Term, Origin)> {
    let session = session(resolved, instance).filter(|_| instance.naming != TASK)?;
    let (context, term) = resolved.case().settled.term(&session.id, instance.name)?;
    Some((context, term, Origin::Learnt))
}

/// The refusal of an undefined name, with the question to settle it if that is possible.
pub(crate) fn ask(resolved: &Resolved<'_, '_>, instance: &Instance<'_>, refusal: Refusal) -> Refusal {
    let case = resolved.case();
    let Some(session) = session(resolved, instance).filter(|_| instance.naming != TASK) else {
        return refusal;
    };
    if case.direction == Direction::Reply || case.turn != Turn::First {
        return refusal;
    }
    // a name outside every policy could never pass; the answer repeats the name, so its form is checked
    if case.generation.policies().names_learnt(instance.name).is_err() {
        return refusal;
    }
    let (of, now) = (parties(case), case.now.unix);
    if case.state.negotiated_terms.open(of, session, instance.name, now).is_none() {
        return refusal;
    }
    refusal.with_hint(format!(
        "define it for this session: send INFORM with `{OPTIONS}` to list the values of the parameter `{}`, then send it again with the one member `value`",
        instance.name
    ))
    .with_asks(instance.name)
}

/// The term that an instance settles: options of a name that was asked about in this session and has no
/// signed definition.
///
/// # Errors
/// `content_invalid`: the options cannot be codes of a concept.
pub(crate) fn meaning(
    resolved: &Resolved<'_, '_>,
    definition: &Definition<'_>,
    instance: &Instance<'_>,
) -> Result<Option<Meaning>, Refusal> {
    let case = resolved.case();
    if definition.term.name() != OPTIONS || case.direction == Direction::Reply {
        return Ok(None);
    }
    let name = instance.object.get(PARAMETER).and_then(Json::as_str);
    let (Some(session), Some(name)) = (session(resolved, instance), name) else { return Ok(None) };
    if case.settled.asks(&session.id, name).is_none() {
        return Ok(None);
    }
    let options = instance.object.get("options").and_then(Json::as_array).unwrap_or_default();
    let options: Vec<&str> = options.iter().filter_map(Json::as_str).collect();
    let path = instance.pointer.join("/options");
    let context = write(name, &options, case.generation.prefix(), &path)?;
    Ok(Some(Meaning { name: name.to_owned(), context, session }))
}

/// Adds a term to those of the message.
///
/// # Errors
/// `content_invalid`: the message gives one name different codes, so the agent's choice would be unknown.
pub(crate) fn add(all: &mut Vec<Meaning>, meaning: Meaning, instance: &Instance<'_>) -> Result<(), Refusal> {
    if all.iter().any(|before| before.is_against(&meaning)) {
        let path = instance.pointer.join("/options");
        return Err(Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `learnt`"))
            .with_hint("offer the codes of a name once in a message"));
    }
    all.push(meaning);
    Ok(())
}

/// Settles the terms of a request that the upstream agent accepted. Until then its sender may still change
/// them.
pub(crate) fn teach(learnt: &NegotiatedTerms, sent: &Sent, now: u64) {
    for meaning in &sent.settles {
        learnt.learn(pair(sent), meaning.session, &meaning.name, &meaning.context, now);
    }
}

/// The agent's reaction to the options of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Took {
    Yes,
    /// Undecided: the task is still at work, or only a part of the answer came.
    NotYet,
    No,
}

/// The reaction that an answer shows.
///
/// Over A2A only a message, or a task that is completed or requires input, proves acceptance. Every other
/// task may still be rejected, or is.
fn took(message: &Message<'_>) -> Took {
    if matches!(message.performative, Performative::Refuse | Performative::Reject) {
        return Took::No;
    }
    match message.state {
        Some(State::Rejected | State::Failed | State::Canceled) => Took::No,
        Some(State::Submitted | State::Working | State::AuthRequired | State::Unknown) => Took::NotYet,
        Some(State::Completed | State::InputRequired) => Took::Yes,
        None if message.chunk.is_some() => Took::NotYet,
        None => Took::Yes,
    }
}

/// Settles or reopens the request's terms, by the reaction in a permitted answer. A later event that declines
/// undoes an earlier acceptance.
pub(crate) fn answered(case: &Inspection<'_>, sent: &Sent, message: &Message<'_>) {
    match took(message) {
        Took::Yes => teach(&case.state.negotiated_terms, sent, case.now.unix),
        Took::NotYet => {}
        Took::No => {
            for meaning in &sent.settles {
                case.state.negotiated_terms.take_back(
                    pair(sent),
                    meaning.session,
                    &meaning.name,
                    &meaning.context,
                );
            }
        }
    }
}

fn pair(sent: &Sent) -> Parties<'_> {
    Parties { route: &sent.route.name, sender: sent.caller.id(), receiver: &sent.route.receiver }
}

fn parties<'c>(case: &Inspection<'c>) -> Parties<'c> {
    Parties { route: &case.route.name, sender: case.sender.id(), receiver: case.receiver }
}
