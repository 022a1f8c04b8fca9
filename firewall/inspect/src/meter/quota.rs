//! A limit as its caller may know it: what answers carry in `RateLimit-Policy` and `RateLimit`
//! (draft-ietf-httpapi-ratelimit-headers-10).

use std::sync::Arc;

/// One limit that concerns a message, and what its sender has left of it. Every bucket is its sender's own, so it says nothing of
/// anybody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Its name: letters, digits, `.`, `_` and `-`.
    pub name: Arc<str>,
    /// What can be spent at once after a pause.
    pub most: u64,
    /// Seconds in which all of it comes back.
    pub window: u64,
    /// What is left now; `None` where that is not what stopped the message.
    pub left: Option<Left>,
}

/// What is left of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Units that can still be spent.
    pub units: u64,
    /// Whole seconds until there is more; `None` while it is full.
    pub more_in: Option<u64>,
}
