//! Ends of calls: the gRPC status of each code, and its trailers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::{HeaderMap, HeaderName, HeaderValue};
use semgate_inspect::{Code, Delivered, Refusal};
use semgate_protocol::a2a::{ProtocolError, grpc};

use crate::pipeline::decision::DecisionId;
use crate::pipeline::refuse;

/// `grpc-status`: a number, in decimal.
pub(crate) const STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// `grpc-message`: percent-encoded text.
pub(crate) const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// A `google.rpc.Status`.
pub(crate) const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");

/// The gRPC status codes in use (`google.rpc.Code`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u8);

impl Status {
    pub(crate) const OK: Self = Self(0);
    pub(crate) const INVALID_ARGUMENT: Self = Self(3);
    pub(crate) const DEADLINE_EXCEEDED: Self = Self(4);
    pub(crate) const NOT_FOUND: Self = Self(5);
    pub(crate) const PERMISSION_DENIED: Self = Self(7);
    pub(crate) const RESOURCE_EXHAUSTED: Self = Self(8);
    pub(crate) const FAILED_PRECONDITION: Self = Self(9);
    pub(crate) const UNIMPLEMENTED: Self = Self(12);
    pub(crate) const INTERNAL: Self = Self(13);
    pub(crate) const UNAVAILABLE: Self = Self(14);

    /// Status of a code (`docs/spec/a2a-grpc.md`).
    ///
    /// Clients repeat a call by themselves after `UNAVAILABLE`, so it is used only for calls that did not reach the agent.
    pub(crate) fn of(code: Code, delivered: Delivered) -> Self {
        match code {
            Code::Malformed
            | Code::DuplicateKey
            | Code::TooDeep
            | Code::TooComplex
            | Code::HeaderMismatch
            | Code::ContextMissing
            | Code::ConceptUndefined
            | Code::ContentInvalid
            | Code::ContentUninspectable => Self::INVALID_ARGUMENT,
            Code::EncodingUnsupported | Code::MethodUnsupported => Self::UNIMPLEMENTED,
            Code::TooSlow | Code::UpstreamTimeout => Self::DEADLINE_EXCEEDED,
            Code::TooLarge | Code::AmbiguityLimited | Code::RateLimited => Self::RESOURCE_EXHAUSTED,
            Code::VersionUnsupported
            | Code::ContextUnknown
            | Code::ContextUntrusted
            | Code::ContextRevoked
            | Code::ContextSuspended
            | Code::ContextBelowFloor
            | Code::LockMismatch
            | Code::Replayed => Self::FAILED_PRECONDITION,
            Code::SenderMismatch
            | Code::ReceiverMismatch
            | Code::PolicyDenied
            | Code::PolicyError
            | Code::ApprovalRequired
            | Code::ApprovalDenied
            | Code::ApprovalExpired
            | Code::HostRefused
            | Code::ToolDrift
            | Code::TargetRefused => Self::PERMISSION_DENIED,
            Code::NotFound => Self::NOT_FOUND,
            // the client may try the same call again (google.rpc.Code)
            Code::ApprovalPending
            | Code::StatusStale
            | Code::UpstreamUnavailable
            | Code::AuditUnavailable
            | Code::StateUnavailable
                if delivered == Delivered::No =>
            {
                Self::UNAVAILABLE
            }
            _ => Self::INTERNAL,
        }
    }
}

/// Trailers of a successful call.
pub(crate) fn well() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from(u16::from(Status::OK.0)));
    trailers
}

/// Trailers of a refused call. They have only our words, and the protocol's error if there is one. `agent` is the agent's own
/// final status, which is repeated.
pub(crate) fn refused(refusal: &Refusal, agent: Option<u8>, decision: DecisionId) -> HeaderMap {
    let known = refuse::known(refusal).or_else(|| meant(refusal.code()));
    let status = match (agent, known) {
        (Some(status), _) => Status(status),
        (None, Some(error)) => Status(error.grpc_status()),
        (None, None) => Status::of(refusal.code(), refusal.delivered()),
    };
    let code = refusal.code().as_str();
    let text = refuse::text(refusal);
    let mut buffer = [0; 26];
    let facts = [
        ("code", code),
        ("decision_id", decision.text(&mut buffer)),
        ("hint", refusal.hint()),
        ("delivered", refusal.delivered().as_str()),
        ("cause", refusal.cause().map_or("", Code::as_str)),
    ];
    let own = code.to_ascii_uppercase();
    let mut infos = vec![grpc::ErrorInfo { reason: &own, domain: "dev.semgate", metadata: &facts }];
    if let Some(error) = known {
        infos
            .insert(0, grpc::ErrorInfo { reason: error.reason(), domain: grpc::ERROR_DOMAIN, metadata: &[] });
    }
    let details =
        BASE64_STANDARD_NO_PAD.encode(grpc::details(status.0, &text, &infos, refuse::retry_after(refusal)));
    let mut trailers = HeaderMap::new();
    trailers.insert(STATUS, HeaderValue::from(u16::from(status.0)));
    for (name, value) in [(MESSAGE, percent(&text)), (DETAILS, details)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            trailers.insert(name, value);
        }
    }
    trailers
}

/// The protocol's error with exactly the meaning of a code.
fn meant(code: Code) -> Option<ProtocolError> {
    match code {
        Code::NotFound => Some(ProtocolError::TaskNotFound),
        Code::VersionUnsupported => Some(ProtocolError::VersionNotSupported),
        _ => None,
    }
}

/// Percent-encodes for `grpc-message`: every byte except visible ASCII and the blank, and the percent sign itself.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if (0x20..0x7f).contains(&byte) && byte != b'%' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
