//! Error details in A2A's format for each transport (A2A 1.0 §5.4, §11.6).

use semgate_inspect::{Code, Delivered};
use semgate_protocol::a2a::ProtocolError;
use serde_json::{Value, json};

/// Details of a protocol error.
pub(crate) fn info(error: ProtocolError) -> Value {
    written(error.reason(), "a2a-protocol.org")
}

/// Details of one of our codes.
pub(crate) fn own(code: Code) -> Value {
    written(&code.as_str().to_ascii_uppercase(), "dev.semgate")
}

fn written(reason: &str, domain: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": domain, "metadata": {}})
}

/// gRPC status name for an HTTP status (google.rpc.Code). Clients repeat a call by themselves after `UNAVAILABLE`, so it is
/// used only if the call did not reach the agent.
pub(crate) fn status_name(status: u16, delivered: Delivered) -> &'static str {
    match status {
        400 | 413 | 415 | 422 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        429 => "RESOURCE_EXHAUSTED",
        502 | 503 if delivered == Delivered::No => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}
