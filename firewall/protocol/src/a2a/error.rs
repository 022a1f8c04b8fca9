//! Errors that agents answer with: the number passes, the text never does.

use crate::{
    FaultKind, Form, MessageFault,
    member::{Read, object},
};
use semgate_contexts::json::Json;
use std::fmt;

/// An error of A2A or JSON-RPC that an agent can answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtocolError {
    /// −32001.
    TaskNotFound,
    /// −32002.
    TaskNotCancelable,
    /// −32003.
    PushNotificationNotSupported,
    /// −32004.
    UnsupportedOperation,
    /// −32005.
    ContentTypeNotSupported,
    /// −32006.
    InvalidAgentResponse,
    /// −32007.
    ExtendedAgentCardNotConfigured,
    /// −32008.
    ExtensionSupportRequired,
    /// −32009.
    VersionNotSupported,
    /// −32700.
    JsonParse,
    /// −32600.
    InvalidRequest,
    /// −32601.
    MethodNotFound,
    /// −32602.
    InvalidParams,
    /// −32603.
    Internal,
}

use ProtocolError::{
    ContentTypeNotSupported, ExtendedAgentCardNotConfigured, ExtensionSupportRequired, Internal,
    InvalidAgentResponse, InvalidParams, InvalidRequest, JsonParse, MethodNotFound,
    PushNotificationNotSupported, TaskNotCancelable, TaskNotFound, UnsupportedOperation, VersionNotSupported,
};

/// A status code of gRPC and its name.
#[derive(Clone, Copy)]
struct GrpcCode(u8, &'static str);

/// The forms of an error in each transport.
struct Written {
    number: i32,
    http: u16,
    code: GrpcCode,
    reason: &'static str,
    text: &'static str,
}

const fn written(
    number: i32,
    http: u16,
    code: GrpcCode,
    reason: &'static str,
    text: &'static str,
) -> Written {
    Written { number, http, code, reason, text }
}

const ARGUMENT: GrpcCode = GrpcCode(3, "INVALID_ARGUMENT");
const FOUND: GrpcCode = GrpcCode(5, "NOT_FOUND");
const PRECONDITION: GrpcCode = GrpcCode(9, "FAILED_PRECONDITION");
const INTERNAL: GrpcCode = GrpcCode(13, "INTERNAL");
/// The gRPC status code for a method that does not exist.
const UNIMPLEMENTED: u8 = 12;

impl ProtocolError {
    /// All of them.
    pub const ALL: [Self; 14] = [
        TaskNotFound,
        TaskNotCancelable,
        PushNotificationNotSupported,
        UnsupportedOperation,
        ContentTypeNotSupported,
        InvalidAgentResponse,
        ExtendedAgentCardNotConfigured,
        ExtensionSupportRequired,
        VersionNotSupported,
        JsonParse,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
        Internal,
    ];

    const fn written(self) -> Written {
        match self {
            TaskNotFound => written(-32001, 404, FOUND, "TASK_NOT_FOUND", "Task not found"),
            TaskNotCancelable => {
                written(-32002, 400, PRECONDITION, "TASK_NOT_CANCELABLE", "Task cannot be canceled")
            }
            PushNotificationNotSupported => written(
                -32003,
                400,
                PRECONDITION,
                "PUSH_NOTIFICATION_NOT_SUPPORTED",
                "Push Notification is not supported",
            ),
            UnsupportedOperation => {
                written(-32004, 400, PRECONDITION, "UNSUPPORTED_OPERATION", "This operation is not supported")
            }
            ContentTypeNotSupported => {
                written(-32005, 400, ARGUMENT, "CONTENT_TYPE_NOT_SUPPORTED", "Incompatible content types")
            }
            InvalidAgentResponse => {
                written(-32006, 500, INTERNAL, "INVALID_AGENT_RESPONSE", "Invalid agent response")
            }
            ExtendedAgentCardNotConfigured => written(
                -32007,
                400,
                PRECONDITION,
                "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
                "Authenticated Extended Card is not configured",
            ),
            ExtensionSupportRequired => {
                written(-32008, 400, PRECONDITION, "EXTENSION_SUPPORT_REQUIRED", "Extension support required")
            }
            VersionNotSupported => {
                written(-32009, 400, PRECONDITION, "VERSION_NOT_SUPPORTED", "Version not supported")
            }
            JsonParse => written(-32700, 400, ARGUMENT, "INVALID_REQUEST", "Invalid JSON payload"),
            InvalidRequest => written(-32600, 400, ARGUMENT, "INVALID_REQUEST", "Invalid Request"),
            MethodNotFound => written(-32601, 404, FOUND, "METHOD_NOT_FOUND", "Method not found"),
            InvalidParams => written(-32602, 400, ARGUMENT, "INVALID_PARAMS", "Invalid params"),
            Internal => written(-32603, 500, INTERNAL, "INTERNAL_ERROR", "Internal error"),
        }
    }

    /// The number of a JSON-RPC error.
    pub const fn number(self) -> i32 {
        self.written().number
    }

    /// The HTTP status of the HTTP+JSON binding.
    pub const fn http_status(self) -> u16 {
        self.written().http
    }

    /// The status code of the gRPC binding.
    pub const fn grpc_status(self) -> u8 {
        self.written().code.0
    }

    /// Returns true if an agent may send this error with the gRPC status `status`. That is its own code, or `UNIMPLEMENTED`
    /// for an unsupported request, as the Python SDK sends it.
    const fn has_grpc_status(self, status: u8) -> bool {
        let unsupported =
            matches!(self, PushNotificationNotSupported | UnsupportedOperation | VersionNotSupported);
        status == self.grpc_status() || (unsupported && status == UNIMPLEMENTED)
    }

    /// The name of that code, which the HTTP+JSON binding writes too (`error.status`).
    pub const fn status(self) -> &'static str {
        self.written().code.1
    }

    /// `reason` of the `google.rpc.ErrorInfo` in both bindings, of domain `a2a-protocol.org`.
    pub const fn reason(self) -> &'static str {
        self.written().reason
    }

    /// The gateway's own text for the error. The agent's text never passes.
    pub const fn text(self) -> &'static str {
        self.written().text
    }

    /// The error of a JSON-RPC number.
    pub fn of_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|error| i64::from(error.number()) == number)
    }

    /// The error of a `google.rpc.ErrorInfo` reason; of the two that share one, `InvalidRequest`.
    pub fn of_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|error| *error != JsonParse && error.reason() == reason)
    }
}

impl ProtocolError {
    /// Maps a request's fault to the protocol's error: `InvalidParams` for the parameters, `InvalidRequest` for what
    /// surrounds them. Bytes that are not JSON are [`ProtocolError::JsonParse`] and have no fault here.
    pub fn of_fault(fault: &MessageFault, form: Form) -> Self {
        match (fault.kind, form) {
            (FaultKind::MethodUnsupported, _) => MethodNotFound,
            (FaultKind::VersionUnsupported, _) => VersionNotSupported,
            (_, Form::Rest(_) | Form::Grpc(_)) => InvalidParams,
            // a batch, a member of the envelope, or its params
            (_, Form::JsonRpc | Form::Native | Form::A2h(..) | Form::Ldp(_)) => {
                match fault.path.strip_prefix("/params") {
                    Some(rest) if rest.is_empty() || rest.starts_with('/') => InvalidParams,
                    _ => InvalidRequest,
                }
            }
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// An agent answered with an error. What it wrote is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentError {
    /// The error, if the protocol defines it.
    pub known: Option<ProtocolError>,
}

impl AgentError {
    /// The `error` object of JSON-RPC.
    pub(super) fn of_rpc(json: &Json<'_>) -> Read<Self> {
        let number = object(json, "/error")?.get("code").and_then(Json::as_number);
        match number.and_then(|number| number.as_i64_exact()) {
            Some(number) => Ok(Self { known: ProtocolError::of_number(number) }),
            None => Err(MessageFault::malformed("/error/code", "is not an integer")),
        }
    }

    /// Reads the body of an HTTP+JSON error: `{"error": {code, status, message, details}}` without other members. `None` for
    /// any other body.
    pub(super) fn of_body(json: &Json<'_>) -> Option<Self> {
        let object = json.as_object().filter(|object| object.len() == 1)?;
        let details = object.get("error")?.as_object()?.get("details").and_then(Json::as_array);
        let info = details.unwrap_or_default().iter().filter_map(Json::as_object).find(|detail| {
            detail.get("@type").and_then(Json::as_str) == Some("type.googleapis.com/google.rpc.ErrorInfo")
        });
        let reason = info.and_then(|info| info.get("reason")).and_then(Json::as_str);
        Some(Self { known: reason.and_then(ProtocolError::of_reason) })
    }

    /// Reads an answer of the HTTP+JSON binding whose status is no success. The body is a `google.rpc.Status` under `error`,
    /// or a problem document (RFC 9457) whose `type` ends in the error's name. The error is unknown if neither names one, or
    /// if the named error does not have this status.
    pub fn of_http(status: u16, body: Option<&Json<'_>>) -> Self {
        let known = body.and_then(|json| match Self::of_body(json) {
            Some(error) => error.known,
            None => of_problem(json),
        });
        Self { known: known.filter(|error| error.http_status() == status) }
    }

    /// Reads a gRPC answer whose status is not OK. `reason` is that of the `google.rpc.ErrorInfo` of domain
    /// `a2a-protocol.org` in its details, and counts if the status is that error's. Without a reason, `NOT_FOUND` and
    /// `UNIMPLEMENTED` still name their error; with an unknown reason they do not.
    pub fn of_grpc(status: u8, reason: Option<&str>) -> Self {
        let known = match (reason, status) {
            (Some(reason), _) => {
                ProtocolError::of_reason(reason).filter(|error| error.has_grpc_status(status))
            }
            (None, UNIMPLEMENTED) => Some(UnsupportedOperation),
            (None, 5) => Some(TaskNotFound),
            (None, _) => None,
        };
        Self { known }
    }
}

/// `https://a2a-protocol.org/errors/task-not-found`.
fn of_problem(json: &Json<'_>) -> Option<ProtocolError> {
    let name = json.as_object()?.get("type")?.as_str()?.strip_prefix("https://a2a-protocol.org/errors/")?;
    ProtocolError::of_reason(&name.replace('-', "_").to_ascii_uppercase())
}
