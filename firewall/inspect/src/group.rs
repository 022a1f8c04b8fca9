//! Groups (F0-14). A message to a group goes to each member. A member is named in the entities and
//! understands a version that the floors allow.

use crate::{Code, Direction, Refusal, inspection::Inspection};
use semgate_contexts::ContextUrn;
use semgate_protocol::Message;

/// Checks that the receiver is a member of the addressed group. `None` if the route is not a group route, or
/// for a reply.
///
/// # Errors
/// `receiver_mismatch` if the message names another receiver than the group, or `entities.json` does not list
/// the agent as a member.
pub(crate) fn addressed(case: &Inspection<'_>, message: &Message<'_>) -> Option<Result<(), Refusal>> {
    let group = case.route.options.group.as_ref().filter(|_| case.direction == Direction::Request)?;
    if message.receiver_id.is_some_and(|named| named != group.name) {
        return Some(Err(Refusal::new(
            Code::ReceiverMismatch,
            "the receiver in the message is not the group of this route",
        )
        .with_hint("name the group of this address")
        .with_detail(format!("the group is `{}`", group.name))));
    }
    let agent = case.generation.policies().agent(case.receiver);
    if agent.is_some_and(|agent| agent.groups.contains(&group.name)) {
        return Some(Ok(()));
    }
    Some(Err(Refusal::new(Code::ReceiverMismatch, "the agent is not a member of the group")
        .with_hint("ask the operator to add it to the group")
        .with_detail(format!("`{}` is not in `{}`", case.receiver, group.name))))
}

/// Checks that the member understands a version of this line that no floor forbids. The floors are those of
/// authority, operator and both peers.
///
/// # Errors
/// `context_below_floor`.
pub(crate) fn joins(case: &Inspection<'_>, urn: &ContextUrn) -> Result<(), Refusal> {
    if case.route.options.group.is_none() || case.direction != Direction::Request {
        return Ok(());
    }
    let line = urn.line();
    let authority = case.generation.source_of(line).and_then(|source| source.view().floor(line));
    let peers = case.state.sessions.minimums.floors(case.sender.id(), case.receiver, line);
    let all = [authority, case.generation.operator_floor(line)].into_iter().chain(peers).flatten();
    let Some(floor) = all.max().filter(|floor| !case.route.reaches(line, *floor)) else { return Ok(()) };
    Err(Refusal::new(
        Code::ContextBelowFloor,
        format!("the member understands no version of this line from {floor} on, so a group cannot send it this line"),
    )
    .with_hint("ask the operator to update the member to the floor or above"))
}
