//! A limit as shown to its caller in `RateLimit-Policy` and `RateLimit`
//! (draft-ietf-httpapi-ratelimit-headers-10).

use std::sync::Arc;

/// A limit that concerns a message, with its sender's remaining units. Every bucket belongs to one sender, so
/// it reveals nothing about others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// Name of the limit: letters, digits, `.`, `_` and `-`.
    pub name: Arc<str>,
    /// Maximum units at once after a pause.
    pub most: u64,
    /// Seconds to regain all units.
    pub window: u64,
    /// Remaining units; `None` if another limit stopped the message.
    pub left: Option<Left>,
}

/// Remaining units of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Units that can still be spent.
    pub units: u64,
    /// Whole seconds until there is another unit; `None` while the bucket is full.
    pub more_in: Option<u64>,
}

impl Quota {
    /// One quota per name: the bucket with the fewest remaining units.
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
