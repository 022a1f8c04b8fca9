//! Log entries: the JCS object `{logged_at, statement}`, at most 65,535 bytes.

use crate::format::{FormatFault, Members, limits, write};
use crate::statement::{SignedStatement, Statement, StatementFault, VerifiedStatement};
use crate::tiles::MAX_ENTRY_BYTES;
use crate::trust::Trust;
use semgate_certs::{Roots, SignerId};
use semgate_contexts::Prefix;

#[cfg(test)]
mod tests;

/// One entry of the log: a signed statement and the time when it was logged. Read, not verified.
#[derive(Clone, Debug)]
pub struct Entry {
    logged_at: u64,
    statement: SignedStatement,
    bytes: Vec<u8>,
}

impl Entry {
    /// Makes an entry. Refuses one too long for a bundle.
    pub fn new(logged_at: u64, statement: SignedStatement) -> Result<Entry, FormatFault> {
        let bytes = write(&serde_json::json!({"logged_at": logged_at, "statement": statement.as_str()}))?;
        if bytes.len() > MAX_ENTRY_BYTES {
            return Err(FormatFault::TooLarge);
        }
        Ok(Entry { logged_at, statement, bytes })
    }

    /// Reads entry bytes in canonical form; anything else is refused.
    pub fn read(bytes: &[u8], prefix: &Prefix) -> Result<Entry, StatementFault> {
        let json =
            semgate_contexts::json::read(bytes, &limits(MAX_ENTRY_BYTES)).map_err(FormatFault::from)?;
        let members = Members::closed(&json, &["logged_at", "statement"], &[])?;
        let statement = SignedStatement::read(members.text("statement")?, prefix)?;
        let entry = Entry::new(members.integer("logged_at")?, statement)?;
        if entry.bytes != bytes {
            return Err(FormatFault::NotCanonical.into());
        }
        Ok(entry)
    }

    /// Time of logging; its signer's chain is judged at this time.
    pub fn logged_at(&self) -> u64 {
        self.logged_at
    }

    /// The statement in its signed form.
    pub fn signed(&self) -> &SignedStatement {
        &self.statement
    }

    /// Its statement, not verified.
    pub fn unverified(&self) -> &Statement {
        self.statement.unverified()
    }

    /// The bytes that the log hashes and bundles.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks the statement's signature, role and line at `logged_at`.
    pub fn verify(&self, trust: &Trust, roots: &Roots) -> Result<VerifiedEntry, StatementFault> {
        let statement = self.statement.verify(trust, roots, self.logged_at)?;
        Ok(VerifiedEntry { logged_at: self.logged_at, statement })
    }
}

/// An entry with a verified statement. Its presence in the log is a separate proof.
#[derive(Clone, Debug)]
pub struct VerifiedEntry {
    logged_at: u64,
    statement: VerifiedStatement,
}

impl VerifiedEntry {
    /// Time of logging.
    pub fn logged_at(&self) -> u64 {
        self.logged_at
    }

    /// The verified statement.
    pub fn statement(&self) -> &Statement {
        self.statement.statement()
    }

    /// Every name by which a statement can compromise its signer.
    pub fn signer_id(&self) -> &SignerId {
        self.statement.signer_id()
    }
}
