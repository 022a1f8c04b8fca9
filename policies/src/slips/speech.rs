//! Words of other languages and of speech where Cedar has a sign, or the same word in small letters: `IN`, `LIKE`, `isnt`, `implies`, `elif`,
//! `where`.

use super::asks::{held, one_of};
use super::present::{absent, is_nothing};
use super::spot::{Spot, is_digits, is_kind, is_name, is_text};
use super::{Edit, Slip};

/// What follows from something.
pub(super) const IMPLIES: &str =
    "what must hold where something else does is asked as in `!context.locked || context.major >= 2`";

const JOINED: &str = "parts of a condition are joined by `&&` or `||`";

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    if !spot.why.starts_with("unexpected") {
        return Vec::new();
    }
    let rules = [capitals(spot), follows(spot), otherwise(spot), braces(spot), nested(spot), joined(spot)];
    rules.into_iter().flatten().collect()
}

/// `resource.memo LIKE "*x*"`, `principal IN Group::"partners"`, `context HAS session`, `context.locked IS true`.
fn capitals(spot: &Spot<'_>) -> Option<Slip> {
    let asks = spot.on(0).to_ascii_lowercase();
    if asks == spot.on(0) || !matches!(asks.as_str(), "in" | "like" | "has" | "is") {
        return None;
    }
    let (range, right) = (spot.range(spot.here, spot.here), spot.here + 1);
    let by = |meant: &str| {
        let hint = format!("did you mean `{meant}`?");
        Some(Slip::tried(range.start, vec![(range.clone(), meant.to_owned())], hint))
    };
    let left = spot.here.checked_sub(1)?;
    let from = spot.member(left);
    let word = spot.word(Some(right));
    let instead = |last: usize, meant: String, hint: String| {
        Some(Slip::tried(range.start, vec![(spot.range(from, last), meant)], hint))
    };
    match asks.as_str() {
        "in" if !spot.in_scope() => {
            if let Some((meant, hint)) = held(spot, (from, left), right, false) {
                return instead(spot.operand_end(right)?, meant, hint);
            }
            match one_of(spot, (from, left), right) {
                Some(meant) => {
                    let hint = format!("did you mean `{meant}`?");
                    instead(spot.name_end(right), meant, hint)
                }
                None => by("in"),
            }
        }
        "like" => match starred(word) {
            Some(meant) => {
                let edit = (spot.range(spot.here, right), format!("like {meant}"));
                let hint =
                    format!("a `*` stands for any letters: did you mean `like {meant}`, in small letters?");
                Some(Slip::tried(range.start, vec![edit], hint))
            }
            None => by("like"),
        },
        "is" if is_nothing(word) && from < left => {
            let meant = format!("!({} has {})", spot.slice(from, left - 2), spot.word(Some(left)));
            let hint = absent(spot, from, left, &meant);
            instead(right, meant, hint)
        }
        "is" => {
            let entity = is_kind(word) && is_text(spot.word(Some(spot.name_end(right))));
            let value = is_text(word) || is_digits(word) || matches!(word, "true" | "false");
            match () {
                () if word.eq_ignore_ascii_case("not") => None,
                () if entity && word == "Group" => by("in"),
                () if entity || value => by("=="),
                () => by("is"),
            }
        }
        _ => by(&asks),
    }
}

/// A pattern of SQL as Cedar has it, if it has a sign of SQL's for any letters at an end and none of Cedar's.
pub(super) fn starred(text: &str) -> Option<String> {
    let own = text.strip_prefix('"')?.strip_suffix('"')?;
    let inner = own.strip_prefix('%').unwrap_or(own);
    let inner = inner.strip_suffix('%').unwrap_or(inner);
    (inner.len() < own.len() && !inner.contains(['%', '*', '\\', '_'])).then(|| text.replace('%', "*"))
}

/// `a implies b`, `a -> b`, `a ==> b`.
fn follows(spot: &Spot<'_>) -> Option<Slip> {
    let arrow = |at: usize| {
        spot.word(Some(at)) == "-" && spot.joined(at) && spot.word(Some(at + 1)) == ">"
            // of a member: `resource->currency`
            && (matches!(spot.word(Some(at + 2)), "!" | "(" | "[" | "if") || is_variable(spot.word(Some(at + 2))))
    };
    let range = match spot.on(0) {
        "implies" => spot.range(spot.here, spot.here),
        _ if arrow(spot.here) => spot.range(spot.here, spot.here + 1),
        _ if spot.here > 0 && arrow(spot.here - 1) => spot.range(spot.here - 1, spot.here),
        _ => return None,
    };
    (!spot.in_scope()).then(|| Slip::tried(range.start, vec![(range, "||".to_owned())], IMPLIES))
}

fn is_variable(word: &str) -> bool {
    matches!(word, "principal" | "action" | "resource" | "context")
}

/// `elif`.
fn otherwise(spot: &Spot<'_>) -> Option<Slip> {
    let range = spot.range(spot.here, spot.here);
    matches!(spot.on(0).to_ascii_lowercase().as_str(), "elif" | "elsif" | "elseif")
        .then(|| Slip::tried(range.start, vec![(range, "else if".to_owned())], "did you mean `else if`?"))
}

/// `if a { b } else { c }`.
fn braces(spot: &Spot<'_>) -> Option<Slip> {
    let asks = (0..spot.here).rev().find(|at| {
        matches!(spot.word(Some(*at)), "if" | "then" | "else" | "{" | "}" | ";" | "when" | "unless")
    })?;
    if spot.on(0) != "{" || spot.word(Some(asks)) != "if" {
        return None;
    }
    let (mut edits, mut open): (Vec<Edit>, usize) = (Vec::new(), spot.here);
    loop {
        let close = spot.closed(open)?;
        edits.push((spot.range(open, open), "then (".to_owned()));
        edits.push((spot.range(close, close), ")".to_owned()));
        let again = close + 1;
        let more = match (spot.word(Some(again)), spot.word(Some(again + 1))) {
            ("else", "{") => {
                let last = spot.closed(again + 1)?;
                edits.push((spot.range(again + 1, again + 1), "(".to_owned()));
                edits.push((spot.range(last, last), ")".to_owned()));
                break;
            }
            ("else", "if") => again + 2,
            ("elif" | "elsif" | "elseif", _) => {
                edits.push((spot.range(again, again), "else if".to_owned()));
                again + 1
            }
            ("}" | ")" | "&" | "|", _) => {
                edits.pop();
                edits.push((spot.range(close, close), ") else false".to_owned()));
                break;
            }
            _ => return None,
        };
        open = (more..spot.words.len()).find(|at| matches!(spot.word(Some(*at)), "{" | ";"))?;
    }
    Some(Slip::tried(spot.at, edits, "a choice is written `if … then … else …`, without braces"))
}

/// `when { a when { b } }` and `when { unless { a } }`.
fn nested(spot: &Spot<'_>) -> Option<Slip> {
    let at = [Some(spot.here), spot.here.checked_sub(1)].into_iter().flatten();
    let clause = at
        .into_iter()
        .find(|at| matches!(spot.word(Some(*at)), "when" | "unless") && spot.word(Some(at + 1)) == "{")?;
    let (word, close) = (spot.word(Some(clause)), spot.closed(clause + 1)?);
    let outer = spot.open().first().copied()?;
    let of_clause = matches!(spot.word(outer.checked_sub(1)), "when" | "unless");
    if !of_clause || spot.word(Some(close + 1)) != "}" {
        return None;
    }
    let start = spot.range(clause, clause).start;
    if outer + 1 == clause {
        let (open, sign) = (spot.range(clause, clause + 1), if word == "when" { "(" } else { "!(" });
        let edits = vec![(open, sign.to_owned()), (spot.range(close, close), ")".to_owned())];
        let hint =
            format!("`{word} {{ … }}` stands behind the scope, or behind another condition, and in none");
        return Some(Slip::tried(start, edits, hint));
    }
    let edits = vec![(start..start, "} ".to_owned()), (spot.range(close + 1, close + 1), String::new())];
    Some(Slip::tried(start, edits, format!("a condition ends with its `}}` before `{word}`")))
}

/// `a where b`, `a when b`, `a if b`, `a unless b`.
fn joined(spot: &Spot<'_>) -> Option<Slip> {
    let word = spot.on(0);
    let open = *spot.open().last()?;
    let of_clause = matches!(spot.word(open.checked_sub(1)), "when" | "unless");
    let starts = matches!(spot.on(1), "!" | "(" | "[") || is_name(spot.on(1)) || is_text(spot.on(1));
    let ends = |word: &str| is_name(word) || is_text(word) || is_digits(word) || matches!(word, ")" | "]");
    if !of_clause || !starts || !ends(spot.before(1)) || matches!(spot.before(1), "then" | "else" | "if") {
        return None;
    }
    let find = |word: &str| (spot.here..spot.clause_end(spot.here)).find(|at| spot.word(Some(*at)) == word);
    let other = find("else").filter(|_| word == "if");
    let hint = match word {
        "where" | "when" | "given" | "provided" | "also" | "but" => "did you mean `&&`?".to_owned(),
        // of one part and another it may be said in two ways
        "if" if other.is_some() => "a choice is written `if … then … else …`".to_owned(),
        "if" => format!("{JOINED}; {IMPLIES}"),
        "unless" => format!(
            "{JOINED}; what must not hold stands behind the braces, in `unless {{ … }}`, or behind `!`"
        ),
        _ => return None,
    };
    let range = spot.range(spot.here, spot.here);
    let start = range.start;
    // `a if b else c`, of which neither word can stay
    let other = other.filter(|_| find("then").is_none()).map(|at| spot.range(at, at));
    let edits = [Some(range), other].into_iter().flatten().map(|range| (range, "&&".to_owned()));
    Some(Slip::tried(start, edits.collect(), hint))
}
