//! Variables, truths and methods by the names that they have elsewhere.

use semgate_contexts::Performative;

use super::Slip;
use super::calls::{PATTERN, called_as};
use super::present::{is_nothing, nothing};
use super::spot::{Spot, is_kind, is_name};
use crate::catalogue::CONTEXT_MEMBERS;
use crate::check::closest;

/// The variables of Cedar.
const VARIABLES: [&str; 4] = ["principal", "action", "resource", "context"];

const BETWEEN: &str = "what lies between is asked as in `context.major >= 1 && context.major <= 2`";

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [
        separated(spot),
        of_type(spot),
        dotted_text(spot),
        variable(spot),
        infix(spot),
        between(spot),
        access(spot),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn variable(spot: &Spot<'_>) -> Option<Slip> {
    let of = |prefix: &str| spot.why.strip_prefix(prefix);
    let scope = of("found an invalid variable in the policy scope: ");
    let alone = scope.or_else(|| of("invalid variable: "));
    let name = alone.or_else(|| of("invalid member access `").and_then(|rest| rest.split('.').next()))?;
    if spot.on(0) != name || !is_name(name) {
        return None;
    }
    let range = spot.range(spot.here, spot.here);
    let by = |meant: &str| {
        let hint = format!("did you mean `{meant}`?");
        Some(Slip::tried(range.start, vec![(range.clone(), meant.to_owned())], hint))
    };
    if scope.is_some() {
        return VARIABLES.get(spot.commas()).filter(|_| spot.commas() < 3).and_then(|meant| by(meant));
    }
    if let Some(slip) = dotted(spot, name).or_else(|| hyphened(spot)) {
        return Some(slip);
    }
    if let Some(same) = VARIABLES.iter().chain(&["true", "false"]).find(|own| own.eq_ignore_ascii_case(name))
    {
        return by(same);
    }
    if is_nothing(name) {
        return nothing(spot);
    }
    let next = spot.on(1);
    let asked = matches!(next, "." | "in" | "is" | "has");
    match name {
        "sender" | "subject" | "user" | "agent" | "caller"
            if next == "in"
                || (next == "." && matches!(spot.on(2), "credentials" | "trust_domain"))
                || (matches!(next, "=" | "!") && (spot.on(2), spot.on(3)) == ("=", "Agent")) =>
        {
            return by("principal");
        }
        "message" | "object" | "instance" | "concept" | "payload" if asked => return by("resource"),
        "content" | "body" | "data" | "params" | "arguments" if next == "." => return by("resource"),
        "time" | "clock" | "today" | "timestamp"
            if matches!(next, "<" | ">") && [2, 3].iter().any(|by| spot.on(*by) == "datetime") =>
        {
            return by("context.now");
        }
        "performative" if next == "in" || next == "=" => return by("action"),
        "ctx" | "circumstances" if next == "." => return by("context"),
        _ => {}
    }
    if CONTEXT_MEMBERS.contains(&name) {
        return by(&format!("context.{name}"));
    }
    if let Some(near) = closest(name, VARIABLES.into_iter()).filter(|_| asked) {
        return by(near);
    }
    if let Some(kind) = kind_of(spot, name).filter(|_| next != "::" && next != "." && !is_kind(name)) {
        return by(&format!("{kind}::\"{name}\""));
    }
    let named = match name {
        "Agent" => "an agent is named as in `Agent::\"spiffe://…\"`",
        "Group" => "a group is named as in `Group::\"partners\"`",
        "Action" => "an action is named as in `Action::\"REQUEST\"`",
        _ => "",
    };
    if !named.is_empty() && next != "::" {
        return Some(Slip::sure(range.start, named));
    }
    let hint = format!(
        "a text stands in quotation marks, as in `\"{name}\"`, and a member behind its variable, as in `resource.{name}`"
    );
    (alone.is_some() && next != "::").then(|| Slip::sure(range.start, hint))
}

/// `resource::currency`, `resource:currency`, `resource..currency`, `$resource.currency`.
fn separated(spot: &Spot<'_>) -> Option<Slip> {
    let near = [Some(spot.here), spot.here.checked_sub(1), Some(spot.here + 1)].into_iter().flatten();
    let near: Vec<usize> = near.collect();
    let dollar = near.iter().copied().find(|at| {
        spot.word(Some(*at)) == "$" && spot.joined(*at) && VARIABLES.contains(&spot.word(Some(at + 1)))
    });
    if let Some(at) = dollar {
        let range = spot.range(at, at);
        let hint = "a variable stands by its name alone: take `$` out";
        return Some(Slip::tried(range.start, vec![(range, String::new())], hint));
    }
    let at = near.into_iter().find(|at| {
        let (sign, left) = (spot.word(Some(*at)), spot.word(at.checked_sub(1)));
        let member = matches!(left, "principal" | "resource" | "context") && is_name(spot.word(Some(at + 1)));
        member && matches!(sign, "::" | ":") && *at > 0 && spot.joined(at - 1) && spot.joined(*at)
    });
    let (from, to) = match at {
        Some(at) if !spot.in_scope() => (at, at),
        // `..`, the second of which is found
        None if spot.on(0) == "." && spot.before(1) == "." => (spot.here - 1, spot.here),
        _ => return None,
    };
    let range = spot.range(from, to);
    let meant = format!("{}.{}", spot.word(from.checked_sub(1)), spot.word(Some(to + 1)));
    Some(Slip::tried(range.start, vec![(range, ".".to_owned())], format!("did you mean `{meant}`?")))
}

/// `resource == payment::transfer` and `resource in payment::transfer`.
fn of_type(spot: &Spot<'_>) -> Option<Slip> {
    let name = spot.why.strip_prefix("invalid variable: ")?;
    let signs = match () {
        () if spot.follows(&["resource", "=", "="]) || spot.follows(&["resource", "!", "="]) => 2,
        () if spot.follows(&["resource", "in"]) => 1,
        () => return None,
    };
    if !name.contains("::") {
        let hint = "what it is is asked as in `resource is payment::transfer`";
        return (is_name(name) && signs == 2).then(|| Slip::sure(spot.at, hint));
    }
    let last = spot.name_end(spot.here);
    let not = spot.word(Some(spot.here - signs)) == "!";
    let is = format!("resource is {}", spot.slice(spot.here, last));
    let meant = if not { format!("!({is})") } else { is };
    let range = spot.range(spot.here - signs - 1, last);
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(spot.range(spot.here - signs, spot.here).start, vec![(range, meant)], hint))
}

/// `principal.trust_domain == semgate.test`.
fn dotted_text(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("invalid member access")
        || VARIABLES.contains(&spot.on(0))
        || is_kind(spot.on(0))
    {
        return None;
    }
    let mut last = spot.here;
    while matches!(spot.word(Some(last + 1)), "." | "-")
        && spot.joined(last)
        && is_name(spot.word(Some(last + 2)))
    {
        last += 2;
    }
    let beside = spot.follows(&["trust_domain", "=", "="]) || spot.follows(&["trust_domain", "!", "="]);
    let meant = format!("\"{}\"", spot.slice(spot.here, last));
    let hint = format!("a text stands in quotation marks: did you mean `{meant}`?");
    beside.then(|| Slip::tried(spot.at, vec![(spot.range(spot.here, last), meant)], hint))
}

/// `a between 1 and 2`.
fn between(spot: &Spot<'_>) -> Option<Slip> {
    let left = spot.here.checked_sub(1).filter(|_| spot.on(0) == "between")?;
    let from = if spot.word(Some(left)) == ")" {
        return None;
    } else {
        spot.member(left)
    };
    let low = spot.operand_end(spot.here + 1)?;
    let joins = match spot.word(Some(low + 1)) {
        "and" | "AND" => low + 1,
        "&" if spot.word(Some(low + 2)) == "&" => low + 2,
        _ => return None,
    };
    let high = spot.operand_end(joins + 1)?;
    let asked = spot.slice(from, left);
    let meant = format!(
        "{asked} >= {} && {asked} <= {}",
        spot.slice(spot.here + 1, low),
        spot.slice(joins + 1, high)
    );
    Some(Slip::tried(spot.at, vec![(spot.range(from, high), meant)], BETWEEN))
}

/// What a bare name stands for behind what asks for a group or an action: `principal in partners`, `action == INFORM`.
fn kind_of(spot: &Spot<'_>, name: &str) -> Option<&'static str> {
    // in a list, or alone
    let listed = spot.open().last().copied().filter(|open| spot.word(Some(*open)) == "[");
    let left = Spot { here: listed.unwrap_or(spot.here), ..*spot };
    let of_group = left.follows(&["principal", "in"]) || left.follows(&["context", ".", "receiver", "in"]);
    let of_action =
        ["=", "!"].iter().any(|sign| spot.follows(&["action", sign, "="])) || left.follows(&["action", "in"]);
    match (of_group, of_action && name.parse::<Performative>().is_ok()) {
        (true, _) => Some("Group"),
        (_, true) => Some("Action"),
        _ => None,
    }
}

/// `Action.REQUEST`, `Group.partners`.
fn dotted(spot: &Spot<'_>, kind: &str) -> Option<Slip> {
    let name = Some(spot.on(2)).filter(|name| spot.on(1) == "." && is_name(name) && spot.on(3) != "(")?;
    let known = match kind {
        "Action" => name.parse::<Performative>().is_ok(),
        _ => kind == "Group",
    };
    let meant = format!("{kind}::\"{name}\"");
    let hint = format!("did you mean `{meant}`?");
    known.then(|| Slip::tried(spot.at, vec![(spot.range(spot.here, spot.here + 2), meant)], hint))
}

/// `context.free-text`, `resource.sender-id`.
fn hyphened(spot: &Spot<'_>) -> Option<Slip> {
    let (mut first, mut last) = (spot.here, spot.here);
    let tight = |at: usize| spot.joined(at) && spot.joined(at + 1);
    while first > 1
        && spot.word(Some(first - 1)) == "-"
        && tight(first - 2)
        && is_name(spot.word(Some(first - 2)))
    {
        first -= 2;
    }
    while spot.word(Some(last + 1)) == "-" && tight(last) && is_name(spot.word(Some(last + 2))) {
        last += 2;
    }
    let own = spot.slice(first, last).replace('-', "_");
    let of = spot.word(first.checked_sub(2));
    let member = first < spot.here && spot.word(first.checked_sub(1)) == ".";
    let known = member && (of == "resource" || (of == "context" && CONTEXT_MEMBERS.contains(&own.as_str())));
    let hint = format!("no member has a `-` in its name: did you mean `{of}.{own}`?");
    let range = spot.range(first, last);
    known.then(|| Slip::tried(range.start, vec![(range, own)], hint))
}

/// Operators of other languages that are words.
fn infix(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("unexpected token") {
        return None;
    }
    let hint = match spot.on(0) {
        "matches" | "regex" => PATTERN,
        "between" => BETWEEN,
        "instanceof" => "what it is is asked as in `resource is payment::transfer`",
        "xor" => "that one of two is true and the other is not is asked by `!=`",
        "contains" => {
            "what is in a set is asked as in `principal.credentials.contains(\"auditor\")`, and what a text holds as in `resource.memo like \"*abc*\"`"
        }
        word => called_as(word)?,
    };
    Some(Slip::sure(spot.at, hint))
}

/// `resource->currency`, `resource?.memo` and `resource.memo ?? ""`; what is compared twice; and what only divides.
fn access(spot: &Spot<'_>) -> Option<Slip> {
    let arrow = [Some(spot.here), spot.here.checked_sub(1)]
        .into_iter()
        .flatten()
        .find(|at| spot.word(Some(*at)) == "-" && spot.joined(*at) && spot.word(Some(at + 1)) == ">")
        // what follows from something is told by another rule
        .filter(|at| is_name(spot.word(Some(at + 2))) && !VARIABLES.contains(&spot.word(Some(at + 2))));
    if let Some(at) = arrow {
        let range = spot.range(at, at + 1);
        return Some(Slip::tried(range.start, vec![(range, ".".to_owned())], "did you mean `.`?"));
    }
    let hint = match (spot.on(0), spot.on(1)) {
        ("?", "." | "?") => {
            "what need not be there is asked for first: `resource has memo && resource.memo == \"x\"`"
        }
        _ if spot.why.starts_with("multiple relational operators") => {
            "each is compared by itself, as in `1 < context.major && context.major < 3`"
        }
        _ if spot.why.starts_with("division is not") || spot.why.starts_with("remainder/modulo is not") => {
            "whole numbers have `+`, `-` and `*` alone"
        }
        _ if spot.why.starts_with("invalid string literal") && spot.before(1) == "[" => {
            "a set has no order, and what is in it is asked as in `principal.credentials.contains(\"auditor\")`"
        }
        _ if spot.why.ends_with("condition clause cannot be empty") => {
            "leave it out, or say in it what has to be so"
        }
        _ => return None,
    };
    Some(Slip::sure(spot.at, hint))
}
