//! What a route says, it does, or it does not start.

use std::path::Path;

use super::super::tests::GOOD;
use super::*;
use crate::config::Config;

const GROUP: Kind = Kind::Group;

const MORE: &str = "[[route]]\nname = \"other\"\nlisten = \"127.0.0.1:0\"\ncontexts = [\"*\"]\n";
const AGENT: &str =
    "receiver = \"spiffe://semgate.test/agent/courier-5\"\nupstream = \"http://127.0.0.1:9200/x\"\n";
const SIGNED: &str = "receiver = \"spiffe://semgate.test/agent/courier-5\"\nupstream = \"quic://127.0.0.1:9200\"\nsigning_key = \"iac.key\"\n";
const DESK: &str = "receiver = \"spiffe://semgate.test/people\"\n";
const APPROVALS: &str = "[approvals]\nlisten = \"127.0.0.1:0\"\nhumans = \"humans\"\n";
/// The card that a route of LDP must have, unless a test states it.
const CARD: &str = "identity_card = \"card.json\"\n";
const PINNED: &str =
    "upstream_certificate = \"sha-256:0000000000000000000000000000000000000000000000000000000000000000\"";
const DICTIONARIES: &str = "dictionaries = [{ file = \"a.dict\", digest = \"sha-256:6dbb1120bd79646b81c8037b08dfb9699b901bbe7a76357038bf14db5bfac1e9\" }]";
const SENDER: &str = "plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n";

/// Every kind of route.
const ALL: &[Kind] = &[L8, GROUP, A2A, MCP, A2H, LDP, IAC];

/// Kinds over HTTP.
const HTTP: &[Kind] = &[L8, GROUP, A2A, MCP, A2H, LDP];

/// A route of this kind, with more said on it.
fn parsed(kind: Kind, more: &str) -> Result<Config, ConfigFault> {
    let is = match kind {
        L8 => format!("binding = \"l8\"\n{AGENT}"),
        GROUP => "binding = \"l8\"\ngroup = \"wholesalers\"\nmembers = [\"l8\"]\n".to_owned(),
        A2A => format!("binding = \"a2a\"\n{AGENT}"),
        MCP => format!("binding = \"mcp\"\n{AGENT}"),
        A2H => format!("binding = \"a2h\"\n{DESK}"),
        LDP if more.contains(CARD) => format!("binding = \"ldp\"\n{AGENT}"),
        LDP => format!("binding = \"ldp\"\n{AGENT}{CARD}"),
        IAC => format!("binding = \"iac\"\n{SIGNED}"),
    };
    let people = if kind == A2H { APPROVALS } else { "" };
    let more_of = if kind == A2H { MORE.replace("contexts = [\"*\"]\n", "") } else { MORE.to_owned() };
    Config::parse(&format!("{GOOD}{people}{more_of}{is}{more}"), Path::new("/etc/semgate"))
}

/// Each setting, a way to say it, and the kinds of route that do what it says.
const SAID: &[(&str, &str, &[Kind])] = &[
    ("max_replies", "max_replies = 1", &[GROUP]),
    ("reply_time", "reply_time = \"1s\"", &[GROUP]),
    ("upstream_http2", "upstream_http2 = true", &[L8, A2A, MCP, LDP]),
    ("plain_sender", SENDER, HTTP),
    ("public_url", "public_url = \"https://gw.test/\"", HTTP),
    ("versions", "versions = [\"0.3\"]", &[A2A]),
    ("transports", "transports = [\"rest\"]", &[A2A]),
    ("default_context", "default_context = \"urn:contexts:payment:v1.0\"", &[L8, A2A, MCP, LDP, IAC]),
    ("default_contexts", "default_contexts = [\"urn:contexts:payment:v1.0\"]", &[MCP]),
    ("admit", "admit = [\"text\"]", &[A2A, MCP, LDP]),
    ("admit", "admit = [\"file\"]", &[A2A, MCP, IAC]),
    ("admit", "admit = [\"data\"]", &[A2A]),
    ("admit", "admit = [\"handshake\"]", &[L8, A2A]),
    ("keeps_callers_apart", "keeps_callers_apart = true", &[A2A, MCP]),
    (
        "require_lock",
        "require_lock = true\nhandshake = { certificate = \"a.pem\", key = \"a.key\" }",
        &[L8, A2A, MCP, LDP, IAC],
    ),
    ("answer_from_code_lists", "answer_from_code_lists = true", &[L8, A2A]),
    (
        "undefined",
        "undefined = \"disambiguate\"\nhandshake = { certificate = \"a.pem\", key = \"a.key\" }",
        &[L8, A2A, IAC],
    ),
    ("untyped", "untyped = \"transfer\"\ndefault_context = \"urn:contexts:payment:v1.0\"", &[L8, A2A, IAC]),
    ("hosts", "hosts = [\"gw.internal\"]", &[]),
    ("origins", "origins = [\"https://desk.example\"]", &[MCP]),
    ("unnamed_tools", "unnamed_tools = \"pass\"", &[MCP]),
    ("null_arguments", "null_arguments = \"absent\"", &[MCP]),
    ("meta", "meta = [\"vscode.\", \"claudecode/\"]", &[A2A, MCP]),
    ("json_lines", "json_lines = true", &[MCP]),
    ("withhold_stray_progress", "withhold_stray_progress = true", &[MCP]),
    ("forward_authorization", "forward_authorization = true", &[L8, GROUP, A2A, MCP, LDP]),
    (
        "authorization_servers",
        "forward_authorization = true\nauthorization_servers = [\"https://as.test\"]",
        &[MCP],
    ),
    ("api_key_header", "api_key_header = \"x-api-key\"", &[L8, GROUP, A2A, MCP, LDP]),
    ("default_human", "default_human = \"human://bob.sre\"", &[A2H]),
    ("congestion", "congestion = \"bbr\"", &[IAC]),
    ("frame_bytes", "frame_bytes = 1000", &[IAC]),
    ("file_bytes", "file_bytes = 1000", &[IAC]),
    ("dictionaries", DICTIONARIES, &[IAC]),
    ("upstream_certificate", PINNED, &[IAC]),
    ("websocket", "websocket = true", &[L8]),
    ("identity_card", CARD, &[LDP]),
    (
        "ldp_secrets",
        "ldp_secrets = [{ agent = \"spiffe://semgate.test/agent/retailer-7\", file = \"ldp.secret\" }]",
        &[LDP],
    ),
    ("require_signature", "require_signature = true", &[LDP]),
    ("min_payload_mode", "min_payload_mode = \"semantic_graph\"", &[LDP]),
    ("max_delegation_depth", "max_delegation_depth = 2", &[LDP]),
    ("session_tokens", "session_tokens = 50000", &[LDP]),
    ("session_ttl", "session_ttl = \"5m\"", &[LDP]),
    (
        "trust_domains",
        "trust_domains = [{ name = \"default\", agents = [\"spiffe://semgate.test/agent/courier-5\"] }]",
        &[LDP],
    ),
    ("card_from", "card_from = \"http://127.0.0.1:9300/card\"", &[A2A]),
    ("card", "card = \"rebuilt\"", &[A2A]),
    ("card_keys", "card = \"untouched\"\ncard_keys = \"keys.json\"", &[A2A]),
    ("card_texts", "card_texts = true", &[A2A]),
    ("sstp", "sstp = true", &[A2A]),
    ("handshake", "handshake = { certificate = \"a.pem\", key = \"a.key\" }", &[L8, A2A, MCP, LDP, IAC]),
    (
        "push",
        "push = { listen = \"127.0.0.1:9801\", plain = true, targets = [\"http://localhost:1/\"] }",
        &[A2A],
    ),
];

#[test]
fn every_setting_is_done_or_refused_by_each_kind_of_route() {
    for (name, said, kinds) in SAID {
        for kind in ALL {
            match parsed(*kind, said) {
                Ok(config) => {
                    assert!(kinds.contains(kind), "{said} is taken by {kind:?}");
                    let printed = config.effective();
                    assert_eq!(Config::parse(&printed, Path::new("/")), Ok(config), "{printed}");
                }
                Err(fault) => {
                    assert!(!kinds.contains(kind), "{kind:?}: {fault}");
                    let fault = fault.to_string();
                    // a card with keys is refused for the card
                    let named = fault.contains(&format!("`other`: {name}")) || *name == "card_keys";
                    assert!(named && fault.contains("left out"), "{fault}");
                }
            }
        }
    }
    let common = super::fields::<super::RouteConfig>().iter().skip(6);
    for name in options().into_iter().flat_map(|(names, _)| names).chain(common).copied() {
        // required, so every route of its kind has it
        let own = ["group", "members", "signing_key"].contains(&name);
        assert!(own || SAID.iter().any(|(said, ..)| *said == name), "`{name}` is tried on no kind of route");
    }
}

#[test]
fn a_lock_that_a_group_was_told_to_require_is_refused_at_the_start_and_was_never_asked_for() {
    let fault = parsed(GROUP, "require_lock = true").unwrap_err().to_string();
    assert_eq!(
        fault,
        "line 45: `route `other`: require_lock` must be left out of a route to a group: set it on the route of each member"
    );
    // what asks for nothing is taken, as an effective configuration prints it
    assert!(parsed(GROUP, "require_lock = false\nadmit = []\nundefined = \"reject\"").is_ok());
}

#[test]
fn bug_an_option_of_another_kind_was_ignored_whatever_its_type() {
    for (kind, line) in
        [(L8, "authorization_servers = false"), (MCP, "versions = false"), (GROUP, "handshake = false")]
    {
        let fault = parsed(kind, line).unwrap_err().to_string();
        assert!(fault.contains("invalid type: boolean"), "{line}: {fault}");
    }
    for name in ["", "a b", "\u{e9}"] {
        let line = format!("binding = \"l8\"\ngroup = \"{name}\"\nmembers = [\"l8\"]\n");
        let fault =
            Config::parse(&format!("{GOOD}{MORE}{line}"), Path::new("/etc/semgate")).unwrap_err().to_string();
        assert!(fault.contains("group` must be the name of a group"), "{name:?}: {fault}");
    }
}

#[test]
fn names_and_pages_are_listed_only_where_they_are_judged() {
    let hosts = "hosts = [\"gw.internal\"]\n";
    let origins = "origins = [\"https://desk.example\"]\n";
    // a listener of signed messages is never plain, and no page reaches it
    for kind in ALL.iter().filter(|kind| **kind != IAC) {
        assert!(parsed(*kind, &format!("{SENDER}{hosts}{origins}")).is_ok(), "{kind:?}");
    }
    let socket = GOOD.replacen("binding = \"l8\"", &format!("binding = \"l8\"\n{SENDER}{hosts}"), 1);
    let socket = socket.replacen("listen = \"127.0.0.1:0\"", "listen = \"unix:l8.sock\"", 1);
    let fault = Config::parse(&socket, Path::new("/")).unwrap_err().to_string();
    assert!(fault.contains("route `l8`: hosts") && fault.contains("plain tcp"), "{fault}");
}

#[test]
fn default_contexts_are_named_once_and_in_one_setting() {
    let [one, two] = ["\"urn:contexts:payment:v1.0\"", "\"urn:contexts:payment:v1.1\""];
    let several = format!("default_contexts = [{one}, {two}]");
    let config = parsed(MCP, &several).unwrap();
    let printed = config.effective();
    assert!(printed.contains("default_contexts = ["), "{printed}");
    for (more, why) in [
        (format!("default_context = {one}\n{several}"), "must be left out if `default_context` is set"),
        (format!("default_contexts = [{one}, {one}]"), "each once"),
        ("default_contexts = [\"payment\"]".to_owned(), "a context, such as"),
    ] {
        let fault = parsed(MCP, &more).unwrap_err().to_string();
        assert!(fault.contains(why), "{fault}");
    }
}

#[test]
fn a_route_that_the_gateway_answers_has_no_upstream_and_needs_people() {
    let config = parsed(A2H, "").unwrap();
    let route = config.routes.last().unwrap();
    assert_eq!(route.contexts.iter().map(ToString::to_string).collect::<Vec<_>>(), ["a2h"]);
    let fault = parsed(A2H, "upstream = \"http://127.0.0.1:9200/\"").unwrap_err().to_string();
    assert!(fault.contains("`other`: upstream` must be left out"), "{fault}");
    let fault = parsed(A2H, "default_human = \"bob\"").unwrap_err().to_string();
    assert!(fault.contains("human://bob.sre"), "{fault}");
    let alone = format!("{GOOD}{}binding = \"a2h\"\n{DESK}", MORE.replace("contexts = [\"*\"]\n", ""));
    let fault = Config::parse(&alone, Path::new("/")).unwrap_err().to_string();
    assert!(fault.contains("`approvals`"), "{fault}");
}

#[test]
fn a_route_of_signed_messages_has_addresses_of_its_own_and_a_key() {
    let config = parsed(IAC, "").unwrap();
    assert!(config.routes.last().is_some_and(|route| !route.takes_certificates()));
    let with = |from: &str, to: &str| {
        let route = format!("{GOOD}{MORE}binding = \"iac\"\n{SIGNED}").replace(from, to);
        Config::parse(&route, Path::new("/etc/semgate")).unwrap_err().to_string()
    };
    let quic = "quic://127.0.0.1:9200";
    for (from, to, why) in [
        ("signing_key = \"iac.key\"\n", "", "signing_key"),
        (quic, "http://127.0.0.1:9200/x", "upstream` must be `quic://host:port` or `unix:/path`"),
        (quic, "quic://agents.example:9200", "upstream` has no tls"),
        (quic, "quic://127.0.0.1", "`quic://host:port`"),
        ("binding = \"iac\"", "binding = \"iac\"\nupstream_http2 = true", "upstream_http2` must be left out"),
    ] {
        let fault = with(from, to);
        assert!(fault.contains(why), "{to}: {fault}");
    }
    let pinned = format!("{GOOD}{MORE}binding = \"iac\"\n{SIGNED}{PINNED}\n")
        .replace("127.0.0.1:9200", "agents.example:9200");
    assert!(Config::parse(&pinned, Path::new("/")).is_ok(), "a pinned certificate may be anywhere");
    for listen in ["quic://127.0.0.1:0", "quic://[::1]:4433"] {
        let text = MORE.replace("127.0.0.1:0", listen);
        assert!(Config::parse(&format!("{GOOD}{text}binding = \"iac\"\n{SIGNED}"), Path::new("/")).is_ok());
        let fault =
            Config::parse(&format!("{GOOD}{text}binding = \"l8\"\n{AGENT}"), Path::new("/")).unwrap_err();
        assert!(fault.to_string().contains("`other`: listen` must be without `quic://`"), "{fault}");
    }
}
