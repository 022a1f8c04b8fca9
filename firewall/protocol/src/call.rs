//! Facts about a request that route, path and headers settle before its body is read.

use crate::{
    Binding,
    a2a::{Operation, Version},
    mcp,
};

/// The form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Native L8 JSON.
    Native,
    /// JSON-RPC 2.0: the body names the method.
    JsonRpc,
    /// A2A's HTTP+JSON: the path names the operation, and its parameters are judged ([`crate::a2a::rest::params`]).
    Rest(Operation),
    /// A2A's gRPC: the path names the method, and its parameters are judged ([`crate::a2a::grpc::request`]).
    Grpc(Operation),
}

/// The head of a request. A copy of it travels with the permit, so that the bytes can be judged again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The protocol.
    pub binding: Binding,
    /// The A2A version; without meaning in other bindings.
    pub version: Version,
    /// The form of the request.
    pub form: Form,
    /// The MCP headers, which repeat the body; none in other bindings.
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

    /// The protocol version that a message is read under, as the protocol writes it; empty where it has none. In MCP without
    /// a header it is the newest version with sessions, since only `initialize` is read then.
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

/// Facts of a request that its answer is read against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The operation of the request.
    pub operation: Operation,
    /// The version of the request, which is the answer's.
    pub version: Version,
    /// The form of the answer, which is the request's.
    pub form: Form,
    /// In JSON-RPC the id that the answer repeats.
    pub rpc_id: Option<crate::RpcId>,
}
