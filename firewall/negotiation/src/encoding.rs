//! base64url without padding (RFC 7515 §2), in its one spelling.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Writes it.
pub(crate) fn to_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads it. Refuses padding, white space, the other alphabet and non-zero trailing bits.
pub(crate) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Reads 32 bytes without an allocation.
pub(crate) fn from_base64url_32(text: &str) -> Option<[u8; 32]> {
    if text.len() != 43 {
        return None;
    }
    let mut out = [0; 33];
    let (bytes, _) = match URL_SAFE_NO_PAD.decode_slice(text, &mut out) {
        Ok(32) => out.split_first_chunk::<32>()?,
        _ => return None,
    };
    Some(*bytes)
}

/// Appends a part with its length before it, so that no two lists of parts have the same bytes.
pub(crate) fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}
