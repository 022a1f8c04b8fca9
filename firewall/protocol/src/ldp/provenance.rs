//! Provenance of results, in the three shapes that exist: both SDKs' and the paper's.

use super::{contract, envelope};
use crate::{
    Base, Instance, MessageFault, PayloadMode, Pointer, Usage, Vocabulary,
    member::{Read, array, object, required},
    model::Message,
};
use semgate_contexts::{
    Performative,
    json::{Json, Object},
};

/// Statuses of a verification by somebody other than the producer.
const VERIFIED: [&str; 3] = ["peer_verified", "tool_verified", "human_verified"];

/// Returns true if somebody other than the producer verified the result, by the provenance's own word. A confidence
/// without that is a model's opinion of itself.
pub(crate) fn is_verified(provenance: &Object<'_>) -> bool {
    let status = |object: &Object<'_>, name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
    if let Some(status) = status(provenance, "verification_status") {
        return VERIFIED.contains(&status.as_str());
    }
    if let Some(verification) = provenance.get("verification").and_then(Json::as_object) {
        let performed = matches!(verification.get("performed"), Some(Json::Bool(true)));
        return performed && status(verification, "status").as_deref() == Some("passed");
    }
    matches!(provenance.get("verified"), Some(Json::Bool(true)))
}

/// The payload mode that a provenance states, if it states one.
///
/// # Errors
/// `malformed` for another word.
pub(super) fn stated_mode(json: &Json<'_>, path: &str) -> Read<Option<PayloadMode>> {
    let stated = object(json, path)?.get("payload_mode_used");
    stated.map(|mode| envelope::mode(mode, path, "payload_mode_used")).transpose()
}

/// Reads the provenance of a result into the message: an instance of its concept, and one more name of the sender.
///
/// # Errors
/// `malformed` if a member that the gateway holds the result to has no single reading.
pub(super) fn read<'j>(
    json: &'j Json<'j>,
    path: &'static str,
    mode: PayloadMode,
    out: &mut Message<'j>,
) -> Read<Usage> {
    let provenance = object(json, path)?;
    let producer = required(provenance.get("produced_by"), path, "produced_by")?;
    out.parties.push(envelope::sender(envelope::word(producer, path, "produced_by")?));
    if stated_mode(json, path)?.is_some_and(|stated| stated != mode) {
        return Err(MessageFault::malformed(
            format!("{path}/payload_mode_used"),
            "is not the payload mode of the message",
        ));
    }
    let tokens =
        provenance.get("tokens_used").map(|n| contract::count(n, path, "tokens_used")).transpose()?;
    let micro_usd =
        provenance.get("cost_usd").map(|n| contract::usd(n, path, "cost_usd", f64::ceil)).transpose()?;
    let chain = provenance.get("lineage").map(|list| array(list, path, "lineage")).transpose()?;
    let depth = chain.map_or(0, |chain| chain.len() as u64);
    out.instances.push(Instance {
        of: Vocabulary::Protocol,
        name: "provenance",
        naming: "",
        pointer: Pointer { base: Base::Fixed(path), key: None },
        object: provenance,
        performative: Performative::Inform,
    });
    Ok(Usage { mode, tokens, micro_usd, depth })
}
