//! The parentheses of a scope and the braces of a condition where they are missing, and what stands between the parts of a policy.

use super::spot::{Spot, is_digits, is_effect, is_name, is_text};
use super::{Edit, Slip};

/// What a policy begins with.
const BEGINS: &str = "a policy begins with `permit (` or `forbid (`, and annotations stand before that";

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    if spot.why.starts_with("this policy is missing") {
        return empty(spot).into_iter().collect();
    }
    if !spot.why.starts_with("unexpected") {
        return fence(spot).into_iter().collect();
    }
    let rules = [
        braces(spot),
        worded(spot),
        ended(spot),
        between(spot),
        scope(spot),
        annotation(spot),
        twice(spot),
        part(spot),
        side(spot),
        begin(spot),
    ];
    rules.into_iter().flatten().collect()
}

/// `when resource.locked;`, `when (a) && b;`, `when: { … }`.
fn braces(spot: &Spot<'_>) -> Option<Slip> {
    let clause = [1, 2].into_iter().filter_map(|less| spot.here.checked_sub(less));
    let clause = clause.chain([spot.here]).find(|at| matches!(spot.word(Some(*at)), "when" | "unless"))?;
    let first = clause + 1;
    let range = spot.range(first, first);
    let word = spot.word(Some(clause));
    let hint = format!("a condition stands in braces: `{word} {{ … }}`");
    if matches!(spot.word(Some(first)), ":" | "=" | ",") {
        return Some(Slip::tried(range.start, vec![(range, String::new())], hint));
    }
    if clause + 1 != spot.here || matches!(spot.on(0), "{" | ";") || !spot.open().is_empty() {
        return None;
    }
    let end = spot.clause_end(first);
    let last = end.checked_sub(1).filter(|last| *last >= first)?;
    let closed = spot.word(Some(last)) == "}";
    let mut edits: Vec<Edit> = vec![(range.start..range.start, "{ ".to_owned())];
    if !closed {
        let behind = spot.range(last, last).end;
        edits.push((behind..behind, " }".to_owned()));
    }
    Some(Slip::tried(range.start, edits, hint))
}

/// `where context.locked;`, `and (context.locked);`, `unless;`.
fn worded(spot: &Spot<'_>) -> Option<Slip> {
    let clause = spot.here.checked_sub(1)?;
    let word = spot.word(Some(clause));
    let ends = matches!(spot.word(clause.checked_sub(1)), ")" | "}");
    if !ends || !spot.open().is_empty() || !spot.why.ends_with("expected `{`") {
        return None;
    }
    if matches!((word, spot.on(0)), ("when" | "unless", ";" | "")) {
        return Some(Slip::sure(spot.at, format!("a condition stands in braces: `{word} {{ … }}`")));
    }
    let meant = match word {
        "where" | "if" | "given" | "provided" => "when",
        "except" => "unless",
        "and" | "also" if matches!(spot.on(0), "when" | "unless") => {
            let range = spot.range(clause, clause);
            let hint = "a further condition begins with `when` or `unless`";
            return Some(Slip::tried(range.start, vec![(range, String::new())], hint));
        }
        "and" | "also" => super::scope::clause_before(spot, clause),
        _ => return None,
    };
    let last = spot.clause_end(spot.here).checked_sub(1).filter(|last| *last >= spot.here)?;
    let (range, end) = (spot.range(clause, clause), spot.range(last, last).end);
    let edits = vec![(range.clone(), format!("{meant} {{")), (end..end, " }".to_owned())];
    let hint = match (word, meant) {
        ("and" | "also", "unless") => super::scope::TOGETHER.to_owned(),
        _ => format!("a condition begins with `when` or `unless` and stands in braces: `{meant} {{ … }}`"),
    };
    Some(Slip::tried(range.start, edits, hint))
}

/// `@id("x");`.
fn ended(spot: &Spot<'_>) -> Option<Slip> {
    let from = spot.here.checked_sub(5)?;
    let annotates = spot.on(0) == ";"
        && spot.word(Some(from)) == "@"
        && spot.before(1) == ")"
        && (is_effect(spot.on(1)) || spot.on(1) == "@");
    let range = spot.range(spot.here, spot.here);
    let hint = "an annotation ends without a `;`: it belongs to the policy behind it";
    annotates.then(|| Slip::tried(range.start, vec![(range, String::new())], hint))
}

/// `) && { … }` and `), when { … }`.
fn between(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.open().is_empty() || !matches!(spot.before(1), ")" | "}") {
        return None;
    }
    let range = spot.range(spot.here, spot.here);
    match (spot.on(0), spot.on(1), spot.on(2)) {
        ("," | ":", "when" | "unless", _) => {
            let hint = format!("no `{}` stands before a condition", spot.on(0));
            Some(Slip::tried(range.start, vec![(range, String::new())], hint))
        }
        ("&", "&", "{") => Some(super::scope::also(spot, spot.here, spot.range(spot.here, spot.here + 1))),
        ("|", "|", "{") => {
            let before = super::scope::clause_before(spot, spot.here);
            let hint = format!("alternatives stand in one condition: `{before} {{ … || … }}`");
            Some(Slip::sure(range.start, hint))
        }
        _ => None,
    }
}

/// `permit principal, action, resource;`, `permit { … }`, `permit;`.
fn scope(spot: &Spot<'_>) -> Option<Slip> {
    let effect = spot.here.checked_sub(1).filter(|at| is_effect(spot.word(Some(*at))))?;
    if !spot.open().is_empty() {
        return None;
    }
    let here = spot.range(spot.here, spot.here);
    let hint = format!(
        "the scope stands in parentheses: `{} (principal, action, resource)`",
        spot.word(Some(effect))
    );
    let edits = match spot.on(0) {
        // `forbid all;`
        word if super::scope::is_everybody(word) && matches!(spot.on(1), ";" | "when" | "unless") => {
            vec![(here.clone(), "(principal, action, resource)".to_owned())]
        }
        ";" | "when" | "unless" => {
            vec![(here.start..here.start, "(principal, action, resource) ".to_owned())]
        }
        "{" | "[" => {
            let close = spot.closed(spot.here)?;
            vec![(here.clone(), "(".to_owned()), (spot.range(close, close), ")".to_owned())]
        }
        word if is_name(word) => {
            let last = spot.clause_end(spot.here).checked_sub(1)?;
            let behind = spot.range(last, last);
            let mut edits = vec![(here.start..here.start, "(".to_owned())];
            if spot.word(Some(last)) != ")" {
                edits.push((behind.end..behind.end, ")".to_owned()));
            }
            edits
        }
        _ => return None,
    };
    Some(Slip::tried(here.start, edits, hint))
}

/// `permit ()`.
fn empty(spot: &Spot<'_>) -> Option<Slip> {
    let close = (spot.here.saturating_sub(1)..spot.words.len())
        .find(|at| spot.word(Some(*at)) == ")" && spot.word(at.checked_sub(1)) == "(")?;
    let effect = spot.word(close.checked_sub(2));
    let start = spot.range(close, close).start;
    is_effect(effect).then(|| {
        let edit = (start..start, "principal, action, resource".to_owned());
        Slip::tried(spot.at, vec![edit], super::scope::FORM)
    })
}

/// `permit (…) @notice("x");`.
fn annotation(spot: &Spot<'_>) -> Option<Slip> {
    let ends = spot.on(0) == "@" && matches!(spot.before(1), ")" | "}") && spot.open().is_empty();
    let last = spot.here + 4;
    let whole = spot.on(2) == "(" && is_text(spot.on(3)) && spot.on(4) == ")";
    if !ends || !whole || !matches!(spot.word(Some(last + 1)), ";" | "when" | "unless" | "@") {
        return None;
    }
    let hint = "an annotation stands before `permit` or `forbid`";
    Some(Slip::tried(spot.at, vec![(spot.range(spot.here, last), String::new())], hint))
}

/// `;;`.
fn twice(spot: &Spot<'_>) -> Option<Slip> {
    let again = spot.on(0) == ";" && spot.before(1) == ";";
    let range = spot.range(spot.here, spot.here);
    again.then(|| Slip::tried(range.start, vec![(range, String::new())], "one `;` ends a policy"))
}

/// Two parts of a condition with a comma between, or with nothing.
fn part(spot: &Spot<'_>) -> Option<Slip> {
    let open = *spot.open().last()?;
    let of_clause = matches!(spot.word(open.checked_sub(1)), "when" | "unless");
    let grouped =
        spot.word(Some(open)) == "(" && !is_name(spot.word(open.checked_sub(1))) && !spot.in_scope();
    // a list in parentheses: `("EUR", "USD").contains(…)`
    let asked = spot.closed(open).is_some_and(|close| spot.word(Some(close + 1)) == ".");
    let listed = spot.word(Some(open)) == "(" && asked;
    if (!of_clause && !grouped) || listed || super::calls::lacks_parentheses(spot) {
        return None;
    }
    const JOINED: &str = "parts of a condition are joined by `&&` or `||`";
    let here = spot.range(spot.here, spot.here);
    if spot.on(0) == "," {
        let slip = Slip::tried(here.start, vec![(here, "&&".to_owned())], JOINED);
        return Some(Slip { whole: true, ..slip });
    }
    let ends = |word: &str| {
        is_name(word) && !matches!(word, "in" | "is" | "has" | "like" | "if" | "then" | "else")
            || is_text(word)
            || is_digits(word)
            || matches!(word, ")" | "]")
    };
    let begins = matches!(spot.on(0), "principal" | "action" | "resource" | "context" | "!" | "(" | "[");
    let apart = spot.here.checked_sub(1).is_some_and(|before| !spot.joined(before));
    if !apart || !begins || !ends(spot.before(1)) {
        return None;
    }
    let hint = format!("{JOINED}: one is missing before `{}`", spot.on(0));
    let slip = Slip::tried(here.start, vec![(here.start..here.start, "&& ".to_owned())], hint);
    Some(Slip { whole: true, ..slip })
}

/// `a && }`, `{ && a`.
fn side(spot: &Spot<'_>) -> Option<Slip> {
    let joins = |word: &str| matches!(word, "&" | "|");
    let behind = joins(spot.before(1)) && (matches!(spot.on(0), "}" | ")" | ";") || joins(spot.on(0)));
    let before = joins(spot.on(0)) && matches!(spot.before(1), "{" | "(");
    let sign = if behind { spot.before(1) } else { spot.on(0) };
    ((behind || before) && !spot.in_scope())
        .then(|| Slip::sure(spot.at, format!("a part of the condition is missing beside `{sign}{sign}`")))
}

/// Marks around code in a page.
fn fence(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.text.get(spot.at..)?.starts_with("```") {
        return None;
    }
    let mut edits = Vec::new();
    let mut at = 0;
    for line in spot.text.split_inclusive('\n') {
        if line.starts_with("```") {
            edits.push((at..at + line.trim_end().len(), String::new()));
        }
        at += line.len();
    }
    Some(Slip::tried(spot.at, edits, "this is a mark around code in a page: take it out"))
}

/// Anything else where a policy begins.
fn begin(spot: &Spot<'_>) -> Option<Slip> {
    let begins = spot.why.ends_with("expected `@` or identifier") || spot.why.ends_with("expected `(`");
    let known = is_effect(spot.before(1)) || matches!(spot.on(0), ")" | "]" | "}" | ";");
    (begins && !known && spot.open().is_empty()).then(|| Slip::sure(spot.at, BEGINS))
}
