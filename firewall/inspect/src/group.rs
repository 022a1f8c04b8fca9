//! Groups: a message to one is for each member, and a member is who the entities name and who speaks what the floor asks for
//! (F0-14).

use crate::{Code, Direction, Refusal, case::Case};
use semgate_contexts::ContextUrn;
use semgate_message::Message;

/// Whether the receiver of this case hears the message as a member of the group that it is addressed to; nothing where the route is
/// none to a group, or in a reply.
///
/// # Errors
/// `receiver_mismatch` for a message to somebody else than the group, and for an agent that is none of its members by
/// `entities.json`.
pub(crate) fn addressed(case: &Case<'_>, message: &Message<'_>) -> Option<Result<(), Refusal>> {
    let group = case.route.options.group.as_ref().filter(|_| case.direction == Direction::Request)?;
    if message.receiver_id.is_some_and(|named| named != group.name) {
        return Some(Err(Refusal::new(
            Code::ReceiverMismatch,
            "the receiver in the message is not the group of this route",
        )
        .with_hint("name the group that this address leads to")
        .with_detail(format!("the group is `{}`", group.name))));
    }
    let agent = case.generation.policies().agent(case.receiver);
    if agent.is_some_and(|agent| agent.groups.contains(&group.name)) {
        return Some(Ok(()));
    }
    Some(Err(Refusal::new(Code::ReceiverMismatch, "the agent is not a member of the group")
        .with_hint("the operator says who is a member")
        .with_detail(format!("`{}` is not in `{}`", case.receiver, group.name))))
}

/// Whether the member may take part in what the group says in this line: it must understand a version that no floor of authority,
/// operator or either peer forbids.
///
/// # Errors
/// `context_below_floor`.
pub(crate) fn joins(case: &Case<'_>, urn: &ContextUrn) -> Result<(), Refusal> {
    if case.route.options.group.is_none() || case.direction != Direction::Request {
        return Ok(());
    }
    let line = urn.line();
    let authority = case.generation.source_of(line).and_then(|source| source.view().floor(line));
    let peers = case.sessions.minimums.floors(case.sender.id(), case.receiver, line);
    let all = [authority, case.generation.operator_floor(line)].into_iter().chain(peers).flatten();
    let Some(floor) = all.max().filter(|floor| !case.route.reaches(line, *floor)) else { return Ok(()) };
    Err(Refusal::new(
        Code::ContextBelowFloor,
        format!("the member understands no version of this line from {floor} on, so it is in no group that speaks it"),
    )
    .with_hint("the member has to be brought up to the floor"))
}
