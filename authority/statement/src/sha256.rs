//! SHA-256 of bytes.

use ring::digest::{SHA256, digest};

/// SHA-256 of some bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    out.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
    out
}
