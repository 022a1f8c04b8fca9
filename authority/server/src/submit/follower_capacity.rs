//! Room in the documents that followers read. The contexts of a line, floors and certificates are bounded. A submission past a bound is
//! refused, because otherwise every status would go stale. Acts that take something back always have room.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use semgate_certs::{Chain, Thumbprint};
use semgate_contexts::Line;
use semgate_statement::floors::MAX_FLOORS_BYTES;
use semgate_statement::root::MAX_ROOT_STATEMENTS;
use semgate_statement::trust::MAX_TRUST_BYTES;
use semgate_statement::{RootAct, Statement, Trust};

use super::quota::Charged;
use super::{Quota, Request, Sequencer, blocks};
use crate::http::problem::{Code, Problem};

/// Bytes of the trust document reserved for publishers who revoke and for the root.
const RESERVED_TRUST_BYTES: usize = MAX_TRUST_BYTES / 4;
/// Number of root statements reserved for lists of keys and for compromised keys: nothing else can replace either.
const RESERVED_ROOT_STATEMENTS: u64 = MAX_ROOT_STATEMENTS as u64 / 4;
/// An item of the floors document without its line.
const FLOOR_BYTES: usize = r#"{"line":"","min":"v4294967295.4294967295"},"#.len();
/// Bytes of a certificate or chain in the trust document beside its own text: quotes, commas, its name.
const QUOTED_BYTES: usize = 64;

/// Lengths of the documents once the current batch is public, and the charges of its entries.
#[derive(Debug, Default)]
pub(crate) struct FollowerCapacity {
    trust: usize,
    floors: usize,
    /// Chains of this batch.
    chains: BTreeSet<Thumbprint>,
    /// Bytes on the disk by line.
    charged: HashMap<Line, u64>,
    /// Compiled bytes of documents by line.
    compiled: HashMap<Line, u64>,
}

impl FollowerCapacity {
    /// Begins a batch, with the lengths of the public documents.
    pub(super) fn begin(&mut self, trust: usize, floors: usize) {
        (self.trust, self.floors) = (trust, floors);
        self.chains.clear();
        self.charged.clear();
        self.compiled.clear();
    }

    /// Takes bytes on the disk from the quota of a line's publishers, beside those that the batch has taken already.
    fn take_bytes(
        &mut self,
        quota: &Quota,
        line: &Line,
        charged: Charged,
        bytes: u64,
    ) -> Result<(), Problem> {
        let taken = self.charged.get(line).copied().unwrap_or_default();
        quota.allows(line, charged, taken.saturating_add(bytes))?;
        self.charged.insert(line.clone(), taken.saturating_add(bytes));
        Ok(())
    }

    /// Charges the bytes of the batch, once it is on the disk.
    pub(super) fn charge(&mut self, quota: &Quota) {
        self.charged.drain().for_each(|(line, bytes)| quota.charge(&line, bytes));
    }

    /// Takes compiled bytes of a line that already holds `held`.
    fn take_compiled(&mut self, line: &Line, held: u64, bytes: u64, most: u64) -> Result<(), Problem> {
        let after = self.compiled.get(line).copied().unwrap_or_default().saturating_add(bytes);
        if held.saturating_add(after) > most {
            let detail = format!(
                "gateways load {most} bytes of compiled versions of a line, `{}` holds {held} of them, and this document takes {bytes}: revoke versions that nobody uses, or publish under another line",
                line.as_str()
            );
            return Err(Problem::new(Code::AuthorityFull, detail));
        }
        self.compiled.insert(line.clone(), after);
        Ok(())
    }

    /// Takes room for chains that are not public yet.
    fn take_chains(&mut self, chains: &[Chain], public: &Trust) -> Result<(), Problem> {
        let is_new =
            |c: &&Chain| public.chain(&c.thumbprint()).is_none() && !self.chains.contains(&c.thumbprint());
        let new: Vec<&Chain> = chains.iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let certificates = new.iter().flat_map(|chain| chain.certificates());
        let bytes: usize = certificates.map(|der| der.len().div_ceil(3) * 4 + QUOTED_BYTES).sum();
        let after = self.trust + bytes + new.len() * QUOTED_BYTES;
        if after > MAX_TRUST_BYTES - RESERVED_TRUST_BYTES {
            return Err(Problem::new(
                Code::AuthorityFull,
                "there is no room for the certificate of another signer",
            ));
        }
        self.trust = after;
        self.chains.extend(new.iter().map(|chain| chain.thumbprint()));
        Ok(())
    }

    fn take_floor(&mut self, line: &str) -> Result<(), Problem> {
        let after = self.floors + FLOOR_BYTES + line.len();
        if after > MAX_FLOORS_BYTES {
            return Err(Problem::new(Code::AuthorityFull, "there is no room for the floor of another line"));
        }
        self.floors = after;
        Ok(())
    }

    fn take_root(&mut self, statement: &str) -> Result<(), Problem> {
        let after = self.trust + statement.len() + QUOTED_BYTES;
        if after > MAX_TRUST_BYTES {
            return Err(Problem::new(
                Code::TrustRefused,
                "followers accept no trust document of that length",
            ));
        }
        self.trust = after;
        Ok(())
    }
}

impl Sequencer {
    /// Checks that an entry of so many bytes leaves every document short enough for its readers, and its accounts within their bounds.
    pub(super) fn check_capacity(&mut self, request: &Request, entry: usize) -> Result<(), Problem> {
        self.fits_readers(request)?;
        let Some((line, charged)) = request.charged() else { return Ok(()) };
        let document = request.published().map_or(0, |(_, document)| blocks(document.len()));
        self.room.take_bytes(&self.quota, line, charged, document.saturating_add(entry as u64))
    }

    fn check_line_capacity(&mut self, line: &Line, compiled: u64) -> Result<(), Problem> {
        if self.ledger.line_contexts(line) >= self.limits.line_contexts {
            let detail = format!(
                "followers load {} versions of a line at most, and `{}` has as many: publish under another line",
                self.limits.line_contexts,
                line.as_str()
            );
            return Err(Problem::new(Code::AuthorityFull, detail));
        }
        let held = self.compiled.sum(self.ledger.counting(line));
        self.room.take_compiled(line, held, compiled, self.limits.line_compiled_bytes as u64)
    }

    fn fits_readers(&mut self, request: &Request) -> Result<(), Problem> {
        match request {
            Request::Publish { statement, chains, compiled, .. } => {
                if let Statement::Publish { urn, .. } = statement.signed().unverified() {
                    self.check_line_capacity(urn.line(), *compiled)?;
                }
                self.room.take_chains(chains, &self.trust)
            }
            Request::Floor { line, .. } if !self.ledger.replay().floors().contains_key(line) => {
                self.room.take_floor(line.as_str())
            }
            Request::Root(signed) => {
                if let Statement::Root(statement) = signed.unverified()
                    && matches!(statement.act, RootAct::LowerFloor { .. } | RootAct::Recognise(_))
                    && statement.number > MAX_ROOT_STATEMENTS as u64 - RESERVED_ROOT_STATEMENTS
                {
                    return Err(Problem::new(
                        Code::TrustRefused,
                        "the last statement numbers of the root are reserved for its keys and for compromised keys",
                    ));
                }
                self.room.take_root(signed.as_str())
            }
            Request::Floor { .. }
            | Request::Change { .. }
            | Request::Withdraw { .. }
            | Request::Override { .. }
            | Request::Conflict { .. } => Ok(()),
        }
    }
}
