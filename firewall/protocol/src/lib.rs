//! One message model, and a binding for each protocol that carries it.
//!
//! A binding is a closed map from the protocol's JSON to [`Message`]: it knows every member by name and refuses any other. It
//! does not decide whether the message may pass; it ensures that nothing in the bytes goes unread. Bytes come through the
//! strict reader of `semgate_contexts::json` first.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod a2a;
pub mod a2h;
mod admit;
mod call;
mod claim;
mod content;
mod dialogue;
mod echo;
mod fault;
mod format;
mod gateway_answer;
pub mod header;
pub mod iac;
mod joined_texts;
pub mod ldp;
pub mod mcp;
mod member;
mod model;
pub mod native;
mod pointer;
mod protocol;
pub mod removal;
mod rpc;
mod seal;
mod sstp;
mod text;
pub mod trace;
mod wire;

pub use admit::{Admit, TextParts, Unadmitted};
pub use call::{Asked, Call, Form};
pub use dialogue::{Bounds, Dialogue, PayloadMode, SessionRef, SessionStep, SessionTerms, Submission, Usage};
pub use echo::Echo;
pub use fault::{FaultKind, MessageFault};
pub use format::{ContentFormat, Otherwise, Party, PartySide};
pub use gateway_answer::GatewayAnswer;
pub use joined_texts::JoinedTexts;
pub use model::{
    Binding, Claim, Gap, Instance, Message, Once, OwnThread, Page, Piece, PieceOf, Reading, Threads,
    Vocabulary,
};
pub use pointer::{Base, Pointer};
pub use protocol::{
    AgentFailure, HttpTraits, Protocol, RefusalDraft, RefusedTask, Reply, ReplyKind, ReplyTo, RequestBytes,
    StreamRules, Traits, Turns,
};
pub use removal::{BadMetaKey, MetaKeys};
pub use rpc::RpcId;
pub use seal::{Seal, Secret};
pub use semgate_contexts::NAMING_MEMBERS;

/// Cases of each property: `SEMGATE_FUZZ_CASES`, 256 without it.
#[cfg(test)]
fn cases() -> u32 {
    std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}
