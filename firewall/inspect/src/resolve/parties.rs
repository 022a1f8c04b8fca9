//! Parties that content names.

use crate::{Code, Refusal, inspection::Inspection};
use semgate_protocol::{Message, Party, PartySide};

/// Checks that every agent that content names as sender is the verified one, and every recipient the receiver or a group of it.
///
/// # Errors
/// `sender_mismatch`, `receiver_mismatch`.
pub(super) fn of_content(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    message.parties.iter().try_for_each(|party| match party.side {
        PartySide::Sender if !is_named(case, case.sender.id(), party.names, party.name) => {
            let reason = "an agent that the content names as the sender is not the verified peer";
            Err(Refusal::new(Code::SenderMismatch, reason)
                .with_hint("name your own verified id, or its alias")
                .with_detail(format!("the verified peer is `{}`", case.sender.id())))
        }
        PartySide::Receiver
            if !is_named(case, case.receiver, party.names, party.name) && !is_group(case, party) =>
        {
            let reason = "an agent that the content names as a recipient is not the receiver of this route";
            Err(Refusal::new(Code::ReceiverMismatch, reason)
                .with_hint("name the id of the agent at this address, its alias, or a group that it is in")
                .with_detail(format!("the receiver is `{}`", case.receiver)))
        }
        _ => Ok(()),
    })
}

/// True of the id of an agent, of its alias, and of its name in the binding or format.
pub(super) fn is_named(case: &Inspection<'_>, id: &str, binding: &str, name: &str) -> bool {
    let agent = || case.generation.policies().agent(id);
    name == id || agent().is_some_and(|agent| agent.is_named(binding, name))
}

/// True of a group that the receiver is a member of.
fn is_group(case: &Inspection<'_>, party: &Party<'_>) -> bool {
    let agent = case.generation.policies().agent(case.receiver);
    agent.is_some_and(|agent| agent.groups.iter().any(|group| group == party.name))
}
