//! The official A2A SDK for JavaScript on both sides of the gateway, unmodified: its user is shown the same as without the gateway.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::Value;
use support::gateway::{Gateway, free_address};
use support::{Ended, Up, node};

/// Both conversations, step by step: directly, and through a route of these options.
fn both_ways(binding: &str, transport: &str, http2: bool, plain: bool) -> (Vec<Value>, Vec<Value>) {
    let up = Up::start();
    let (child, serves) = node::start("a2a_agent.mjs");
    let _agent = Ended(child);
    let http = format!("127.0.0.1:{}", serves["http"]);
    let upstream = match transport {
        "grpc" => format!("http://127.0.0.1:{}", serves["grpc"]),
        path => format!("http://{http}/{}", path.replace("jsonrpc", "rpc")),
    };
    let listen = free_address();
    let mut route = format!(
        "[[route]]\nname = \"js\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"{upstream}\"\ncontexts = [\"*\"]\ntransports = [\"{transport}\"]\n"
    );
    if http2 {
        route.push_str("upstream_http2 = true\n");
    }
    if plain {
        route.push_str("plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n");
    }
    let _gateway = Gateway::before(&up, http.parse().unwrap(), &route);
    let direct = node::run("a2a_client.mjs", &[&format!("http://{http}/"), binding]);
    let scheme = if plain { "http" } else { "https" };
    let url = format!("{scheme}://{listen}/");
    let dir = up.dir.to_str().unwrap();
    let words: &[&str] = if plain { &[&url, binding] } else { &[&url, binding, dir, "retailer-7"] };
    (direct, node::run("a2a_client.mjs", words))
}

/// What two users were shown, but for the prose of errors, which is each side's own.
fn assert_the_same(direct: Vec<Value>, proxied: Vec<Value>) {
    let strip = |mut shown: Vec<Value>| {
        for step in shown.iter_mut().filter(|step| step.get("error").is_some()) {
            step.as_object_mut().unwrap().remove("text");
        }
        shown
    };
    let texts: Vec<String> =
        proxied.iter().filter_map(|s| Some(format!("{}: {}", s["step"], s.get("text")?))).collect();
    let (direct, proxied) = (strip(direct), strip(proxied));
    for (at, (one, other)) in direct.iter().zip(&proxied).enumerate() {
        assert_eq!(one, other, "step {at}; errors through the gateway: {texts:#?}");
    }
    assert_eq!(direct.len(), proxied.len(), "{texts:#?}");
    assert!(direct.len() > 10, "the whole conversation was played: {direct:#?}");
}

#[test]
fn over_json_rpc_with_certificates_the_user_is_shown_the_same() {
    let (direct, proxied) = both_ways("JSONRPC", "jsonrpc", false, false);
    assert_the_same(direct, proxied);
}

#[test]
fn over_http_and_json_the_user_is_shown_the_same() {
    let (direct, proxied) = both_ways("HTTP+JSON", "rest", false, true);
    assert_the_same(direct, proxied);
}
