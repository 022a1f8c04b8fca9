//! Sentences of a folded text, cut into parts of bounded size. A window is one part, or two that follow each other.

/// Most words and bytes of a part. A longer sentence is cut between words, and a longer word within.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    pub(crate) words: usize,
    pub(crate) bytes: usize,
}

/// A part of a sentence.
pub(crate) const PART: Most = Most { words: 28, bytes: 320 };
/// A quarter of a part, for a closer look at long sentences.
pub(crate) const QUARTER: Most = Most { words: 7, bytes: 80 };

/// A run of words of the text.
#[derive(Clone, Copy)]
pub(crate) struct Part<'t> {
    pub(crate) text: &'t str,
    /// A sentence starts with it.
    pub(crate) opens: bool,
}

/// The parts of a text in order.
pub(crate) struct Parts<'t> {
    text: &'t str,
    most: Most,
    /// The word of the next part that was already read.
    carried: Option<Word<'t>>,
    read: usize,
    before: Option<char>,
}

#[derive(Clone, Copy)]
struct Word<'t> {
    start: usize,
    text: &'t str,
    /// A sentence starts here.
    opens: bool,
}

#[cfg(test)]
thread_local! {
    /// Characters that a search for a blank looked at in this thread.
    pub(crate) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

fn is_blank(c: char) -> bool {
    #[cfg(test)]
    LOOKED.set(LOOKED.get() + 1);
    c.is_whitespace()
}

impl<'t> Parts<'t> {
    pub(crate) fn new(text: &'t str, most: Most) -> Self {
        Self { text, most, carried: None, read: 0, before: None }
    }

    fn word(&mut self) -> Option<Word<'t>> {
        let mut dropped = false;
        loop {
            let rest = self.text.get(self.read..)?;
            let trimmed = rest.trim_start_matches(is_blank);
            if trimmed.is_empty() {
                return None;
            }
            let gap = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
            let start = self.read + gap.len();
            // no look beyond the bound, so that a long word costs no more than its length
            let head = trimmed.get(..trimmed.floor_char_boundary(self.most.bytes)).unwrap_or(trimmed);
            let word = head.split(is_blank).next().unwrap_or(head);
            let broken = self.before.is_none() || gap.contains('\n');
            let ended =
                !gap.is_empty() && self.before.is_some_and(|c| matches!(c, '.' | '!' | '?' | ';' | ':'));
            self.read = start + word.len();
            let rule = word.len() >= 2 && word.bytes().all(|b| matches!(b, b'|' | b'*' | b'#' | b'-'));
            if rule && !broken && !ended && self.read < self.text.len() {
                dropped = true;
                continue;
            }
            self.before = word.chars().next_back();
            return Some(Word { start, text: word, opens: broken || ended || dropped });
        }
    }
}

impl<'t> Iterator for Parts<'t> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        let first = match self.carried.take() {
            Some(word) => word,
            None => self.word()?,
        };
        let (mut end, mut words, mut bytes) = (first.start + first.text.len(), 1, first.text.len());
        while let Some(word) = self.word() {
            if word.opens || words == self.most.words || bytes + word.text.len() > self.most.bytes {
                self.carried = Some(word);
                break;
            }
            (end, words, bytes) = (word.start + word.text.len(), words + 1, bytes + word.text.len());
        }
        self.text.get(first.start..end).map(|text| Part { text, opens: first.opens })
    }
}
