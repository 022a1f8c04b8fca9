//! Variables, truths and methods by the names that they have elsewhere.

use semgate_contexts::Performative;

use super::Slip;
use super::spot::{Spot, is_name};
use crate::catalogue::CONTEXT_MEMBERS;
use crate::check::closest;

/// The variables of Cedar.
const VARIABLES: [&str; 4] = ["principal", "action", "resource", "context"];
/// What Cedar has for values of these kinds.
const METHODS: [&str; 22] = [
    "contains",
    "containsAll",
    "containsAny",
    "isEmpty",
    "lessThan",
    "lessThanOrEqual",
    "greaterThan",
    "greaterThanOrEqual",
    "isIpv4",
    "isIpv6",
    "isLoopback",
    "isMulticast",
    "isInRange",
    "toDate",
    "toTime",
    "toMilliseconds",
    "toSeconds",
    "toMinutes",
    "toHours",
    "toDays",
    "offset",
    "durationSince",
];

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [variable(spot), method(spot), infix(spot)].into_iter().flatten().collect()
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
    if let Some(same) = VARIABLES.iter().chain(&["true", "false"]).find(|own| own.eq_ignore_ascii_case(name))
    {
        return by(same);
    }
    if matches!(name, "null" | "nil" | "None" | "undefined") {
        return nothing(spot);
    }
    let next = spot.on(1);
    let asked = matches!(next, "." | "in" | "is" | "has");
    match name {
        "sender" | "subject" | "user" | "agent" | "caller"
            if next == "in" || (next == "." && matches!(spot.on(2), "credentials" | "trust_domain")) =>
        {
            return by("principal");
        }
        "message" | "object" | "instance" | "concept" | "payload" if asked => return by("resource"),
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
    if let Some(kind) = kind_of(spot, name).filter(|_| next != "::" && next != ".") {
        return by(&format!("{kind}::\"{name}\""));
    }
    let hint = format!(
        "a text stands in quotation marks, as in `\"{name}\"`, and a member behind its variable, as in `resource.{name}`"
    );
    (alone.is_some() && next != "::").then(|| Slip::sure(range.start, hint))
}

/// What a bare name stands for behind what asks for a group or an action: `principal in partners`, `action == INFORM`.
fn kind_of(spot: &Spot<'_>, name: &str) -> Option<&'static str> {
    let of_group = spot.follows(&["principal", "in"]) || spot.follows(&["context", ".", "receiver", "in"]);
    let of_action = ["=", "!"].iter().any(|sign| spot.follows(&["action", sign, "="]));
    match (of_group, of_action && name.parse::<Performative>().is_ok()) {
        (true, _) => Some("Group"),
        (_, true) => Some("Action"),
        _ => None,
    }
}

/// `resource.memo != null`.
fn nothing(spot: &Spot<'_>) -> Option<Slip> {
    let unequal = spot.follows(&["!", "="]);
    let member = spot.here.checked_sub(3)?;
    let mut from = member;
    while from > 1 && spot.word(Some(from - 1)) == "." && is_name(spot.word(Some(from - 2))) {
        from -= 2;
    }
    if !(unequal || spot.follows(&["=", "="])) || from == member {
        return None;
    }
    let of = spot.text.get(spot.range(from, member - 2))?;
    let asks = format!("{of} has {}", spot.word(Some(member)));
    let meant = if unequal { asks } else { format!("!({asks})") };
    let hint = format!("what is not there is nothing at all: did you mean `{meant}`?");
    Some(Slip::tried(spot.at, vec![(spot.range(from, spot.here), meant)], hint))
}

fn method(spot: &Spot<'_>) -> Option<Slip> {
    let reserved =
        spot.why.starts_with("this identifier is reserved") && spot.on(0) == "has" && spot.before(1) == ".";
    if reserved {
        return Some(Slip::sure(spot.at, "whether a member is there is asked as in `resource has memo`"));
    }
    let name = spot.why.ends_with("is not a valid method").then(|| spot.quoted())?;
    let called = |at: usize| spot.word(Some(at)) == "." && spot.word(Some(at + 1)) == name;
    let at = (spot.here..spot.words.len()).find(|at| called(*at))? + 1;
    let range = spot.range(at, at);
    let hint = match name.to_ascii_lowercase().replace('_', "").as_str() {
        "startswith" | "hasprefix" => "how a text begins is asked as in `resource.memo like \"abc*\"`",
        "endswith" | "hassuffix" => "how a text ends is asked as in `resource.memo like \"*abc\"`",
        "matches" | "match" | "test" => {
            "a text is held against a pattern, as in `resource.memo like \"a*c\"`; there are no regular expressions"
        }
        "includes" | "include" => "did you mean `contains`?",
        "equals" | "eq" => "did you mean `==`?",
        _ => {
            let near = closest(name, METHODS.into_iter())?;
            return Some(Slip::tried(
                range.start,
                vec![(range, near.to_owned())],
                format!("did you mean `{near}`?"),
            ));
        }
    };
    Some(Slip::sure(range.start, hint))
}

/// Operators of other languages that are words.
fn infix(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("unexpected token") {
        return None;
    }
    let hint = match spot.on(0) {
        "matches" | "regex" => {
            "a text is held against a pattern, as in `resource.memo like \"a*c\"`; there are no regular expressions"
        }
        "contains" => "what is in a set is asked as in `principal.credentials.contains(\"auditor\")`",
        _ => return None,
    };
    Some(Slip::sure(spot.at, hint))
}
