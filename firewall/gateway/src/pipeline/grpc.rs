//! A2A over gRPC: framing, heads and status of its calls. `semgate_protocol::a2a::grpc` parses the messages. See
//! `docs/spec/a2a-grpc.md`.

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod carry;
pub(crate) mod frame;
pub(crate) mod head;
pub(crate) mod relay;
pub(crate) mod status;
#[cfg(test)]
mod tests;
