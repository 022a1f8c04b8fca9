//! Several where a scope takes one, without brackets or with other words, and stars for everybody.

use super::Slip;
use super::scope::{FORM, NOT, ONE, is_everybody};
use super::spot::{Spot, is_effect, is_kind, is_name, is_text};

/// The variables of a scope.
const VARIABLES: [&str; 3] = ["principal", "action", "resource"];

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    if !spot.in_scope() && !spot.in_set_of_scope() {
        return Vec::new();
    }
    let one = [bare(spot), types(spot), star(spot), semicolons(spot), joined(spot)];
    one.into_iter().flatten().collect()
}

/// `action in Action::"REQUEST", Action::"INFORM"`.
fn bare(spot: &Spot<'_>) -> Option<Slip> {
    let next = spot.here.checked_sub(1).filter(|at| is_kind(spot.word(Some(*at))))?;
    if spot.on(0) != "::" || spot.word(next.checked_sub(1)) != "," {
        return None;
    }
    // back to the sign before the first
    let mut first = next;
    while spot.word(first.checked_sub(1)) == "," && is_kind(spot.word(first.checked_sub(4))) {
        first -= 4;
    }
    let mut last = spot.name_end(next);
    while spot.word(Some(last + 1)) == "," && is_kind(spot.word(Some(last + 2))) {
        last = spot.name_end(last + 2);
    }
    let (range, all) = (spot.range(first, last), spot.slice(first, last));
    if spot.word(Some(next)) != "Action" {
        let edit = (range.clone(), spot.slice(first, first + 2).to_owned());
        return Some(Slip::tried(range.start, vec![edit], ONE));
    }
    let equals = spot.word(first.checked_sub(1)) == "=" && spot.word(first.checked_sub(2)) == "=";
    let (from, meant) = match (equals, spot.word(first.checked_sub(1))) {
        (true, _) => (first.checked_sub(2)?, format!("in [{all}]")),
        (_, "in") => (first, format!("[{all}]")),
        _ => return None,
    };
    let hint = format!("several stand in brackets: did you mean `action in [{all}]`?");
    Some(Slip::tried(range.start, vec![(spot.range(from, last), meant)], hint))
}

/// `resource is [payment::transfer, travel::bookFlight]`, `resource is payment::transfer, travel::bookFlight`.
fn types(spot: &Spot<'_>) -> Option<Slip> {
    const HINT: &str = "the scope takes one type: write a policy for each, or ask for several in `when { resource is … || resource is … }`";
    if spot.commas() < 2 {
        return None;
    }
    let is = (spot.here.saturating_sub(24)..spot.here).rev().find(|at| spot.word(Some(*at)) == "is")?;
    let (list, first) = if spot.word(Some(is + 1)) == "[" { (is + 1, is + 2) } else { (is + 1, is + 1) };
    let last = if list == first {
        // up to the end of the scope
        (spot.here..spot.words.len()).find(|at| spot.word(Some(*at)) == ")")?.checked_sub(1)?
    } else {
        spot.closed(list)?
    };
    let one = spot.name_end(first);
    let more = spot.word(Some(one + 1));
    let is_row = |at: usize| {
        let word = spot.word(Some(at));
        let is_variable = VARIABLES.contains(&word) || word == "context";
        matches!(word, "::" | "," | "[" | "]") || (is_name(word) && !is_variable)
    };
    let named = (list..=last).all(is_row) && (more == "," || list != first);
    let range = spot.range(list, last);
    (named && is_name(spot.word(Some(first))))
        .then(|| Slip::tried(range.start, vec![(range, spot.slice(first, one).to_owned())], HINT))
}

/// `*`, `principal == *`, `principal == "*"`, `resource is payment::*`.
fn star(spot: &Spot<'_>) -> Option<Slip> {
    let place = spot.commas();
    let variable = VARIABLES.get(place).filter(|_| is_everybody(spot.on(0)))?;
    if spot.before(1) == "::" && place == 2 {
        let line = spot.before(2);
        let hint = format!(
            "all of a line is asked for with an open `resource`, as in `when {{ context.line == \"{line}\" }}`"
        );
        return Some(Slip::sure(spot.at, hint));
    }
    let hint = format!("what is left open is `{variable}` alone");
    let from = match spot.before(1) {
        "(" | "," => {
            return Some(Slip::tried(
                spot.at,
                vec![(spot.range(spot.here, spot.here), (*variable).to_owned())],
                hint,
            ));
        }
        "=" => spot.here.checked_sub(2)?,
        "in" | "is" => spot.here.checked_sub(1)?,
        _ => return None,
    };
    Some(Slip::tried(spot.at, vec![(spot.range(from, spot.here), String::new())], hint))
}

/// `(principal; action; resource)`.
fn semicolons(spot: &Spot<'_>) -> Option<Slip> {
    if spot.on(0) != ";" {
        return None;
    }
    let mut edits = vec![(spot.range(spot.here, spot.here), ",".to_owned())];
    let mut at = spot.here + 1;
    while !matches!(spot.word(Some(at)), "" | ")") && !is_effect(spot.word(Some(at))) {
        if spot.word(Some(at)) == ";" {
            edits.push((spot.range(at, at), ",".to_owned()));
        }
        at += 1;
    }
    let goes_on = VARIABLES.contains(&spot.on(1));
    (goes_on && spot.word(Some(at)) == ")")
        .then(|| Slip::tried(spot.at, edits, "the variables of the scope are parted by commas"))
}

/// `a && b`, `a || b`, `!a` and members, where only who and what stands.
fn joined(spot: &Spot<'_>) -> Option<Slip> {
    let says = |text: &str| spot.why.contains(text);
    let hint = match spot.on(0) {
        _ if says("found a `&&` expression") => FORM,
        "&" if says("unexpected token `&&`") => FORM,
        "|" if says("unexpected token `||`") => ONE,
        "!" if says("unexpected token `!`") && !is_text(spot.on(1)) => NOT,
        "." if says("unexpected token `.`") && spot.open().len() == 1 && is_name(spot.before(1)) => FORM,
        _ => return None,
    };
    Some(Slip::sure(spot.at, hint))
}
