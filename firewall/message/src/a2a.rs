//! A2A 1.0 over JSON-RPC 2.0: `SendMessage` and its answer, in the JSON form of `a2a.proto` (camel case names, enum names
//! as strings). See `docs/spec/a2a-binding.md`.

mod common;
mod error;
pub mod grpc;
mod operation;
mod reply;
mod request;
mod state;
#[cfg(test)]
mod tests;
mod version;

pub use error::{AgentError, ProtocolError};
pub use operation::Operation;
pub use reply::{Answer, REPLY_PERFORMATIVES, event, reply};
pub use request::{REQUEST_PERFORMATIVES, request, rpc_id};
pub use state::{Chunk, State};
pub use version::Version;
