//! Names as a person types them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use semgate_statement::statement::{MAX_REASON_BYTES, check_new_reason};

use crate::fault::Fault;

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

/// A reason or a name for the public log, in the form that an authority accepts.
///
/// # Errors
/// It is empty, too long, or has invisible characters.
pub fn reason<'a>(flag: &str, text: &'a str) -> Result<&'a str, Fault> {
    if text.trim().is_empty() {
        let hint = "the log shows it to everybody, and it cannot be added later";
        return Err(Fault::new(format_args!("`{flag}` is empty")).hint(hint).status(2));
    }
    check_new_reason(text).map_err(|why| {
        let hint = format!("at most {MAX_REASON_BYTES} bytes of visible characters");
        Fault::new(format_args!("`{flag}`: {why}")).hint(hint).status(2)
    })
}

/// The payload of a JWS in JSON form, unverified.
pub fn payload(jws: &[u8]) -> Option<Vec<u8>> {
    let jws: serde_json::Value = serde_json::from_slice(jws).ok()?;
    URL_SAFE_NO_PAD.decode(jws.get("payload")?.as_str()?).ok()
}

#[cfg(test)]
mod tests;
