//! The security experiment of the LDP paper, with real messages: a hundred attacks of four kinds upon the unmodified delegate, and a thousand
//! sessions that must pass. The paper simulates both and finds 96 % detected.

use crate::support;

use std::net::SocketAddr;

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::ldp::{CLIENT, Delegate, Route, SECRET, id, secrets, up};
use support::ldp_envelope::{
    about_task, accepted, ask, classify, close, envelope, hello, post, post_as, propose, refused,
    seconds_from_now, sign, signed, submit,
};
use support::{Answer, Up};

/// `partner` and `acme`, the domain of the delegate, trust each other. `outside` trusts `acme`, and `acme` does not trust it.
const DOMAINS: [(&str, &[&str], &str); 3] = [
    ("acme", &["retailer-7", "wholesaler-1"], "partner"),
    ("partner", &["treasurer-1"], "acme"),
    ("outside", &["public-webapp-3"], "acme"),
];

/// One message of an agent, which must be refused.
struct Attack {
    name: String,
    agent: &'static str,
    envelope: Value,
}

impl Attack {
    fn of(agent: &'static str, name: String, envelope: Value) -> Self {
        Self { name, agent, envelope }
    }
}

struct Arena {
    delegate: Delegate,
    up: Up,
    listen: SocketAddr,
    _gateway: Gateway,
}

impl Arena {
    fn start() -> Self {
        // it takes everybody's word, as far as its software can
        let peers = json!({"secret": SECRET, "domain": "acme", "peers": ["partner", "outside", "default"]});
        let delegate = Delegate::python(&peers);
        let (up, listen) = (up(), free_address());
        let domain = |(name, agents, peer): &(&str, &[&str], &str)| {
            let agents: Vec<_> = agents.iter().map(|agent| format!("\"{}\"", id(agent))).collect();
            format!(
                "{{ name = \"{name}\", agents = [{}], allow_cross_domain = true, trusted_peers = [\"{peer}\"] }}",
                agents.join(", ")
            )
        };
        let domains: Vec<_> = DOMAINS.iter().map(domain).collect();
        let more = format!(
            "{}trust_domains = [{}]\n",
            secrets(&up, &["retailer-7", "wholesaler-1"]),
            domains.join(", ")
        );
        let route = Route { listen, agent: None, upstream: delegate.address, more };
        let gateway = Gateway::serving(&up, listen, &route.written(&up), "");
        Self { delegate, up, listen, _gateway: gateway }
    }

    fn post(&self, agent: &str, envelope: &Value) -> Answer {
        post_as(&self.up, agent, self.listen, envelope)
    }

    fn passes(&self, agent: &str, envelope: &Value) -> Value {
        let answer = self.post(agent, envelope);
        assert_eq!(refused(&answer), None, "{}", answer.json());
        answer.json()
    }

    fn session(&self, agent: &str) -> String {
        accepted(&self.post(agent, &by(agent, propose(&json!({"trust_domain": domain_of(agent)})))))
    }
}

/// The domain that a configuration gives an agent.
fn domain_of(agent: &str) -> &'static str {
    let (name, ..) = DOMAINS.iter().find(|(_, agents, _)| agents.contains(&agent)).unwrap();
    name
}

/// The same in the LDP name of this agent, signed where it has a secret.
fn by(agent: &str, mut message: Value) -> Value {
    let name =
        support::ldp::NAMES.iter().find(|(alias, _)| *alias == agent).map_or(CLIENT, |(_, name)| *name);
    message["from"] = json!(name);
    if message["body"].get("delegate_id").is_some() {
        message["body"]["delegate_id"] = json!(name);
    }
    if agent == "retailer-7" {
        sign(&mut message, SECRET);
    }
    message
}

/// An agent of no domain, or of one that is not trusted, opens a session.
fn joins() -> Vec<Attack> {
    let words = ["acme", "partner", "outside", "ACME", "acme ", "acme\u{200b}", "аcme", "default", "*", ""];
    let strangers = words.iter().map(|word| ("public-webapp-3", json!(word)));
    let unnamed = words.iter().take(5).map(|word| ("sre-bot-1", json!(word)));
    let members = [
        json!("partner"),
        json!("outside"),
        json!("default"),
        json!("ACME"),
        json!("acme/"),
        json!(7.5),
        json!(7),
        json!(["acme"]),
        json!({"name": "acme", "allow_cross_domain": true, "trusted_peers": ["*"]}),
        json!(""),
    ];
    let members = members.into_iter().map(|word| ("retailer-7", word));
    let all = strangers.chain(unnamed).chain(members);
    all.map(|(agent, word)| {
        let proposal = by(agent, propose(&json!({ "trust_domain": word })));
        Attack::of(agent, format!("{agent} joins as {word}"), proposal)
    })
    .collect()
}

/// A member of the domain does more than it may.
fn escalations(session: &str) -> Vec<Attack> {
    let by_router = |name: String, message: Value| Attack::of("retailer-7", name, by("retailer-7", message));
    let skills = [
        "delete",
        "story",
        "Classify",
        "classify ",
        "CLASSIFY",
        "classify_results",
        "work::classify",
        "ldp::SessionClose",
        "*",
        "",
    ];
    let skills = skills.map(|skill| by_router(format!("skill `{skill}`"), submit(session, skill, json!({}))));
    let amounts = [100, 101, 5_000, 1_000_000, i64::MAX].map(|amount| {
        by_router(format!("a transfer of {amount}"), submit(session, "transfer", json!({"amount": amount})))
    });
    let modes = ["text", "embedding_hints", "semantic_graph", "latent_capsule", "cache_slice"].map(|mode| {
        let mut message = classify(session);
        message["payload_mode"] = json!(mode);
        by_router(format!("mode {mode}"), message)
    });
    let roles = [
        json!({"type": "TASK_RESULT", "task_id": "7a5c0000-0000-4000-8000-000000000000", "output": {"label": "x"}, "provenance": null}),
        json!({"type": "SESSION_ACCEPT", "session_id": session, "negotiated_mode": "semantic_graph"}),
        json!({"type": "CAPABILITY_MANIFEST", "capabilities": [{"name": "delete"}]}),
        json!({"type": "SESSION_REJECT", "reason": "not you"}),
        json!({"type": "ROOM_CHAIR", "delegate_id": CLIENT}),
    ]
    .map(|body| by_router(format!("in the role of the delegate: {}", body["type"]), envelope(session, body)));
    skills.into_iter().chain(amounts).chain(modes).chain(roles).collect()
}

/// Messages that passed, or that were kept back, come again: five kinds, each in five manners.
fn replays(arena: &Arena, session: &str) -> Vec<Attack> {
    let task = arena.passes("retailer-7", &signed(classify(session), SECRET));
    let task = task["body"]["task_id"].as_str().unwrap();
    let closed = arena.session("retailer-7");
    let sent = [
        hello(),
        propose(&json!({"trust_domain": "acme"})),
        classify(session),
        about_task(session, "TASK_CANCEL", task),
        close(&closed),
    ];
    let mut all = Vec::new();
    for message in sent {
        let message = signed(message, SECRET);
        arena.passes("retailer-7", &message);
        let kind = message["body"]["type"].as_str().unwrap().to_owned();
        let mut push =
            |agent, how: &str, message| all.push(Attack::of(agent, format!("{kind} {how}"), message));
        push("retailer-7", "again", message.clone());
        let mut refreshed = message.clone();
        refreshed["timestamp"] = json!(seconds_from_now(1));
        push("retailer-7", "again with a new time", refreshed);
        let mut renamed = message.clone();
        renamed["message_id"] = json!(support::ldp_envelope::fresh());
        push("retailer-7", "again with a new id", renamed);
        let mut kept = message.clone();
        kept["message_id"] = json!(support::ldp_envelope::fresh());
        kept["timestamp"] = json!(seconds_from_now(-301));
        push("retailer-7", "kept back for five minutes", signed(kept, SECRET));
        push("public-webapp-3", "by another agent", message);
    }
    all
}

/// Agents of other domains, also of one that is trusted, reach for sessions and tasks that are not theirs.
fn crossings(arena: &Arena, session: &str) -> Vec<Attack> {
    let task = arena.passes("retailer-7", &signed(classify(session), SECRET));
    let task = task["body"]["task_id"].as_str().unwrap();
    let mut all = Vec::new();
    for agent in ["treasurer-1", "public-webapp-3", "sre-bot-1"] {
        for message in [
            classify(session),
            about_task(session, "TASK_UPDATE", task),
            about_task("", "TASK_UPDATE", task),
            about_task(session, "TASK_CANCEL", task),
            close(session),
        ] {
            let kind = message["body"]["type"].as_str().unwrap().to_owned();
            all.push(Attack::of(agent, format!("{kind} by {agent}"), by(agent, message.clone())));
            if agent != "sre-bot-1" {
                all.push(Attack::of(agent, format!("{kind} by {agent} in the owner's name"), message));
            }
        }
    }
    all
}

/// Counts what is refused with one of these codes and never reaches the delegate, and what the delegate takes when it comes directly.
fn detected(arena: &Arena, kind: &str, attacks: &[Attack], codes: &[&str]) -> usize {
    assert_eq!(attacks.len(), 25, "{kind}");
    let mut stopped = 0;
    let mut taken = 0;
    for Attack { name, agent, envelope } in attacks {
        let before = arena.delegate.received().len();
        let answer = arena.post(agent, envelope);
        let code = refused(&answer);
        let silent = arena.delegate.received().len() == before;
        if silent && code.as_deref().is_some_and(|code| codes.contains(&code)) {
            stopped += 1;
        } else {
            println!("not stopped: {name}: {code:?} {}", answer.json());
        }
        let direct = post(arena.delegate.address, envelope);
        let direct: Value = serde_json::from_slice(&direct.body).unwrap_or_default();
        let kind = direct["body"]["type"].as_str().unwrap_or("TASK_FAILED");
        taken += usize::from(!["TASK_FAILED", "SESSION_REJECT"].contains(&kind));
    }
    println!("{kind}: {stopped} of 25 stopped; the delegate alone takes {taken}");
    stopped
}

#[test]
fn ldp_hundred_trust_attacks() {
    let arena = Arena::start();
    let session = arena.session("retailer-7");
    let joins = detected(
        &arena,
        "untrusted domain join",
        &joins(),
        &["sender_mismatch", "policy_denied", "malformed"],
    );
    let escalations = detected(
        &arena,
        "capability escalation",
        &escalations(&session),
        &["concept_undefined", "policy_denied", "malformed"],
    );
    let replays =
        detected(&arena, "replay", &replays(&arena, &session), &["replayed", "sender_mismatch", "not_found"]);
    let crossings = detected(
        &arena,
        "cross-domain access",
        &crossings(&arena, &session),
        &["not_found", "sender_mismatch"],
    );
    let detected = joins + escalations + replays + crossings;
    assert_eq!(detected, 100);
    // the session that was attacked is as it was
    arena.passes("retailer-7", &signed(classify(&session), SECRET));
    let url = format!("https://{}", arena.listen);
    let mut callers = ["retailer-7", "treasurer-1"].map(|agent| (agent, arena.up.connect(Some(agent), &url)));
    let mut refusals = 0;
    for n in 0..1_000 {
        let (agent, connection) = &mut callers[n % 2];
        let agent: &str = agent;
        let mut asks = |message| ask(connection, arena.listen, &by(agent, message));
        let session = accepted(&asks(propose(&json!({"trust_domain": domain_of(agent)}))));
        refusals += usize::from(refused(&asks(classify(&session))).is_some());
        refusals += usize::from(refused(&asks(close(&session))).is_some());
    }
    assert_eq!(refusals, 0, "false positives in a thousand sessions");
}
