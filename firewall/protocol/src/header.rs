//! The `L9-Context` header: a copy of the claim for routers. It never overrides the message and must agree with it.

use crate::{Claim, MessageFault, member::identifier};

/// Reads `urn:…;digest=sha-256:…;lock=…` and compares it with the claim of the message. Every part of the header must be the
/// same in the message. The header may omit parts, except the URN.
///
/// # Errors
/// Another form, a part that is present twice, an unknown part, or a part that the message does not have or has otherwise.
pub fn agrees(header: &str, claim: Option<&Claim<'_>>) -> Result<(), MessageFault> {
    let fault = |what| Err(MessageFault::malformed("", what));
    let mut parts = header.split(';').map(|part| part.trim_matches([' ', '\t']));
    let urn = parts.next().unwrap_or_default();
    let (mut digest, mut lock) = (None, None);
    for part in parts {
        let slot = match part.split_once('=') {
            Some(("digest", value)) => (&mut digest, value),
            Some(("lock", value)) => (&mut lock, value),
            _ => return fault("the `L9-Context` header has a part that is neither `digest` nor `lock`"),
        };
        if slot.0.replace(slot.1).is_some() || identifier(slot.1).is_none() {
            return fault("the `L9-Context` header has a part twice, or one that is not an identifier");
        }
    }
    let Some(claim) = claim else {
        return fault("the `L9-Context` header names a context and the message does not");
    };
    let same = |header: Option<&str>, body: Option<&str>| header.is_none() || header == body;
    if urn != claim.urn || !same(digest, claim.digest) || !same(lock, claim.lock) {
        return fault("the `L9-Context` header differs from the message");
    }
    Ok(())
}

#[cfg(test)]
#[path = "header_tests.rs"]
mod tests;
