//! Judges messages: bytes in, [`Permit`] or [`Refusal`] out.
//!
//! The stages are modules, in this order: [`parse`] → [`resolve`] → [`conform`] → [`decide`] → [`meter`].
//! Each stage takes a value that only the stage before it can build. A gateway can forward only the bytes
//! that a [`Permit`] owns.
//!
//! Skipping a stage does not compile. The stages are private, and nothing else can build the values between
//! them:
//!
//! ```
//! use semgate_inspect::{conform::Conformed, decide::Decided, meter::Metered, parse::Parsed, resolve::Resolved};
//! ```
//!
//! ```compile_fail,E0603
//! use semgate_inspect::decide::decide;
//! ```
//!
//! ```compile_fail,E0603
//! use semgate_inspect::parse::parse;
//! ```
//!
//! ```compile_fail,E0423
//! # fn forge(decided: semgate_inspect::decide::Decided<'_, '_>) {
//! let metered = semgate_inspect::meter::Metered(decided);
//! # }
//! ```
//!
//! ```compile_fail,E0451
//! # fn forge<'c, 'j>(parsed: semgate_inspect::parse::Parsed<'c, 'j>) {
//! let resolved = semgate_inspect::resolve::Resolved { parsed, named: todo!(), control: None, notice: None, fresh_until: 0 };
//! # }
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod answer_right;
mod approval;
pub mod arrived;
pub mod clarify;
pub mod code;
pub mod conform;
pub mod decide;
mod dialogue_rules;
mod dialogues;
mod early;
mod effects;
pub mod exchange;
pub mod facts;
pub mod generation;
mod group;
mod id_reuse;
mod input;
mod inspection;
pub mod inspector;
mod joined_texts;
pub mod limits;
mod list;
mod mcp_session;
pub mod meter;
mod missing_fields;
mod negotiated_terms;
pub mod offer;
mod once;
pub mod owners;
mod ownership;
pub mod parse;
pub mod permit;
pub mod push;
mod redact;
pub mod refusal;
mod removal;
pub mod reply;
pub mod resolve;
pub mod route;
pub mod scan;
pub mod shadow;
mod stages;
mod standing;
mod state;
pub mod stream;
pub mod subscriptions;
mod term_negotiation;
pub mod tools;
mod turn;

pub use answer_right::AnswerRight;
pub use approval::NeedsApproval;
pub use arrived::{Answered, Arrived, Outgoing};
pub use clarify::Clarification;
pub use code::Code;
pub use dialogue_rules::{AgentDomain, AgentSecret, DialogueRules, LONGEST_SESSION};
pub use early::SignedHead;
pub use exchange::Exchanges;
pub use facts::{Direction, Facts};
pub use generation::{Generation, GenerationFault, asks_ambiguously};
pub use inspection::{HeaderClaims, Now, Peer};
pub use inspector::Inspector;
pub use limits::InspectLimits;
pub use meter::{Left, Limited, Quota};
pub use owners::{Delivery, Journal, Kind, Owned, Owners, Scope};
pub use permit::{Notice, Permit, ReplyPermit, Sent, Written};
pub use push::{Notification, Posted};
pub use refusal::{Delivered, Refusal, Remedy, RpcId};
pub use reply::refused as refused_reply;
pub use route::{
    GroupScope, LineScope, NullArguments, Route, RouteFault, RouteOptions, TextParts, Undefined, UnnamedTools,
};
pub use scan::{
    FieldBaseline, INJECTION_BUCKETS, InjectionHistogram, ScanCounts, ScanField, Scored, TextScanner,
};
pub use shadow::{Differs, Shadow, ShadowCounts, Would};
pub use stream::StreamState;
pub use subscriptions::Subscriptions;
