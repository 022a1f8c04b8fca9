//! A2A over gRPC: how its calls are framed, headed and ended. What a message says is read by `semgate_message::a2a::grpc`.
//! See `docs/spec/a2a-grpc.md`.

pub(crate) mod answer;
pub(crate) mod carry;
pub(crate) mod frame;
pub(crate) mod head;
pub(crate) mod relay;
pub(crate) mod status;
#[cfg(test)]
mod tests;
