//! Minimums that peers stated, remembered for their unlocked messages too (F0-39).

mod side;
mod stated;

pub use stated::{Stated, StatedFault};

use crate::HandshakeFault;
use crate::agreed::Agreement;
use crate::floor::Floors;
use crate::limits::MAX_PAIRS;
use crate::terms::{Minimum, minimum_of};
use semgate_contexts::{Line, Version};
use side::Side;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The minimums of pairs of agents: those that each of the two signed last, in whatever order their handshakes ended. Past
/// [`MAX_PAIRS`] pairs, the pair with the oldest handshake is forgotten, pairs without minimums first. Floors of authority
/// and operator hold regardless. The owner decides which records survive a restart ([`PairMinimums::set_journal`]).
#[derive(Default)]
pub struct PairMinimums {
    pairs: RwLock<Pairs>,
    journal: OnceLock<Journal>,
}

/// Receives the statements of a handshake while the memory is locked: it may only put the record aside.
pub type Journal = Box<dyn Fn(&Stated) + Send + Sync>;

impl fmt::Debug for PairMinimums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PairMinimums of {}", self.len())
    }
}

#[derive(Debug, Default)]
struct Pairs {
    /// Also holds pairs without minimums: an earlier statement is compared with the time at which they stated none.
    known: HashMap<Pair, [Side; 2]>,
    order: VecDeque<Pair>,
}

/// The two ids in the order of their bytes: a minimum binds both directions.
type Pair = (Arc<str>, Arc<str>);

impl PairMinimums {
    /// Nothing remembered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers the statements of both sides of an agreement, unless they already stated something later. Then checks the
    /// choice against `floors` and the minimums of both.
    ///
    /// # Errors
    /// As [`PairMinimums::admits`]. Then nothing is remembered.
    pub fn record(&self, agreement: &Agreement, floors: Floors, now: u64) -> Result<(), HandshakeFault> {
        let mut pairs = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        let (pair, sides) = pairs.admitted(agreement, floors, now)?;
        pairs.put(pair, sides, self.journal.get());
        Ok(())
    }

    /// Checks that the choice of an agreement is still at or above every floor and minimum, since new ones may have come
    /// after its HELLO.
    ///
    /// # Errors
    /// [`HandshakeFault::BelowMinimum`]; [`HandshakeFault::Busy`] if one side stated more lines in one second than are kept.
    pub fn admits(&self, agreement: &Agreement, floors: Floors, now: u64) -> Result<(), HandshakeFault> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        pairs.admitted(agreement, floors, now).map(drop)
    }

    /// Tells `journal` of every handshake from now on. The first one given stays.
    ///
    /// # Errors
    /// The second journal, given back.
    pub fn set_journal(&self, journal: Journal) -> Result<(), Journal> {
        self.journal.set(journal)
    }

    /// The minimums of every pair that stated some, the oldest handshake first, for [`PairMinimums::import`].
    pub fn export(&self) -> Vec<Stated> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        let stated = |pair: &&Pair| !pairs.is_bare(pair);
        let of = |pair: &Pair| pairs.known.get(pair).map(|sides| Stated::of(pair, sides));
        pairs.order.iter().filter(stated).filter_map(of).collect()
    }

    /// Takes the records that another run exported or told its journal, in that order. The last record of a pair counts, and
    /// past [`MAX_PAIRS`] the oldest are dropped.
    ///
    /// # Errors
    /// [`StatedFault`] at the first record that cannot be read; those before it are kept.
    pub fn import(&self, records: impl IntoIterator<Item = Stated>) -> Result<(), StatedFault> {
        for record in records {
            let (pair, sides) = record.read()?;
            let mut pairs = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
            pairs.put(pair, sides, self.journal.get());
        }
        Ok(())
    }

    /// The minimums that the two stated for a line, for [`crate::Floors::peers`]. The order of the two does not matter.
    pub fn floors(&self, a: &str, b: &str, line: &Line) -> [Option<Version>; 2] {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        if pairs.known.is_empty() {
            return [None; 2];
        }
        match pairs.known.get(&pair(a, b)) {
            Some(sides) => floors_of(sides, line),
            None => [None; 2],
        }
    }

    /// The minimums that `who` itself stated to `with`. An endpoint in its place repeats them, since a handshake replaces the
    /// statements of the one before (F0-39).
    pub fn stated_by(&self, who: &str, with: &str) -> Vec<Minimum> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        let known = pairs.known.get(&pair(who, with));
        known.map_or_else(Vec::new, |[first, second]| {
            if who <= with { first.minimums.to_vec() } else { second.minimums.to_vec() }
        })
    }

    /// The number of remembered pairs, with those that stated that they have none.
    pub fn len(&self) -> usize {
        self.pairs.read().unwrap_or_else(PoisonError::into_inner).known.len()
    }

    /// Returns true if nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Pairs {
    /// The statements of a pair with this agreement, if its choice is admitted.
    fn admitted(
        &self,
        agreement: &Agreement,
        floors: Floors,
        now: u64,
    ) -> Result<(Pair, [Side; 2]), HandshakeFault> {
        let (a, b) = (agreement.initiator().as_str(), agreement.responder().as_str());
        let pair = pair(a, b);
        let mut sides = self.known.get(&pair).cloned().unwrap_or_default();
        let places = if a <= b { [0, 1] } else { [1, 0] };
        for ((place, minimums), stated_at) in
            places.into_iter().zip(agreement.minimums()).zip(agreement.stated_at)
        {
            // minimums that a gateway repeats in an agent's place are no statement of the agent
            let (Some(stated_at), Some(side)) = (stated_at, sides.get_mut(place)) else { continue };
            *side = side.merged_with(Side { minimums: minimums.as_slice().into(), stated_at }, now)?;
        }
        let (line, version) = (agreement.urn().line(), agreement.urn().version());
        let peers = Floors { peers: floors_of(&sides, line), ..Floors::default() };
        for floors in [floors, peers] {
            floors.admit(version).map_err(|below| HandshakeFault::BelowMinimum { floor: below.floor })?;
        }
        Ok((pair, sides))
    }

    fn put(&mut self, pair: Pair, sides: [Side; 2], journal: Option<&Journal>) {
        if self.known.remove(&pair).is_some() {
            self.order.retain(|other| *other != pair);
        }
        if let Some(journal) = journal {
            journal(&Stated::of(&pair, &sides));
        }
        if self.known.len() >= MAX_PAIRS {
            let bare = self.order.iter().position(|other| self.is_bare(other)).unwrap_or(0);
            self.order.remove(bare).map(|oldest| self.known.remove(&oldest));
        }
        self.order.push_back(pair.clone());
        self.known.insert(pair, sides);
    }

    /// Returns true if neither of a pair stated a minimum.
    fn is_bare(&self, pair: &Pair) -> bool {
        self.known.get(pair).is_none_or(|sides| sides.iter().all(|side| side.minimums.is_empty()))
    }
}

fn floors_of(sides: &[Side; 2], line: &Line) -> [Option<Version>; 2] {
    sides.each_ref().map(|side| minimum_of(&side.minimums, line))
}

fn pair(a: &str, b: &str) -> Pair {
    if a <= b { (a.into(), b.into()) } else { (b.into(), a.into()) }
}

#[cfg(test)]
mod tests;
