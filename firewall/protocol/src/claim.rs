//! The claim of a context: a closed object with the same members in every binding.

use crate::{
    Claim, Message, MessageFault,
    member::{Read, at, id, object, string, unknown},
};
use semgate_contexts::{Performative, PerformativeSet, json::Json};

/// A row of the mapping table: the default performative, and those that metadata may choose.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub default: Performative,
    pub allowed: PerformativeSet,
}

impl Row {
    pub const fn only(performative: Performative) -> Self {
        Self { default: performative, allowed: PerformativeSet::EMPTY.with(performative) }
    }
}

/// The performative of a claim.
#[derive(Clone, Copy)]
pub(crate) struct Claimed {
    pub performative: Performative,
    /// True if the claim names it.
    pub chosen: bool,
}

/// Reads a claim: `context`, `digest`, `lock` and `performative`, all of them optional. Returns the performative that holds.
///
/// # Errors
/// Another member, a digest or lock without a context, or a performative that the row does not allow.
pub(crate) fn read<'j>(
    json: &'j Json<'j>,
    path: &str,
    location: &'static str,
    row: Row,
    out: &mut Message<'j>,
) -> Read<Claimed> {
    let (mut urn, mut digest, mut lock, mut choice) = (None, None, None, None);
    for (key, value) in object(json, path)?.iter() {
        match key {
            "context" => urn = Some(string(value, path, key)?),
            "digest" => digest = Some(string(value, path, key)?),
            "lock" => lock = Some(id(value, path, key)?),
            "performative" => choice = Some(chosen(string(value, path, key)?, path, row)?),
            _ => return unknown(path, key),
        }
    }
    if let Some(urn) = urn {
        out.claims.push(Claim { urn, digest, lock, location });
    } else if digest.is_some() || lock.is_some() {
        return Err(MessageFault::malformed(path, "holds a digest or lock without a context"));
    }
    Ok(Claimed { performative: choice.unwrap_or(row.default), chosen: choice.is_some() })
}

/// F0-10: the mapping decides; metadata chooses only among what its row allows.
fn chosen(text: &str, path: &str, row: Row) -> Read<Performative> {
    let performative = text.parse::<Performative>().map_err(|_| {
        MessageFault::malformed(at(path, "performative"), "is not one of the eleven performatives")
    })?;
    if row.allowed.contains(performative) {
        Ok(performative)
    } else {
        Err(MessageFault::malformed(at(path, "performative"), "is not allowed here"))
    }
}
