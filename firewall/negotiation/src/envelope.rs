//! The native L8 message around a concept object of the handshake, for speakers over HTTP.

use crate::HandshakeFault;
use crate::limits::MAX_MESSAGE_BYTES;
use crate::member::read;
use crate::wire::{Carried, Kind};
use semgate_certs::SpiffeId;
use semgate_contexts::{Performative, canonical};
use semgate_protocol::{MetaKeys, Reading, TextParts, native};
use serde_json::json;

/// A handshake message with the fields of its envelope. The envelope is not signed and proves nothing; the signed part names
/// the sender.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The kind of the message.
    pub kind: Kind,
    /// The content of the message.
    pub carried: Carried,
}

/// Writes a handshake message: `context` is the URN of the control vocabulary.
///
/// # Errors
/// [`HandshakeFault::NotCanonical`], which does not happen for messages of this crate.
pub fn write_message(
    kind: Kind,
    carried: &Carried,
    performative: Performative,
    (from, to): (&SpiffeId, &SpiffeId),
    context: &str,
    message_id: &str,
) -> Result<Vec<u8>, HandshakeFault> {
    let message = json!({
        "protocol": "L8/1.0",
        "message_id": message_id,
        "performative": performative.as_str(),
        "sender_id": from.as_str(),
        "receiver_id": to.as_str(),
        "context": context,
        "content": carried.to_value(kind),
    });
    canonical::jcs(&message).map_err(|_| HandshakeFault::NotCanonical)
}

/// Reads a handshake message: strict JSON, the closed envelope of native L8, exactly one concept object and no lock.
///
/// # Errors
/// [`HandshakeFault::TooLarge`], [`HandshakeFault::Json`], [`HandshakeFault::Member`].
pub fn read_message(bytes: &[u8], context: &str) -> Result<Envelope, HandshakeFault> {
    let json = read(bytes, MAX_MESSAGE_BYTES)?;
    let reading = Reading {
        extension: context,
        max_concepts: 1,
        admit: TextParts::default(),
        tenant: None,
        meta: MetaKeys::NONE,
        untyped: false,
        formats: &[],
    };
    let message = native::read(&json, &reading).map_err(|_| HandshakeFault::Member("message"))?;
    let [claim] = message.claims.as_slice() else { return Err(HandshakeFault::Member("context")) };
    if claim.urn != context || claim.lock.is_some() {
        return Err(HandshakeFault::Member("context"));
    }
    let ([instance], None) = (message.instances.as_slice(), &message.gap) else {
        return Err(HandshakeFault::Member("content"));
    };
    let (kind, carried) = Carried::of_object(instance.object)?;
    Ok(Envelope { kind, carried })
}
