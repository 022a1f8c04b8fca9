//! The context of a message that belongs to an open session.

use super::{Target, malformed};
use crate::{Refusal, dialogues::SessionClaim, inspection::Inspection};
use semgate_protocol::{Message, Vocabulary};

/// Checks that a message in a session names no other context than the session.
///
/// # Errors
/// `malformed`.
pub(super) fn in_session(case: &Inspection<'_>, message: &Message<'_>) -> Result<(), Refusal> {
    let (Some(claim), Some(named)) = (session_claim(case, message), message.claims.first()) else {
        return Ok(());
    };
    if named.urn == claim.about.urn.as_str() {
        return Ok(());
    }
    Err(malformed(case, "the message names another context than its session"))
}

/// The context of the open session in which a task is begun.
pub(super) fn session_claim<'c>(case: &Inspection<'c>, message: &Message<'_>) -> Option<&'c SessionClaim> {
    let begins = message.threads.begins.is_some();
    case.live.filter(|_| begins)?.dialogue.as_ref()?.claim.as_ref()
}

/// Gives content whose name its context does not define the name that its binding has for it. True if the context has to
/// be settled again.
pub(super) fn otherwise(target: &Target<'_>, message: &mut Message<'_>) -> bool {
    let Some(name) = message.dialogue.otherwise else { return false };
    let undefined = |of: &str| match target {
        Target::Known(named) => named.context().term(of).is_none(),
        Target::Missing => true,
        Target::Unknown(_) | Target::Foreign(_) => false,
    };
    let mut content = message.instances.iter_mut().filter(|one| one.of == Vocabulary::Context);
    let Some(instance) = content.next().filter(|one| undefined(one.name)) else { return false };
    (instance.of, instance.name) = (Vocabulary::Protocol, name);
    message.dialogue.otherwise = None;
    matches!(target, Target::Missing)
}
