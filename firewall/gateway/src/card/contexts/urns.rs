//! Where a text names contexts, however it is written ([`undone`]), with blanks, quotes or other signs between its parts too.
//!
//! What is found: every URN of the namespace, with or without a version, and the others of a list that begins with one; and `LINE:vN.N`
//! (or `LINE:vN`) where the line is one that is known here. Such a name alone, of a line that nobody here knows, is left: images,
//! packages and models are named like that. The work grows with the text alone.

use std::ops::Range;

use memchr::memmem;

use super::Known;
use crate::spelling::{LETTER, Sign, undone};

/// A text to look in: its signs, and of these the ones that names are made of.
struct Text {
    signs: Vec<Sign>,
    /// Letters, digits, colons, dots and hyphens; colons in a row are one.
    bytes: Vec<u8>,
    /// For each of these the sign it is.
    at: Vec<usize>,
}

/// Names that were found, each as signs from one to another.
type Found = Vec<Range<usize>>;

impl Text {
    fn read(text: &str) -> Self {
        let signs = undone(text);
        let (mut bytes, mut at): (Vec<u8>, Vec<usize>) = (Vec::new(), Vec::new());
        for (n, sign) in signs.iter().enumerate() {
            let byte = sign.byte;
            match (byte == b':' && bytes.last() == Some(&b':'), at.last_mut()) {
                (true, Some(last)) => *last = n,
                _ if in_name(byte) || matches!(byte, b':' | LETTER) => {
                    bytes.push(byte);
                    at.push(n);
                }
                _ => {}
            }
        }
        Self { signs, bytes, at }
    }

    fn byte(&self, n: usize) -> u8 {
        self.bytes.get(n).copied().unwrap_or_default()
    }

    fn sign(&self, n: usize) -> usize {
        self.at.get(n).copied().unwrap_or(self.signs.len())
    }

    /// Whether something stands between this one and the one before.
    fn apart(&self, n: usize) -> bool {
        n == 0 || self.sign(n - 1) + 1 != self.sign(n)
    }

    /// The first at or behind a sign.
    fn from(&self, sign: usize) -> usize {
        self.at.partition_point(|at| *at < sign)
    }

    /// The end of as many as are of one kind and stand together.
    fn run(&self, from: usize, of: impl Fn(u8) -> bool) -> usize {
        let goes_on = |n: &usize| of(self.byte(*n)) && (*n == from || !self.apart(*n));
        (from..self.bytes.len()).take_while(goes_on).last().map_or(from, |last| last + 1)
    }

    /// The end of a version, `vN.N` or `vN`, that begins here.
    fn version(&self, from: usize) -> Option<usize> {
        let digits = |from: usize| Some(self.run(from, |b| b.is_ascii_digit())).filter(|end| *end > from);
        let begins = self.byte(from) == b'v' && !self.apart(from + 1);
        let major = digits(from + 1).filter(|_| begins)?;
        let point = self.byte(major) == b'.' && !self.apart(major) && !self.apart(major + 1);
        let end = point.then(|| digits(major + 1)).flatten().unwrap_or(major);
        let word = self.byte(end).is_ascii_alphanumeric() && !self.apart(end);
        (!word).then_some(end)
    }

    /// The end of `:vN.N` that begins here, also where no colon stands.
    fn versioned(&self, from: usize) -> Option<usize> {
        self.version(if self.byte(from) == b':' { from + 1 } else { from })
    }

    fn bytes(&self, of: Range<usize>) -> &[u8] {
        self.bytes.get(of).unwrap_or_default()
    }

    /// All names of contexts but the extension's.
    fn names(&self, known: &Known<'_>) -> Found {
        let mut found = Found::new();
        let namespace = known.extension.namespace.as_bytes();
        let mut free = 0;
        for start in memmem::find_iter(&self.bytes, namespace) {
            // one within another is of its name
            if self.sign(start) < free {
                continue;
            }
            let name = start + namespace.len();
            // in pieces it is one only where a word begins: `return: contexts: …` is none
            let pieces = (start + 1..name).any(|n| self.apart(n));
            let amid = start > 0 && !self.apart(start) && is_word(self.byte(start - 1));
            if !(pieces && amid) && self.byte(name).is_ascii_alphanumeric() {
                free = self.list(start, name, known, &mut found);
            }
        }
        self.lines(known, &mut found);
        found
    }

    /// The names of a list that begins with a URN, whose line begins at `name`; the sign behind its last.
    fn list(&self, start: usize, name: usize, known: &Known<'_>, found: &mut Found) -> usize {
        let (mut start, mut name) = (start, name);
        loop {
            let (end, last) = self.item(name);
            if self.bytes(name..end) != known.extension.own.as_bytes() || self.has_more(name, end, last) {
                found.push(self.sign(start)..last);
            }
            let between = self.signs.get(last..self.sign(end)).unwrap_or_default();
            let comma = between.iter().any(|sign| matches!(sign.byte, b',' | b';' | b'|'));
            let line = self.run(end, in_name);
            // behind a blank a word is one of the list only with a version
            let one = between.len() == 1 && self.byte(end).is_ascii_alphanumeric();
            let of_form = line > end && self.byte(line) == b':' && self.version(line + 1).is_some();
            if !comma || !(one || of_form) {
                return last;
            }
            (start, name) = (end, end);
        }
    }

    /// Where a name ends whose line begins here, and behind which sign: with all that stands together there, and the version behind.
    fn item(&self, name: usize) -> (usize, usize) {
        let first = self.sign(name);
        let together = self.signs.iter().skip(first).take_while(|sign| stays(sign.byte)).count();
        let written = self.signs.get(first..first + together).unwrap_or_default();
        // a sentence may end right behind it
        let kept = written.iter().rposition(|sign| !matches!(sign.byte, b'.' | b':')).map_or(0, |n| n + 1);
        let (last, end) = (first + kept, self.from(first + kept));
        let has_version = (name..end).any(|n| self.byte(n) == b':' && self.version(n + 1).is_some());
        match self.versioned(end).filter(|_| !has_version) {
            Some(end) => (end, self.sign(end - 1) + 1),
            None => (end, last),
        }
    }

    /// Whether a name holds signs that no name is made of: `URN#PART` is another than `URN`.
    fn has_more(&self, name: usize, end: usize, last: usize) -> bool {
        let of = self.signs.get(self.sign(name)..last).unwrap_or_default();
        of.iter().filter(|sign| stays(sign.byte)).count() != end - name
    }

    /// Known lines with a version, wherever they stand.
    fn lines(&self, known: &Known<'_>, found: &mut Found) {
        let mut free = 0;
        for colon in memchr::memchr_iter(b':', &self.bytes) {
            let begun = (free..colon)
                .rev()
                .take_while(|n| in_name(self.byte(*n)) && (n + 1 == colon || !self.apart(n + 1)))
                .last();
            free = colon;
            let (Some(begun), Some(end)) = (begun, self.version(colon + 1)) else { continue };
            let begun = begun + self.bytes(begun..colon).iter().take_while(|b| !is_word(**b)).count();
            let line = std::str::from_utf8(self.bytes(begun..colon)).unwrap_or_default();
            if known.lines.holds(line) {
                found.push(self.sign(begun)..self.sign(end - 1) + 1);
            }
        }
    }

    /// Where signs from one to another are written.
    fn place(&self, signs: &Range<usize>) -> Option<Range<usize>> {
        Some(self.signs.get(signs.start)?.place.start..self.signs.get(signs.end.checked_sub(1)?)?.place.end)
    }
}

/// Where a text names contexts other than the extension, in their order; none touches another.
pub(super) fn named_in(text: &str, known: &Known<'_>) -> Vec<Range<usize>> {
    let text = Text::read(text);
    let mut places: Vec<Range<usize>> =
        text.names(known).iter().filter_map(|signs| text.place(signs)).collect();
    places.sort_unstable_by_key(|place| place.start);
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match apart.last_mut().filter(|last| place.start < last.end) {
            Some(last) => last.end = last.end.max(place.end),
            None => apart.push(place),
        }
    }
    apart
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == LETTER
}

/// What lines are made of.
fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}

/// What stands together with a name: all that URNs and what is appended to them are written with.
fn stays(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b":._-+%/@#~".contains(&byte)
}

#[cfg(test)]
mod tests;
