//! Text that continues earlier text: scored with the end of the text before it, so that an instruction that is cut in two is seen whole.

/// Words before new text that are scored with it: one window of the model.
const WORDS: usize = 28;
/// Characters before new text that are scored with it at least, where words are short: an instruction in single letters.
const LEAST: usize = 400;
/// Characters before new text that are scored with it at most, where words are long.
const MOST: usize = 2_000;

/// A text as a reader has it, with the beginning of the part that was not judged before.
#[derive(Debug)]
pub(crate) struct Appended {
    whole: String,
    /// Byte at which the part to score begins.
    from: usize,
}

impl Appended {
    /// A text whose last `fresh` bytes are new. A boundary within a character, or more bytes than there are, makes all of it new.
    pub(crate) fn new(whole: String, fresh: usize) -> Self {
        let boundary = whole.len().checked_sub(fresh).filter(|at| whole.is_char_boundary(*at)).unwrap_or(0);
        let before = whole.get(..boundary).unwrap_or_default();
        let from = tail(before);
        Self { whole, from }
    }

    /// The whole text.
    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// The new part with the end of the text before it.
    pub(crate) fn fresh(&self) -> &str {
        self.whole.get(self.from..).unwrap_or(&self.whole)
    }
}

/// The byte at which the last words of a text begin.
fn tail(text: &str) -> usize {
    let (mut words, mut in_word, mut begin) = (0, false, text.len());
    for (characters, (at, c)) in text.char_indices().rev().enumerate() {
        let enough = words >= WORDS && characters >= LEAST && c.is_whitespace();
        if enough || characters >= MOST {
            return begin;
        }
        begin = at;
        words += usize::from(in_word && c.is_whitespace());
        in_word = !c.is_whitespace();
    }
    0
}
