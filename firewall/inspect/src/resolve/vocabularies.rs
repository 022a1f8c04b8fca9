//! Vocabularies that a message uses besides its own context.

use super::{ASK, no_policy, unserved};
use crate::{
    Refusal,
    generation::Named,
    inspection::Inspection,
    standing::{counts, unknown},
};
use semgate_protocol::{Instance, Message, Vocabulary};

/// The control vocabulary, if the message uses it under another context. Its own document judges its concepts
/// and must be usable.
pub(super) fn control<'c>(
    case: &Inspection<'c>,
    message: &Message<'_>,
    named: &'c Named,
) -> Result<(Option<&'c Named>, u64), Refusal> {
    let Some(control) = case.generation.control().filter(|control| control.urn() != named.urn()) else {
        return Ok((None, u64::MAX));
    };
    let used = |instance: &Instance<'_>| {
        instance.of == Vocabulary::Context && control.context().term(instance.name).is_some()
    };
    if !message.instances.iter().any(used) {
        return Ok((None, u64::MAX));
    }
    vocabulary(case, control)
}

/// The protocol's vocabulary, if the message uses it. Its own document judges its operations and must be
/// usable.
pub(super) fn protocol<'c>(
    case: &Inspection<'c>,
    message: &Message<'_>,
    named: &'c Named,
) -> Result<(Option<&'c Named>, u64), Refusal> {
    if !message.instances.iter().any(|instance| instance.of == Vocabulary::Protocol) {
        return Ok((None, u64::MAX));
    }
    if case.generation.binding_of(named.urn()) == Some(message.binding) {
        return Ok((Some(named), u64::MAX));
    }
    match case.generation.protocol(message.binding) {
        Some(protocol) => vocabulary(case, protocol),
        None => {
            let refusal = unknown("the context of the protocol is not published", ASK);
            let urn = case.generation.protocol_urn(message.binding);
            Err(urn.map_or(refusal.clone(), |urn| refusal.with_detail(unserved(urn))))
        }
    }
}

/// The vocabulary of a format, if the message holds content of one.
pub(super) fn format<'c>(
    case: &Inspection<'c>,
    message: &Message<'_>,
    named: &'c Named,
) -> Result<(Option<&'c Named>, u64), Refusal> {
    let used = message.instances.iter().find_map(|instance| match instance.of {
        Vocabulary::Format(format) => Some(format),
        _ => None,
    });
    let Some(urn) = used.and_then(|format| case.generation.format_urn(format)) else {
        return Ok((None, u64::MAX));
    };
    if named.urn() == urn {
        return Ok((Some(named), u64::MAX));
    }
    match case.generation.named(urn.as_str()) {
        Some(format) => vocabulary(case, format),
        None => Err(unknown("the context of the format is not published", ASK).with_detail(unserved(urn))),
    }
}

/// A vocabulary used beside the named context.
fn vocabulary<'c>(case: &Inspection<'c>, other: &'c Named) -> Result<(Option<&'c Named>, u64), Refusal> {
    let Some(source) = case.generation.source_of(other.urn().line()) else {
        return Err(unknown("no authority is configured for a vocabulary that the message uses", ""));
    };
    case.generation
        .policies()
        .may_use_line(case.sender.id(), other.urn().line())
        .map_err(|_| no_policy(other.urn()))?;
    let standing = source.view().standing(other.urn(), case.now.unix);
    counts(case, other, standing).map_err(|refusal| {
        let why = refusal.detail().to_owned();
        refusal.with_detail(format!("of `{}`, whose concepts the message uses; {why}", other.urn()))
    })?;
    Ok((Some(other), source.fresh_until()))
}
