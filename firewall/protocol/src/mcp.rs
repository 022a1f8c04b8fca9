//! MCP over streamable HTTP: 2026-07-28 (stateless) and 2025-11-25 (sessions).
//!
//! Every method is a row of [`Operation`]; a method without a row for its version and speaker is refused by name. The
//! `params` or `result` object without `_meta` is an instance of a concept of the protocol context `urn:contexts:mcp:v1.0`.
//! Its schema closes the object. This module closes the rest: the JSON-RPC envelope, `_meta`, and the headers that repeat the
//! body.
//!
//! `tools/call` is the exception: its `arguments` are the parameters of a task of another context, named by the tool.
//! `structuredContent` of the answer holds the task's results. See `docs/spec/mcp-binding.md`.

mod answer;
mod binding;
mod content;
mod error_data;
mod event;
mod form;
mod head;
mod meta;
mod operation;
mod request;
mod resource;
mod session;
#[cfg(test)]
mod tests;

pub use answer::{answer, plain_error};
pub(crate) use binding::Mcp;
pub use content::{FAILED, FailureBlocks};
pub use error_data::ErrorData;
pub use event::event;
pub use form::prose_beside;
pub use head::{Head, Verb, decoded};
pub use operation::{Kind, Operation, Revision, Speaker};
pub use request::{CALL_PERFORMATIVES, request, rpc_id};
pub use session::{ENDING, OPENING, is_failure, plain_failure, response, response_id, session};

use crate::RpcId;

/// The member of `_meta` that holds the context claim (`docs/spec/mcp-binding.md`).
pub const CLAIM: &str = "dev.semgate/l9";

/// The longest URI of a resource that is kept with its request: the limit of most HTTP servers.
const MAX_URI: usize = 2_048;

/// A request that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The operation of the request.
    pub operation: Operation,
    /// The version of the request.
    pub version: Revision,
    /// The id that the answer must repeat. None for the stream of a session, which carries no answers but those of resumed
    /// requests.
    pub rpc_id: Option<RpcId>,
    /// The token that progress notifications must repeat; none may come without one.
    pub progress: Option<RpcId>,
    /// The tool that was called, for [`Operation::CallTool`].
    pub tool: Option<String>,
    /// The URI asked for, for [`Operation::ReadResource`]. The answer is that resource or one below it.
    pub resource: Option<String>,
    /// The prompt that was asked for, for [`Operation::GetPrompt`].
    pub prompt: Option<String>,
    /// The token of a later page, for [`Operation::ListTools`]; none for the first.
    pub cursor: Option<String>,
    /// The changes that the client subscribes to, for [`Operation::Listen`]; all changes where nothing says less.
    pub listens: Option<Listens>,
}

impl Asked {
    /// A request of which nothing more is known.
    pub(crate) fn new(operation: Operation, version: Revision, rpc_id: Option<RpcId>) -> Self {
        let (progress, tool, resource, prompt, cursor) = Default::default();
        Self { operation, version, rpc_id, progress, tool, resource, prompt, cursor, listens: None }
    }

    /// Returns true if a subscription of this name belongs to the request: its id, or a numeric id as text, as some servers
    /// write it. Each stream belongs to one request, so no two are confused.
    pub(crate) fn is_named(&self, subscription: &RpcId) -> bool {
        match (&self.rpc_id, subscription) {
            (Some(RpcId::Integer(id)), RpcId::Text(text)) => *text == id.to_string(),
            (id, named) => id.as_ref() == Some(named),
        }
    }
}

/// The changes that a client subscribes to (2026-07-28 "Notification Filter").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listens {
    /// Changes of the list of tools.
    pub tools: bool,
    /// Changes of the list of prompts.
    pub prompts: bool,
    /// Changes of the list of resources.
    pub resources: bool,
    /// Changes of a resource. Servers may report resources below the named one.
    pub updates: bool,
}

/// Every member name that this binding reads itself, to detect duplicates that differ in case.
const KNOWN: &[&str] = &[
    "jsonrpc",
    "id",
    "method",
    "params",
    "result",
    "error",
    "_meta",
    "name",
    "arguments",
    "inputResponses",
    "inputRequests",
    "requestState",
    "resultType",
    "structuredContent",
    "content",
    "isError",
];
