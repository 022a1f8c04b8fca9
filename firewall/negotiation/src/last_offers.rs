//! The last offer of each peer, so that an offer that shrinks is noticed (F0-37).

#[cfg(test)]
mod tests;

use crate::limits::{MAX_OFFERS, MAX_PAIRS};
use crate::terms::Offer;
use semgate_contexts::{Line, Version};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A peer offers a line with a lower newest version than before, or no longer. Both a downgrade and an honest roll-back look
/// like this. The operator is told, and nothing is refused for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShrunkOffer {
    /// The line.
    pub line: Line,
    /// The newest version that was offered before.
    pub before: Version,
    /// The newest version that is offered now; none if the line is not offered.
    pub now: Option<Version>,
}

/// The newest version of each line.
type Newest = Vec<(Line, Version)>;

/// The newest version of each line that each peer offered in its last HELLO. Bounded; past the bound new peers are not watched.
#[derive(Debug, Default)]
pub(crate) struct LastOffers {
    known: Mutex<HashMap<Box<str>, Newest>>,
}

impl LastOffers {
    /// Remembers an offer whose signature was verified, and returns its losses since the one before.
    pub(crate) fn note(&self, peer: &str, offers: &[Offer]) -> Vec<ShrunkOffer> {
        let mut newest = Newest::new();
        for offer in offers.iter().take(MAX_OFFERS) {
            let (line, version) = (offer.urn.line(), offer.urn.version());
            match newest.iter_mut().find(|(known, _)| known == line) {
                Some((_, best)) => *best = version.max(*best),
                None => newest.push((line.clone(), version)),
            }
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(before) = known.get_mut(peer) else {
            if known.len() < MAX_PAIRS {
                known.insert(peer.into(), newest);
            }
            return Vec::new();
        };
        let now = |line: &Line| newest.iter().find(|(other, _)| other == line).map(|(_, version)| *version);
        let shrunk = before
            .iter()
            .filter(|(line, version)| now(line) < Some(*version))
            .map(|(line, version)| ShrunkOffer { line: line.clone(), before: *version, now: now(line) });
        let shrunk = shrunk.collect();
        *before = newest;
        shrunk
    }
}
