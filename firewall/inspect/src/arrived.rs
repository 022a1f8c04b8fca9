//! What came in: the bytes that go on, and the bytes that are read, which some transports write in another way.

use bytes::Bytes;
use semgate_message::Call;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// What its head settled.
    pub call: Call,
    /// What is forwarded: the bytes that were received, after any inflating.
    pub body: Bytes,
    /// What is judged: the same bytes in native L8 and JSON-RPC, in other transports the parameters as one JSON object, in
    /// which every part of path, query and body that goes on is found.
    pub judged: Bytes,
}

impl Arrived {
    /// A request whose body is itself what is judged. No byte is copied.
    pub fn whole(call: Call, body: Bytes) -> Self {
        Self { call, judged: body.clone(), body }
    }
}

/// A reply, or one event of a stream, as it arrived.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What is handed back.
    pub body: Bytes,
    /// What is judged: the same bytes where the transport carries JSON.
    pub judged: Bytes,
}

impl From<Bytes> for Answered {
    fn from(body: Bytes) -> Self {
        Self { judged: body.clone(), body }
    }
}

/// What a spent permit forwards.
#[derive(Debug)]
pub struct Outgoing {
    /// The head of the request, for writing it to the agent behind.
    pub call: Call,
    /// The exact bytes that arrived.
    pub body: Bytes,
}
