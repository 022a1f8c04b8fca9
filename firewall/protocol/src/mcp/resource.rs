//! Comparison of a resource that a server gives with the one asked for.

/// Returns true if a URI is the one asked for, or below it: MCP lets a server answer a directory with its contents. Spellings
/// of one URI are equal: needless percent signs, the case of scheme and host, and the final `/` of a host without a path. A
/// segment of only dots leads elsewhere, and is below nothing.
pub(super) fn is_of(asked: &str, given: &str) -> bool {
    let (asked, given) = (plain(asked), plain(given));
    let Some(rest) = given.strip_prefix(asked.as_slice()) else { return false };
    let below = match rest {
        [] => return true,
        [b'/', rest @ ..] => rest,
        rest if asked.ends_with(b"/") => rest,
        _ => return false,
    };
    let mut segments = below.split(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#'));
    !segments.any(|segment| matches!(segment, b"." | b".."))
}

/// A URI without needless percent-encoding. Encoded separators of a URI stay encoded.
fn plain(uri: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(uri.len());
    let mut left = uri.as_bytes();
    while let Some((first, rest)) = left.split_first() {
        left = rest;
        let hidden = match (first, rest) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        match hidden {
            Some(byte) => {
                left = rest.get(2..).unwrap_or_default();
                if byte.is_ascii_control() || b"%/\\?#".contains(&byte) {
                    out.extend_from_slice(format!("%{byte:02X}").as_bytes());
                } else {
                    out.push(byte);
                }
            }
            None => out.push(*first),
        }
    }
    let host = uri.find("://").map_or(0, |at| at + 3);
    let end = out.iter().skip(host).position(|byte| b"/?#".contains(byte)).map_or(out.len(), |at| host + at);
    if let Some(head) = out.get_mut(..if host == 0 { 0 } else { end }) {
        head.make_ascii_lowercase();
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests;
