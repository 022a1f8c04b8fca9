//! Single-use links to the confirmation page.

use std::collections::HashMap;

use semgate_contexts::Digest;

use crate::{Event, HoldId, HumanId, Verdict};

/// Links of one hold: two for each of 256 people and repeated notices. No team of approvers is larger.
const MAX_OF_HOLD: usize = 1_024;

/// A link: it lets one person give one answer to one hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The hold.
    pub id: HoldId,
    /// The person.
    pub human: HumanId,
    /// The answer.
    pub verdict: Verdict,
}

/// The hash by which a book knows a token: `sha-256:` and hex digits.
pub fn token_hash(token: &str) -> String {
    Digest::of(token.as_bytes()).to_string()
}

/// Every live link, by the hash of its token.
#[derive(Debug, Default)]
pub(super) struct Links {
    by_hash: HashMap<String, Link>,
    of_hold: HashMap<HoldId, Vec<String>>,
}

impl Links {
    pub(super) fn get(&self, token: &str) -> Option<&Link> {
        self.by_hash.get(&token_hash(token))
    }

    /// Adds a link. One past the bound is left out, so it opens nothing.
    pub(super) fn add(&mut self, hash: &str, link: Link) {
        let hashes = self.of_hold.entry(link.id.clone()).or_default();
        if hashes.len() < MAX_OF_HOLD && !self.by_hash.contains_key(hash) {
            hashes.push(hash.to_owned());
            self.by_hash.insert(hash.to_owned(), link);
        }
    }

    /// Removes a person's links to a hold.
    pub(super) fn burn(&mut self, id: &HoldId, human: &HumanId) {
        let Some(hashes) = self.of_hold.get_mut(id) else { return };
        let by_hash = &mut self.by_hash;
        hashes.retain(|hash| {
            let burnt = by_hash.get(hash).is_none_or(|link| link.human == *human);
            if burnt {
                by_hash.remove(hash);
            }
            !burnt
        });
    }

    /// Removes every link to a hold.
    pub(super) fn end(&mut self, id: &HoldId) {
        for hash in self.of_hold.remove(id).into_iter().flatten() {
            self.by_hash.remove(&hash);
        }
    }

    pub(super) fn events(&self) -> impl Iterator<Item = Event> {
        self.by_hash.iter().map(|(hash, link)| Event::Linked {
            id: link.id.clone(),
            human: link.human.clone(),
            verdict: link.verdict,
            hash: hash.clone(),
        })
    }
}
