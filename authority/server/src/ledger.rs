//! What the log amounts to, in memory: the fold of `semgate-statement`, and where each act stands, so that the same act again can be
//! answered with the same index.

use std::collections::{BTreeSet, HashMap};

use semgate_certs::Thumbprint;
use semgate_contexts::Line;
use semgate_statement::{Act, Entry, Replay, ReplayFault, Statement};

/// A fold of every entry of the log.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    replay: Replay,
    acts: HashMap<(u64, Act), u64>,
    floors: HashMap<Line, u64>,
    signers: BTreeSet<Thumbprint>,
}

impl Ledger {
    /// Adds the next entry; nothing changes on a fault.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ReplayFault> {
        let at = self.replay.size();
        self.replay.apply(entry)?;
        match entry.unverified() {
            Statement::Publish { .. } => {}
            Statement::Change { act, index, .. } => {
                self.acts.insert((*index, *act), at);
            }
            Statement::Floor { line, .. } => {
                self.floors.insert(line.clone(), at);
            }
        }
        self.signers.insert(entry.signed().key());
        Ok(())
    }

    /// The fold itself.
    pub fn replay(&self) -> &Replay {
        &self.replay
    }

    /// Where in the log an act on the context at `index` was last done.
    pub fn act_at(&self, index: u64, act: Act) -> Option<u64> {
        self.acts.get(&(index, act)).copied()
    }

    /// Where in the log the floor of a line was last raised.
    pub fn floor_at(&self, line: &Line) -> Option<u64> {
        self.floors.get(line).copied()
    }

    /// Thumbprints of everything that signed an entry.
    pub fn signers(&self) -> &BTreeSet<Thumbprint> {
        &self.signers
    }
}
