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

impl Quota {
    /// One for each name: where several buckets of one limit were spent from, the one that has least left.
    pub fn tightest(quotas: Vec<Self>) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::with_capacity(quotas.len());
        let least = |quota: &Self| {
            quota.left.map_or((u64::MAX, 0), |left| (left.units, u64::MAX - left.more_in.unwrap_or(0)))
        };
        for quota in quotas {
            match all.iter_mut().find(|one| one.name == quota.name) {
                Some(one) if least(&quota) < least(one) => *one = quota,
                Some(_) => {}
                None => all.push(quota),
            }
        }
        all
    }
}
