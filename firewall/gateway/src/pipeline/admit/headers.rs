//! Readers of single headers. Each header has one accepted form.

use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use semgate_inspect::{Code, Refusal};

use super::rules::RouteRules;
use crate::pipeline::authorize::DPOP;
use crate::pipeline::events::EVENT_STREAM;

/// Compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
    /// The zlib format, as RFC 9110 §8.4.1.2 defines the name.
    Deflate,
}

/// Media types of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    /// A2A 1.0 §11.1.
    A2aJson,
}

impl Media {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::A2aJson => "application/a2a+json",
        }
    }
}

/// Returns true if `Accept` names streams of events (RFC 9110 §12.5.1). `*/*` does not count.
pub(crate) fn takes_events(headers: &HeaderMap) -> bool {
    let named = |range: &str| {
        let mut parts = range.split(';').map(str::trim);
        let is = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(EVENT_STREAM));
        let refused = |part: &str| {
            let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.chars().all(|digit| matches!(digit, '0' | '.')))
        };
        is && !parts.any(refused)
    };
    let texts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(named)
}

/// Takes each credential header at most once, unchanged; the agent judges its value. `header_bytes` bounds it.
pub(crate) fn credentials(
    rules: &RouteRules,
    headers: &HeaderMap,
) -> Result<Vec<(HeaderName, HeaderValue)>, Refusal> {
    let mut shown = Vec::new();
    for name in &rules.credentials {
        let mut all = headers.get_all(name).iter();
        let Some(value) = all.next() else { continue };
        if all.next().is_some() {
            return Err(malformed("a credential is shown twice").with_hint("show it once"));
        }
        if *name == DPOP && !is_proof(value.as_bytes()) {
            return Err(
                malformed("`DPoP` is not a proof").with_hint("send one signed token in the form of RFC 9449")
            );
        }
        let mut value = value.clone();
        value.set_sensitive(true);
        shown.push((name.clone(), value));
    }
    Ok(shown)
}

/// Returns true for the compact form of a JWS (RFC 7515 §3.1), the only form of a proof (RFC 9449 §4.1).
fn is_proof(value: &[u8]) -> bool {
    let mut parts = 0;
    let filled = value.split(|byte| *byte == b'.').all(|part| {
        parts += 1;
        !part.is_empty() && part.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    });
    filled && parts == 3
}

/// A media type in lower case, with its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ContentType {
    pub(crate) kind: String,
    /// True if a parameter other than `charset` is present.
    pub(crate) has_others: bool,
}

impl ContentType {
    /// Reads an ASCII `Content-Type` of UTF-8. Ignores an empty parameter (RFC 9110 §5.6.6). Returns `None` for another
    /// charset or non-ASCII bytes.
    pub(crate) fn read(value: &HeaderValue) -> Option<Self> {
        let text = value.to_str().ok()?.to_ascii_lowercase();
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next()?.to_owned();
        let mut has_others = false;
        for parameter in parts.filter(|part| !part.is_empty()) {
            let (name, charset) = parameter.split_once('=').unwrap_or((parameter, ""));
            match (name.trim(), charset.trim()) {
                ("charset", "utf-8" | "\"utf-8\"") => {}
                ("charset", _) => return None,
                _ => has_others = true,
            }
        }
        Some(Self { kind, has_others })
    }

    /// The content type of a message; `None` unless there is exactly one.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(CONTENT_TYPE).iter();
        let value = all.next()?;
        all.next().is_none().then(|| Self::read(value))?
    }
}

/// Accepts `application/json`, with or without `charset=utf-8`; JSON has no other charset (RFC 8259 §8.1). A2A also has its
/// own name for it.
pub(crate) fn content_type(headers: &HeaderMap, accepted: &[&str]) -> Result<Media, Refusal> {
    let fault = || {
        malformed("the content type is not `application/json`").with_hint("send json as `application/json`")
    };
    let content = ContentType::of(headers).filter(|content| !content.has_others).ok_or_else(fault)?;
    [Media::Json, Media::A2aJson]
        .into_iter()
        .find(|media| media.as_str() == content.kind && accepted.contains(&media.as_str()))
        .ok_or_else(fault)
}

pub(crate) fn content_encoding(headers: &HeaderMap) -> Result<Encoding, Refusal> {
    let fault = || {
        Refusal::new(Code::EncodingUnsupported, "the content encoding is unknown, nested or stated twice")
            .with_hint("send the body as it is, or as `gzip` or `deflate`, once")
    };
    let mut all = headers.get_all(CONTENT_ENCODING).iter();
    let Some(value) = all.next() else { return Ok(Encoding::Identity) };
    if all.next().is_some() {
        return Err(fault());
    }
    let text = value.to_str().map_err(|_| fault())?.trim().to_ascii_lowercase();
    match text.as_str() {
        "identity" => Ok(Encoding::Identity),
        "gzip" => Ok(Encoding::Gzip),
        "deflate" => Ok(Encoding::Deflate),
        _ => Err(fault()),
    }
}

/// Every value of a header, for the inspector to judge.
pub(crate) fn values(headers: &HeaderMap, name: &HeaderName) -> Result<Vec<String>, Refusal> {
    let mut values = Vec::new();
    for value in headers.get_all(name) {
        let text = value.to_str().map_err(|_| malformed("a header of the binding is not ascii"))?;
        values.push(text.to_owned());
    }
    Ok(values)
}

pub(crate) fn malformed(reason: &str) -> Refusal {
    Refusal::new(Code::Malformed, reason)
}
