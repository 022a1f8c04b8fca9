//! What peers said they will not go below, remembered for their unlocked messages too (F0-39).

mod stated;

pub use stated::{Stated, StatedFault};

use crate::agreed::Agreement;
use crate::limits::MAX_PAIRS;
use crate::terms::{Minimum, minimum_of};
use semgate_contexts::{Line, Version};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The minimums of pairs of agents, from the last handshake of each pair. A handshake replaces what the one before it said; past
/// [`MAX_PAIRS`] pairs the one whose handshake is oldest is forgotten: floors of authority and operator hold regardless. What is kept
/// over a restart, whoever holds it decides ([`PairMinimums::tell`]).
#[derive(Default)]
pub struct PairMinimums {
    pairs: RwLock<Pairs>,
    journal: OnceLock<Journal>,
}

/// Hears of what a handshake stated, while the memory is locked: it may only put the record aside.
pub type Journal = Box<dyn Fn(&Stated) + Send + Sync>;

impl fmt::Debug for PairMinimums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PairMinimums of {}", self.len())
    }
}

#[derive(Debug, Default)]
struct Pairs {
    known: HashMap<Pair, [Arc<[Minimum]>; 2]>,
    order: VecDeque<Pair>,
}

/// The two ids in the order of their bytes: a minimum binds both directions.
type Pair = (Arc<str>, Arc<str>);

impl PairMinimums {
    /// Nothing remembered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Remembers the minimums of both sides of an agreement.
    pub fn learn(&self, agreement: &Agreement) {
        let [initiator, responder] = agreement.minimums();
        self.put(agreement.initiator().as_str(), agreement.responder().as_str(), initiator, responder);
    }

    fn put(&self, a: &str, b: &str, of_a: &[Minimum], of_b: &[Minimum]) {
        let mut pairs = self.pairs.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let pair = pair(a, b);
        let said = if a <= b { [of_a, of_b] } else { [of_b, of_a] };
        if pairs.known.remove(&pair).is_some() {
            pairs.order.retain(|other| *other != pair);
        }
        if let Some(journal) = self.journal.get() {
            journal(&Stated::of(&pair, said));
        }
        if of_a.is_empty() && of_b.is_empty() {
            return;
        }
        if pairs.known.len() >= MAX_PAIRS
            && let Some(oldest) = pairs.order.pop_front()
        {
            pairs.known.remove(&oldest);
        }
        pairs.order.push_back(pair.clone());
        pairs.known.insert(pair, said.map(Arc::from));
    }

    /// Tells `journal` of every handshake from now on. The first one given stays.
    ///
    /// # Errors
    /// The journal that came second is given back.
    pub fn tell(&self, journal: Journal) -> Result<(), Journal> {
        self.journal.set(journal)
    }

    /// Everything that is remembered, the oldest handshake first: what [`PairMinimums::import`] reads.
    pub fn export(&self) -> Vec<Stated> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        let of = |pair: &Pair| pairs.known.get(pair).map(|[one, other]| Stated::of(pair, [one, other]));
        pairs.order.iter().filter_map(of).collect()
    }

    /// Takes what another run exported, or its journal was told, in that order; the last record of a pair counts, and past
    /// [`MAX_PAIRS`] the oldest go.
    ///
    /// # Errors
    /// [`StatedFault`] at the first record that cannot be read; those before it were taken.
    pub fn import(&self, records: impl IntoIterator<Item = Stated>) -> Result<(), StatedFault> {
        for record in records {
            let (pair, [of_a, of_b]) = record.read()?;
            self.put(&pair.0, &pair.1, &of_a, &of_b);
        }
        Ok(())
    }

    /// What the two said of a line, for [`crate::Floors::peers`]. The order of the two does not matter.
    pub fn floors(&self, a: &str, b: &str, line: &Line) -> [Option<Version>; 2] {
        let pairs = self.pairs.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        if pairs.known.is_empty() {
            return [None; 2];
        }
        match pairs.known.get(&pair(a, b)) {
            Some([one, other]) => [minimum_of(one, line), minimum_of(other, line)],
            None => [None; 2],
        }
    }

    /// What `who` itself said to `with`: what whoever answers in its place says again, since a handshake replaces what the one before said (F0-39).
    pub fn stated_by(&self, who: &str, with: &str) -> Vec<Minimum> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        let known = pairs.known.get(&pair(who, with));
        known.map_or_else(
            Vec::new,
            |[first, second]| if who <= with { first.to_vec() } else { second.to_vec() },
        )
    }

    /// How many pairs are remembered.
    pub fn len(&self) -> usize {
        self.pairs.read().unwrap_or_else(std::sync::PoisonError::into_inner).known.len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn pair(a: &str, b: &str) -> Pair {
    if a <= b { (a.into(), b.into()) } else { (b.into(), a.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimum(line: &str, min: &str) -> Minimum {
        Minimum { line: Line::parse(line).unwrap(), min: Version::parse(min).unwrap() }
    }

    #[test]
    fn f0_39_a_minimum_binds_both_directions_of_its_pair_and_no_other() {
        let minimums = PairMinimums::new();
        let line = Line::parse("payment").unwrap();
        assert_eq!(minimums.floors("a", "b", &line), [None; 2]);
        minimums.put("a", "b", &[], &[minimum("payment", "v2.0")]);
        let v2 = Some(Version::new(2, 0));
        assert_eq!(minimums.floors("a", "b", &line), [None, v2]);
        assert_eq!(minimums.floors("b", "a", &line), [None, v2]);
        assert_eq!(minimums.floors("a", "c", &line), [None; 2]);
        assert_eq!(minimums.floors("a", "b", &Line::parse("travel").unwrap()), [None; 2]);
    }

    #[test]
    fn a_minimum_of_a_line_in_another_case_was_kept_and_bound_nothing() {
        let minimums = PairMinimums::new();
        minimums.put("a", "b", &[], &[minimum("PAYMENT", "v2.0")]);
        let line = Line::parse("payment").unwrap();
        assert_eq!(minimums.floors("a", "b", &line), [None, Some(Version::new(2, 0))]);
        // of two spellings, which no handshake may state, the higher one counts
        minimums.put("a", "b", &[minimum("Payment", "v1.0"), minimum("payment", "v1.1")], &[]);
        assert_eq!(minimums.floors("a", "b", &line), [Some(Version::new(1, 1)), None]);
    }

    #[test]
    fn the_last_handshake_of_a_pair_counts() {
        let minimums = PairMinimums::new();
        let line = Line::parse("payment").unwrap();
        minimums.put("a", "b", &[minimum("payment", "v2.0")], &[]);
        minimums.put("b", "a", &[minimum("payment", "v1.1")], &[]);
        assert_eq!(minimums.floors("a", "b", &line), [None, Some(Version::new(1, 1))]);
        assert_eq!(minimums.stated_by("b", "a"), [minimum("payment", "v1.1")]);
        assert_eq!(minimums.stated_by("a", "b"), []);
        minimums.put("a", "b", &[], &[]);
        assert_eq!(minimums.floors("a", "b", &line), [None; 2]);
        assert!(minimums.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_forgets_the_oldest_pair() {
        let minimums = PairMinimums::new();
        let line = Line::parse("payment").unwrap();
        let one = [minimum("payment", "v2.0")];
        for n in 0..=MAX_PAIRS {
            minimums.put("a", &format!("b{n}"), &one, &[]);
        }
        assert_eq!(minimums.len(), MAX_PAIRS);
        assert_eq!(minimums.floors("a", "b0", &line), [None; 2]);
        assert_eq!(minimums.floors("a", "b1", &line), [Some(Version::new(2, 0)), None]);
    }
}
