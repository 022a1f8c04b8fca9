//! Ownership of the tasks, conversations and sessions that a message names, and the context that the message
//! is about.

use crate::{
    Code, Delivered, Direction, Refusal, Sent,
    generation::Named,
    input,
    inspection::Inspection,
    owners::{About, Kind, NotOwned, named},
};
use semgate_protocol::{Message, Page, Threads, a2a::Operation};
use std::{borrow::Cow, sync::Arc};

/// The things that a message names. Empty for most messages, without an allocation.
pub(crate) type Things<'m> = Vec<(Kind, Cow<'m, str>)>;

/// Everything that a message names, tasks first. A push configuration without a task belongs to `asked`, if
/// there is one.
pub(crate) fn things<'m>(threads: &Threads<'m>, asked: Option<&str>) -> Things<'m> {
    let mut all: Things<'m> = threads.tasks.iter().map(|id| (Kind::Task, Cow::Borrowed(*id))).collect();
    all.extend(threads.contexts.iter().map(|id| (Kind::Conversation, Cow::Borrowed(*id))));
    all.extend(threads.pushes.iter().filter_map(|(task, id)| {
        let task = Some(*task).filter(|task| !task.is_empty()).or(asked)?;
        Some((Kind::Push, Cow::Owned(named(task, id))))
    }));
    all
}

/// Everything that a reply names.
pub(crate) fn told_of<'m>(sent: &Sent, threads: &Threads<'m>) -> Things<'m> {
    things(threads, sent.asked_task())
}

/// The context that answers are judged under: the message's own, or that of the task it asks about.
///
/// # Errors
/// `too_complex` for more ids than the limit. `not_found` for a task that is unknown or another agent's, and
/// for another agent's conversation. Both cases give the same answer.
pub(crate) fn belongs(
    case: &Inspection<'_>,
    message: &Message<'_>,
    named: &Named,
) -> Result<Arc<About>, Refusal> {
    let Threads { tasks, contexts, pushes, .. } = &message.threads;
    // most messages name few ids, so duplicates need no count
    if tasks.len() + contexts.len() + pushes.len() > case.state.limits.named_ids {
        bounded(case, names(&message.threads))?;
    }
    match case.direction {
        Direction::Request => asked(case, message, named),
        Direction::Reply => replied(case, message, named),
    }
}

/// Number of distinct things that a message names.
fn names(threads: &Threads<'_>) -> usize {
    fn distinct<T: Ord>(mut ids: Vec<T>) -> usize {
        ids.sort_unstable();
        ids.dedup();
        ids.len()
    }
    let Threads { tasks, contexts, pushes, .. } = threads;
    distinct(tasks.clone()) + distinct(contexts.clone()) + distinct(pushes.clone())
}

/// Checks the number of ids that a list of tasks names, besides one task and one conversation for each entry.
///
/// # Errors
/// `too_complex`.
pub(crate) fn list_bounded<'m>(
    case: &Inspection<'_>,
    tasks: impl Iterator<Item = &'m Message<'m>>,
) -> Result<(), Refusal> {
    bounded(case, tasks.map(|task| names(&task.threads).saturating_sub(2)).sum())
}

/// Refuses more ids than one message may add to its caller's ownership.
fn bounded(case: &Inspection<'_>, names: usize) -> Result<(), Refusal> {
    if names <= case.state.limits.named_ids {
        return Ok(());
    }
    let reason = "the message names more tasks, conversations and push configurations than the limit";
    Err(Refusal::new(Code::TooComplex, reason).with_hint("refer to fewer tasks in one message"))
}

fn asked(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> Result<Arc<About>, Refusal> {
    let (scope, sender) = (&case.route.scope(), case.sender.id());
    let threads = &message.threads;
    in_session(case)?;
    if !case.route.options.keeps_callers_apart {
        input::goes_on(case, message)?;
        for task in threads.tasks.iter().chain(threads.pushes.iter().map(|(task, _)| task)) {
            if task.is_empty() {
                continue; // of the task that the message begins
            }
            case.state.owners.of(scope, sender, Kind::Task, task).map_err(|NotOwned| not_found())?;
        }
        if let Some(task) = threads.begins {
            let free = case.state.owners.free(scope, sender, &[(Kind::Task, task)]);
            free.map_err(|NotOwned| not_found())?;
        }
        match threads.page {
            Some(page) => lists(case, threads, page)?,
            None => {
                let all: Vec<_> = threads.contexts.iter().map(|id| (Kind::Conversation, *id)).collect();
                case.state.owners.free(scope, sender, &all).map_err(|NotOwned| not_found())?;
            }
        }
    }
    let reads = [Operation::GetTask, Operation::CancelTask, Operation::SubscribeToTask];
    if !threads.asks && !message.operation.is_some_and(|operation| reads.contains(&operation)) {
        return Ok(Arc::clone(named.about()));
    }
    let about = threads.tasks.first().and_then(|task| case.state.owners.about(scope, Kind::Task, task));
    Ok(about.or_else(|| by_default(case)).unwrap_or_else(|| Arc::clone(named.about())))
}

/// Treats another agent's conversation like one that does not exist: both listings are empty and complete.
///
/// Only the caller's own listings have later pages. The agent's handling of a page token would reveal a
/// foreign conversation. The gateway asks no agent in either case, so it refuses unfit parameters itself.
fn lists(case: &Inspection<'_>, threads: &Threads<'_>, page: Page<'_>) -> Result<(), Refusal> {
    let own = is_own(case, case.sender.id(), threads.contexts.iter().copied());
    if let (false, Some((member, what))) = (own, page.unfit) {
        return Err(unfit(case, member, what));
    }
    let Some(token) = page.token else { return Ok(()) };
    if !own {
        return Err(no_page());
    }
    case.state.owners.listing(&case.route.scope(), case.sender.id(), token).map(drop).ok_or_else(no_page)
}

/// Returns true if this agent owns every conversation. An unknown conversation has no owner.
pub(crate) fn is_own<'t>(
    case: &Inspection<'_>,
    owner: &str,
    mut conversations: impl Iterator<Item = &'t str>,
) -> bool {
    let scope = &case.route.scope();
    conversations.all(|id| case.state.owners.of(scope, owner, Kind::Conversation, id).is_ok())
}

/// Checks that the sender owns the MCP session of a message. For a reply, checks that the caller still owns
/// it.
///
/// # Errors
/// `not_found` for a session that is unknown, over, or another agent's.
pub(crate) fn in_session(case: &Inspection<'_>) -> Result<(), Refusal> {
    let session = case.call.mcp.as_deref().and_then(|head| head.session.as_deref());
    let Some(session) = session.filter(|_| !case.route.options.keeps_callers_apart) else { return Ok(()) };
    let client = match case.direction {
        Direction::Request => case.sender.id(),
        Direction::Reply => case.receiver,
    };
    let of = case.state.owners.of(&case.route.scope(), client, Kind::Session, session);
    of.map(drop).map_err(|NotOwned| no_session())
}

/// The default context for a task without a remembered one. Only an agent that keeps its callers apart
/// receives questions about such a task.
pub(crate) fn by_default(case: &Inspection<'_>) -> Option<Arc<About>> {
    let urn = case.route.options.default_contexts.first()?;
    Some(Arc::clone(case.generation.named(urn.as_str())?.about()))
}

/// Refuses a reply that names another agent's thing: the upstream agent lost track of its callers, or leaks.
fn replied(case: &Inspection<'_>, message: &Message<'_>, named: &Named) -> Result<Arc<About>, Refusal> {
    if let Some(sent) = case.answers {
        answers_what_was_asked(sent, message)?;
    }
    if !case.route.options.keeps_callers_apart {
        let asked = case.answers.and_then(Sent::asked_task);
        let things = things(&message.threads, asked);
        if !things.is_empty() {
            let free = case.state.owners.free(&case.route.scope(), case.receiver, &things);
            free.map_err(|NotOwned| {
                not_found().with_detail("the reply names a task or conversation that another agent owns")
            })?;
        }
    }
    Ok(Arc::clone(named.about()))
}

/// Checks that an answer is about the task or push configuration in the question (F0-11). Other tasks that
/// the answer repeats or refers to do not count.
///
/// A push configuration in an answer may omit its task. Agents store it so when it arrived with the message
/// that began the task.
fn answers_what_was_asked(sent: &Sent, message: &Message<'_>) -> Result<(), Refusal> {
    use Operation::{
        CancelTask, CreateTaskPushNotificationConfig, GetTask, GetTaskPushNotificationConfig,
        ListTaskPushNotificationConfigs, SubscribeToTask,
    };
    let (Some(operation), Some(asked)) = (sent.operation(), sent.asked_task()) else { return Ok(()) };
    let threads = &message.threads;
    let fits = match operation {
        GetTask | CancelTask | SubscribeToTask => threads.own.task == Some(asked),
        CreateTaskPushNotificationConfig => threads.tasks == [asked],
        ListTaskPushNotificationConfigs => threads.tasks.iter().all(|task| *task == asked),
        GetTaskPushNotificationConfig => {
            // a2a 0.3 may ask without an id
            let named = |thing: &(Kind, Cow<'_, str>)| sent.pushes.iter().any(|push| **push == *thing.1);
            let mut replied = told_of(sent, threads);
            replied.retain(|(kind, _)| *kind == Kind::Push);
            threads.tasks.iter().all(|task| *task == asked)
                && (sent.pushes.is_empty() || matches!(&replied[..], [one] if named(one)))
        }
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let reason = match operation {
        GetTask | CancelTask | SubscribeToTask => {
            "the upstream agent answered about another task than the request names"
        }
        _ => "the upstream agent answered about another push configuration than the request names",
    };
    Err(Refusal::new(Code::UpstreamInvalid, reason)
        .with_hint("the message was delivered: check its effect before you send it again")
        .with_delivered(Delivered::Yes))
}

/// The refusal that an agent gives for well-typed parameters outside the protocol (A2A 1.0 `InvalidParams`).
fn unfit(case: &Inspection<'_>, member: &str, what: &str) -> Refusal {
    let params = case.protocol().traits().params_path;
    Refusal::new(Code::Malformed, format!("`{params}/{member}` {what}"))
        .with_hint("send a value that A2A 1.0 allows there, or leave it out")
}

/// The refusal of a page token that this caller never received. A forged token could probe for tasks.
fn no_page() -> Refusal {
    Refusal::new(Code::NotFound, "this agent received no such page token")
        .with_hint("list the tasks from the beginning")
}

/// The refusal of a thing that does not exist or belongs to another agent. Both get the same text.
pub(crate) fn not_found() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation with this id")
        .with_hint("use an id that this agent returned to you, or begin a new one")
}

/// The refusal in MCP of a session that is unknown, over, or another agent's.
pub(crate) fn no_session() -> Refusal {
    Refusal::new(Code::NotFound, "there is no such session").with_hint("initialize a new one")
}

/// Claims the conversation, or the task, of a permitted request whose caller chose its id.
///
/// # Errors
/// `not_found` if another agent claimed it first.
pub(crate) fn begin(case: &Inspection<'_>, message: &Message<'_>, about: &Arc<About>) -> Result<(), Refusal> {
    if let Some(task) = message.threads.begins {
        keep(case, case.sender.key(), &[(Kind::Task, task)], about)?;
    }
    let sends = message.operation.is_some_and(Operation::sends);
    if !sends || message.threads.contexts.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = message.threads.contexts.iter().map(|id| (Kind::Conversation, *id)).collect();
    keep(case, case.sender.key(), &all, about)
}

/// Claims for the caller all unowned things that a permitted reply names, under the context of the request.
///
/// # Errors
/// `not_found` if another agent claimed one first.
pub(crate) fn take(
    case: &Inspection<'_>,
    sent: &Sent,
    things: &Things<'_>,
    about: &Arc<About>,
) -> Result<(), Refusal> {
    deleted(case, sent);
    if things.is_empty() { Ok(()) } else { keep(case, sent.caller.key(), things, about) }
}

/// Forgets the push configurations that a successful request deleted, with their deliveries. An empty answer
/// counts as success.
pub(crate) fn deleted(case: &Inspection<'_>, sent: &Sent) {
    if sent.operation() == Some(Operation::DeleteTaskPushNotificationConfig) {
        for id in &sent.pushes {
            case.state.owners.forget(&case.route.scope(), Kind::Push, id);
            case.state.owners.undeliver(&case.route.scope(), sent.caller.id(), id);
        }
    }
}

fn keep<S: AsRef<str>>(
    case: &Inspection<'_>,
    owner: &Arc<str>,
    things: &[(Kind, S)],
    about: &Arc<About>,
) -> Result<(), Refusal> {
    let scope = &case.route.scope();
    let protocol = case.generation.protocol_urn(case.route.binding);
    if case.route.options.keeps_callers_apart {
        case.state.owners.learn(scope, owner, things, about, protocol);
        return Ok(());
    }
    case.state.owners.claim(scope, owner, things, about, protocol).map_err(|NotOwned| not_found())
}
