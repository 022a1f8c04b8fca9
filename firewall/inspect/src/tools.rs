//! Tools of MCP: each is a task of a signed context, and what its server says of it is held against what was signed.
//!
//! A task that is a tool carries a pin in the `$comment` of its parameters' schema: `mcp-tool NAME sha-256:… [sha-256:…]`,
//! the exact name of the tool and the digest of every form in which its server may describe it. The digest is of the
//! canonical bytes (RFC 8785) of the whole tool object of `tools/list`: name, title, description, both schemas,
//! annotations, icons, `_meta` and whatever else stands there. So no word of a tool can change unseen.
//!
//! Of a list, tools that drifted, that no task of the context names, or that no policy would let this caller call, are
//! withheld; a call of any of them is refused too, so that list and call agree.

mod failed;
mod forms;
mod hold;
mod lists;
mod mirror;
mod pin;
#[cfg(test)]
mod tests;
mod visible;
mod watch;

pub(crate) use failed::provides_results;
pub(crate) use forms::Forms;
pub(crate) use hold::{Ends, callable, judge, repeats_nothing};
pub use mirror::{BadHeader, headers};
pub(crate) use pin::task_of;
pub use pin::{TOOL_MARK, comment, digest_of};
pub(crate) use visible::{UNNAMED, default_context, names, visible_call};
pub use watch::ToolWatch;
