//! Approvals by people: the question, the people who may decide, and their decisions.
//!
//! A [`Book`] holds every request to a person. It answers each command with an [`Event`] and changes only when that event is
//! applied, so whoever runs it can write the event to disk first. A book is a pure function of its events: after a crash the
//! same events give the same book.
//!
//! People approve the [`Action`], not the bytes: two messages with the same action find the same hold.
//!
//! This crate opens no socket, reads no clock and draws no randomness: ids and times are arguments. Times are Unix seconds.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod action;
mod book;
mod event;
mod fault;
mod find;
mod hold;
mod human;
mod id;
mod interaction;
mod proof;
pub mod render;
mod required_input;

#[cfg(test)]
mod people_tests;
#[cfg(test)]
mod tests;

pub use action::{Action, ActionDigest, ActionInstance};
pub use book::{Answer, Asked, Book, BookSettings, Link, Pass, Question, Reply, token_hash};
pub use event::{End, Event};
pub use fault::ApprovalFault;
pub use find::{ListedHuman, find};
pub use hold::{Decision, Delegation, Factor, Hold, HoldState, Subject, Verdict};
pub use human::{HumanCard, HumanRegistry, HumanStatus, Profile};
pub use id::{HoldId, HumanId};
pub use interaction::{Interaction, InteractionKind};
pub use proof::{Approved, Used};
pub use required_input::RequiredInput;
