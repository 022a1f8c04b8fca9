//! Texts that match some patterns and not others, with a length within bounds.
//!
//! The automata of all patterns run side by side. Their input is one representative of each set of characters that no
//! automaton can tell apart. So the answer is exact: a text, or none.

mod alphabet;
mod nfa;

use std::collections::HashMap;
use std::collections::VecDeque;

use alphabet::Alphabet;
use nfa::NfaState;
pub(super) use nfa::{Nfa, Unsupported};

use super::budget::Budget;

/// One pattern, compiled, or the reason that it is not followed.
pub(super) type Pattern = Result<Nfa, Unsupported>;

/// The demands on a text.
#[derive(Debug, Default)]
pub(super) struct TextConstraints<'p> {
    /// Patterns, each with `true` if it must match and `false` if it must not.
    pub(super) patterns: Vec<(&'p Pattern, bool)>,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
    /// No character that free text refuses.
    pub(super) plain: bool,
    /// At least one of them.
    pub(super) not_plain: bool,
    /// None of these texts.
    pub(super) not: Vec<&'p str>,
}

/// All automata at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    patterns: Vec<usize>,
    /// The position in the tree of excluded texts; none once the text has left it.
    tree: Option<usize>,
    /// A character that free text refuses was seen.
    odd: bool,
    /// Characters, counted up to the least.
    length: u64,
}

/// Characters of texts that are put into a tree, or followed in it, within one step.
const CHARACTERS_A_STEP: u64 = 2;

/// The excluded texts, by their characters.
#[derive(Debug, Default)]
struct Tree {
    nodes: Vec<(HashMap<char, usize>, bool)>,
}

impl Tree {
    /// The tree; none if there is no time for it.
    fn of(texts: &[&str], budget: &Budget) -> Option<Self> {
        let mut tree = Tree { nodes: vec![(HashMap::new(), false)] };
        for text in texts {
            if !budget.spend(1 + text.len() as u64 / CHARACTERS_A_STEP) {
                return None;
            }
            let mut at = 0;
            for c in text.chars() {
                let fresh = tree.nodes.len();
                let Some((next, _)) = tree.nodes.get_mut(at) else { break };
                at = *next.entry(c).or_insert(fresh);
                if at == fresh {
                    tree.nodes.push((HashMap::new(), false));
                }
            }
            if let Some((_, ends)) = tree.nodes.get_mut(at) {
                *ends = true;
            }
        }
        Some(tree)
    }
}

/// The states of one pattern, each once.
struct PatternStates<'p> {
    nfa: &'p Nfa,
    wanted: bool,
    states: Vec<NfaState>,
    numbers: HashMap<NfaState, usize>,
    next: HashMap<(usize, usize), usize>,
    ends: HashMap<usize, bool>,
}

impl<'p> PatternStates<'p> {
    fn new(nfa: &'p Nfa, wanted: bool) -> Self {
        let (states, numbers, next, ends) = (Vec::new(), HashMap::new(), HashMap::new(), HashMap::new());
        PatternStates { nfa, wanted, states, numbers, next, ends }
    }

    fn number(&mut self, waiting: NfaState) -> usize {
        if let Some(known) = self.numbers.get(&waiting) {
            return *known;
        }
        let number = self.states.len();
        self.states.push(waiting.clone());
        self.numbers.insert(waiting, number);
        number
    }
}

/// Finds up to `count` texts, the shortest first.
///
/// # Errors
/// The reason that cut the search short.
pub(super) fn find(
    wanted: &TextConstraints<'_>,
    count: usize,
    budget: &Budget,
) -> Result<Vec<String>, &'static str> {
    let mut known = Vec::new();
    for (pattern, wanted) in &wanted.patterns {
        let nfa = pattern.as_ref().map_err(|why| *why)?;
        known.push(PatternStates::new(nfa, *wanted));
    }
    let alphabet = Alphabet::of(&known.iter().map(|k| k.nfa).collect::<Vec<_>>(), wanted, budget);
    let (Some(alphabet), Some(tree)) = (alphabet, Tree::of(&wanted.not, budget)) else {
        return Err(budget.reason());
    };
    Search { wanted, alphabet, tree, known }.run(count, budget)
}

struct Search<'p> {
    wanted: &'p TextConstraints<'p>,
    alphabet: Alphabet,
    tree: Tree,
    known: Vec<PatternStates<'p>>,
}

/// A reached state, its successors, and its distance from a wanted text.
#[derive(Debug, Default)]
struct ReachedState {
    next: Vec<(char, usize)>,
    before: Vec<usize>,
    accepts: bool,
    distance: Option<u64>,
}

impl Search<'_> {
    fn run(mut self, count: usize, budget: &Budget) -> Result<Vec<String>, &'static str> {
        let mut graph = self.graph(budget).ok_or(budget.reason())?;
        distances(&mut graph);
        let Some(shortest) = graph.first().and_then(|start| start.distance) else { return Ok(Vec::new()) };
        if self.wanted.most.is_some_and(|most| shortest > most) {
            return Ok(Vec::new());
        }
        let mut writer = Writer { graph: &graph, budget, count, text: String::new(), texts: Vec::new() };
        let longest = self.wanted.most.unwrap_or(u64::MAX).min(shortest.saturating_add(40));
        for length in shortest..=longest {
            writer.collect(0, length);
            if writer.texts.len() >= count || budget.spent_out() {
                break;
            }
        }
        if writer.texts.is_empty() { Err(budget.reason()) } else { Ok(writer.texts) }
    }

    /// Every reachable state, breadth first; none if there are too many.
    fn graph(&mut self, budget: &Budget) -> Option<Vec<ReachedState>> {
        let patterns = self.known.iter_mut().map(|known| {
            let begin = known.nfa.begin(budget);
            known.number(begin)
        });
        let start = State { patterns: patterns.collect(), tree: Some(0), odd: false, length: 0 };
        let mut numbers = HashMap::from([(start.clone(), 0_usize)]);
        let mut graph = vec![ReachedState::default()];
        let mut open = VecDeque::from([(0_usize, start)]);
        while let Some((number, state)) = open.pop_front() {
            let accepts = self.accepts(&state, budget);
            let mut next = Vec::new();
            for letter in 0..self.alphabet.len() {
                if !budget.spend(2 + self.known.len() as u64) {
                    return None;
                }
                let Some((c, state)) = self.after(&state, letter, budget) else { continue };
                let fresh = graph.len();
                let target = *numbers.entry(state.clone()).or_insert(fresh);
                if target == fresh {
                    graph.push(ReachedState::default());
                    open.push_back((fresh, state));
                }
                if let Some(reached) = graph.get_mut(target) {
                    reached.before.push(number);
                }
                next.push((c, target));
            }
            if let Some(reached) = graph.get_mut(number) {
                reached.accepts = accepts;
                reached.next = next;
            }
        }
        Some(graph)
    }

    fn accepts(&mut self, state: &State, budget: &Budget) -> bool {
        let in_tree = state.tree.and_then(|at| self.tree.nodes.get(at)).is_some_and(|(_, ends)| *ends);
        if in_tree || state.length < self.wanted.least || (self.wanted.not_plain && !state.odd) {
            return false;
        }
        self.known.iter_mut().zip(&state.patterns).all(|(known, number)| {
            let ends = match known.ends.get(number) {
                Some(ends) => *ends,
                None => {
                    let ends =
                        known.states.get(*number).is_some_and(|waiting| known.nfa.ends(waiting, budget));
                    known.ends.insert(*number, ends);
                    ends
                }
            };
            ends == known.wanted
        })
    }

    fn after(&mut self, state: &State, letter: usize, budget: &Budget) -> Option<(char, State)> {
        let c = self.alphabet.char(letter)?;
        let odd = self.alphabet.is_odd(letter);
        if odd && self.wanted.plain {
            return None;
        }
        let mut patterns = Vec::with_capacity(self.known.len());
        for (index, known) in self.known.iter_mut().enumerate() {
            let number = *state.patterns.get(index)?;
            let next = match known.next.get(&(number, letter)) {
                Some(next) => *next,
                None => {
                    let waiting = known.states.get(number)?.clone();
                    let alphabet = &self.alphabet;
                    let after =
                        known.nfa.after(&waiting, |class| alphabet.is_in(letter, index, class), budget);
                    let next = known.number(after);
                    known.next.insert((number, letter), next);
                    next
                }
            };
            // matched where it must not: no text goes on from here
            if !known.wanted && known.states.get(next).is_some_and(|waiting| waiting.accepted) {
                return None;
            }
            patterns.push(next);
        }
        let tree =
            state.tree.and_then(|at| self.tree.nodes.get(at)).and_then(|(next, _)| next.get(&c).copied());
        let length = state.length.saturating_add(1).min(self.wanted.least);
        Some((c, State { patterns, tree, odd: self.wanted.not_plain && (state.odd || odd), length }))
    }
}

/// The distance of each state from a wanted text, computed backwards.
fn distances(graph: &mut [ReachedState]) {
    let mut open: VecDeque<usize> = VecDeque::new();
    for (number, reached) in graph.iter_mut().enumerate() {
        if reached.accepts {
            reached.distance = Some(0);
            open.push_back(number);
        }
    }
    while let Some(number) = open.pop_front() {
        let Some(reached) = graph.get(number) else { continue };
        let distance = reached.distance.map(|distance| distance + 1);
        for before in reached.before.clone() {
            if let Some(before_it) = graph.get_mut(before)
                && before_it.distance.is_none()
            {
                before_it.distance = distance;
                open.push_back(before);
            }
        }
    }
}

/// Writes the texts that a graph leads to.
struct Writer<'g> {
    graph: &'g [ReachedState],
    budget: &'g Budget,
    count: usize,
    text: String,
    texts: Vec<String>,
}

impl Writer<'_> {
    fn distance(&self, at: usize) -> Option<u64> {
        self.graph.get(at)?.distance
    }

    /// Texts of exactly this many more characters.
    fn collect(&mut self, at: usize, left: u64) {
        let Some(reached) = self.graph.get(at) else { return };
        let far = reached.distance.is_none_or(|distance| distance > left);
        if far || self.texts.len() >= self.count || !self.budget.spend(1) {
            return;
        }
        if left == 0 {
            self.texts.push(self.text.clone());
            return;
        }
        let length = self.text.len();
        for (c, next) in &reached.next {
            if left <= 200 {
                self.text.push(*c);
                self.collect(*next, left - 1);
                self.text.truncate(length);
            } else if self.distance(*next).is_some_and(|distance| distance < left) {
                // a straight path is walked without recursion, since texts may be long
                self.text.push(*c);
                self.budget.spend(left / CHARACTERS_A_STEP);
                self.walk(*next, left - 1);
                self.text.truncate(length);
                return;
            }
        }
    }

    /// One long text, along a shortest path. It is only as long as the shortest, so that the path never ends early.
    fn walk(&mut self, mut at: usize, mut left: u64) {
        while left > 0 {
            let Some(reached) = self.graph.get(at) else { return };
            let nearer = reached.next.iter().find(|(_, next)| self.distance(*next) == Some(left - 1));
            let Some((c, next)) = nearer else { return };
            self.text.push(*c);
            at = *next;
            left -= 1;
        }
        if self.graph.get(at).is_some_and(|reached| reached.accepts) {
            self.texts.push(self.text.clone());
        }
    }
}

#[cfg(test)]
mod tests;
