//! The context of a message that belongs to an open session.

use super::malformed;
use crate::{Refusal, dialogues::SessionClaim, inspection::Inspection};
use semgate_protocol::Message;

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
