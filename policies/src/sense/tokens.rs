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
}

/// The words of the first policy in `text`, from its effect on (so without annotations) up to its semicolon.
pub(crate) fn of(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut depth = 0_usize;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let length = length(rest);
        let Some(word) = rest.get(..length) else { break };
        let skipped = word.starts_with("//") || word.trim().is_empty();
        match word {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "permit" | "forbid" if depth == 0 => tokens.clear(),
            ";" if depth == 0 => break,
            _ => {}
        }
        if !skipped {
            tokens.push(Token { at, text: word });
        }
        at += length;
    }
    tokens
}

/// All words of a file that may not parse, comments left out.
pub(crate) fn all(text: &str) -> Vec<Token<'_>> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(word) = rest.get(..length(rest)) else { break };
        if !word.starts_with("//") && !word.trim().is_empty() {
            tokens.push(Token { at, text: word });
        }
        at += word.len();
    }
    tokens
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
    let here = |window: &[Token<'_>]| window.iter().zip(words).all(|(token, word)| token.text == *word);
    tokens.windows(words.len().max(1)).find(|window| here(window))?.first().map(|token| token.at)
}

/// The text of this value that comes after `before` others of the same value; names of entities (`Group::"x"`) are none.
pub(crate) fn literal(tokens: &[Token<'_>], value: &str, before: usize) -> Option<usize> {
    let quoted = format!("\"{value}\"");
    let mut last = "";
    let mut found = Vec::new();
    for token in tokens {
        if token.text == quoted && last != "::" {
            found.push(token.at);
        }
        last = token.text;
    }
    found.get(before).or(found.first()).copied()
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
    use super::{clauses, literal, of, sequence};

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
}
