//! Facts in the head of an A2A request: the version, the extension and the target.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method};
use semgate_contexts::json;
use semgate_inspect::{Code, Refusal};
use semgate_protocol::a2a::rest::{self, Query};
use semgate_protocol::a2a::{Operation, Version};
use semgate_protocol::{FaultKind, MessageFault};

/// Version of A2A (A2A 1.0 §3.6). The query member has the same name.
pub(crate) const A2A_VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// Extensions of A2A 1.0 (§3.2.6).
pub(crate) const A2A_EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// Extensions of A2A 0.3.
pub(crate) const X_A2A_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");

/// The version of a request, if the route supports it.
///
/// # Errors
/// `malformed` for two different versions, or for a repeated one. `version_unsupported` for another version, and for a
/// missing one if the route takes 1.0 only. A header stripped on the way must not select an older protocol.
pub(crate) fn version(headers: &[String], query: &Query<'_>, takes: &[Version]) -> Result<Version, Refusal> {
    // proto3 and many clients write an absent text as an empty one; next to another value it counts as a second one
    let alone = headers.len() == 1;
    let headers: Vec<&str> =
        headers.iter().map(String::as_str).filter(|text| !alone || !text.is_empty()).collect();
    let query = query.versions();
    let hint = || {
        let takes: Vec<&str> = takes.iter().map(|version| version.as_str()).collect();
        format!("send `A2A-Version: {}`", takes.join("` or `"))
    };
    let version = Version::of(&headers, &query).map_err(|fault| match fault.kind {
        FaultKind::VersionUnsupported => refused(&fault).with_hint(hint()),
        _ => refused(&fault),
    })?;
    if takes.contains(&version) {
        return Ok(version);
    }
    let reason = if headers.is_empty() && query.is_empty() {
        "the request names no A2A version, which means 0.3, and this route does not support 0.3"
    } else {
        "this route does not support this A2A version"
    };
    Err(Refusal::new(Code::VersionUnsupported, reason).with_hint(hint()))
}

/// Converts a fault of head or parameters into its refusal.
pub(crate) fn refused(fault: &MessageFault) -> Refusal {
    let (code, hint) = match fault.kind {
        FaultKind::VersionUnsupported => (Code::VersionUnsupported, "send a version of this route"),
        FaultKind::MethodUnsupported => (Code::MethodUnsupported, "see the agent card for its protocols"),
        FaultKind::DuplicateKey => (Code::DuplicateKey, "send it once"),
        FaultKind::TooComplex => (Code::TooComplex, "send less at once"),
        _ => (Code::Malformed, "see docs/spec/gateway-http.md for the one form that is accepted"),
    };
    let reason = if fault.path.is_empty() {
        fault.what.to_owned()
    } else {
        format!("`{}` {}", fault.path, fault.what)
    };
    Refusal::new(code, reason).with_hint(hint)
}

/// Method, path and query of a request over HTTP+JSON, as received, without the address of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
}

impl Target {
    /// Path, query and body as one object of parameters for inspection.
    ///
    /// # Errors
    /// `malformed` and related codes for input without a single reading.
    pub(crate) fn judged(&self, body: &Bytes, limits: &json::Limits) -> Result<Bytes, Refusal> {
        if self.method != Method::POST && !body.is_empty() {
            return Err(Refusal::new(Code::Malformed, "the request has a body, but the method takes none")
                .with_hint("send it without a body"));
        }
        let routed = rest::route(self.method.as_str(), &self.path).map_err(|fault| refused(&fault))?;
        let query =
            Query::parse(self.query.as_deref().unwrap_or_default()).map_err(|fault| refused(&fault))?;
        let read = if body.is_empty() { None } else { Some(json::read(body, limits)) };
        let body = match &read {
            // the inspector reads the same bytes and reports the fault
            Some(Err(_)) => return Ok(body.clone()),
            Some(Ok(json)) => Some(json),
            None => None,
        };
        let judged = rest::params(&routed, &query, body).map_err(|fault| refused(&fault))?;
        Ok(Bytes::from(judged))
    }
}

/// The methods of A2A over HTTP+JSON.
const METHODS: [&str; 3] = ["POST", "GET", "DELETE"];

/// Target of a request over HTTP+JSON, if its path is one.
///
/// # Errors
/// `method_unsupported` for another path, `malformed` for invalid ids.
pub(crate) fn target<'p>(
    parts: &Parts,
    below: impl Iterator<Item = &'p str>,
) -> Result<(Operation, Target), Refusal> {
    let (mut fault, mut other) = (None, None);
    for path in below {
        match rest::route(parts.method.as_str(), path) {
            Ok(routed) => {
                let (method, path) = (parts.method.clone(), path.to_owned());
                let target = Target { method, path, query: parts.uri.query().map(str::to_owned) };
                return Ok((routed.operation, target));
            }
            Err(why) => {
                other =
                    other.or_else(|| METHODS.into_iter().find(|method| rest::route(method, path).is_ok()));
                fault = fault.or(Some(why));
            }
        }
    }
    let fault = fault.as_ref().map(refused);
    let fault = fault.unwrap_or_else(|| super::unsupported("see the agent card for its protocols"));
    Err(match other.filter(|_| fault.code() == Code::MethodUnsupported) {
        Some(method) => fault.with_hint(format!("this path accepts {method}")),
        None => fault,
    })
}

/// The header that asks for our extension, if present. Other extensions are not forwarded.
pub(crate) fn extension(headers: &HeaderMap, ours: &str) -> Option<HeaderName> {
    [A2A_EXTENSIONS, X_A2A_EXTENSIONS].into_iter().find(|name| lists(headers, name, ours))
}

/// Returns true if one of these headers lists our extension.
fn lists(headers: &HeaderMap, name: &HeaderName, ours: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|uri| uri.trim() == ours)
}
