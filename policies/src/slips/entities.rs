//! Agents, groups and actions by other marks than `::` and quotation marks.

use super::Slip;
use super::spot::{Spot, is_kind, is_name, is_text};

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [called(spot), holds(spot), apart(spot), performative(spot), hyphen(spot)].into_iter().flatten().collect()
}

/// `Group("x")`, `Group["x"]`.
fn called(spot: &Spot<'_>) -> Option<Slip> {
    let kind = spot.on(0);
    let close = match spot.on(1) {
        "(" => ")",
        "[" => "]",
        _ => return None,
    };
    if !is_kind(kind) || !is_text(spot.on(2)) || spot.on(3) != close {
        return None;
    }
    let meant = format!("{kind}::{}", spot.on(2));
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(spot.at, vec![(spot.range(spot.here, spot.here + 3), meant)], hint))
}

/// `Group::"partners" contains principal`.
fn holds(spot: &Spot<'_>) -> Option<Slip> {
    let group = spot.here.checked_sub(3).filter(|at| spot.word(Some(*at)) == "Group")?;
    let asks = matches!(spot.on(0), "contains" | "includes") && is_text(spot.before(1));
    let last = spot.operand_end(spot.here + 1).filter(|_| asks && is_name(spot.on(1)))?;
    let meant = format!("{} in {}", spot.slice(spot.here + 1, last), spot.slice(group, group + 2));
    let meant = spot.enclosed(group, last, meant);
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(spot.at, vec![(spot.range(group, last), meant)], hint))
}

/// `Group "x"`, `group "x"`.
fn apart(spot: &Spot<'_>) -> Option<Slip> {
    let kind =
        ["Agent", "Group", "Action"].into_iter().find(|kind| kind.eq_ignore_ascii_case(spot.before(1)))?;
    // `action "x"` lacks its `==`
    let is_variable = spot.before(1) == "action" && matches!(spot.before(2), "," | "{" | "(");
    if is_variable || !is_text(spot.on(0)) || !spot.why.starts_with("unexpected") {
        return None;
    }
    let range = spot.range(spot.here - 1, spot.here);
    let meant = format!("{kind}::{}", spot.on(0));
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(range.start, vec![(range, meant)], hint))
}

/// `action == Performative::"REQUEST"`.
fn performative(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("expected an entity uid with type `Action`") || !is_name(spot.on(0)) {
        return None;
    }
    let last = spot.name_end(spot.here);
    let text = Some(spot.word(Some(last))).filter(|text| is_text(text))?;
    let meant = format!("Action::{text}");
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(spot.at, vec![(spot.range(spot.here, last), meant)], hint))
}

/// `resource is supply-chain::order`.
fn hyphen(spot: &Spot<'_>) -> Option<Slip> {
    let ends = |at: &usize| matches!(spot.word(Some(*at)), "is" | "," | "(" | "{" | ";");
    let is = (spot.here.saturating_sub(12)..spot.here).rev().find(ends)?;
    if spot.word(Some(is)) != "is" {
        return None;
    }
    let first = is + 1;
    let mut last = first;
    while spot.joined(last) && !matches!(spot.word(Some(last + 1)), "," | ")" | "}" | ";" | "&" | "|") {
        last += 1;
    }
    let own = spot.slice(first, last);
    let meant = own.replace('-', "_");
    let good = own.contains('-') && meant.split("::").all(is_name);
    let hint = "no type has a `-` in its name: that of a line is `_` there, and `semgate policy check --schema` prints all types";
    good.then(|| Slip::tried(spot.range(first, first).start, vec![(spot.range(first, last), meant)], hint))
}
