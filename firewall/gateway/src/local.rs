//! Answers that the gateway gives by itself.

pub(crate) mod card;
