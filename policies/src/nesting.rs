//! How deep the tree of a policy can be, told from its text: a tree that is too deep ends the process that walks it, and parsing walks it.

use crate::pace;

/// What one bracket counts as: a parser goes through each rank of operators for it, and a chain of operators through one.
const BRACKET: usize = 8;

/// The operators of one level of brackets that can lie within one another, by rank; one that binds less closes those that bind more.
#[derive(Default, Clone, Copy)]
struct Level {
    counts: [usize; 6],
}

/// Ranks of operators, the one that binds least first.
#[derive(Clone, Copy)]
enum Rank {
    If,
    Or,
    And,
    Relation,
    Sum,
    Close,
}

impl Level {
    fn take(&mut self, rank: Rank) {
        let at = rank as usize;
        for (rank, count) in self.counts.iter_mut().enumerate() {
            if rank == at {
                *count += 1;
            } else if rank > at && at > Rank::If as usize {
                *count = 0;
            }
        }
    }

    fn depth(&self) -> usize {
        self.counts.iter().sum()
    }
}

/// Where the text of policies begins to nest deeper than this, if it does; never less deep than the tree is.
pub(crate) fn beyond(text: &str, limit: usize) -> Option<usize> {
    let mut around: Vec<Level> = Vec::new();
    let mut here = Level::default();
    let (mut outside, mut operand) = (0_usize, false);
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        if c == ';' {
            pace::rest();
        }
        match c {
            '/' if next == Some('/') => while rest.next_if(|(_, c)| *c != '\n').is_some() {},
            '"' => {
                let mut escaped = false;
                for (_, c) in rest.by_ref() {
                    match c {
                        _ if escaped => escaped = false,
                        '\\' => escaped = true,
                        '"' => break,
                        _ => {}
                    }
                }
                operand = true;
            }
            '(' | '[' | '{' => {
                if operand {
                    here.take(Rank::Close);
                }
                outside += here.depth() + BRACKET;
                around.push(std::mem::take(&mut here));
                operand = false;
            }
            ')' | ']' | '}' => {
                here = around.pop().unwrap_or_default();
                outside = outside.saturating_sub(here.depth() + BRACKET);
                operand = c != '}';
            }
            ',' | ';' => (here, operand) = (Level::default(), false),
            '|' | '&' | '=' | '<' | '>' | '!' | '+' | '-' | '*' | '.' => {
                let twice = matches!(
                    (c, next),
                    ('|', Some('|')) | ('&', Some('&')) | ('=' | '<' | '>' | '!', Some('='))
                );
                if twice {
                    rest.next();
                }
                here.take(rank(c, twice, operand));
                operand = false;
            }
            _ if c.is_alphanumeric() || c == '_' => {
                let mut end = at + c.len_utf8();
                while let Some((at, c)) = rest.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
                    end = at + c.len_utf8();
                }
                operand = !word(text.get(at..end).unwrap_or_default(), &mut here);
            }
            _ => {}
        }
        if outside + here.depth() > limit {
            return Some(at);
        }
    }
    None
}

const fn rank(c: char, twice: bool, operand: bool) -> Rank {
    match (c, twice) {
        ('|', _) => Rank::Or,
        ('&', _) => Rank::And,
        ('=' | '<' | '>', _) | ('!', true) => Rank::Relation,
        ('+' | '*', _) => Rank::Sum,
        ('-', _) if operand => Rank::Sum,
        _ => Rank::Close,
    }
}

/// Whether a word is an operator.
fn word(word: &str, here: &mut Level) -> bool {
    let rank = match word {
        "if" => Rank::If,
        "then" | "else" => return true,
        "has" | "in" | "like" | "is" => Rank::Relation,
        _ => return false,
    };
    here.take(rank);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicyLimits;

    fn policy(condition: &str) -> String {
        format!("permit (principal, action, resource) when {{ {condition} }};")
    }

    #[test]
    fn what_is_wide_is_not_deep() {
        let limit = PolicyLimits::default().max_nesting;
        let texts: Vec<String> = (0..5_000).map(|n| format!("decimal(\"{n}.0\")")).collect();
        assert_eq!(
            beyond(&policy(&format!("[{}].contains(resource.amount)", texts.join(", "))), limit),
            None
        );
        let terms: Vec<String> =
            (0..300).map(|n| format!("(resource.a.b == \"{n}\" && context has session)")).collect();
        assert_eq!(beyond(&policy(&terms.join(" || ")), limit), None);
        assert_eq!(beyond(&policy("true").repeat(9_000), limit), None);
        let quoted = format!("resource.a == \"{}\" // {}\n", "((((||||".repeat(500), "((((".repeat(500));
        assert_eq!(beyond(&policy(&quoted), limit), None);
    }

    #[test]
    fn what_is_deep_is_found_where_it_becomes_so() {
        let limit = PolicyLimits::default().max_nesting;
        let nested =
            |open: &str, close: &str, n: usize| format!("{}1 == 1{}", open.repeat(n), close.repeat(n));
        for condition in [
            "1 < 2 || ".repeat(limit + 1) + "1 < 2",
            "1 < 2 && ".repeat(limit + 1) + "1 < 2",
            "1 + ".repeat(limit + 1) + "1 == 2",
            "1 - ".repeat(limit + 1) + "1 == 2",
            "1 * ".repeat(limit + 1) + "1 == 2",
            "!".repeat(limit + 1) + "context.locked",
            "resource".to_owned() + &".a".repeat(limit + 1) + " == 1",
            "resource".to_owned() + &"[\"a\"]".repeat(limit + 1) + " == 1",
            "if 1 == 1 then 1 == 1 else ".repeat(limit + 1) + "1 == 1",
            nested("(", ")", limit),
            nested("[", "]", limit),
            nested("{a: ", "}", limit),
            "1 < 2 || (".repeat(limit) + "1 < 2" + &")".repeat(limit),
        ] {
            assert!(
                beyond(&policy(&condition), limit).is_some(),
                "{}",
                condition.get(..40).unwrap_or_default()
            );
        }
    }
}
