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

    /// Whether it is this word; of a text in quotation marks, whether Cedar reads that in it, with escapes or without.
    fn is(&self, word: &str) -> bool {
        let value = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match value.filter(|_| self.text.contains('\\')) {
            Some(value) => read(self.text).is_some_and(|read| read == value),
            None => self.text == word,
        }
    }
}

/// What Cedar reads in a text in quotation marks: its escapes are those of Rust.
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

/// All words of a file that may not parse, comments left out.
pub(crate) fn all(text: &str) -> Vec<Token<'_>> {
    each(text).collect()
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

/// The text of this value that comes after `before` others of the same value; names of entities (`Group::"x"`) are none.
pub(crate) fn literal(tokens: &[Token<'_>], value: &str, before: usize) -> Option<usize> {
    let quoted = format!("\"{value}\"");
    let mut last = "";
    let mut found = Vec::new();
    for token in tokens {
        if last != "::" && token.is(&quoted) {
            found.push(token.at);
        }
        last = token.text;
    }
    found.get(before).or(found.first()).copied()
}

/// Where the nearest such word stands before a place: `if`, a function that is called, or a list that something is asked of.
pub(crate) fn before(tokens: &[Token<'_>], place: usize, word: &str) -> Option<usize> {
    let behind = |position: usize| tokens.get(position + 1).map_or("", |token| token.text);
    let closed = |position: usize| {
        let mut depth = 0_usize;
        tokens.iter().enumerate().skip(position).find_map(|(at, token)| {
            match token.text {
                "[" => depth += 1,
                "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            (depth == 0).then_some(at)
        })
    };
    let is_one = |position: &usize| match word {
        "[" => closed(*position).is_some_and(|end| matches!(behind(end), "." | "=" | "!")),
        "if" => true,
        _ => behind(*position) == "(",
    };
    let upto = tokens.iter().take_while(|token| token.at <= place).count();
    let found = tokens.iter().enumerate().take(upto).rev();
    found.filter(|(_, token)| token.text == word).find(|(at, _)| is_one(at)).map(|(_, token)| token.at)
}

/// The clauses (`when`, `unless`), where each begins.
pub(crate) fn clauses(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut depth = 0_usize;
    let mut found = Vec::new();
    for token in tokens {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            "when" | "unless" if depth == 0 => found.push(token.at),
            _ => {}
        }
    }
    found
}

/// Where the variables stand in the conditions, in their order.
pub(crate) fn variables(tokens: &[Token<'_>]) -> Vec<usize> {
    let from = clauses(tokens).first().copied().unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        let near = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map_or("", |token| token.text);
        let (before, after) = (near(position.checked_sub(1)), near(position.checked_add(1)));
        let is_name = matches!(before, "." | "::" | "has") || matches!(after, "::" | ":");
        if token.at > from
            && matches!(token.text, "principal" | "action" | "resource" | "context")
            && !is_name
        {
            found.push(token.at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{annotation, clauses, literal, of, read, sequence};

    #[test]
    fn words_are_found_and_comments_and_annotations_are_none() {
        let text = "@id(\"x\") // permit \"x\"\npermit (principal == Agent::\"x\", action, resource)\n\
                    when { resource.a == \"x\" || \"say \\\"when\\\"\" like \"*\" } unless { {when: \"x\"}.when == \"é\" };";
        let tokens = of(text);
        assert_eq!(tokens[0].text, "permit");
        assert_eq!(&text[sequence(&tokens, &["resource", ".", "a"]).unwrap()..][..12], "resource.a =");
        assert_eq!(&text[literal(&tokens, "x", 0).unwrap()..][..6], "\"x\" ||");
        assert_eq!(&text[literal(&tokens, "x", 1).unwrap()..][..4], "\"x\"}");
        assert!(literal(&tokens, "é", 0).is_some() && literal(&tokens, "y", 0).is_none());
        let found: Vec<&str> = clauses(&tokens).into_iter().map(|at| &text[at..at + 4]).collect();
        assert_eq!(found, ["when", "unle"]);
        assert!(of("permit (principal, action, resource);forbid(principal, action, resource);").len() < 12);
    }

    #[test]
    fn bug_a_text_with_an_escape_and_an_annotation_behind_its_own_name_were_not_found() {
        let text = r#"@notice("@id(1) ä") // @id
            @id("x") permit (principal in Group::"g\u{e4}", action, resource) when { resource.a == "\x78\"" };"#;
        assert_eq!(&text[annotation(text, "id").unwrap()..][..8], "@id(\"x\")");
        assert_eq!(annotation(text, "limit"), None);
        let tokens = of(text);
        assert_eq!(&text[literal(&tokens, "x\"", 0).unwrap()..][..8], r#""\x78\"""#);
        let group = sequence(&tokens, &["Group", "::", "\"gä\""]).unwrap();
        assert_eq!(&text[group..][..16], r#"Group::"g\u{e4}""#);
    }

    #[test]
    fn a_text_is_read_as_cedar_reads_it() {
        for text in [
            r#""""#,
            r#""a\u{e4}b\u{1_F600}""#,
            r#""\x41\n\r\t\0\\\'\"""#,
            "\"ä\u{1d11e}\"",
            r#""\\n\\\\x41""#,
        ] {
            let policy: cedar_policy::Policy =
                format!("@text({text}) permit (principal, action, resource);").parse().unwrap();
            assert_eq!(read(text).as_deref(), policy.annotation("text"), "{text}");
        }
    }
}
