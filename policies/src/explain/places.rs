//! Where the clauses of a policy stand in its file.

/// Byte offsets of the words `when` and `unless` that begin the clauses of the policy that begins at `start`, in their order.
pub(crate) fn clauses(text: &str, start: usize) -> Vec<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut found) = (start, 0_usize, Vec::new());
    while let Some(byte) = bytes.get(at).copied() {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            continue;
        }
        match byte {
            b'"' => {
                at += string(rest);
                continue;
            }
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => break,
            _ if is_word(byte) => {
                let word = rest.iter().take_while(|byte| is_word(**byte)).count();
                if depth == 0 && matches!(rest.get(..word), Some(b"when" | b"unless")) {
                    found.push(at);
                }
                at += word;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Length of the string literal that begins here, quotes included.
fn string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::clauses;

    #[test]
    fn words_in_strings_comments_names_and_braces_begin_no_clause() {
        let text = r#"@notice("when { \" unless") // when
            permit (principal, action, resource is a::when)
            when { context.unless == "when" && [1].contains(1) } // unless {
            unless { {when: 1}.when == 2 };
            forbid (principal, action, resource) when { true };"#;
        let starts: Vec<&str> = clauses(text, 0).into_iter().map(|at| &text[at..at + 8]).collect();
        assert_eq!(starts, ["when { c", "unless {"]);
        let second = text.find("forbid").unwrap();
        assert_eq!(clauses(text, second), [text.rfind("when").unwrap()]);
    }
}
