//! Parts of URLs.

/// One segment of a path: everything but letters, digits, `-`, `.`, `_` and `~` is percent-encoded.
pub(crate) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push_str(&data_encoding::HEXUPPER.encode(&[byte]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_stays_one_segment() {
        assert_eq!(segment("urn:contexts:payment:v1.1"), "urn%3Acontexts%3Apayment%3Av1.1");
        assert_eq!(segment("../a?b#c"), "..%2Fa%3Fb%23c");
    }
}
