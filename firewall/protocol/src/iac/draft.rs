//! Messages of the gateway itself, such as the reply that carries a refusal.

use super::{
    MessageType,
    frame::{Fields, SignedForm},
};
use ring::signature::Ed25519KeyPair;

/// A message before it is signed.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The name of the sender.
    pub from: String,
    /// The name of the receiver.
    pub to: String,
    /// The type.
    pub kind: MessageType,
    /// JSON text, or empty.
    pub payload: String,
    /// Seconds since the Unix epoch, as `iac-rs` writes it.
    pub timestamp: u64,
    /// An id that this sender gave no message before.
    pub msg_id: u64,
    /// The session of the message that is answered; 0 is none.
    pub session_id: u64,
    /// Opaque bytes, or none.
    pub extra: Vec<u8>,
}

impl Draft {
    /// The protobuf in the explicit form, signed over that form.
    pub fn sign(self, key: &Ed25519KeyPair) -> Vec<u8> {
        let fields = Fields {
            from: &self.from,
            to: &self.to,
            kind: self.kind,
            payload: &self.payload,
            timestamp: self.timestamp,
            msg_id: self.msg_id,
            session_id: self.session_id,
            signature: &[],
            extra: &self.extra,
        };
        let signature = key.sign(&fields.signed(SignedForm::Explicit));
        Fields { signature: signature.as_ref(), ..fields }.write(SignedForm::Explicit)
    }
}
