//! The parentheses behind `permit` and `forbid`, and the words before them.

use super::Slip;
use super::spot::{Spot, is_effect, is_name, is_text};
use crate::check::closest;

/// The form of a scope.
pub(super) const FORM: &str = "the scope is `(principal, action, resource)`, in this order; what else is asked stands behind it, in `when { … }`";
/// How a type is asked for.
pub(super) const TYPE: &str = "a type is named by line and concept, as in `resource is payment::transfer`";
/// How several are asked for.
pub(super) const ONE: &str =
    "the scope takes one: write a policy for each, or ask for several in `when { … }`";
/// What is not meant.
pub(super) const NOT: &str =
    "the scope says who and what is meant; what is not meant stands behind it, in `unless { … }`";

/// Two that must not be so at once.
pub(super) const TOGETHER: &str = "what must not hold together stands in one condition: `unless { … && … }`";

/// The variables of a scope in their order.
const SCOPE: [&str; 3] = ["principal", "action", "resource"];

/// What stands in a scope without being the name of somebody.
const WORDS: [&str; 9] =
    ["principal", "action", "resource", "context", "true", "false", "Agent", "Group", "Action"];

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    let one = [effect(spot), clause(spot), text_for_name(spot), several(spot), type_name(spot), form(spot)];
    one.into_iter().flatten().collect()
}

/// Whether a word stands for whoever or whatever it is elsewhere.
pub(super) fn is_everybody(word: &str) -> bool {
    matches!(
        word,
        "*" | "\"*\""
            | "any"
            | "anyone"
            | "anybody"
            | "all"
            | "everyone"
            | "everybody"
            | "everything"
            | "anything"
            | "\"any\""
            | "\"all\""
    )
}

/// The word behind the last colon of the parser's.
fn last_word<'t>(spot: &Spot<'t>, prefix: &str) -> Option<&'t str> {
    spot.why.strip_prefix(prefix)?.split(',').next()
}

fn at_word<'t>(spot: &Spot<'t>, word: &str) -> Option<(usize, std::ops::Range<usize>)> {
    let position = (spot.here..spot.words.len()).find(|at| spot.word(Some(*at)) == word)?;
    Some((position, spot.range(position, position)))
}

fn effect(spot: &Spot<'_>) -> Option<Slip> {
    let effect = last_word(spot, "invalid policy effect: ")?;
    let meant = match effect.to_ascii_lowercase().as_str() {
        "deny" | "refuse" | "block" => "forbid",
        "allow" | "accept" => "permit",
        _ => closest(effect, ["permit", "forbid"].into_iter())?,
    };
    let (_, range) = at_word(spot, effect)?;
    let slip = Slip::tried(range.start, vec![(range, meant.to_owned())], format!("did you mean `{meant}`?"));
    Some(Slip { sure: true, ..slip })
}

/// The word of the condition that ends before a position.
pub(super) fn clause_before<'t>(spot: &Spot<'t>, at: usize) -> &'t str {
    let mut depth = 0_usize;
    for before in (0..at).rev() {
        match spot.word(Some(before)) {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => depth = depth.saturating_sub(1),
            "unless" if depth == 0 => return "unless",
            ";" | "when" if depth == 0 => break,
            _ => {}
        }
    }
    "when"
}

/// A further condition with another word than `when` or `unless` before it. Two that must not hold together are one condition.
pub(super) fn also(spot: &Spot<'_>, at: usize, range: std::ops::Range<usize>) -> Slip {
    let hint = match clause_before(spot, at) {
        "unless" => TOGETHER,
        _ => "a further condition begins with `when` or `unless`",
    };
    Slip::tried(range.start, vec![(range, "when".to_owned())], hint)
}

fn clause(spot: &Spot<'_>) -> Option<Slip> {
    let clause = last_word(spot, "invalid policy condition: ")?;
    let is = |names: &[&str]| names.iter().any(|name| clause.eq_ignore_ascii_case(name));
    let (at, range) = at_word(spot, clause)?;
    if is(&["and", "also"]) {
        return Some(also(spot, at, range));
    }
    if is(&["or"]) {
        let before = clause_before(spot, at);
        let hint = format!("alternatives stand in one condition: `{before} {{ … || … }}`");
        return Some(Slip::sure(range.start, hint));
    }
    if is(&["else", "otherwise"]) {
        let hint = "what else may be is another policy; what must not be is `unless { … }`";
        return Some(Slip::sure(range.start, hint));
    }
    let meant = match clause.to_ascii_lowercase().as_str() {
        "if" | "where" | "given" | "provided" => "when",
        "except" => "unless",
        _ => closest(clause, ["when", "unless"].into_iter())?,
    };
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(range.start, vec![(range, meant.to_owned())], hint))
}

/// A text, or a bare name, where the scope takes an agent, a group or an action.
fn text_for_name(spot: &Spot<'_>) -> Option<Slip> {
    // a word of the language, or a kind of entity whose name is missing, is nobody's name
    let bare = is_name(spot.on(0)) && !WORDS.contains(&spot.on(0)) && matches!(spot.on(1), "," | ")" | "]");
    if !spot.why.starts_with("expected an entity uid")
        || !(bare || is_text(spot.on(0)))
        || is_everybody(spot.on(0))
    {
        return None;
    }
    let text = &if bare { format!("\"{}\"", spot.on(0)) } else { spot.on(0).to_owned() };
    let kind = match (spot.commas(), spot.before(1)) {
        (0, "in") if !text.contains("://") => "Group",
        (0, _) => "Agent",
        (1, _) => "Action",
        _ => return None,
    };
    let range = spot.range(spot.here, spot.here);
    let by = format!("{kind}::{text}");
    if kind == "Agent" && spot.before(1) == "in" {
        let slip = spot.range(spot.here - 1, spot.here);
        let by = format!("== {by}");
        return Some(Slip::tried(
            range.start,
            vec![(slip, by.clone())],
            format!("did you mean `principal {by}`?"),
        ));
    }
    let hint = format!("did you mean `{by}`?");
    Some(Slip::tried(range.start, vec![(range, by)], hint))
}

/// A set where the scope takes one.
fn several(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("expected single entity uid") || spot.on(0) != "[" {
        return None;
    }
    if spot.follows(&["action", "=", "="]) {
        let range = spot.range(spot.here - 2, spot.here - 1);
        return Some(Slip::tried(
            range.start,
            vec![(range, "in".to_owned())],
            "did you mean `action in […]`?",
        ));
    }
    Some(Slip::sure(spot.at, ONE))
}

/// A type as a text, behind `==`, or with other signs than `::`.
fn type_name(spot: &Spot<'_>) -> Option<Slip> {
    if spot.why.starts_with("right hand side of an `is`") && is_text(spot.on(0)) {
        let name = spot.on(0).trim_matches('"');
        let range = spot.range(spot.here, spot.here);
        let good = name.split("::").all(is_name);
        let hint = format!("a type stands without quotation marks: did you mean `{name}`?");
        return good.then(|| Slip::tried(range.start, vec![(range, name.to_owned())], hint));
    }
    let asked = if spot.follows(&["=", "="]) { 2 } else { usize::from(spot.before(1) == "in") };
    if spot.why.contains("found name `") && asked > 0 && spot.commas() == 2 {
        let range = spot.range(spot.here - asked, spot.here - 1);
        return Some(Slip::tried(
            range.start,
            vec![(range, "is".to_owned())],
            "did you mean `resource is …`?",
        ));
    }
    if spot.why.starts_with("type constraints using `:`") && spot.before(1) == ":" {
        let range = spot.range(spot.here - 1, spot.here - 1);
        return Some(Slip::tried(range.start, vec![(range, " is".to_owned())], "did you mean `is`?"));
    }
    // the sign between two names, with `is` or a kind of entity before them
    let sign = [Some(spot.here), spot.here.checked_sub(1), Some(spot.here + 1)].into_iter().flatten();
    let at = sign.into_iter().find(|at| matches!(spot.word(Some(*at)), "." | "/" | ":"))?;
    let (before, left, right) = (at.checked_sub(2), at.checked_sub(1), spot.word(Some(at + 1)));
    let kind = matches!(spot.word(left), "Agent" | "Group" | "Action") && is_text(right);
    let of_type = spot.word(before) == "is" && is_name(spot.word(left)) && is_name(right);
    (kind || of_type).then(|| {
        let range = spot.range(at, at);
        let meant = format!("{}::{right}", spot.word(left));
        Slip::tried(range.start, vec![(range, "::".to_owned())], format!("did you mean `{meant}`?"))
    })
}

fn form(spot: &Spot<'_>) -> Option<Slip> {
    let says = |text: &str| spot.why.contains(text);
    if says("invalid operator in the policy scope: !=") || says("invalid operator in the action scope: !=") {
        return Some(Slip::sure(spot.at, NOT));
    }
    if says("found a `+/-` expression") && spot.in_scope() && spot.commas() == 0 {
        return Some(Slip::sure(
            spot.at,
            "an agent is named as in `Agent::\"spiffe://…\"`, and a group as in `Group::\"partners\"`",
        ));
    }
    if says("found literal") && spot.in_scope() && spot.commas() == 2 {
        return Some(Slip::sure(spot.at, TYPE));
    }
    if says("found a `||` expression") && spot.in_scope() {
        return Some(Slip::sure(spot.at, ONE));
    }
    let order =
        says("where the variable `") || says("variable in the scope") || says("extra element in the scope");
    let again = || {
        let (range, meant) = ordered(spot)?;
        Some(Slip::tried(spot.at, vec![(range, meant)], FORM))
    };
    order.then(|| again().unwrap_or_else(|| Slip::sure(spot.at, FORM)))
}

/// The scope around in the order that it has to have, with variables that are missing: where nothing else stands in it.
fn ordered(spot: &Spot<'_>) -> Option<(std::ops::Range<usize>, String)> {
    let opens = |at: &usize| spot.word(Some(*at)) == "(" && is_effect(spot.word(at.checked_sub(1)));
    let open = (0..=spot.here.min(spot.words.len())).rev().find(opens)?;
    let close = spot.closed(open)?;
    let mut own: [Option<&str>; 3] = [None; 3];
    let (mut from, mut depth) = (open + 1, 0_usize);
    for at in open + 1..=close {
        match spot.word(Some(at)) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if at < close => depth = depth.saturating_sub(1),
            "," | ")" if depth == 0 => {
                let place = SCOPE.iter().position(|name| *name == spot.word(Some(from)))?;
                let part = own.get_mut(place).filter(|part| part.is_none())?;
                *part = Some(spot.slice(from, at - 1));
                from = at + 1;
            }
            _ => {}
        }
    }
    let all = own.iter().zip(SCOPE).map(|(part, name)| part.unwrap_or(name));
    Some((spot.range(open + 1, close - 1), all.collect::<Vec<_>>().join(", ")))
}
