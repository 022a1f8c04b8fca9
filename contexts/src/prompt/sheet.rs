//! Fills a prompt: entries by their rank, as long as they fit; what does not fit is counted.

use super::budget::{Budget, BudgetFault};

/// The order in which entries get room.
pub(super) type Rank = u8;

/// The last rank.
pub(super) const LAST_RANK: Rank = 7;

/// A piece of text that stands whole or not at all.
pub(super) struct Entry {
    /// The characters before it: a line break with or without a dash, a blank, or a comma.
    pub lead: &'static str,
    /// The text, without a line break.
    pub text: String,
    /// Its rank.
    pub rank: Rank,
    /// The entry of the same section that must stand for it to stand.
    pub parent: Option<usize>,
    /// Its noun in a count, in the plural.
    pub noun: &'static str,
}

/// A heading with its entries.
pub(super) struct Section {
    /// Its heading, without a line break; empty for the first section, which continues the head.
    pub heading: String,
    /// Its name where it is left out.
    pub name: String,
    /// Its noun in a count of sections that were left out: `tasks`.
    pub noun: &'static str,
    /// The rank in which it opens.
    pub rank: Rank,
    /// Its entries, parents first.
    pub entries: Vec<Entry>,
    /// Entries with a name that is longer than any prompt or tool shows, by noun.
    pub unshowable: Vec<&'static str>,
    /// The tool that has what is left out.
    pub ask: &'static str,
}

/// A prompt on its way.
pub(super) struct Sheet {
    head: String,
    sections: Vec<Section>,
}

/// One section with marks on the entries that have room.
struct Filled<'s> {
    section: &'s Section,
    open: bool,
    stands: Vec<bool>,
}

impl Sheet {
    /// A prompt of this head and these sections, in this order.
    pub fn new(head: String, sections: Vec<Section>) -> Self {
        Self { head, sections }
    }

    /// The text, within the budget.
    pub fn write(&self, budget: Budget) -> Result<String, BudgetFault> {
        let bytes = budget.bytes();
        let mut filled: Vec<Filled<'_>> = self.sections.iter().map(Filled::whole).collect();
        let whole = self.text(&filled);
        if whole.len() <= bytes {
            return Ok(whole);
        }
        filled.iter_mut().for_each(Filled::clear);
        // nothing that is written later is longer than what is kept free for it here
        let fixed = self.head.len() + left_out(&filled).len();
        let Some(mut room) = bytes.checked_sub(fixed) else {
            return Err(BudgetFault::TooSmall { least: Budget::tokens_of(fixed) });
        };
        for rank in 0..=LAST_RANK {
            for one in &mut filled {
                one.fill(rank, &mut room);
            }
        }
        Ok(self.text(&filled) + &names(&filled, room))
    }

    fn text(&self, filled: &[Filled<'_>]) -> String {
        let mut text = self.head.clone();
        for one in filled.iter().filter(|one| one.open) {
            if !one.section.heading.is_empty() {
                text.push('\n');
                text.push_str(&one.section.heading);
            }
            let standing = one.section.entries.iter().zip(&one.stands).filter(|(_, stands)| **stands);
            standing.for_each(|(entry, _)| {
                text.push_str(entry.lead);
                text.push_str(&entry.text);
            });
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&one.more());
        }
        text.push_str(&left_out(filled));
        text
    }
}

impl<'s> Filled<'s> {
    fn whole(section: &'s Section) -> Self {
        Filled { section, open: true, stands: vec![true; section.entries.len()] }
    }

    fn clear(&mut self) {
        self.open = false;
        self.stands.fill(false);
    }

    /// The bytes of the opened section without entries: its heading, line ends, and all its counts.
    fn opening(&self) -> usize {
        self.section.heading.len() + 2 + self.more().len()
    }

    /// Gives room to the entries of this rank, in order, up to the first that has none.
    fn fill(&mut self, rank: Rank, room: &mut usize) {
        if !self.open {
            let Some(rest) = room.checked_sub(self.opening()).filter(|_| self.section.rank <= rank) else {
                return;
            };
            *room = rest;
            self.open = true;
        }
        for (index, entry) in self.section.entries.iter().enumerate().filter(|(_, e)| e.rank == rank) {
            if entry.parent.is_some_and(|parent| !self.stands.get(parent).copied().unwrap_or(false)) {
                continue;
            }
            let Some(rest) = room.checked_sub(entry.lead.len() + entry.text.len()) else { return };
            *room = rest;
            if let Some(stands) = self.stands.get_mut(index) {
                *stands = true;
            }
        }
    }

    /// One line for each noun of which something is left out.
    fn more(&self) -> String {
        let entries = self.section.entries.iter().zip(&self.stands).filter(|(_, stands)| !**stands);
        let more = counted(entries.map(|(entry, _)| entry.noun)).into_iter();
        let more = more.map(|(noun, count)| format!("({count} more {noun}: ask `{}`)\n", self.section.ask));
        let never = counted(self.section.unshowable.iter().copied()).into_iter();
        more.chain(never.map(|(noun, count)| format!("({count} {noun} never shown: name too long)\n")))
            .collect()
    }
}

/// The line about the sections that are left out whole.
fn left_out(filled: &[Filled<'_>]) -> String {
    let closed = filled.iter().filter(|one| !one.open);
    let counts = counted(closed.clone().map(|one| one.section.noun));
    if counts.is_empty() {
        return String::new();
    }
    let counts: Vec<String> = counts.into_iter().map(|(noun, count)| format!("{count} {noun}")).collect();
    format!("\n(left out: {}; ask `lookup_concept` or `list_codes`)\n", counts.join(", "))
}

/// The names of the sections that are left out, as many as have room.
fn names(filled: &[Filled<'_>], mut room: usize) -> String {
    const BEGIN: &str = "not shown:";
    let mut line = String::new();
    for one in filled.iter().filter(|one| !one.open) {
        // a blank before the name; a line end behind the last
        let lead = if line.is_empty() { BEGIN.len() + 1 } else { 0 };
        let Some(rest) = room.checked_sub(lead + 1 + one.section.name.len()) else { break };
        room = rest;
        if line.is_empty() {
            line.push_str(BEGIN);
        }
        line.push(' ');
        line.push_str(&one.section.name);
    }
    if !line.is_empty() {
        line.push('\n');
    }
    line
}

/// Each noun once, with its number, in the order of the first of each.
fn counted(nouns: impl Iterator<Item = &'static str>) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for noun in nouns {
        match counts.iter_mut().find(|(known, _)| *known == noun) {
            Some((_, count)) => *count += 1,
            None => counts.push((noun, 1)),
        }
    }
    counts
}
