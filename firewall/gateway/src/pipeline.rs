//! The stages of a message.

pub(crate) mod admit;
pub(crate) mod answer;
pub(crate) mod authorize;
pub(crate) mod decision;
pub(crate) mod events;
pub(crate) mod exchange;
pub(crate) mod forward;
pub(crate) mod gateway_refusals;
pub(crate) mod grpc;
pub(crate) mod identify;
pub(crate) mod mcp;
pub(crate) mod quota;
pub(crate) mod receive;
pub(crate) mod record;
pub(crate) mod refuse;
pub(crate) mod relay;
pub(crate) mod reply;
pub(crate) mod socket;
