//! Whether something is there: `null` on either side of a comparison, `exists(…)`, `.has("…")` and their like.

use super::Slip;
use super::calls::PRESENT;
use super::spot::{Spot, is_name, is_text};
use crate::catalogue::CONTEXT_MEMBERS;

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [function(spot), method(spot), word(spot)].into_iter().flatten().collect()
}

/// Whether a name stands for nothing elsewhere.
pub(super) fn is_nothing(word: &str) -> bool {
    matches!(word, "null" | "nil" | "None" | "undefined" | "NULL")
}

/// Names by which other languages ask whether a member is there.
fn asks_presence(name: &str) -> bool {
    matches!(
        name.to_ascii_lowercase().replace('_', "").as_str(),
        "has"
            | "hasmember"
            | "hasattribute"
            | "hasattr"
            | "hasfield"
            | "hasproperty"
            | "hasownproperty"
            | "haskey"
            | "exists"
            | "exist"
            | "present"
            | "ispresent"
            | "isset"
            | "defined"
            | "isdefined"
    )
}

/// Whether a member is one that is never missing.
fn is_always(of: &str, name: &str) -> bool {
    match of {
        "context" => CONTEXT_MEMBERS.contains(&name) && name != "session",
        "principal" => matches!(name, "credentials" | "trust_domain"),
        _ => false,
    }
}

/// What is said where a member is asked whether it is nothing, and what asks that instead.
pub(super) fn absent(spot: &Spot<'_>, from: usize, member: usize, meant: &str) -> String {
    let (of, name) = (spot.word(Some(from)), spot.word(Some(member)));
    if member == from + 2 && is_always(of, name) {
        return format!("`{of}.{name}` is always there");
    }
    let optional = if of == "resource" { ", of an optional member" } else { "" };
    format!("what is not there is nothing at all: did you mean `{meant}`{optional}?")
}

/// `resource.memo != null`, `null == resource.memo`.
pub(super) fn nothing(spot: &Spot<'_>) -> Option<Slip> {
    let (unequal, first, last) = match (spot.on(1), spot.on(2)) {
        (sign @ ("=" | "!"), "=") => (sign == "!", spot.here + 3, spot.operand_end(spot.here + 3)?),
        _ => {
            let unequal = spot.follows(&["!", "="]);
            if !(unequal || spot.follows(&["=", "="])) {
                return None;
            }
            let last = spot.here.checked_sub(3)?;
            (unequal, spot.member(last), last)
        }
    };
    let whole = spot.range(first.min(spot.here), last.max(spot.here));
    let variable = spot.word(Some(first));
    if first == last {
        let always = matches!(variable, "principal" | "action" | "resource" | "context");
        return always.then(|| Slip::sure(spot.at, format!("`{variable}` is always there")));
    }
    // nothing but names and points: what a function answers is always something
    if spot.member(last) != first {
        return None;
    }
    let asks = format!("{} has {}", spot.slice(first, last - 2), spot.word(Some(last)));
    let meant = if unequal { asks } else { format!("!({asks})") };
    let hint = absent(spot, first, last, &meant);
    Some(Slip::tried(spot.at, vec![(whole, meant)], hint))
}

/// A slip whose words from one to another ask whether `name` is there in what stands from `from` to `to`.
fn asked(spot: &Spot<'_>, at: usize, (first, last): (usize, usize), of: &str, name: &str) -> Option<Slip> {
    let plain = name.trim_matches('"');
    let variable = of.split('.').next().unwrap_or_default();
    if !matches!(variable, "resource" | "context" | "principal") || plain.is_empty() || name.contains('\\') {
        return None;
    }
    let meant = if is_name(plain) { format!("{of} has {plain}") } else { format!("{of} has \"{plain}\"") };
    let meant = spot.enclosed(first, last, meant);
    let hint = match (is_always(of, plain), variable) {
        (true, _) => format!("`{of}.{plain}` is always there"),
        // what a sender may have is no member
        (_, "principal") => return None,
        _ if of == "context.receiver" => return None,
        _ => format!("did you mean `{meant}`?"),
    };
    Some(Slip::tried(spot.range(at, at).start, vec![(spot.range(first, last), meant)], hint))
}

/// `exists(resource.memo)`, `has(resource, "memo")`.
fn function(spot: &Spot<'_>) -> Option<Slip> {
    let close = spot.closed(spot.here + 1)?;
    if !asks_presence(spot.on(0)) || spot.on(1) != "(" || spot.before(1) == "." {
        return None;
    }
    let first = spot.here + 2;
    let mut last = first;
    while spot.word(Some(last + 1)) == "." && is_name(spot.word(Some(last + 2))) {
        last += 2;
    }
    let name = spot.word(Some(last + 2));
    let (of, name) = match () {
        () if last + 1 == close && last > first => (spot.slice(first, last - 2), spot.word(Some(last))),
        () if spot.word(Some(last + 1)) == "," && last + 3 == close && (is_text(name) || is_name(name)) => {
            (spot.slice(first, last), name)
        }
        () => return None,
    };
    asked(spot, spot.here, (spot.here, close), of, name)
}

/// `resource.has("memo")`, `resource.memo.exists()`.
fn method(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("this identifier is reserved") && !spot.why.ends_with("is not a valid method") {
        return None;
    }
    let called = |at: &usize| {
        spot.word(at.checked_sub(1)) == "."
            && asks_presence(spot.word(Some(*at)))
            && spot.word(Some(at + 1)) == "("
    };
    let at = (spot.here..spot.words.len()).take_while(|at| spot.word(Some(*at)) != ";").find(called)?;
    let (left, close) = (at.checked_sub(2)?, spot.closed(at + 1)?);
    if is_text(spot.word(Some(left))) && spot.word(left.checked_sub(1)) == "::" {
        return None;
    }
    let from = spot.member(left);
    if close == at + 2 && left > from {
        let of = spot.slice(from, left - 2);
        return asked(spot, at, (from, close), of, spot.word(Some(left)));
    }
    let name = spot.word(Some(at + 2));
    if close != at + 3 || !(is_text(name) || is_name(name)) {
        return None;
    }
    asked(spot, at, (from, close), spot.slice(from, left), name)
}

/// `resource.memo exists`.
fn word(spot: &Spot<'_>) -> Option<Slip> {
    let behind = matches!(spot.on(1), "}" | ")" | "&" | "|" | "and" | "or");
    if !spot.why.starts_with("unexpected token") || !asks_presence(spot.on(0)) || !behind {
        return None;
    }
    let left = spot.here.checked_sub(1)?;
    let from = spot.member(left);
    if from == left || !is_name(spot.word(Some(left))) {
        return Some(Slip::sure(spot.at, PRESENT)).filter(|_| spot.on(0) != "has");
    }
    asked(spot, spot.here, (from, spot.here), spot.slice(from, left - 2), spot.word(Some(left)))
}
