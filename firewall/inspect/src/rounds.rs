//! The round in which an undefined name is settled (F0-31): it is said and refused, its sender is asked which values it can have, says so
//! with `parameter_options`, and may use it from then on, in that session.

use crate::{
    Code, Direction, Refusal, Sent,
    case::{Case, Turn},
    clarify::{OPTIONS, PARAMETER},
    conform::{Origin, Said},
    learnt::{InSession, Learnt, meaning as write},
    resolve::Resolved,
    route::Undefined,
};
use semgate_contexts::{Context, Performative, Term, json::Json};
use semgate_message::{Binding, Instance, Message, Vocabulary, a2a::State};
use std::sync::Arc;

/// The member that names a task: nothing that is learnt is one.
const TASK: &str = "task";

/// What a message settles, if the agent behind takes it.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    pub name: String,
    context: Arc<Context>,
    session: InSession,
}

impl Meaning {
    /// Whether the two give one name different codes.
    fn is_against(&self, other: &Self) -> bool {
        self.name == other.name && self.context.digest() != other.context.digest()
    }
}

/// Whether names can be settled in this message: the route says so, and its session, which the lock proves, is what they belong to.
fn session(resolved: &Resolved<'_, '_>, instance: &Instance<'_>) -> Option<InSession> {
    let case = resolved.case();
    let own = instance.of == Vocabulary::Context && resolved.message().binding != Binding::Mcp;
    let may = case.route.options.undefined == Undefined::Disambiguate && own;
    may.then(|| resolved.session()).flatten()
}

/// What the two settled that a name means. Asked only where neither the context nor the control vocabulary defines it.
pub(crate) fn settled<'c>(
    resolved: &Resolved<'c, '_>,
    instance: &Instance<'_>,
) -> Option<(&'c Context, &'c Term, Origin)> {
    let session = session(resolved, instance).filter(|_| instance.naming != TASK)?;
    let (context, term) = resolved.case().settled.term(&session.id, instance.name)?;
    Some((context, term, Origin::Learnt))
}

/// The refusal of an undefined name, with the question that it is answered by where it can be settled.
pub(crate) fn ask(resolved: &Resolved<'_, '_>, instance: &Instance<'_>, refusal: Refusal) -> Refusal {
    let case = resolved.case();
    let Some(session) = session(resolved, instance).filter(|_| instance.naming != TASK) else {
        return refusal;
    };
    if case.direction == Direction::Reply || case.turn != Turn::First {
        return refusal;
    }
    // what no policy names could never pass; and a name of the shape of one, since it is told
    if case.generation.policies().names_learnt(instance.name).is_err() {
        return refusal;
    }
    let (of, now) = (parties(case), case.now.unix);
    if case.learnt.open(of, session, instance.name, now).is_none() {
        return refusal;
    }
    refusal.with_hint(format!(
        "settle it for this session: say which values it can have, by INFORM with `{OPTIONS}` of the parameter `{}`, and then say it again with the one member `value`",
        instance.name
    ))
    .with_asks(instance.name)
}

/// What an instance settles: options of a name that was asked about in this session, and that nothing signed defines.
///
/// # Errors
/// `content_invalid`: options that cannot be codes of a concept.
pub(crate) fn meaning(
    resolved: &Resolved<'_, '_>,
    said: &Said<'_>,
    instance: &Instance<'_>,
) -> Result<Option<Meaning>, Refusal> {
    let case = resolved.case();
    if said.term.name() != OPTIONS || case.direction == Direction::Reply {
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

/// What a message settles beside what it settled before.
///
/// # Errors
/// `content_invalid`: it gives one name different codes, and nobody could tell which of them the agent takes.
pub(crate) fn add(all: &mut Vec<Meaning>, meaning: Meaning, instance: &Instance<'_>) -> Result<(), Refusal> {
    if all.iter().any(|before| before.is_against(&meaning)) {
        let path = instance.pointer.join("/options");
        return Err(Refusal::new(Code::ContentInvalid, format!("`{path}` does not fit the rule `learnt`"))
            .with_hint("offer the codes of a name once in a message"));
    }
    all.push(meaning);
    Ok(())
}

/// The agent behind took the request: what it settles is settled. Until then nothing is, and its sender may settle it again.
pub(crate) fn teach(learnt: &Learnt, sent: &Sent, now: u64) {
    for meaning in &sent.settles {
        learnt.learn(pair(sent), meaning.session, &meaning.name, &meaning.context, now);
    }
}

/// Whether the agent behind took the options of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Took {
    Yes,
    /// The answer does not say so yet: its task is at work, or only a piece of it came.
    NotYet,
    No,
}

/// What an answer shows. Over A2A only a message, or a task that is completed or asks for more input, shows that the agent took anything: every other
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

/// An answer that passes says whether the agent took the request. What an earlier event of the stream settled is taken back where a
/// later one declines.
pub(crate) fn answered(case: &Case<'_>, sent: &Sent, message: &Message<'_>) {
    match took(message) {
        Took::Yes => teach(case.learnt, sent, case.now.unix),
        Took::NotYet => {}
        Took::No => {
            for meaning in &sent.settles {
                case.learnt.take_back(pair(sent), meaning.session, &meaning.name, &meaning.context);
            }
        }
    }
}

/// Who settles what a request settles: its route, its sender and its receiver.
fn pair(sent: &Sent) -> (&str, &str, &str) {
    (sent.route.name.as_str(), sent.caller.id(), sent.route.receiver.as_str())
}

fn parties<'c>(case: &Case<'c>) -> (&'c str, &'c str, &'c str) {
    (&case.route.name, case.sender.id(), case.receiver)
}
