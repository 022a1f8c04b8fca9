//! Members by another name, or of another variable than the one that has them.

use crate::catalogue::{CONTEXT_MEMBERS, Catalogue, SCORES};

/// What a member that is not there is called, and of what it is asked.
pub(crate) fn member_elsewhere(name: &str, of: &str, catalogue: &Catalogue) -> Option<String> {
    let agent = of.contains("entity type `Agent`");
    if of.contains("entity type `Action`") {
        return Some("which it is is asked as in `action == Action::\"REQUEST\"`".to_owned());
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
        "version" if of.contains("context") => "the version is `context.major` and `context.minor`",
        "expires" if of.contains("context") => {
            "the end of a session is `context.session.expires`, behind `context has session &&`"
        }
        "sender" | "subject" | "caller" if !agent => "the sender is `principal`",
        "receiver" => "the receiver is `context.receiver`",
        "performative" => "the performative is `action`",
        "type" | "concept" if !agent && of.contains("entity type") => {
            "what it is is asked as in `resource is payment::transfer`"
        }
        _ => return of_another(name, of, agent, catalogue),
    };
    Some(hint.to_owned())
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
