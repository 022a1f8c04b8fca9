//! Head of a call: its operation, its deadline, and the metadata of the binding.

use std::time::Duration;

use http::header::{CONTENT_ENCODING, CONTENT_TYPE, TE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Version};
use semgate_inspect::{Code, Refusal};
use semgate_protocol::a2a::{Operation, grpc};

pub(crate) const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
pub(crate) const TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// Media type of every call.
pub(crate) const MEDIA: &str = "application/grpc";

/// Facts of a call's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) operation: Operation,
    /// The caller's time limit, if stated.
    pub(crate) timeout: Option<Duration>,
}

/// Returns true if a request is a call by its media type, which has no other use.
pub(crate) fn is_call(headers: &HeaderMap) -> bool {
    let mut all = headers.get_all(CONTENT_TYPE).iter();
    all.any(|value| {
        value.as_bytes().get(..MEDIA.len()).is_some_and(|start| start.eq_ignore_ascii_case(MEDIA.as_bytes()))
    })
}

/// Parses the head of a call. Later code parses its metadata.
///
/// # Errors
/// `method_unsupported`, `encoding_unsupported`, `malformed`.
pub(crate) fn head(parts: &Parts) -> Result<Head, Refusal> {
    if parts.version != Version::HTTP_2 {
        return Err(malformed("a call came over another version than http/2").with_hint("call over http/2"));
    }
    let operation = grpc::operation(parts.uri.path()).filter(|_| parts.method == Method::POST);
    let operation = operation.filter(|_| parts.uri.query().is_none()).ok_or_else(|| {
        Refusal::new(Code::MethodUnsupported, "there is no such method")
            .with_hint(format!("call the methods of `{}`", grpc::SERVICE))
    })?;
    let headers = &parts.headers;
    if !matches!(one(headers, &CONTENT_TYPE)?, Some("application/grpc" | "application/grpc+proto")) {
        return Err(encoding("the messages of the call are not protobuf"));
    }
    if one(headers, &TE)? != Some("trailers") {
        return Err(malformed("a call does not accept trailers").with_hint("send `te: trailers`"));
    }
    for name in [&ENCODING, &CONTENT_ENCODING] {
        if !matches!(one(headers, name)?, None | Some("identity")) {
            return Err(encoding("the messages of the call are compressed"));
        }
    }
    let timeout = match one(headers, &TIMEOUT)? {
        None => None,
        Some(text) => Some(timeout(text).ok_or_else(|| {
            malformed("`grpc-timeout` is not a duration")
                .with_hint("send at most eight digits, not all zero, and one of `H`, `M`, `S`, `m`, `u`, `n`")
        })?),
    };
    Ok(Head { operation, timeout })
}

/// The only value of a header.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let fault = || malformed("a header of the call is repeated or not ASCII").with_hint("send it once");
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return Ok(None) };
    if all.next().is_some() {
        return Err(fault());
    }
    value.to_str().map(Some).map_err(|_| fault())
}

/// Parses at most eight digits and a unit; zero is invalid.
fn timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    let time = match unit {
        "H" => Duration::from_secs(count.checked_mul(3600)?),
        "M" => Duration::from_secs(count.checked_mul(60)?),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    };
    (!time.is_zero()).then_some(time)
}

/// Writes the time for the agent: whole milliseconds, at least one.
pub(crate) fn timeout_text(time: Duration) -> String {
    // eight digits of milliseconds are 27 hours, more than any limit
    format!("{}m", time.as_millis().clamp(1, 99_999_999))
}

fn malformed(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
}

fn encoding(reason: &str) -> Refusal {
    Refusal::new(Code::EncodingUnsupported, reason)
        .with_hint("call with `application/grpc`, messages as protobuf and not compressed")
}
