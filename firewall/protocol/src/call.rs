//! Facts about a request that route, path and headers settle before its body is read.

use crate::{
    Binding, MessageFault,
    a2a::{Operation, Version, grpc},
    a2h::{Dialect, PeopleOperation},
    ldp::Endpoint,
    mcp,
};
use semgate_contexts::json::Json;

/// The form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// One message that says itself what it is: native L8 JSON, and IAC.
    Native,
    /// JSON-RPC 2.0: the body names the method.
    JsonRpc,
    /// A2A's HTTP+JSON: the path names the operation, and its parameters are judged ([`crate::a2a::rest::params`]).
    Rest(Operation),
    /// A2A's gRPC: the path names the method, and its parameters are judged ([`crate::a2a::grpc::request`]).
    Grpc(Operation),
    /// A2H: the path names operation and dialect, and the parameters are judged ([`crate::a2h::params`]).
    A2h(PeopleOperation, Dialect),
    /// LDP: the path names the endpoint; at that of messages, the body names the type.
    Ldp(Endpoint),
}

impl Form {
    /// The operation, where the path names it; in JSON-RPC the body does.
    pub const fn operation(self) -> Option<Operation> {
        match self {
            Self::Rest(operation) | Self::Grpc(operation) => Some(operation),
            Self::Native | Self::JsonRpc | Self::A2h(..) | Self::Ldp(_) => None,
        }
    }

    /// The operation of a gRPC request; none in other forms.
    pub const fn grpc(self) -> Option<Operation> {
        if let Self::Grpc(operation) = self { Some(operation) } else { None }
    }

    /// Returns true for JSON-RPC.
    pub const fn is_json_rpc(self) -> bool {
        matches!(self, Self::JsonRpc)
    }
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

    /// A message of IAC.
    pub const fn iac() -> Self {
        Self { binding: Binding::Iac, version: Version::V10, form: Form::Native, mcp: None }
    }

    /// A request of A2A.
    pub fn a2a(version: Version, form: Form) -> Self {
        Self { binding: Binding::A2a, version, form, mcp: None }
    }

    /// A message of MCP, whose body names version and method too.
    pub fn mcp(head: mcp::Head) -> Self {
        Self { binding: Binding::Mcp, version: Version::V10, form: Form::JsonRpc, mcp: Some(Box::new(head)) }
    }

    /// A request to the gateway about people.
    pub const fn a2h(operation: PeopleOperation, dialect: Dialect) -> Self {
        let form = Form::A2h(operation, dialect);
        Self { binding: Binding::A2h, version: Version::V10, form, mcp: None }
    }

    /// A request of LDP.
    pub const fn ldp(endpoint: Endpoint) -> Self {
        Self { binding: Binding::Ldp, version: Version::V10, form: Form::Ldp(endpoint), mcp: None }
    }

    /// The request that a push notification of A2A answers, as if its receiver had subscribed to the task.
    pub fn notification(version: Version) -> Self {
        Self::json(version, Some(Operation::SubscribeToTask))
    }

    /// A request of A2A over gRPC, which is carried in 1.0 only.
    pub fn grpc(operation: Operation) -> Self {
        Self::a2a(Version::V10, Form::Grpc(operation))
    }

    /// A request of A2A over HTTP+JSON if its path names the operation, else over JSON-RPC.
    pub fn json(version: Version, operation: Option<Operation>) -> Self {
        Self::a2a(version, operation.map_or(Form::JsonRpc, Form::Rest))
    }

    /// A request of this binding over JSON, in a version of its own by name. `head` is that of MCP.
    pub fn in_version(binding: Binding, version: &str, head: mcp::Head) -> Self {
        match binding {
            Binding::L8 => Self::l8(),
            Binding::A2a => Self::json(Version::parse(version).unwrap_or(Version::V10), None),
            Binding::Mcp => Self::mcp(head),
            Binding::A2h => Self::a2h(PeopleOperation::Interact, Dialect::Own),
            Binding::Ldp => Self::ldp(Endpoint::Messages),
            Binding::Iac => Self::iac(),
        }
    }

    /// The facts that the answer is read against; none where the path does not name the operation.
    pub fn asked(&self, rpc_id: Option<crate::RpcId>) -> Option<Asked> {
        let operation = self.operation()?;
        Some(Asked { operation, version: self.version, form: self.form, rpc_id })
    }

    /// The bytes of a gRPC request, from the judged JSON.
    ///
    /// # Errors
    /// JSON that is no request of the operation, or another transport.
    pub fn encode(&self, json: &Json<'_>) -> Result<Vec<u8>, MessageFault> {
        let fault = || MessageFault::malformed("", "is in no transport with another encoding");
        grpc::write_request(self.form.grpc().ok_or_else(fault)?, json)
    }

    /// The operation, where the path names it; in JSON-RPC the body does.
    pub const fn operation(&self) -> Option<Operation> {
        self.form.operation()
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
