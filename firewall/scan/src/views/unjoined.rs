//! Words that were written without blanks.

use std::sync::OnceLock;

/// Common words, one in each line.
const WORDS: &str = include_str!("../../words.txt");
/// Least letters of a run that is taken for several words.
const RUN: usize = 20;
/// Least words in a run.
const LEAST_WORDS: u32 = 4;
/// Cost of a word, and of a letter that belongs to none.
const WORD: u32 = 2;
const STRAY: u32 = 3;

/// The common words as a tree: for each node, the nodes of the next letter and the end of a word.
struct Tree(Vec<Node>);

#[derive(Default, Clone)]
struct Node {
    next: [Option<u16>; 26],
    ends: bool,
}

fn index(letter: u8) -> usize {
    usize::from(letter.wrapping_sub(b'a'))
}

impl Tree {
    fn new() -> Self {
        let mut nodes = vec![Node::default()];
        for word in WORDS.lines() {
            let mut at = 0;
            for letter in word.bytes() {
                let fresh = u16::try_from(nodes.len()).ok();
                let Some(slot) = nodes.get_mut(at).and_then(|node| node.next.get_mut(index(letter))) else {
                    break;
                };
                let next = *slot.get_or_insert(fresh.unwrap_or_default());
                at = usize::from(next);
                if at == nodes.len() {
                    nodes.push(Node::default());
                }
            }
            if let Some(node) = nodes.get_mut(at) {
                node.ends = true;
            }
        }
        Self(nodes)
    }

    /// The lengths of the words that these letters start with.
    fn lengths<'t>(&'t self, letters: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        let mut node = self.0.first();
        let ends = letters.iter().map_while(move |letter| {
            node = node
                .and_then(|node| *node.next.get(index(*letter))?)
                .and_then(|next| self.0.get(usize::from(next)));
            node.map(|node| node.ends)
        });
        ends.enumerate().filter(|(_, ends)| *ends).map(|(at, _)| at + 1)
    }
}

fn tree() -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(Tree::new)
}

/// The text with blanks inside long runs of letters that are common words in a row.
pub(super) fn unjoined(base: &str) -> Option<String> {
    let (mut read, mut changed, mut rest) = (String::new(), false, base);
    while !rest.is_empty() {
        let letters = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        let (run, tail) = rest.split_at(letters);
        match (letters >= RUN).then(|| words(run)).flatten() {
            Some(words) => {
                changed = true;
                read.push_str(&words);
            }
            None => read.push_str(run),
        }
        let other = tail.find(|c: char| c.is_ascii_lowercase()).unwrap_or(tail.len());
        let (between, next) = tail.split_at(other);
        read.push_str(between);
        rest = next;
    }
    changed.then_some(read)
}

/// The cheapest path to a position: its cost, and the length of its last step; one letter of no word is a step too.
#[derive(Clone, Copy)]
struct Step {
    cost: u32,
    length: usize,
    stray: bool,
}

/// The words of a run, or `None` if it is no row of common words.
fn words(run: &str) -> Option<String> {
    let letters = run.as_bytes();
    let mut steps = vec![Step { cost: u32::MAX, length: 0, stray: false }; letters.len() + 1];
    steps.first_mut()?.cost = 0;
    for at in 0..letters.len() {
        let cost = steps.get(at)?.cost;
        let mut offer = |length: usize, more: u32, stray: bool| {
            let cost = cost.saturating_add(more);
            if let Some(step) = steps.get_mut(at + length).filter(|step| cost < step.cost) {
                *step = Step { cost, length, stray };
            }
        };
        offer(1, STRAY, true);
        for length in tree().lengths(letters.get(at..)?) {
            offer(length, WORD, false);
        }
    }
    let (mut cuts, mut strays, mut end) = (Vec::new(), 0, letters.len());
    let (mut count, mut before) = (0, false);
    while end > 0 {
        let step = steps.get(end)?;
        strays += usize::from(step.stray);
        count += u32::from(!step.stray);
        if !(step.stray && before) {
            cuts.push(end);
        }
        before = step.stray;
        end -= step.length;
    }
    if count < LEAST_WORDS || strays * 4 > letters.len() {
        return None;
    }
    let mut text = String::with_capacity(run.len() * 2);
    let mut start = 0;
    for end in cuts.into_iter().rev() {
        text.push_str(run.get(start..end)?);
        text.push(' ');
        start = end;
    }
    Some(text)
}
