//! Tools of MCP. Each is a task of a signed context, and the server's description is compared with the signed
//! form.
//!
//! The task carries a pin in the `$comment` of its parameters' schema: `mcp-tool NAME sha-256:… [sha-256:…]`.
//! It holds the exact name of the tool, and the digest of every form that its server may use.
//!
//! The digest covers the canonical bytes (RFC 8785) of the whole tool object in `tools/list`. That includes
//! name, title, description, both schemas, annotations, icons and `_meta`, so no change goes unnoticed.
//!
//! A list omits drifted tools, tools that no task names, and tools that no policy would let this caller call.
//! Calls of them are refused too, so list and call agree.

mod check;
mod drift;
mod failed;
mod forms;
mod lists;
mod param_headers;
mod pin;
#[cfg(test)]
mod tests;
mod visible;

pub(crate) use check::{Ends, callable, judge, repeats_nothing};
pub use drift::ToolWatch;
pub(crate) use failed::provides_results;
pub(crate) use forms::Forms;
pub use param_headers::{BadHeader, headers};
pub(crate) use pin::task_of;
pub use pin::{TOOL_MARK, comment, digest_of};
pub(crate) use visible::{UNNAMED, default_context, names, visible_call};
