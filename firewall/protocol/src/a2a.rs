//! A2A: every operation of 1.0 (JSON-RPC, HTTP+JSON, gRPC) and of 0.3 (JSON-RPC), and their answers and events. 1.0 is read in the JSON form
//! of `a2a.proto` (camel case names, enum names as strings). See `docs/spec/a2a-binding.md`.

mod binding;
mod error;
mod frame;
pub mod grpc;
mod list;
mod message;
mod names;
mod operation;
mod params;
mod part;
mod push;
mod reply;
mod request;
pub mod rest;
mod state;
mod task;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use binding::{GRPC, JSON_RPC, REST, VERSION_HINT};
pub use error::{AgentError, ProtocolError};
pub use list::{Paging, TaskList};
pub use operation::Operation;
pub use push::{PushTarget, PushTargets};
pub use reply::{REPLY_PERFORMATIVES, event, is_stream_response, reply};
pub use request::{REQUEST_PERFORMATIVES, request, rpc_id};
pub use state::{Chunk, State};
pub use version::Version;
