//! Lists of parts as bytes.

/// Appends a part with its length before it, so that no two lists of parts have the same bytes.
pub(crate) fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
    out.extend_from_slice(bytes);
}
