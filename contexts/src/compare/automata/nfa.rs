//! A pattern as a nondeterministic automaton over characters. It has the meaning of the validator's engine: a match anywhere
//! in the text, unless the pattern is anchored.

use std::collections::HashMap;

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::super::budget::Budget;

/// Characters from the first to the last, both included; in order, and apart.
pub(super) type Ranges = Vec<(char, char)>;

/// Returns true if a character is in the ranges.
pub(super) fn holds(ranges: &Ranges, c: char) -> bool {
    let after = ranges.partition_point(|(first, _)| *first <= c);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, last)| c <= *last)
}

/// States of a pattern that are looked at within one step: each is a look into a table.
const STATES_A_STEP: u64 = 8;
/// States of a pattern that are marked as not seen within one step: one byte each.
const UNSEEN_A_STEP: u64 = 1_024;

/// One instruction.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// One character of class `.0`, then on to `.1`.
    Char(usize, usize),
    /// Both ways.
    Split(usize, usize),
    /// Only at the start of the text.
    Start(usize),
    /// Only at its end.
    End(usize),
    /// Found.
    Found,
    /// Leads nowhere: an empty class.
    Never,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(in super::super) struct Nfa {
    pub(super) steps: Vec<Step>,
    pub(super) start: usize,
    /// The classes that its steps name.
    pub(super) classes: Vec<Ranges>,
}

/// The reason that a pattern is not followed here.
pub(in super::super) type Unsupported = &'static str;

impl Nfa {
    /// Compiles the pattern of a schema, translated as the validator translates it.
    pub(in super::super) fn of_schema(pattern: &str, most: usize) -> Result<Nfa, Unsupported> {
        let translated =
            jsonschema_regex::to_rust_regex(pattern).map_err(|()| "a pattern that is not translated")?;
        Nfa::of(&translated, most)
    }

    /// Compiles a pattern of the `regex` crate.
    pub(in super::super) fn of(pattern: &str, most: usize) -> Result<Nfa, Unsupported> {
        let hir = regex_syntax::Parser::new().parse(pattern).map_err(|_| "a pattern that is not parsed")?;
        let nfa = Nfa { steps: vec![Step::Found], start: 0, classes: Vec::new() };
        let mut making = NfaBuilder { nfa, classes: HashMap::new() };
        making.nfa.start = making.add(&hir, 0, most)?;
        Ok(making.nfa)
    }
}

/// An automaton that is being made.
struct NfaBuilder {
    nfa: Nfa,
    /// The numbers of its classes.
    classes: HashMap<Ranges, usize>,
}

impl NfaBuilder {
    fn push(&mut self, step: Step, most: usize) -> Result<usize, Unsupported> {
        if self.nfa.steps.len() >= most {
            return Err("a pattern of too many states");
        }
        self.nfa.steps.push(step);
        Ok(self.nfa.steps.len().saturating_sub(1))
    }

    fn class(&mut self, ranges: Ranges) -> usize {
        if let Some(known) = self.classes.get(&ranges) {
            return *known;
        }
        let number = self.nfa.classes.len();
        self.nfa.classes.push(ranges.clone());
        self.classes.insert(ranges, number);
        number
    }

    /// Adds an automaton that matches `hir` and then goes on at `next`; returns its first step.
    fn add(&mut self, hir: &Hir, next: usize, most: usize) -> Result<usize, Unsupported> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => {
                let text = std::str::from_utf8(&literal.0).map_err(|_| "a pattern of bytes")?;
                text.chars().rev().try_fold(next, |next, c| {
                    let class = self.class(vec![(c, c)]);
                    self.push(Step::Char(class, next), most)
                })
            }
            HirKind::Class(class) => {
                let ranges: Ranges = match class {
                    Class::Unicode(class) => class.iter().map(|r| (r.start(), r.end())).collect(),
                    Class::Bytes(class) if class.is_ascii() => {
                        class.iter().map(|r| (char::from(r.start()), char::from(r.end()))).collect()
                    }
                    Class::Bytes(_) => return Err("a pattern of bytes"),
                };
                if ranges.is_empty() {
                    return self.push(Step::Never, most);
                }
                let class = self.class(ranges);
                self.push(Step::Char(class, next), most)
            }
            HirKind::Look(Look::Start) => self.push(Step::Start(next), most),
            HirKind::Look(Look::End) => self.push(Step::End(next), most),
            HirKind::Look(_) => Err("a pattern with word boundaries or line anchors"),
            HirKind::Capture(capture) => self.add(&capture.sub, next, most),
            HirKind::Concat(parts) => {
                parts.iter().rev().try_fold(next, |next, part| self.add(part, next, most))
            }
            HirKind::Alternation(parts) => {
                let mut start = None;
                for part in parts.iter().rev() {
                    let one = self.add(part, next, most)?;
                    start = Some(match start {
                        None => one,
                        Some(rest) => self.push(Step::Split(one, rest), most)?,
                    });
                }
                start.ok_or("a pattern without branches")
            }
            HirKind::Repetition(repetition) => {
                self.repeat(&repetition.sub, repetition.min, repetition.max, next, most)
            }
        }
    }

    fn repeat(
        &mut self,
        part: &Hir,
        least: u32,
        greatest: Option<u32>,
        next: usize,
        most: usize,
    ) -> Result<usize, Unsupported> {
        let mut at = next;
        match greatest {
            None => {
                let again = self.push(Step::Never, most)?;
                let body = self.add(part, again, most)?;
                if let Some(step) = self.nfa.steps.get_mut(again) {
                    *step = Step::Split(body, next);
                }
                at = again;
            }
            Some(greatest) => {
                for _ in least..greatest {
                    let body = self.add(part, at, most)?;
                    at = self.push(Step::Split(body, next), most)?;
                }
            }
        }
        for _ in 0..least {
            at = self.add(part, at, most)?;
        }
        Ok(at)
    }
}

/// The state of an automaton after some text: the steps that wait for a character or for the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct NfaState {
    steps: Vec<usize>,
    /// Nothing has been read yet.
    fresh: bool,
    /// The pattern has matched already, whatever follows.
    pub(super) accepted: bool,
}

impl Nfa {
    /// The number of its steps.
    pub(in super::super) fn size(&self) -> u64 {
        self.steps.len() as u64
    }

    /// Returns true if the text matches; none if no steps are left for it.
    pub(in super::super) fn is_in(&self, text: &str, budget: &Budget) -> Option<bool> {
        let mut waiting = self.begin(budget);
        for c in text.chars() {
            if waiting.accepted {
                break;
            }
            if budget.spent_out() {
                return None;
            }
            let is_in = |class: usize| self.classes.get(class).is_some_and(|ranges| holds(ranges, c));
            waiting = self.after(&waiting, is_in, budget);
        }
        let ends = self.ends(&waiting, budget);
        (!budget.spent_out()).then_some(ends)
    }

    /// Before the first character.
    pub(super) fn begin(&self, budget: &Budget) -> NfaState {
        self.close(vec![self.start], true, false, budget)
    }

    /// The state after one more character; `is_in` tells its classes.
    pub(super) fn after(
        &self,
        waiting: &NfaState,
        is_in: impl Fn(usize) -> bool,
        budget: &Budget,
    ) -> NfaState {
        if waiting.accepted {
            return waiting.clone();
        }
        let mut next = vec![self.start];
        for step in &waiting.steps {
            if let Some(Step::Char(class, on)) = self.steps.get(*step)
                && is_in(*class)
            {
                next.push(*on);
            }
        }
        budget.spend(waiting.steps.len() as u64 / STATES_A_STEP);
        self.close(next, false, false, budget)
    }

    /// Returns true if the pattern matches a text that ends here.
    pub(super) fn ends(&self, waiting: &NfaState, budget: &Budget) -> bool {
        waiting.accepted || self.close(waiting.steps.clone(), waiting.fresh, true, budget).accepted
    }

    /// All states that can be reached without a character. Takes a step for every few states, and at least one.
    fn close(&self, open: Vec<usize>, fresh: bool, end: bool, budget: &Budget) -> NfaState {
        let (waiting, looked) = self.reach(open, fresh, end);
        budget.spend(1 + looked / STATES_A_STEP + self.steps.len() as u64 / UNSEEN_A_STEP);
        waiting
    }

    fn reach(&self, mut open: Vec<usize>, fresh: bool, end: bool) -> (NfaState, u64) {
        let mut seen = vec![false; self.steps.len()];
        let mut steps = Vec::new();
        let mut looked = 0;
        while let Some(at) = open.pop() {
            looked += 1;
            match seen.get_mut(at) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            match self.steps.get(at) {
                Some(Step::Char(..)) => steps.push(at),
                Some(Step::Split(left, right)) => open.extend([*left, *right]),
                Some(Step::Start(next)) if fresh => open.push(*next),
                Some(Step::End(next)) if end => open.push(*next),
                Some(Step::End(_)) => steps.push(at),
                Some(Step::Found) => {
                    return (NfaState { steps: Vec::new(), fresh: false, accepted: true }, looked);
                }
                Some(Step::Start(_) | Step::Never) | None => {}
            }
        }
        steps.sort_unstable();
        (NfaState { steps, fresh, accepted: false }, looked)
    }
}
