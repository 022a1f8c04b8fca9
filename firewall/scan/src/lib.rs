//! Scores of free text, for policies to read. A score is one input to a policy and never the lock: known wordings of injected
//! instructions and their disguises are scored, at a stated rate of false alarms. Instructions that read like plain requests are not.
//!
//! All arithmetic is on integers, so a text has the same scores on every machine. Nothing here reads a clock, opens a file or
//! keeps a text.

mod baseline;
mod fold;
mod hash;
mod linear;
mod markers;
mod model;
mod parts;
mod scanner;
mod views;

pub use baseline::{Baseline, BaselineFault, HeldOut, LearnFault, Rate};
pub use fold::scored_characters;
pub use markers::Markers;
pub use model::{FEATURES, Model, ModelFault};
pub use scanner::{MAX_CHARACTERS, Scanner, TextScores, Wanted};
