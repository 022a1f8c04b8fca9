//! Names as a person types them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The URN prefix of the product (F0-18).
const PREFIX: &str = "urn:contexts:";

/// `payment:v1.1` stands for `urn:contexts:payment:v1.1`; the short form exists on the command line only (F0-18).
pub fn full_urn(text: &str) -> String {
    if text.starts_with("urn:") { text.to_owned() } else { format!("{PREFIX}{text}") }
}

/// `1.1` stands for `v1.1`, and a whole URN for its version.
pub fn version(text: &str) -> String {
    let last = text.rsplit(':').next().unwrap_or(text);
    if last.starts_with('v') { last.to_owned() } else { format!("v{last}") }
}

/// Base64url without padding, as JWS writes it.
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_completed_and_whole_ones_kept() {
        assert_eq!(full_urn("payment:v1.1"), "urn:contexts:payment:v1.1");
        assert_eq!(full_urn("urn:contexts:payment:v1.1"), "urn:contexts:payment:v1.1");
        assert_eq!(version("1.1"), "v1.1");
        assert_eq!(version("urn:contexts:payment:v2.0"), "v2.0");
    }
}
