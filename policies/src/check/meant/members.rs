//! Members by another name, or of another variable than the one that has them.

use crate::catalogue::{CONTEXT_MEMBERS, Catalogue, SCORES};
use crate::slips::{NO_WEEKDAY, SPAN, is_weekday};

/// What a member that is not there is called, and of what it is asked.
pub(crate) fn member_elsewhere(name: &str, of: &str, catalogue: &Catalogue) -> Option<String> {
    let agent = of.contains("entity type `Agent`");
    if of.contains("entity type `Action`") {
        return Some("which it is is asked as in `action == Action::\"REQUEST\"`".to_owned());
    }
    if of.contains("entity type `Group`") {
        return Some("who is in a group is asked as in `principal in Group::\"partners\"`".to_owned());
    }
    let context = of.starts_with("in context");
    if let Some(hint) = of_time(name).filter(|_| context) {
        return Some(hint.to_owned());
    }
    let hint = match name {
        "id" | "name" | "uri" | "eid" | "identity" | "spiffe_id" if agent => {
            "who it is is asked as in `principal == Agent::\"spiffe://…\"`"
        }
        "alias" if agent => {
            "policies know no aliases: who it is is asked as in `principal == Agent::\"spiffe://…\"`"
        }
        "disabled" | "enabled" if agent => {
            "an agent that is disabled is denied everything before policies are asked"
        }
        "group" | "groups" | "role" | "roles" => "a group is asked as in `principal in Group::\"partners\"`",
        "time" | "timestamp" | "date" | "datetime" | "clock" if of.contains("context") => {
            "the time is `context.now`"
        }
        "protocol" if of.contains("context") => "the protocol is `context.binding`",
        "version" if !agent => "the version is `context.major` and `context.minor`",
        "major_version" | "majorversion" if !agent => "did you mean `context.major`?",
        "minor_version" | "minorversion" if !agent => "did you mean `context.minor`?",
        "urn" | "context_urn" if !agent => {
            "a context is asked by its line and version, as in `context.line == \"payment\" && context.major == 2`"
        }
        "expires" if of.contains("context") => {
            "the end of a session is `context.session.expires`, behind `context has session &&`"
        }
        "principal" if context => "the sender is `principal`",
        "action" if context => "the performative is `action`",
        "resource" if context => "the message is `resource`",
        "sender" | "subject" | "caller" if !agent => "the sender is `principal`",
        "receiver" => "the receiver is `context.receiver`",
        "performative" => "the performative is `action`",
        _ if is_kind(name) && !agent => "what it is is asked as in `resource is payment::transfer`",
        _ => return of_another(name, of, agent, catalogue),
    };
    Some(hint.to_owned())
}

/// Whether a name is that of what kind of message it is, as messages themselves have it.
pub(super) fn is_kind(name: &str) -> bool {
    matches!(name, "type" | "concept" | "concept_type" | "conceptType")
}

/// Parts of the time by the names that they have elsewhere.
fn of_time(name: &str) -> Option<&'static str> {
    Some(match name {
        _ if is_weekday(name) || matches!(name, "day_of_week" | "week_day") => NO_WEEKDAY,
        "hour" | "hours" | "minute" | "minutes" | "time_of_day" | "timeOfDay" => {
            "the time of day is asked as in `context.now.toTime() < duration(\"20h\")`, in UTC"
        }
        "day" | "today" => {
            "the day is asked as in `context.now.toDate() == datetime(\"2030-01-01\")`, in UTC, and there is no day of the week"
        }
        "month" | "year" => SPAN,
        _ => return None,
    })
}

/// A member that another variable has.
fn of_another(name: &str, of: &str, agent: bool, catalogue: &Catalogue) -> Option<String> {
    let whole = of.starts_with("in context") && !of.contains('`');
    let by = |meant: String| Some(format!("did you mean `{meant}`?"));
    if SCORES.contains(&name) && !of.contains("`context.scores`") {
        return by(format!("context.scores.{name}"));
    }
    match name {
        "credentials" | "trust_domain" if !agent => return by(format!("principal.{name}")),
        _ if !whole && CONTEXT_MEMBERS.contains(&name) => return by(format!("context.{name}")),
        _ => {}
    }
    let of_message = (whole || agent)
        && catalogue
            .types
            .iter()
            .any(|info| info.attributes.members.get(name).is_some_and(|member| member.kind.is_some()));
    let hint = || format!("a member of the message is asked for as in `resource.{name}`");
    of_message.then(hint)
}
