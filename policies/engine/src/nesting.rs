//! How deep the tree of a policy can be, told from its text: a tree that is too deep ends the process that walks it, and parsing walks it.

/// The weight of one bracket: a parser goes through each rank of operators for it, and a chain of operators through one.
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
        match c {
            '/' if next == Some('/') => while rest.next_if(|(_, c)| *c != '\n').is_some() {},
            '"' => {
                let mut escaped = false;
                let ends = |(_, c): &(usize, char)| {
                    let end = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    end
                };
                rest.by_ref().find(ends);
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
                let twice = is_doubled(c, next);
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

const fn is_doubled(c: char, next: Option<char>) -> bool {
    matches!((c, next), ('|', Some('|')) | ('&', Some('&')) | ('=' | '<' | '>' | '!', Some('=')))
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

/// Returns true if a word is an operator.
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
mod tests;
