//! Parts of URLs.

/// A name that is no segment of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoSegment;

/// One segment of a path: everything but letters, digits, `-`, `.`, `_` and `~` is percent-encoded.
///
/// # Errors
/// `.` or `..`, which every reader of a URL takes out, however they are encoded.
pub(crate) fn segment(text: &str) -> Result<String, NoSegment> {
    match text {
        "." | ".." => Err(NoSegment),
        text => Ok(encoded(text)),
    }
}

/// A value of a query, encoded as [`segment`] does.
pub(crate) fn encoded(text: &str) -> String {
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
        assert_eq!(segment("urn:contexts:payment:v1.1").unwrap(), "urn%3Acontexts%3Apayment%3Av1.1");
        assert_eq!(segment("../a?b#c").unwrap(), "..%2Fa%3Fb%23c");
        assert_eq!(segment("...").unwrap(), "...");
    }

    #[test]
    fn attack_a_name_of_dots_leads_to_another_path() {
        for name in [".", ".."] {
            assert_eq!(segment(name), Err(NoSegment));
        }
    }
}
