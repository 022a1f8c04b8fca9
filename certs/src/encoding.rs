//! base64 in two alphabets, and hexadecimal. Each accepts one spelling, so that equal bytes have one text.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use data_encoding::HEXLOWER;

/// base64url without padding, as JOSE writes it (RFC 7515 §2).
pub fn to_base64url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads base64url. Refuses padding, white space, the other alphabet and non-zero trailing bits.
pub fn from_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// base64 with padding, as `x5c` writes it (RFC 7515 §4.1.6).
pub fn to_base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Reads base64 with padding. Refuses any other spelling of the same bytes.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Lower-case hexadecimal.
pub fn to_hex(bytes: impl AsRef<[u8]>) -> String {
    HEXLOWER.encode(bytes.as_ref())
}

/// Reads lower-case hexadecimal.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    HEXLOWER.decode(text.as_bytes()).ok()
}
