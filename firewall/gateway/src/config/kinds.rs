//! Settings that each kind of route supports. An unsupported setting stops the start, since the operator relies on it.

use super::raw::FileRoute;
use super::{ConfigFault, Protocol};

/// Kind of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    L8,
    /// Native L8 to every member of a group. Each member's own route decides on messages to it.
    Group,
    A2a,
    Mcp,
}

use Kind::{A2a, Group, L8, Mcp};

const ALL: &[Kind] = &[L8, Group, A2a, Mcp];
/// Kinds that lead to one agent.
const AGENTS: &[Kind] = &[L8, A2a, Mcp];
/// Kinds whose messages state a performative.
const SPEECH: &[Kind] = &[L8, A2a];
/// Kinds with tasks or sessions that have owners.
const OWNED: &[Kind] = &[A2a, Mcp];

/// Values of `admit`, and the kinds that support each.
const ADMITTED: [(&str, &[Kind]); 4] =
    [("text", OWNED), ("file", OWNED), ("data", &[A2a]), ("handshake", SPEECH)];

impl Kind {
    fn of(file: &FileRoute, protocol: Protocol) -> Self {
        match protocol {
            _ if file.group.is_some() => Group,
            Protocol::L8 => L8,
            Protocol::A2a => A2a,
            Protocol::Mcp => Mcp,
        }
    }
}

/// Every setting of a route: its name, true if it is in use, and the kinds that support it. A disabled switch and an empty
/// list are not in use. A new setting does not compile before it has its line.
pub(super) fn settings(file: &FileRoute) -> Vec<(&'static str, bool, &'static [Kind])> {
    let on = |switch: &Option<bool>| *switch == Some(true);
    let FileRoute {
        name: _,
        listen: _,
        binding: _,
        contexts: _,
        // a group's settings come from its first member; `groups` refuses any in the file
        receiver: _,
        upstream: _,
        group,
        members,
        max_replies,
        reply_time,
        upstream_http2,
        plain_sender,
        public_url,
        versions,
        transports,
        default_context,
        default_contexts,
        admit,
        keeps_callers_apart,
        require_lock,
        answer_from_code_lists,
        undefined,
        hosts,
        origins,
        unnamed_tools,
        null_arguments,
        meta,
        json_lines,
        withhold_stray_progress,
        forward_authorization,
        authorization_servers,
        api_key_header,
        websocket,
        card_from,
        card,
        card_keys,
        card_texts,
        handshake,
        push,
    } = file;
    vec![
        ("group", group.is_some(), &[Group]),
        ("members", members.is_some(), &[Group]),
        ("max_replies", max_replies.is_some(), &[Group]),
        ("reply_time", reply_time.is_some(), &[Group]),
        ("upstream_http2", on(upstream_http2), AGENTS),
        ("plain_sender", plain_sender.is_some(), ALL),
        ("public_url", public_url.is_some(), ALL),
        ("versions", versions.is_some(), &[A2a]),
        ("transports", transports.is_some(), &[A2a]),
        ("default_context", default_context.is_some(), AGENTS),
        ("default_contexts", default_contexts.as_ref().is_some_and(|urns| !urns.is_empty()), &[Mcp]),
        ("admit", admit.as_ref().is_some_and(|words| !words.is_empty()), AGENTS),
        ("keeps_callers_apart", on(keeps_callers_apart), OWNED),
        ("require_lock", on(require_lock), AGENTS),
        ("answer_from_code_lists", on(answer_from_code_lists), SPEECH),
        ("undefined", undefined.as_ref().is_some_and(|word| word != "reject"), SPEECH),
        ("hosts", hosts.as_ref().is_some_and(|names| !names.is_empty()), ALL),
        ("origins", origins.as_ref().is_some_and(|names| !names.is_empty()), ALL),
        ("unnamed_tools", unnamed_tools.is_some(), &[Mcp]),
        ("null_arguments", null_arguments.is_some(), &[Mcp]),
        ("meta", meta.as_ref().is_some_and(|keys| !keys.is_empty()), OWNED),
        ("json_lines", on(json_lines), &[Mcp]),
        ("withhold_stray_progress", on(withhold_stray_progress), &[Mcp]),
        // a group's members also forward the headers that their own routes forward
        ("forward_authorization", on(forward_authorization), ALL),
        ("authorization_servers", authorization_servers.is_some(), &[Mcp]),
        ("api_key_header", api_key_header.is_some(), ALL),
        ("websocket", on(websocket), &[L8]),
        ("card_from", card_from.is_some(), &[A2a]),
        ("card", card.is_some(), &[A2a]),
        ("card_keys", card_keys.is_some(), &[A2a]),
        ("card_texts", on(card_texts), &[A2a]),
        ("handshake", handshake.is_some(), AGENTS),
        ("push", push.is_some(), &[A2a]),
    ]
}

/// # Errors
/// Refuses a setting that this kind of route does not support.
pub(super) fn fits(file: &FileRoute, protocol: Protocol) -> Result<(), ConfigFault> {
    let kind = Kind::of(file, protocol);
    let fault =
        |name: &str, must: String| Err(ConfigFault::value(format!("route `{}`: {name}", file.name), must));
    for (name, asks, kinds) in settings(file) {
        if asks && !kinds.contains(&kind) {
            return fault(name, left_out(kind, kinds));
        }
    }
    for word in file.admit.iter().flatten() {
        let kinds = ADMITTED.iter().find(|(known, _)| known == word).map(|(_, kinds)| *kinds);
        if let Some(kinds) = kinds.filter(|kinds| !kinds.contains(&kind)) {
            return fault("admit", format!("without `{word}`: {}", left_out(kind, kinds)));
        }
    }
    let plain = file.plain_sender.is_some();
    if file.hosts.iter().flatten().next().is_some() && (!plain || file.listen.starts_with("unix:")) {
        return fault(
            "hosts",
            "left out but on a plain tcp listener: elsewhere no name is judged".to_owned(),
        );
    }
    if file.origins.iter().flatten().next().is_some() && !plain && kind != Mcp {
        return fault(
            "origins",
            "left out where certificates say who speaks, but in the binding `mcp`".to_owned(),
        );
    }
    Ok(())
}

fn left_out(kind: Kind, kinds: &[Kind]) -> String {
    if kind == Group && kinds != [A2a] && kinds != [Mcp] {
        return "left out of a route to a group: the route of each member says it for that member".to_owned();
    }
    let word = |kind: &Kind| match kind {
        L8 => "`l8`",
        Group => "`l8` with a `group`",
        A2a => "`a2a`",
        Mcp => "`mcp`",
    };
    let words = kinds.iter().map(word).collect::<Vec<_>>().join(" or ");
    format!("left out where the binding is not {words}")
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
