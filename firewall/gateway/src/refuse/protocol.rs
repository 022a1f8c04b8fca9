//! The details of errors as A2A writes them in each of its transports (A2A 1.0 §5.4, §11.6).

use semgate_inspect::{Code, Delivered};
use semgate_message::a2a::ProtocolError;
use serde_json::{Value, json};

/// Those of an error of the protocol.
pub(crate) fn info(error: ProtocolError) -> Value {
    written(error.reason(), "a2a-protocol.org")
}

/// Those of a code of ours.
pub(crate) fn own(code: Code) -> Value {
    written(&code.as_str().to_ascii_uppercase(), "dev.semgate")
}

fn written(reason: &str, domain: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": domain, "metadata": {}})
}

/// The name of the gRPC status that goes with an HTTP status (google.rpc.Code). `UNAVAILABLE` is what clients send again by themselves, so it
/// is said only of what did not reach the agent.
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
