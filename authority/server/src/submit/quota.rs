//! The bytes that each publisher has brought to the disk: documents, log entries and evidence of its lines.
//!
//! The log does not name the submitter of a statement. So a line is charged to the publisher whose right `publish` names it most closely: a
//! line, before the longest `acme.*`, before `*`. Publishers that name it equally closely are each charged in full. Therefore the account
//! is a function of log, documents and configuration, and is counted again at each start.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use semgate_contexts::Line;

use crate::config::{LinePattern, Publisher};
use crate::http::problem::{Code, Problem};

/// Bytes of a block; common file systems allocate whole blocks.
const BLOCK: u64 = 4096;
/// Divisor for the part of a quota reserved for resumptions: documents alone must not keep a suspended context from coming back.
const RESUMPTIONS: u64 = 8;

/// The bytes on the disk of a file with this content.
pub(crate) fn blocks(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// The purpose of charged bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// A publication, a permission to override, or evidence.
    Growth,
    /// The end of a suspension.
    Resumption,
    /// A revocation, suspension, retirement or floor: never refused for lack of quota. The number of versions bounds them.
    Always,
}

/// The quota of every publisher.
#[derive(Debug)]
pub(crate) struct Quota {
    most: u64,
    publishers: Vec<Publisher>,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: Vec<u64>,
    owners: HashMap<Line, Vec<usize>>,
}

impl Quota {
    /// Empty accounts of these publishers, each with room for so many bytes.
    pub fn new(publishers: &[Publisher], most: u64) -> Self {
        let used = Used { bytes: vec![0; publishers.len()], owners: HashMap::new() };
        Self { most, publishers: publishers.to_vec(), used: Mutex::new(used) }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Charges bytes under a line; nothing is refused.
    pub fn charge(&self, line: &Line, bytes: u64) {
        let mut used = self.used();
        for owner in self.owners(&mut used, line) {
            if let Some(own) = used.bytes.get_mut(owner) {
                *own = own.saturating_add(bytes);
            }
        }
    }

    /// Checks that the accounts of a line have room for so many bytes more.
    ///
    /// # Errors
    /// `authority_full`, with the publisher and its bytes.
    pub fn allows(&self, line: &Line, charged: Charged, bytes: u64) -> Result<(), Problem> {
        let most = match charged {
            Charged::Always => return Ok(()),
            Charged::Resumption => self.most,
            Charged::Growth => self.most - self.most / RESUMPTIONS,
        };
        let mut used = self.used();
        for owner in self.owners(&mut used, line) {
            let own = used.bytes.get(owner).copied().unwrap_or_default();
            if own.saturating_add(bytes) > most
                && let Some(publisher) = self.publishers.get(owner)
            {
                let detail = format!(
                    "the lines of `{}` hold {own} bytes of documents, log entries and evidence, and their quota for this is {most} (`limits.publisher_bytes`)",
                    publisher.id
                );
                return Err(Problem::new(Code::AuthorityFull, detail));
            }
        }
        Ok(())
    }

    /// The publishers that a line is charged to.
    fn owners(&self, used: &mut Used, line: &Line) -> Vec<usize> {
        if let Some(owners) = used.owners.get(line) {
            return owners.clone();
        }
        let closeness = |publisher: &Publisher| {
            publisher.publish.iter().filter(|one| one.covers(line.as_str())).map(closeness).max()
        };
        let close: Vec<_> = self.publishers.iter().map(closeness).collect();
        let closest = close.iter().copied().flatten().max();
        let owns =
            |(owner, one): (usize, &Option<(u8, usize)>)| (one.is_some() && *one == closest).then_some(owner);
        let owners: Vec<usize> = close.iter().enumerate().filter_map(owns).collect();
        used.owners.insert(line.clone(), owners.clone());
        owners
    }
}

/// How closely a pattern names the lines that it covers; larger is closer.
fn closeness(pattern: &LinePattern) -> (u8, usize) {
    match pattern {
        LinePattern::Every => (0, 0),
        LinePattern::Below(head) => (1, head.len()),
        LinePattern::Exactly(_) => (2, 0),
    }
}
