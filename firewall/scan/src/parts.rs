//! Sentences of a folded text, cut into parts of bounded size. A window is one part, or two that follow each other.

/// Most words of a part.
const WORDS: usize = 28;
/// Most bytes of the words of a part; a longer word is cut.
const BYTES: usize = 320;

/// The parts of a text in order; each is a run of words of the text.
pub(crate) struct Parts<'t> {
    text: &'t str,
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

impl<'t> Parts<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, carried: None, read: 0, before: None }
    }

    fn word(&mut self) -> Option<Word<'t>> {
        let mut dropped = false;
        loop {
            let rest = self.text.get(self.read..)?;
            let trimmed = rest.trim_start();
            if trimmed.is_empty() {
                return None;
            }
            let gap = rest.get(..rest.len() - trimmed.len()).unwrap_or_default();
            let start = self.read + gap.len();
            let full = trimmed.split(char::is_whitespace).next().unwrap_or(trimmed);
            let length = full.len().min(full.floor_char_boundary(BYTES));
            let word = trimmed.get(..length).unwrap_or(full);
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
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let first = match self.carried.take() {
            Some(word) => word,
            None => self.word()?,
        };
        let (mut end, mut words, mut bytes) = (first.start + first.text.len(), 1, first.text.len());
        while let Some(word) = self.word() {
            if word.opens || words == WORDS || bytes + word.text.len() > BYTES {
                self.carried = Some(word);
                break;
            }
            (end, words, bytes) = (word.start + word.text.len(), words + 1, bytes + word.text.len());
        }
        self.text.get(first.start..end)
    }
}
