//! Compact serialisation of a JWS (RFC 7515 §7.1): `protected.payload.signature`.

use crate::encoding::from_base64url;

/// A compact JWS in its parts. Nothing in it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactJws<'t> {
    /// The signed text: `protected.payload`.
    pub signed: &'t str,
    /// The protected header.
    pub header: Vec<u8>,
    /// The payload.
    pub payload: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

impl<'t> CompactJws<'t> {
    /// Reads three parts of canonical base64url. Returns none for any other text.
    pub fn parse(text: &'t str) -> Option<CompactJws<'t>> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        Some(CompactJws {
            signed,
            header: from_base64url(header)?,
            payload: from_base64url(payload)?,
            signature: from_base64url(signature)?,
        })
    }
}
