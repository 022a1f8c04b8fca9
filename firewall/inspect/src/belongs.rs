//! Whether what a message points at is its sender's, and which context it is about.

use crate::{
    Code, Delivered, Direction, Refusal, Sent,
    case::Case,
    generation::Named,
    owners::{About, Kind, NotOwned},
};
use semgate_message::{Message, Threads, a2a::Operation};
use std::{borrow::Cow, sync::Arc};

/// What a message points at. Empty, and nothing allocated, for most.
pub(crate) type Things<'m> = Vec<(Kind, Cow<'m, str>)>;

/// Everything that is named, tasks first.
pub(crate) fn things<'m>(threads: &Threads<'m>) -> Things<'m> {
    let mut all: Things<'m> = threads.tasks.iter().map(|id| (Kind::Task, Cow::Borrowed(*id))).collect();
    all.extend(threads.contexts.iter().map(|id| (Kind::Conversation, Cow::Borrowed(*id))));
    all.extend(threads.pushes.iter().map(|(task, id)| (Kind::Push, Cow::Owned(format!("{task}/{id}")))));
    all
}

/// The context that answers are judged under: that of the message, or of the task that it asks about.
///
/// # Errors
/// `not_found` for a task that is unknown or another's, and for a conversation that is another's: one answer for both.
pub(crate) fn belongs(case: &Case<'_>, message: &Message<'_>, named: &Named) -> Result<Arc<About>, Refusal> {
    match case.direction {
        Direction::Request => asked(case, message, named),
        Direction::Reply => told(case, message, named),
    }
}

fn asked(case: &Case<'_>, message: &Message<'_>, named: &Named) -> Result<Arc<About>, Refusal> {
    let (route, sender) = (case.route.name.as_str(), case.sender.id());
    let threads = &message.threads;
    in_session(case)?;
    if !case.route.options.keeps_callers_apart {
        for task in threads.tasks.iter().chain(threads.pushes.iter().map(|(task, _)| task)) {
            case.owners.of(route, sender, Kind::Task, task).map_err(|NotOwned| not_found())?;
        }
        let conversations: Vec<_> = threads.contexts.iter().map(|id| (Kind::Conversation, *id)).collect();
        if !conversations.is_empty() {
            case.owners.free(route, sender, &conversations).map_err(|NotOwned| not_found())?;
        }
    }
    match message.operation {
        Some(Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask) => {
            let about = threads.tasks.first().and_then(|task| case.owners.about(route, Kind::Task, task));
            Ok(about.or_else(|| by_default(case)).unwrap_or_else(|| Arc::clone(named.about())))
        }
        _ => Ok(Arc::clone(named.about())),
    }
}

/// Whether the session that a message of MCP names is its sender's.
///
/// # Errors
/// `not_found`, whether it is unknown, over, or another's.
pub(crate) fn in_session(case: &Case<'_>) -> Result<(), Refusal> {
    let session = case.call.mcp.as_deref().and_then(|head| head.session.as_deref());
    let Some(session) = session.filter(|_| !case.route.options.keeps_callers_apart) else { return Ok(()) };
    let of = case.owners.of(&case.route.name, case.sender.id(), Kind::Session, session);
    of.map(drop).map_err(|NotOwned| no_session())
}

/// What a task is about of which nothing is remembered: only an agent that keeps its callers apart can be asked about one.
pub(crate) fn by_default(case: &Case<'_>) -> Option<Arc<About>> {
    let urn = case.route.options.default_context.as_ref()?;
    Some(Arc::clone(case.generation.named(urn.as_str())?.about()))
}

/// An agent that names to one caller what is another's either lost track of its callers or leaks.
fn told(case: &Case<'_>, message: &Message<'_>, named: &Named) -> Result<Arc<About>, Refusal> {
    if let Some(sent) = case.answers {
        answers_what_was_asked(sent, message)?;
    }
    if !case.route.options.keeps_callers_apart {
        let things = things(&message.threads);
        if !things.is_empty() {
            let free = case.owners.free(&case.route.name, case.receiver, &things);
            free.map_err(|NotOwned| {
                not_found().with_detail("the reply names a task or conversation that another agent owns")
            })?;
        }
    }
    Ok(Arc::clone(named.about()))
}

/// F0-11: a read or a cancelling of one task is answered by that task.
fn answers_what_was_asked(sent: &Sent, message: &Message<'_>) -> Result<(), Refusal> {
    let one = matches!(
        sent.operation(),
        Some(Operation::GetTask | Operation::CancelTask | Operation::SubscribeToTask)
    );
    let asked = sent.threads.iter().find(|(kind, _)| *kind == Kind::Task);
    match asked {
        Some((_, id)) if one && !message.threads.tasks.contains(&id.as_str()) => Err(Refusal::new(
            Code::UpstreamInvalid,
            "the agent behind answered about another task than was asked about",
        )
        .with_hint("the message was delivered: do not send it again before you know what became of it")
        .with_delivered(Delivered::Yes)),
        _ => Ok(()),
    }
}

/// One text, whether there is no such thing or it is another's.
pub(crate) fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation of this id")
        .with_hint("name one that this agent has told you of, or begin a new one")
}

/// As MCP says it, for a session that is unknown, over, or another's.
fn no_session() -> Refusal {
    Refusal::new(Code::NotFound, "there is no such session").with_hint("initialize a new one")
}

/// After a request may pass: a conversation whose id the caller chose is the caller's from now on.
///
/// # Errors
/// `not_found` if somebody else was faster.
pub(crate) fn begin(case: &Case<'_>, message: &Message<'_>, about: &Arc<About>) -> Result<(), Refusal> {
    let sends = message.operation.is_some_and(Operation::sends);
    if !sends || message.threads.contexts.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = message.threads.contexts.iter().map(|id| (Kind::Conversation, *id)).collect();
    keep(case, case.sender.key(), &all, about)
}

/// After a reply may pass: what it names that is nobody's is the caller's from now on, under the context of the request.
///
/// # Errors
/// `not_found` if somebody else was faster.
pub(crate) fn take(
    case: &Case<'_>,
    sent: &Sent,
    things: &Things<'_>,
    about: &Arc<About>,
) -> Result<(), Refusal> {
    if sent.operation() == Some(Operation::DeleteTaskPushNotificationConfig) {
        for id in &sent.pushes {
            case.owners.forget(&case.route.name, Kind::Push, id);
        }
    }
    if things.is_empty() { Ok(()) } else { keep(case, sent.caller.key(), things, about) }
}

fn keep<S: AsRef<str>>(
    case: &Case<'_>,
    owner: &Arc<str>,
    things: &[(Kind, S)],
    about: &Arc<About>,
) -> Result<(), Refusal> {
    let route = case.route.name.as_str();
    let protocol = case.generation.protocol_urn(case.route.binding);
    if case.route.options.keeps_callers_apart {
        case.owners.learn(route, owner, things, about, protocol);
        return Ok(());
    }
    case.owners.claim(route, owner, things, about, protocol).map_err(|NotOwned| not_found())
}
