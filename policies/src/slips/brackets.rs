//! Brackets, semicolons and commas that are missing, too many, or of another kind.

use super::Slip;
use super::spot::{Spot, is_digits, is_effect, is_name, is_text};

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    if !spot.why.starts_with("unexpected") {
        return Vec::new();
    }
    let rules = [set(spot), condition(spot), semicolon(spot), comma(spot)];
    rules.into_iter().flatten().chain(bracket(spot)).collect()
}

/// `in ("a", "b")` and `in {…}`.
fn set(spot: &Spot<'_>) -> Option<Slip> {
    let open = *spot.open().last().filter(|_| matches!(spot.on(0), "," | "}"))?;
    let word = spot.word(Some(open));
    if let Some(close) = spot.closed(open)
        && matches!(word, "(" | "{")
        && spot.on(0) == ","
        && !is_name(spot.word(open.checked_sub(1)))
        && spot.word(Some(close + 1)) == "."
    {
        let (first, last) = (spot.range(open, open), spot.range(close, close));
        let hint =
            format!("a list stands in brackets: did you mean `[{}]`?", spot.slice(open + 1, close - 1));
        return Some(Slip::tried(first.start, vec![(first, "[".to_owned()), (last, "]".to_owned())], hint));
    }
    if spot.word(open.checked_sub(1)) != "in" || word == "[" || (spot.on(0) == "}" && word != "{") {
        return None;
    }
    if spot.open().len() == 2
        && spot.word(open.checked_sub(2)) == "principal"
        && spot.word(spot.open().first().copied()) == "("
    {
        let range = spot.range(open, spot.closed(open)?);
        let first = spot.slice(open + 1, spot.name_end(open + 1)).to_owned();
        return Some(Slip::tried(range.start, vec![(range, first)], super::scope::ONE));
    }
    let (first, last) = (spot.range(open, open), spot.closed(open)?);
    let edits = vec![(first.clone(), "[".to_owned()), (spot.range(last, last), "]".to_owned())];
    Some(Slip::tried(
        first.start,
        edits,
        "several stand in brackets, as in `action in [Action::\"QUERY\", Action::\"REQUEST\"]`",
    ))
}

/// A condition without `when`, in parentheses, or behind the end of its policy.
fn condition(spot: &Spot<'_>) -> Option<Slip> {
    let is_clause = |word: &str| matches!(word, "when" | "unless");
    let here = spot.range(spot.here, spot.here);
    if spot.on(0) == "{" && spot.open().is_empty() && matches!(spot.before(1), ")" | "}") {
        if spot.on(1) == "}" {
            let edit = (spot.range(spot.here, spot.here + 1), String::new());
            let hint =
                "nothing stands in these braces: leave them out, or write what has to be so behind `when`";
            return Some(Slip::tried(here.start, vec![edit], hint));
        }
        let edit = (here.start..here.start, "when ".to_owned());
        return Some(Slip::tried(here.start, vec![edit], "a condition begins with `when` or `unless`"));
    }
    if !is_clause(spot.before(1)) {
        return None;
    }
    if spot.on(0) == "(" {
        let close = spot.closed(spot.here).filter(|close| spot.clause_end(spot.here) == close + 1)?;
        let edits = vec![(here.clone(), "{".to_owned()), (spot.range(close, close), "}".to_owned())];
        let hint = format!("a condition stands in braces: `{} {{ … }}`", spot.before(1));
        return Some(Slip::tried(here.start, edits, hint));
    }
    let end = spot.here.checked_sub(2).filter(|at| spot.on(0) == "{" && spot.word(Some(*at)) == ";")?;
    let range = spot.range(end, end);
    let hint = format!("the policy ends with this `;`: take it out, if `{}` belongs to it", spot.before(1));
    Some(Slip::tried(range.start, vec![(range, String::new())], hint))
}

fn semicolon(spot: &Spot<'_>) -> Option<Slip> {
    let closed = |at: Option<usize>| matches!(spot.word(at), ")" | "}");
    let (last, next) = if spot.on(0) == "(" && is_effect(spot.before(1)) {
        (spot.here.checked_sub(2)?, spot.before(1))
    } else {
        (
            spot.here.checked_sub(1)?,
            if spot.here == spot.words.len() { "the end of the file" } else { spot.on(0) },
        )
    };
    let open = !spot.open().is_empty();
    let begins = next == "@" || is_effect(next) || spot.here == spot.words.len();
    if begins && closed(Some(last)) && !open {
        let end = spot.range(last, last).end;
        let next = if spot.here == spot.words.len() { next.to_owned() } else { format!("`{next}`") };
        return Some(Slip::tried(
            end,
            vec![(end..end, ";".to_owned())],
            format!("a `;` is missing before {next}"),
        ));
    }
    let here = spot.range(spot.here, spot.here);
    let first = spot.open().first().copied().unwrap_or_default();
    let of_clause = matches!(spot.word(first.checked_sub(1)), "when" | "unless");
    let goes_on = matches!(spot.on(1), "principal" | "action" | "resource" | "context" | "!" | "(");
    if spot.on(0) == ";" && spot.open().len() == 1 && of_clause && goes_on {
        let hint = "within a condition stands no `;`: its parts are joined by `&&` or `||`";
        return Some(Slip::tried(here.start, vec![(here, "&&".to_owned())], hint));
    }
    (spot.on(0) == ";" && open && spot.on(1) == "}")
        .then(|| Slip::tried(here.start, vec![(here, String::new())], "within a condition stands no `;`"))
}

fn comma(spot: &Spot<'_>) -> Option<Slip> {
    let ends = |word: &str| is_name(word) || is_text(word) || is_digits(word) || matches!(word, ")" | "]");
    let begins = |word: &str| is_name(word) || is_text(word) || is_digits(word);
    let within = spot.open().last().is_some_and(|open| matches!(spot.word(Some(*open)), "(" | "["));
    if !within || !ends(spot.before(1)) || !begins(spot.on(0)) {
        return None;
    }
    let end = spot.range(spot.here - 1, spot.here - 1).end;
    let hint = format!("a `,` is missing before `{}`", spot.on(0));
    Some(Slip { whole: true, ..Slip::tried(end, vec![(end..end, ",".to_owned())], hint) })
}

/// A bracket that is not closed, one of another kind, or one that closes nothing.
fn bracket(spot: &Spot<'_>) -> Vec<Slip> {
    let open = spot.open();
    let here = spot.range(spot.here, spot.here);
    let closes = matches!(spot.on(0), ")" | "]" | "}");
    let Some(last) = open.last() else {
        let edit = vec![(here.clone(), String::new())];
        let hint = format!("nothing is open that this `{}` closes", spot.on(0));
        return if closes { vec![Slip::tried(here.start, edit, hint)] } else { Vec::new() };
    };
    let (word, closer) = match spot.word(Some(*last)) {
        "(" => ("(", ")"),
        "[" => ("[", "]"),
        _ => ("{", "}"),
    };
    let ends = closes || matches!(spot.on(0), ";" | "when" | "unless") || spot.here == spot.words.len();
    if !ends || spot.on(0) == closer {
        return Vec::new();
    }
    let place = spot.words.get(*last).map_or(0, |word| word.at);
    let line = spot.text.get(..place).unwrap_or_default().matches('\n').count() + 1;
    let at_line = if spot.text.get(place..here.start).is_some_and(|between| between.contains('\n')) {
        format!(" of line {line}")
    } else {
        String::new()
    };
    let hint = format!("a `{closer}` is missing: the `{word}`{at_line} is not closed before it");
    let missing = Slip::tried(here.start, vec![(here.start..here.start, closer.to_owned())], hint);
    let wanted = matches!(spot.on(0), ")" | "]" | "}")
        && !open
            .iter()
            .any(|at| matches!((spot.word(Some(*at)), spot.on(0)), ("(", ")") | ("[", "]") | ("{", "}")));
    if wanted {
        let extra = format!("nothing is open that this `{}` closes", spot.on(0));
        let extra = Slip::tried(here.start, vec![(here.clone(), String::new())], extra);
        let hint = format!("a `{word}` is closed by `{closer}`");
        let other = Slip::tried(here.start, vec![(here, closer.to_owned())], hint);
        return vec![Slip { whole: true, ..extra }, other];
    }
    vec![missing]
}
