//! MCP over streamable HTTP: 2026-07-28 (stateless) and 2025-11-25 (sessions).
//!
//! Every method is a row of [`Operation`]; what has no row for its version and speaker is refused by name. The `params` (or
//! `result`) object without `_meta` is the instance of a concept of the protocol context `urn:contexts:mcp:v1.0`, whose
//! schema closes it; this module closes what stands around it: the JSON-RPC envelope, `_meta`, and the headers that
//! repeat the body. `tools/call` is the one exception: its `arguments` are the parameters of a task of another context,
//! named by the tool, and `structuredContent` of the answer are the task's results. See `docs/spec/mcp-binding.md`.

mod answer;
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

pub use answer::{Answer, answer, plain_error};
pub use content::{FAILED, FailureBlocks};
pub use error_data::ErrorData;
pub use event::event;
pub use form::prose_beside;
pub use head::{Head, Verb, decoded};
pub use operation::{Kind, Operation, Speaker, Version};
pub use request::{CALL_PERFORMATIVES, request, rpc_id};
pub use session::{ENDING, OPENING, is_failure, plain_failure, response, response_id, session};

use crate::{Message, RpcId};

/// The member of `_meta` that holds the context claim (`docs/spec/mcp-binding.md`).
pub const CLAIM: &str = "dev.semgate/l9";

/// The longest URI of a resource that is kept with its request: as long as most servers of HTTP take one.
const MAX_URI: usize = 2_048;

/// A request that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What was asked.
    pub operation: Operation,
    /// Under which version.
    pub version: Version,
    /// The id that the answer must repeat; none for the stream of a session, on which nothing is answered but what was asked
    /// before and is resumed.
    pub rpc_id: Option<RpcId>,
    /// The token that progress notifications must repeat; none may come without one.
    pub progress: Option<RpcId>,
    /// The tool that was called, for [`Operation::CallTool`].
    pub tool: Option<String>,
    /// The URI that was asked for, for [`Operation::ReadResource`]: the answer is of it or of what is below it.
    pub resource: Option<String>,
    /// The prompt that was asked for, for [`Operation::GetPrompt`].
    pub prompt: Option<String>,
    /// What asks for a later page, for [`Operation::ListTools`]; none for the first.
    pub cursor: Option<String>,
    /// What the client asked to be told of, for [`Operation::Listen`]; all that a server may tell where nothing says less.
    pub listens: Option<Listens>,
}

impl Asked {
    /// Whether a subscription of this name is the request's: its id, or that of a number as text, as some servers write it. Each stream belongs
    /// to one request, so that no two are taken for one another.
    pub(crate) fn is_named(&self, subscription: &RpcId) -> bool {
        match (&self.rpc_id, subscription) {
            (Some(RpcId::Integer(id)), RpcId::Text(text)) => *text == id.to_string(),
            (id, named) => id.as_ref() == Some(named),
        }
    }
}

/// The changes that a client asked to be told of (2026-07-28 "Notification Filter").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listens {
    /// Of the list of tools.
    pub tools: bool,
    /// Of the list of prompts.
    pub prompts: bool,
    /// Of the list of resources.
    pub resources: bool,
    /// Of some resource: servers may tell of what is below the one that was named.
    pub updates: bool,
}

/// One JSON-RPC message as MCP reads it.
#[derive(Clone, Debug)]
pub struct Spoken<'j> {
    /// What it says, for the stages that judge.
    pub message: Message<'j>,
    /// What it is: a request or notification of this operation, or the answer to one.
    pub operation: Operation,
    /// Request, notification or response.
    pub kind: Kind,
    /// The version that it was read under.
    pub version: Version,
    /// The tool that is called, as the message names it.
    pub tool: Option<&'j str>,
    /// The URI of the resource that is asked for.
    pub resource: Option<&'j str>,
    /// The name of the prompt that is asked for.
    pub prompt: Option<&'j str>,
    /// What asks for a later page of the list of tools.
    pub cursor: Option<&'j str>,
    /// The token under which progress may be told.
    pub progress: Option<RpcId>,
    /// What a client asks to be told of.
    pub listens: Option<Listens>,
}

impl Spoken<'_> {
    /// What the answer is read against; none for what gets no answer.
    pub fn asked(&self) -> Option<Asked> {
        if self.kind != Kind::Request {
            return None;
        }
        Some(Asked {
            operation: self.operation,
            version: self.version,
            rpc_id: Some(self.message.rpc_id.clone()?),
            progress: self.progress.clone(),
            tool: self.tool.map(str::to_owned),
            resource: self.resource.map(str::to_owned),
            prompt: self.prompt.map(str::to_owned),
            cursor: self.cursor.map(str::to_owned),
            listens: self.listens,
        })
    }
}

/// Every member name that this binding reads itself, for telling a duplicate in another case of letters.
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
