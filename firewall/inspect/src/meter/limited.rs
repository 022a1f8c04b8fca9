//! The limits that stopped a message, for the operator's record alone.

use super::buckets::{Charge, Exhausted};
use super::seconds;
use std::{sync::Arc, time::Duration};

/// A limit that stopped a message. It describes the operator's configuration, never the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// Kind of limit: `policy`, `budget`, `ambiguity` or `arrivals`.
    pub kind: &'static str,
    /// Id of the policy or name of the budget; otherwise the kind.
    pub name: Arc<str>,
    /// Rate as policies write it: `10/minute`, `600/hour burst 50`.
    pub rate: String,
    /// Key of the bucket besides the sender: `agent` for none, or `pair`, `concept`, `line`, separated by
    /// commas.
    pub per: String,
    /// Cost of the message, in units.
    pub cost: u64,
    /// Remaining units.
    pub left: u64,
    /// Whole seconds until the same message could pass, over all limits that stopped it. `None`: never, since
    /// it costs more than a bucket holds.
    pub again_in: Option<u64>,
}

impl Limited {
    /// The limits that stopped a message; empty if there was no room for another bucket.
    pub(super) fn all(charges: &[Charge], exhausted: &Exhausted) -> Vec<Self> {
        let of = |at: &usize| {
            let charge = charges.get(*at)?;
            let remaining = exhausted.quotas.get(*at).and_then(|quota| quota.left);
            Some(Self {
                kind: charge.kind,
                name: Arc::clone(&charge.by),
                rate: charge.rate.to_string(),
                per: charge.per.to_string(),
                cost: charge.cost,
                left: remaining.map_or(0, |left| left.units),
                again_in: (!exhausted.never).then(|| seconds(exhausted.wait)),
            })
        };
        exhausted.short.iter().filter_map(of).collect()
    }

    /// A limit that no policy sets, counted per agent. Without a wait the message never passes.
    pub fn plain(kind: &'static str, rate: String, cost: usize, left: u64, wait: Option<Duration>) -> Self {
        Self {
            kind,
            name: kind.into(),
            rate,
            per: semgate_policies::RateKey::default().to_string(),
            cost: cost as u64,
            left,
            again_in: wait.map(seconds),
        }
    }
}
