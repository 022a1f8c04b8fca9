//! Where something stands in the text of a policy: enough of Cedar's lexis to tell names, texts and comments apart.

/// One word of a policy: a name, a text in quotation marks, or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'t> {
    /// Byte offset from where reading began.
    pub at: usize,
    /// With its quotation marks.
    pub text: &'t str,
}

impl Token<'_> {
    /// The bytes that it takes.
    pub const fn range(&self) -> std::ops::Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// Returns true if it is this word; of a text in quotation marks, whether Cedar reads that in it, with escapes or without.
    fn is(&self, word: &str) -> bool {
        let value = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match value.filter(|_| self.text.contains('\\')) {
            Some(value) => read(self.text).is_some_and(|read| read == value),
            None => self.text == word,
        }
    }
}

/// Reads a text in quotation marks as Cedar does: its escapes are those of Rust.
fn read(quoted: &str) -> Option<String> {
    let code = |hex: String| u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
    let mut chars = quoted.strip_prefix('"')?.strip_suffix('"')?.chars();
    let mut value = String::new();
    while let Some(c) = chars.next() {
        value.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'x' => code(chars.by_ref().take(2).collect())?,
                'u' => {
                    code(chars.by_ref().take_while(|c| *c != '}').filter(|c| !"{_".contains(*c)).collect())?
                }
                itself => itself,
            },
            c => c,
        });
    }
    Some(value)
}

/// The words of a text one after the other, comments left out.
fn each(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    let next = move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let token = Token { at, text: rest.get(..length(rest))? };
        at += token.text.len();
        Some(token)
    };
    std::iter::from_fn(next).filter(|token| !token.text.starts_with("//") && !token.text.trim().is_empty())
}

/// The words of the first policy in `text`, from its effect on (so without annotations) up to its semicolon.
pub(crate) fn of(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    for token in each(text) {
        match token.text {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "permit" | "forbid" if depth == 0 => tokens.clear(),
            ";" if depth == 0 => break,
            _ => {}
        }
        tokens.push(token);
    }
    tokens
}

/// Where each policy of a file stands, with its annotations and its semicolon; the last without one, if something stands behind all others.
pub(crate) fn policies(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut tokens = each(text);
    std::iter::from_fn(move || {
        let first = tokens.next()?;
        let (mut last, mut depth) = (first, 0_usize);
        loop {
            match last.text {
                ";" if depth == 0 => break,
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let Some(next) = tokens.next() else { break };
            last = next;
        }
        Some(first.at..last.range().end)
    })
}

/// Where the first annotation of this name stands: no comment, and no text of another one.
pub(crate) fn annotation(text: &str, name: &str) -> Option<usize> {
    let mut before: Option<Token<'_>> = None;
    each(text).find_map(|token| {
        let sign = before.replace(token).filter(|before| before.text == "@" && token.text == name)?;
        Some(sign.at)
    })
}

/// Bytes of the first word.
fn length(text: &str) -> usize {
    let run = |in_word: &dyn Fn(char) -> bool| text.find(|c| !in_word(c)).unwrap_or(text.len());
    let Some(first) = text.chars().next() else { return 0 };
    if text.starts_with("//") {
        run(&|c| c != '\n')
    } else if text.starts_with("::") {
        2
    } else if first.is_whitespace() {
        run(&char::is_whitespace)
    } else if first == '_' || first.is_alphanumeric() {
        run(&|c| c == '_' || c.is_alphanumeric())
    } else if first == '"' {
        let mut escaped = false;
        let closes = |(at, c): (usize, char)| {
            let end = at > 0 && c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            end.then_some(at + 1)
        };
        text.char_indices().find_map(closes).unwrap_or(text.len())
    } else {
        first.len_utf8()
    }
}

/// Where these words follow one another, counted from 0.
pub(crate) fn sequence(tokens: &[Token<'_>], words: &[&str]) -> Option<usize> {
    let here = |window: &[Token<'_>]| window.iter().zip(words).all(|(token, word)| token.is(word));
    tokens.windows(words.len().max(1)).find(|window| here(window))?.first().map(|token| token.at)
}

/// The clauses (`when`, `unless`), where each begins.
pub(crate) fn clauses(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut resolved = Vec::new();
    for token in tokens {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "when" | "unless" if depth == 0 => resolved.push(token.at),
            _ => {}
        }
    }
    resolved
}

#[cfg(test)]
mod tests;
