//! What is settled about a request before its body is read: by the route, the path and the headers.

use crate::{
    Binding,
    a2a::{Operation, Version},
    mcp,
};

/// How a request is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Native L8 JSON.
    Native,
    /// JSON-RPC 2.0: the body names the method.
    JsonRpc,
    /// A2A's HTTP+JSON: the path names the operation, and what is judged is the parameters ([`crate::a2a::rest::params`]).
    Rest(Operation),
    /// A2A's gRPC: the path names the method, and what is judged is the parameters ([`crate::a2a::grpc::request`]).
    Grpc(Operation),
}

/// The head of a request. A copy of it travels with the permit, so that the bytes can be judged again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The protocol.
    pub binding: Binding,
    /// The version of A2A; of no meaning in other bindings.
    pub version: Version,
    /// How the request is written.
    pub form: Form,
    /// What the headers of MCP say about the body; none in other bindings.
    pub mcp: Option<Box<mcp::Head>>,
}

impl Call {
    /// A native L8 message.
    pub fn l8() -> Self {
        Self { binding: Binding::L8, version: Version::V10, form: Form::Native, mcp: None }
    }

    /// A request of A2A.
    pub fn a2a(version: Version, form: Form) -> Self {
        Self { binding: Binding::A2a, version, form, mcp: None }
    }

    /// A message of MCP, whose body names version and method too.
    pub fn mcp(head: mcp::Head) -> Self {
        Self { binding: Binding::Mcp, version: Version::V10, form: Form::JsonRpc, mcp: Some(Box::new(head)) }
    }

    /// The version of the protocol that a message is read under, as the protocol writes it; empty where it has none. In MCP it is
    /// settled once the message was read: without a header only what settles the version is read, in the version that has that.
    pub fn protocol_version(&self) -> &'static str {
        match self.binding {
            Binding::L8 => "",
            Binding::A2a => self.version.as_str(),
            Binding::Mcp => {
                let named = self.mcp.as_ref().and_then(|head| mcp::Version::parse(head.version.as_deref()?));
                named.unwrap_or(mcp::Version::NEWEST_WITH_SESSIONS).as_str()
            }
        }
    }

    /// The operation, where the path names it; in JSON-RPC the body does.
    pub const fn operation(&self) -> Option<Operation> {
        match self.form {
            Form::Rest(operation) | Form::Grpc(operation) => Some(operation),
            Form::Native | Form::JsonRpc => None,
        }
    }
}

/// What an answer is read against: what the request settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What was asked for.
    pub operation: Operation,
    /// The version of the request, which is the answer's.
    pub version: Version,
    /// How the answer is written: as the request was.
    pub form: Form,
    /// In JSON-RPC the id that the answer repeats.
    pub rpc_id: Option<crate::RpcId>,
}
