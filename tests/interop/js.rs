//! The official A2A SDK for JavaScript on both sides of the gateway, unmodified: its user is shown the same as without the gateway.

use crate::support;

use serde_json::Value;
use support::gateway::{Gateway, free_address};
use support::{Ended, Up, node};

/// A binding by the names that the card, the route and the agent's address have for it.
struct Way {
    agent: &'static str,
    client: &'static str,
    version: &'static str,
    binding: &'static str,
    transport: &'static str,
    path: &'static str,
    /// Whether the caller shows a certificate, or the listener is plain.
    certificate: bool,
    steps: usize,
}

const JSON_RPC: Way = Way {
    agent: "a2a_agent.mjs",
    client: "a2a_client.mjs",
    version: "1.0",
    binding: "JSONRPC",
    transport: "jsonrpc",
    path: "/rpc",
    certificate: true,
    steps: 14,
};
const REST: Way =
    Way { binding: "HTTP+JSON", transport: "rest", path: "/rest", certificate: false, ..JSON_RPC };
const GRPC: Way = Way { binding: "GRPC", transport: "grpc", path: "", ..JSON_RPC };
const OLD: Way =
    Way { agent: "a2a03_agent.mjs", client: "a2a03_client.mjs", version: "0.3", steps: 12, ..JSON_RPC };

impl Way {
    fn is_grpc(&self) -> bool {
        self.transport == "grpc"
    }

    fn route(&self, listen: &str, http: &str, upstream: &str) -> String {
        let mut route = format!(
            "[[route]]\nname = \"js\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{upstream}{}\"\ncontexts = [\"*\"]\ntransports = [\"{}\"]\nversions = [\"{}\"]\n",
            self.path, self.transport, self.version
        );
        if self.is_grpc() {
            // Nothing that speaks gRPC serves a card.
            route.push_str(&format!(
                "upstream_http2 = true\ncard_from = \"http://{http}/.well-known/agent-card.json\"\n"
            ));
        }
        if !self.certificate {
            route.push_str("plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n");
        }
        route
    }

    /// Directly, and through the gateway: what two users are shown, step by step, who say what the client says with `more`.
    fn both(&self, more: &[&str]) -> (Vec<Value>, Vec<Value>) {
        let up = Up::start();
        let (child, serves) = node::start(self.agent);
        let _agent = Ended(child);
        let http = format!("127.0.0.1:{}", serves["http"]);
        let upstream = if self.is_grpc() { format!("127.0.0.1:{}", serves["grpc"]) } else { http.clone() };
        let listen = free_address().to_string();
        let _gateway = Gateway::before(&up, http.parse().unwrap(), &self.route(&listen, &http, &upstream));

        let theirs = format!("http://{http}/");
        let direct = node::run(self.client, &[&[theirs.as_str(), self.binding, "", ""], more].concat());
        let scheme = if self.certificate { "https" } else { "http" };
        let ours = format!("{scheme}://{listen}/");
        let (directory, name) =
            if self.certificate { (up.dir.to_str().unwrap(), "retailer-7") } else { ("", "") };
        let words = [ours.as_str(), self.binding, directory, name];
        (direct, node::run(self.client, &[&words, more].concat()))
    }

    fn shows_the_same(&self) {
        let (direct, proxied) = self.both(&[]);
        assert_eq!(direct.len(), self.steps, "the whole conversation was played: {direct:#?}");
        assert_the_same(direct, proxied);
    }
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
}

#[test]
fn over_json_rpc_with_a_certificate_the_user_is_shown_the_same() {
    JSON_RPC.shows_the_same();
}

#[test]
fn over_http_and_json_the_user_is_shown_the_same() {
    REST.shows_the_same();
}

#[test]
fn over_grpc_with_a_certificate_the_user_is_shown_the_same() {
    GRPC.shows_the_same();
}

#[test]
fn over_version_0_3_the_user_of_the_old_sdk_is_shown_the_same() {
    OLD.shows_the_same();
}

#[test]
fn a_refusal_shows_the_user_the_code_for_a_message_as_for_a_stream() {
    for way in [JSON_RPC, REST, GRPC] {
        let (direct, proxied) = way.both(&["refused"]);
        assert!(
            direct.iter().all(|step| step.get("error").is_none()),
            "the agent itself takes it: {direct:#?}"
        );
        assert_eq!(proxied.len(), 2, "{}: {proxied:#?}", way.binding);
        for step in &proxied {
            let text = step["text"].as_str().unwrap_or_else(|| panic!("{}: {step}", way.binding));
            assert!(text.contains("content_invalid"), "{}: {step}", way.binding);
        }
    }
}
