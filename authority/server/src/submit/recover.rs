//! The log on the disk: opened, folded, and read again after a failed write.

use std::path::Path;

use semgate_contexts::Prefix;
use semgate_statement::{Anchors, Checkpoint, Entry, StatementFault};

use super::{Sequencer, VerifiedLeaves};
use crate::RunFault;
use crate::ledger::Ledger;
use crate::store::{LastSeen, Log};

impl Sequencer {
    /// Goes back to the state on disk after a write that failed before the commit point. If the disk cannot even set the leftovers aside,
    /// only the entries are read again. The log in memory has not changed, and the next start clears up.
    pub(super) fn recover(&mut self) -> Result<(), RunFault> {
        self.heads.forget();
        if let Err(fault) = self.open_again() {
            tracing::warn!("the remains of a failed write are not set aside yet: {fault}");
            let (key, dir) = (self.log.verifier(), self.log.dir());
            let mut ledger = Ledger::new(self.documents.clone());
            Log::peek(dir, key, &mut fold(dir, &self.prefix, &mut ledger))?;
            self.ledger = ledger;
        }
        // statements of the root in the failed batch do not count
        self.anchors = fold_anchors(&self.configured, &self.ledger, &self.prefix, self.log.dir())?;
        // nor do chains verified under them
        self.verified = VerifiedLeaves::default();
        self.adopt_anchors();
        Ok(())
    }

    fn open_again(&mut self) -> Result<(), RunFault> {
        let seen = Checkpoint::verify(
            self.log.checkpoint().as_bytes(),
            self.log.verifier(),
            self.log.verifier().name(),
        );
        let seen = seen.map_err(|e| RunFault::damaged(self.log.dir(), e))?;
        let witness = LastSeen { seen: Some(seen), pinned: None };
        let (key, dir) = (self.log.key_again(), self.log.dir());
        let mut ledger = Ledger::new(self.documents.clone());
        let mut folded = fold(dir, &self.prefix, &mut ledger);
        let (log, _) = Log::open(dir, key, &witness, &self.leftovers, &mut folded)?;
        drop(folded);
        self.log = log;
        self.ledger = ledger;
        Ok(())
    }
}

/// The statements of a log's root, each verified under those before it.
pub(crate) fn fold_anchors(
    configured: &Anchors,
    ledger: &Ledger,
    prefix: &Prefix,
    dir: &Path,
) -> Result<Anchors, RunFault> {
    configured.with_entries(ledger.root(), u64::MAX, prefix).map_err(|fault| RunFault::damaged(dir, fault))
}

/// Adds the entries of the log in `dir` to a ledger.
pub(crate) fn fold<'a>(
    dir: &'a Path,
    prefix: &'a Prefix,
    ledger: &'a mut Ledger,
) -> impl FnMut(u64, &[u8]) -> Result<(), RunFault> + 'a {
    move |index, bytes| {
        let damaged =
            |what: &dyn std::fmt::Display| RunFault::damaged(dir, format_args!("entry {index}: {what}"));
        let entry = Entry::read(bytes, prefix).map_err(|e: StatementFault| damaged(&e))?;
        ledger.apply_entry(&entry).map_err(|e| damaged(&e))
    }
}
