//! Where the parser stopped, among the words of the file.

use std::ops::Range;

use super::Wrong;
use crate::sense::tokens::Token;

/// Where the parser stopped, and what it says.
pub(super) struct Spot<'t> {
    pub text: &'t str,
    pub words: &'t [Token<'t>],
    /// The word that it points into, or the first behind; past the last one at the end.
    pub here: usize,
    /// Byte offset that it points at.
    pub at: usize,
    pub why: &'t str,
}

impl<'t> Spot<'t> {
    pub fn of(text: &'t str, words: &'t [Token<'t>], wrong: &'t Wrong) -> Self {
        let here = words.partition_point(|word| word.at + word.text.len() <= wrong.at);
        Self { text, words, here, at: wrong.at, why: &wrong.why }
    }

    /// The word at a position, nothing past the ends.
    pub fn word(&self, position: Option<usize>) -> &'t str {
        position.and_then(|at| self.words.get(at)).map_or("", |word| word.text)
    }

    /// The word here, or so many on.
    pub fn on(&self, more: usize) -> &'t str {
        self.word(Some(self.here + more))
    }

    /// The word so many before.
    pub fn before(&self, less: usize) -> &'t str {
        self.word(self.here.checked_sub(less))
    }

    /// Whether the words before this one are these, the last of them right before it.
    pub fn follows(&self, words: &[&str]) -> bool {
        let from = self.here.checked_sub(words.len());
        from.is_some_and(|from| (from..).zip(words).all(|(at, word)| self.word(Some(at)) == *word))
    }

    /// The bytes from one word to another, both included.
    pub fn range(&self, from: usize, to: usize) -> Range<usize> {
        let of = |at: usize| self.words.get(at).map_or(self.text.len()..self.text.len(), Token::range);
        of(from).start..of(to).end
    }

    /// Whether nothing stands between a word and the next; of the last word, and beyond, not.
    pub fn joined(&self, at: usize) -> bool {
        let pair = self.words.get(at).zip(self.words.get(at + 1));
        pair.is_some_and(|(word, next)| word.at + word.text.len() == next.at)
    }

    /// The brackets before this word that are open there, by position.
    pub fn open(&self) -> Vec<usize> {
        let mut open: Vec<usize> = Vec::new();
        for (position, word) in self.words.iter().enumerate().take(self.here) {
            match word.text {
                "(" | "[" | "{" => open.push(position),
                ")" | "]" | "}" => drop(open.pop()),
                _ => {}
            }
        }
        open
    }

    /// The bracket that closes the one at a position.
    pub fn closed(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        self.words.iter().enumerate().skip(open).find_map(|(position, word)| {
            match word.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(position)
        })
    }

    /// The first word of a member that ends with the word at a position: of `resource.memo` the variable.
    pub fn member(&self, last: usize) -> usize {
        let mut from = last;
        while from > 1 && self.word(Some(from - 1)) == "." && is_name(self.word(Some(from - 2))) {
            from -= 2;
        }
        from
    }

    /// The last word of a name with `::` that begins at a position, or of a text, or of a list in brackets.
    pub fn name_end(&self, first: usize) -> usize {
        if matches!(self.word(Some(first)), "[" | "(") {
            return self.closed(first).unwrap_or(first);
        }
        let mut last = first;
        while self.word(Some(last + 1)) == "::" {
            last += 2;
        }
        last
    }

    /// The last word of what is compared and begins at a position: a member with what is called of it, a text, a number or a list.
    pub fn operand_end(&self, first: usize) -> Option<usize> {
        let word = self.word(Some(first));
        let mut last = match word {
            "[" | "(" => self.closed(first)?,
            word if is_name(word) || is_text(word) || is_digits(word) => first,
            _ => return None,
        };
        loop {
            last = match (self.word(Some(last + 1)), self.word(Some(last + 2))) {
                ("." | "::", _) => last + 2,
                ("(", _) if is_name(self.word(Some(last))) => self.closed(last + 1)?,
                _ => return Some(last),
            };
        }
    }

    /// What a question that is joined by a sign reads like in place of the words from one to another: in parentheses, where `!` or a
    /// comparison stands beside them.
    pub fn enclosed(&self, first: usize, last: usize, asks: String) -> String {
        let before = self.word(first.checked_sub(1));
        let turned = matches!(before, "!" | "=" | "<" | ">") || before.eq_ignore_ascii_case("not");
        let behind = self.word(Some(last + 1));
        let compared = matches!(behind, "=" | "!" | "<" | ">" | "in" | "is" | "has" | "like" | ".");
        if turned || compared { format!("({asks})") } else { asks }
    }

    /// The text from one word to another, both included.
    pub fn slice(&self, from: usize, to: usize) -> &'t str {
        self.text.get(self.range(from, to)).unwrap_or_default()
    }

    /// Where the clause or the policy ends that a position stands in: a semicolon, or the next `when` or `unless`.
    pub fn clause_end(&self, from: usize) -> usize {
        let mut depth = 0_usize;
        let ends = |word: &str| matches!(word, ";" | "when" | "unless");
        let mut at = from;
        while let Some(word) = self.words.get(at) {
            match word.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                word if depth == 0 && ends(word) => break,
                _ => {}
            }
            at += 1;
        }
        at
    }

    /// The bytes between the semicolons around.
    pub fn statement(&self) -> Range<usize> {
        let is_end = |word: &&Token<'_>| word.text == ";";
        let start = self.words.iter().take(self.here).rev().find(is_end).map_or(0, |word| word.at);
        let end = self.words.iter().skip(self.here).find(is_end).map_or(self.text.len(), |word| word.at);
        start..end
    }

    /// Whether the word here stands in the parentheses behind `permit` or `forbid`.
    pub fn in_scope(&self) -> bool {
        let open = self.open();
        let first = open.first().filter(|_| open.len() == 1);
        first
            .is_some_and(|first| self.word(Some(*first)) == "(" && is_effect(self.word(first.checked_sub(1))))
    }

    /// Whether it stands in brackets that stand there.
    pub fn in_set_of_scope(&self) -> bool {
        let open = self.open();
        matches!(open[..], [first, list] if self.word(Some(list)) == "["
            && self.word(Some(first)) == "("
            && is_effect(self.word(first.checked_sub(1))))
    }

    /// The variables of the scope before this word, which say what stands here: 0 for the first.
    pub fn commas(&self) -> usize {
        let Some(first) = self.open().first().copied() else { return 0 };
        let mut depth = 0_usize;
        let mut found = 0;
        for word in self.words.iter().take(self.here).skip(first + 1) {
            match word.text {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "," if depth == 0 => found += 1,
                _ => {}
            }
        }
        found
    }

    /// What stands between the first pair of backquotes in the parser's words.
    pub fn quoted(&self) -> &'t str {
        self.why.split('`').nth(1).unwrap_or_default()
    }
}

/// Whether a word begins a policy, also in other letters or as other languages have it.
pub(super) fn is_effect(word: &str) -> bool {
    ["permit", "forbid", "allow", "deny"].iter().any(|effect| word.eq_ignore_ascii_case(effect))
}

/// Whether a word is a name.
pub(super) fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

/// Whether a word is a text in quotation marks.
pub(super) fn is_text(word: &str) -> bool {
    word.len() > 1 && word.starts_with('"') && word.ends_with('"')
}

/// Whether a word is a kind of entity that has names.
pub(super) fn is_kind(word: &str) -> bool {
    matches!(word, "Agent" | "Group" | "Action")
}

/// Whether a word is a whole number.
pub(super) fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}
