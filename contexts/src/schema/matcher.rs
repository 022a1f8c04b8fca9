//! Patterns as automata, each distinct one of a document compiled once and shared.
//!
//! A pattern becomes a deterministic automaton, which takes one step for each byte of a text. It stays nondeterministic if
//! its table would be too large, or if it has a word boundary outside ASCII. It then takes as many steps for each byte as it
//! has states. Neither form allocates anything that outlives a match, so a pattern costs the same memory at all times.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use regex_automata::Input;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures, pikevm::PikeVM};

use super::SchemaLimits;
use super::meter::charge;
use super::pattern::NO_LINE_END;

/// Serving threads that a document's patterns of names are counted for.
const NAME_THREADS: usize = 4;

/// Steps of one state on one byte: it is taken up, followed and left.
const STATE_STEPS: u64 = 4;

/// Steps of a match besides those for its bytes.
const START: u64 = 8;

/// One compiled pattern.
#[derive(Debug)]
pub(crate) struct Matcher {
    engine: Engine,
    states: u64,
    /// Bytes of its states, and of the form that matches: the states, or its table.
    state_bytes: usize,
    bytes: usize,
}

#[derive(Debug)]
enum Engine {
    Table(Box<dense::DFA<Vec<u32>>>),
    States(Box<PikeVM>),
}

impl Matcher {
    /// Compiles a pattern of a schema, its dots spelt out, within this many bytes. None for a pattern outside the profile, or
    /// a larger one.
    fn compile(pattern: &str, nfa_bytes: usize, table_bytes: usize) -> Option<Self> {
        let translated = jsonschema_regex::to_rust_regex(pattern).ok()?;
        let config =
            thompson::Config::new().nfa_size_limit(Some(nfa_bytes)).which_captures(WhichCaptures::Implicit);
        let nfa = thompson::Compiler::new().configure(config).build(&translated).ok()?;
        let (states, state_bytes) = (nfa.states().len() as u64, nfa.memory_usage());
        let (engine, bytes) = match table(&nfa, table_bytes) {
            Some(table) => {
                let bytes = table.memory_usage();
                (Engine::Table(Box::new(table)), bytes)
            }
            None => (Engine::States(Box::new(PikeVM::new_from_nfa(nfa).ok()?)), state_bytes),
        };
        Some(Self { engine, states, state_bytes, bytes })
    }

    /// Bytes of the library that matches names of members. They hold its states in both directions, captures, and for each
    /// serving thread the built part of the table, at most `table_bytes`.
    pub(super) fn name_bytes(&self, table_bytes: usize) -> u64 {
        let table = match self.engine {
            Engine::Table(_) => self.bytes,
            Engine::States(_) => table_bytes,
        };
        (self.state_bytes.saturating_mul(3)).saturating_add(table.saturating_mul(NAME_THREADS)) as u64
    }

    /// Steps for each byte of a text, at worst.
    pub(super) fn steps_a_byte(&self) -> u64 {
        match self.engine {
            Engine::Table(_) => 1,
            Engine::States(_) => self.states.saturating_mul(STATE_STEPS),
        }
    }

    /// Steps of matching a text of this many bytes, at worst. The working memory of a match by states is made for each one.
    pub(super) fn steps(&self, bytes: u64) -> u64 {
        let each = self.steps_a_byte();
        START.saturating_add(bytes.saturating_mul(each)).saturating_add(if each > 1 { each } else { 0 })
    }

    /// Returns true if the pattern matches somewhere in the text. Charges the match beforehand, and returns false if the
    /// budget does not suffice.
    pub(super) fn matches(&self, text: &str) -> bool {
        if !charge(self.steps(text.len() as u64)) {
            return false;
        }
        let input = Input::new(text).earliest(true);
        match &self.engine {
            // it has no byte to quit at, so every text is read to a verdict
            Engine::Table(table) => table.try_search_fwd(&input).is_ok_and(|end| end.is_some()),
            Engine::States(vm) => vm.is_match(&mut vm.create_cache(), input),
        }
    }
}

/// The deterministic automaton of a nondeterministic one, if it stays within its bytes.
fn table(nfa: &NFA, bytes: usize) -> Option<dense::DFA<Vec<u32>>> {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .accelerate(false)
        .dfa_size_limit(Some(bytes))
        .determinize_size_limit(Some(bytes));
    dense::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

/// The patterns of one document by their text, dots spelt out, each compiled at its first use.
#[derive(Debug, Clone)]
pub(crate) struct Matchers {
    known: Arc<Mutex<MatcherCache>>,
    limits: SchemaLimits,
}

type MatcherCache = BTreeMap<String, Option<Arc<Matcher>>>;

impl Matchers {
    /// None yet; each is compiled within these limits.
    pub(crate) fn new(limits: &SchemaLimits) -> Self {
        Self { known: Arc::default(), limits: limits.clone() }
    }

    /// The limits that they are compiled within.
    pub(super) fn limits(&self) -> &SchemaLimits {
        &self.limits
    }

    /// The compiled pattern; none for a pattern outside the profile, or too large.
    pub(super) fn get(&self, pattern: &str) -> Option<Arc<Matcher>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(pattern) {
            return known.clone();
        }
        // a pattern accepted as written compiles to more with its dots spelt out
        let room = if pattern.contains(NO_LINE_END) { SPELT_OUT } else { 1 };
        let nfa_bytes = self.limits.max_pattern_bytes.saturating_mul(room);
        let made = Matcher::compile(pattern, nfa_bytes, self.limits.max_table_bytes).map(Arc::new);
        known.insert(pattern.to_owned(), made.clone());
        made
    }

    /// Bytes of all compiled patterns, with their texts.
    pub(super) fn bytes(&self) -> u64 {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |(text, made): (&String, &Option<Arc<Matcher>>)| {
            text.len().saturating_add(made.as_ref().map_or(0, |made| made.bytes)) as u64
        };
        known.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// The factor by which a pattern may grow when its dots are spelt out. One of only dots grows by less than a half.
pub(super) const SPELT_OUT: usize = 2;

#[cfg(test)]
mod tests;
