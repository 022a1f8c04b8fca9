//! Messages as received: the bytes to forward, and the bytes to inspect where a transport encodes them
//! differently.

use bytes::Bytes;
use semgate_protocol::Call;

/// A request as received.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Protocol facts read from the request head.
    pub call: Call,
    /// Bytes to forward: the received body after any decompression.
    pub body: Bytes,
    /// Bytes to inspect. Native L8 and JSON-RPC: the received body. Other transports: the parameters as one
    /// JSON object that holds every forwarded part of path, query and body.
    pub judged: Bytes,
}

impl Arrived {
    /// A request whose body is inspected as it is. Copies no bytes.
    pub fn whole(call: Call, body: Bytes) -> Self {
        Self { call, judged: body.clone(), body }
    }
}

/// A reply, or one event of a stream, as received.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Bytes to return to the caller.
    pub body: Bytes,
    /// Bytes to inspect: the same bytes if the transport carries JSON.
    pub judged: Bytes,
}

impl From<Bytes> for Answered {
    fn from(body: Bytes) -> Self {
        Self { judged: body.clone(), body }
    }
}

/// The request that a spent permit forwards.
#[derive(Debug)]
pub struct Outgoing {
    /// Request head to write to the upstream agent.
    pub call: Call,
    /// Exact bytes as received.
    pub body: Bytes,
    /// The inspected bytes.
    pub judged: Bytes,
}
