//! A2A 1.0 over JSON-RPC 2.0: `SendMessage` and its answer, in the JSON form of `a2a.proto` (camel case names, enum names
//! as strings). See `docs/spec/a2a-binding.md`.

mod common;
pub mod grpc;
mod reply;
mod request;
#[cfg(test)]
mod tests;

pub use reply::{REPLY_PERFORMATIVES, reply};
pub use request::{REQUEST_PERFORMATIVES, request, rpc_id};

/// The one version that the binding speaks, as `A2A-Version` writes it.
pub const VERSION: &str = "1.0";

/// The one method that the binding carries.
pub const METHOD: &str = "SendMessage";
