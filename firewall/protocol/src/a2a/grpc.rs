//! A2A 1.0 over gRPC: messages of `lf.a2a.v1` as bytes of protobuf, read into the JSON that the protobuf mapping gives them.
//!
//! The gateway judges that JSON but forwards the bytes. So every byte must have exactly one meaning, on which all readers
//! agree. Refused are:
//! - a field that the protocol does not have (readers drop it or keep it unseen)
//! - a singular field that is present twice (readers keep the last, or merge), and a second member of a `oneof`
//! - a number that is not in its shortest form, is cut to fewer bits, or has no name
//! - text that is not UTF-8, a map key that is present twice, a `Value` that holds nothing, and a number that is not finite
//!
//! The rules are in `docs/spec/a2a-grpc.md`; the protocol's own definition is in `proto/`.

mod card;
mod decode;
mod encode;
mod print;
mod schema;
mod shape;
mod status;
mod value;

use super::{Operation, binding::Transport};
use crate::{FaultKind, MessageFault, RequestBytes, member::Read};
pub use status::{ERROR_DOMAIN, ErrorInfo, agent_error, details};

use print::Printer;
use semgate_contexts::json;

/// The transport.
#[derive(Debug)]
pub(crate) struct Grpc;

impl Transport for Grpc {
    const BYTES: RequestBytes = RequestBytes::Encoded;
}

/// The service whose methods the binding carries.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";

/// The deepest nesting of messages: the lowest limit of the implementations for C++, Java, Python and Rust. So no receiver
/// cuts off a message that passes. One level of JSON takes up to three levels: `Value`, `Struct` and the map entry.
pub const MAX_DEPTH: usize = 100;

/// Fields on the wire for each value of JSON. In an object these are the entry, its key, its value and that value's content.
const FIELDS_A_NODE: usize = 4;

/// Bounds of a read. Every bound is inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the message, and of the JSON text that it becomes, else [`FaultKind::TooLarge`].
    pub max_bytes: usize,
    /// Messages inside one another, the outermost counted, else [`FaultKind::TooDeep`].
    pub max_depth: usize,
    /// Fields of all messages in one, else [`FaultKind::TooComplex`].
    pub max_fields: usize,
}

impl Limits {
    /// Limits that fit those of the strict reader, which reads the result: the same bytes, and room for as many values.
    #[must_use]
    pub const fn of(limits: &json::Limits) -> Self {
        Self {
            max_bytes: limits.max_bytes,
            max_depth: MAX_DEPTH,
            max_fields: limits.max_nodes.saturating_mul(FIELDS_A_NODE),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::of(&json::Limits::default())
    }
}

/// The operation that a path calls, `/lf.a2a.v1.A2AService/SendMessage`; `None` for every other path.
pub fn operation(path: &str) -> Option<Operation> {
    let name = path.strip_prefix('/')?.strip_prefix(SERVICE)?.strip_prefix('/')?;
    Operation::parse(name).filter(|operation| schema::method(*operation).is_some())
}

/// The path that calls an operation; `None` for `GetAgentCard`, which the service does not have.
pub fn path(operation: Operation) -> Option<String> {
    schema::method(operation).map(|method| format!("/{SERVICE}/{}", method.operation))
}

/// The JSON of the one message that asks for an operation: its parameters.
///
/// # Errors
/// The first fault in the order of the bytes; [`FaultKind::MethodUnsupported`] for an operation that the service does not have.
pub fn request(operation: Operation, bytes: &[u8], limits: &Limits) -> Read<Vec<u8>> {
    read(of(operation)?.asks, bytes, limits)
}

/// The JSON of the message that answers an operation: its result.
///
/// # Errors
/// As for [`request`]; and for an operation whose answer is a stream.
pub fn reply(operation: Operation, bytes: &[u8], limits: &Limits) -> Read<Vec<u8>> {
    if operation.streams() {
        return Err(MessageFault::malformed("", "is a message that only a stream carries"));
    }
    read(of(operation)?.answers, bytes, limits)
}

/// The JSON of one message of a stream: an event.
///
/// # Errors
/// As for [`request`].
pub fn event(bytes: &[u8], limits: &Limits) -> Read<Vec<u8>> {
    read(&schema::STREAM_RESPONSE, bytes, limits)
}

/// The bytes of the message that asks for an operation, from the JSON that [`request`] gives. For requests that the gateway
/// rewrites.
///
/// # Errors
/// As for [`write_reply`].
pub fn write_request(operation: Operation, json: &json::Json<'_>) -> Read<Vec<u8>> {
    encode::message(of(operation)?.asks, json)
}

/// The bytes of the message that answers an operation, from the JSON that [`reply`] gives. For answers that the gateway
/// rewrites.
///
/// # Errors
/// A member that the message does not have, or a value of another kind than the field's.
pub fn write_reply(operation: Operation, json: &json::Json<'_>) -> Read<Vec<u8>> {
    encode::message(of(operation)?.answers, json)
}

fn of(operation: Operation) -> Read<&'static schema::Method> {
    schema::method(operation).ok_or_else(|| MessageFault {
        kind: FaultKind::MethodUnsupported,
        path: String::new(),
        what: "is not a method of the service",
    })
}

fn read(shape: &shape::Shape, bytes: &[u8], limits: &Limits) -> Read<Vec<u8>> {
    if bytes.len() > limits.max_bytes {
        return Err(MessageFault {
            kind: FaultKind::TooLarge,
            path: String::new(),
            what: "is longer than the limit",
        });
    }
    let mut out = Printer::new(limits);
    decode::message(shape, bytes, 0, &mut out)?;
    Ok(out.done())
}

#[cfg(test)]
mod tests;
