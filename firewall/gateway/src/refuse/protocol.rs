//! The errors that A2A defines, as each of its transports writes them (A2A 1.0 §5.4, and the reasons of its error details).

use semgate_inspect::Code;
use serde_json::{Value, json};

/// One error of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// The JSON-RPC number.
    pub(crate) number: i32,
    /// The HTTP status over HTTP+JSON.
    pub(crate) status: u16,
    /// The name of the gRPC status.
    pub(crate) name: &'static str,
    /// The reason in its error details.
    pub(crate) reason: &'static str,
}

const KNOWN: &[Known] = &[
    known(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    known(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    known(-32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
    known(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    known(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    known(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    known(-32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
    known(-32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"),
    known(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    known(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    known(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    known(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    known(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
];

const fn known(number: i32, status: u16, name: &'static str, reason: &'static str) -> Known {
    Known { number, status, name, reason }
}

/// The error with this number, if A2A defines it.
pub(crate) fn of(number: i32) -> Option<Known> {
    KNOWN.iter().copied().find(|known| known.number == number)
}

impl Known {
    /// Its error details.
    pub(crate) fn info(self) -> Value {
        info(self.reason, "a2a-protocol.org")
    }
}

/// The error details of a code of ours.
pub(crate) fn own(code: Code) -> Value {
    info(&code.as_str().to_ascii_uppercase(), "dev.semgate")
}

fn info(reason: &str, domain: &str) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": domain, "metadata": {}})
}

/// The gRPC status that goes with an HTTP status (google.rpc.Code).
pub(crate) fn status_name(status: u16) -> &'static str {
    match status {
        400 | 413 | 415 | 422 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        408 | 504 => "DEADLINE_EXCEEDED",
        429 => "RESOURCE_EXHAUSTED",
        502 | 503 => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}
