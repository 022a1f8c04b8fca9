//! Which limit stopped a message, for the operator's record alone.

use super::buckets::{Charge, Exhausted};
use super::seconds;
use std::{sync::Arc, time::Duration};

/// A limit that stopped a message. What it says is of the operator's configuration, never of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// What kind of limit: `policy`, `budget`, `ambiguity` or `arrivals`.
    pub kind: &'static str,
    /// The id of the policy or the name of the budget; else the kind again.
    pub name: Arc<str>,
    /// How often, as policies write it: `10/minute`, `600/hour burst 50`.
    pub rate: String,
    /// What has a bucket of its own beside the sender: `agent` (nothing else), or `pair`, `concept`, `line`, with commas between.
    pub per: String,
    /// Units that the message would have cost.
    pub cost: u64,
    /// Units that were left.
    pub left: u64,
    /// Whole seconds after which the same message could have passed, by all limits that stopped it; `None`: never, it costs more than
    /// can be held.
    pub again_in: Option<u64>,
}

impl Limited {
    /// The limits that stopped a message; none where there was no room for another bucket.
    pub(super) fn all(charges: &[Charge], exhausted: &Exhausted) -> Vec<Self> {
        let of = |at: &usize| {
            let charge = charges.get(*at)?;
            let told = exhausted.quotas.get(*at).and_then(|quota| quota.left);
            Some(Self {
                kind: charge.kind,
                name: Arc::clone(&charge.by),
                rate: charge.rate.to_string(),
                per: charge.per.to_string(),
                cost: charge.cost,
                left: told.map_or(0, |left| left.units),
                again_in: (!exhausted.never).then(|| seconds(exhausted.wait)),
            })
        };
        exhausted.short.iter().filter_map(of).collect()
    }

    /// A limit that no policy sets, counted for each agent by itself. Without a wait the message never passes.
    pub fn plain(
        kind: &'static str,
        rate: String,
        (cost, left): (usize, u64),
        wait: Option<Duration>,
    ) -> Self {
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
