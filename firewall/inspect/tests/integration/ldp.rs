//! Sessions, signatures and contracts of LDP, through every stage.

use crate::common::{self, NOW, agent, agent_id, generation_with, library, view};
use bytes::Bytes;
use semgate_inspect::{
    AgentDomain, AgentSecret, Arrived, Code, HeaderClaims, InspectLimits, Inspector, LineScope, Now, Permit,
    Refusal, ReplyPermit, Route, Sent,
};
use semgate_policies::PolicySource;
use semgate_protocol::{Binding, Call, PayloadMode, Seal, Secret, ldp::Endpoint};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

mod attacks;
mod contracts;
mod sessions;

/// Two callers and a delegate.
const CALLER: &str = "retailer-7";
const OTHER: &str = "treasurer-1";
const DELEGATE: &str = "wholesaler-1";

const MORE: &str = r#"@id("contracts") permit(principal in Group::"partners", action, resource is ldp::contract);
    @id("texts") permit(principal, action, resource is ldp::text);
    @id("frames") permit(principal, action, resource is ldp::semantic_frame);
    @id("frame-results") permit(principal, action, resource is ldp::semantic_frame_results);"#;

fn name(of: &str) -> String {
    let role = if of == DELEGATE { "delegate" } else { "client" };
    format!("ldp:{role}:{of}")
}

/// A route of LDP, and who speaks over it.
struct World {
    inspector: Inspector,
    route: Arc<Route>,
    count: AtomicU64,
}

impl World {
    fn new(change: impl FnOnce(&mut Route)) -> Self {
        Self::within(InspectLimits::default(), change)
    }

    fn within(limits: InspectLimits, change: impl FnOnce(&mut Route)) -> Self {
        let mut source = PolicySource::shipped();
        source.files.push(("more.cedar".to_owned(), MORE.to_owned()));
        let inspector = Inspector::new(limits, generation_with(view(&mut library()), &source, &[]));
        let mut route = Route::clone(&common::route("l8"));
        route.binding = Binding::Ldp;
        route.contexts = vec![LineScope::parse("travel").unwrap()];
        route.options.dialogue.skills = Some(vec!["bookFlight".to_owned(), "reasoning".to_owned()]);
        route.options.dialogue.addresses = vec!["http://127.0.0.1:8090".to_owned()];
        change(&mut route);
        Self { inspector, route: Arc::new(route), count: AtomicU64::new(0) }
    }

    /// Changes the route, as a reload does. Open sessions stay.
    fn reload(&mut self, change: impl FnOnce(&mut Route)) {
        let mut route = Route::clone(&self.route);
        change(&mut route);
        self.route = Arc::new(route);
    }

    /// An envelope as the Python library writes it, with members of other types as `null`.
    fn envelope(&self, from: &str, to: &str, session: &str, body: Value) -> Value {
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        let mut all =
            json!({"delegate_id": null, "config": null, "progress": null, "error": null, "output": null});
        all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        json!({
            "message_id": format!("m-{n}"), "session_id": session, "from": name(from), "to": to, "body": all,
            "payload_mode": if all["input"].is_object() || all["output"].is_object() { "semantic_frame" } else { "text" },
            "timestamp": "2026-06-01T00:01:00.551892+00:00", "provenance": null, "signature": null, "signature_algorithm": null,
        })
    }

    fn request(&self, from: &str, session: &str, body: Value) -> Value {
        self.envelope(from, &name(DELEGATE), session, body)
    }

    fn answer(&self, to: &str, session: &str, body: Value) -> Value {
        self.envelope(DELEGATE, &name(to), session, body)
    }

    fn ask(&self, from: &str, envelope: &Value, now: Now) -> Result<Permit, Refusal> {
        let arrived = Arrived::whole(Call::ldp(Endpoint::Messages), Bytes::from(envelope.to_string()));
        self.inspector.inspect(&self.route, &agent(from), &HeaderClaims::default(), arrived, now)
    }

    fn sent(&self, from: &str, envelope: &Value) -> Sent {
        self.ask(from, envelope, NOW).unwrap().spend().1
    }

    fn reply(&self, sent: &Sent, envelope: &Value, now: Now) -> Result<ReplyPermit, Refusal> {
        self.inspector.inspect_reply(sent, &agent(DELEGATE), 200, Bytes::from(envelope.to_string()), now)
    }

    /// Opens a session under this id.
    fn open(&self, from: &str, id: &str, config: Value) {
        let sent = self.sent(from, &self.propose(from, config));
        let accept = json!({"type": "SESSION_ACCEPT", "session_id": id, "negotiated_mode": "semantic_frame"});
        let _ = self.reply(&sent, &self.answer(from, id, accept), NOW).unwrap().spend();
    }

    fn propose(&self, from: &str, config: Value) -> Value {
        self.request(from, "proposed", json!({"type": "SESSION_PROPOSE", "config": config}))
    }

    fn submit(&self, from: &str, session: &str, task: &str) -> Value {
        self.request(
            from,
            session,
            json!({"type": "TASK_SUBMIT", "task_id": task, "skill": "bookFlight", "input": flight()}),
        )
    }

    fn result(&self, to: &str, session: &str, task: &str) -> Value {
        let output = json!({"status": "confirmed", "booking_reference": "AB12CD"});
        self.answer(
            to,
            session,
            json!({"type": "TASK_RESULT", "task_id": task, "output": output, "provenance": provenance()}),
        )
    }
}

/// A session about flights.
fn flights() -> Value {
    json!({
        "preferred_payload_modes": ["semantic_frame", "text"], "ttl_secs": 600, "trust_domain": "default",
        "l9_context": {"context": "urn:contexts:travel:v2.1"},
    })
}

fn flight() -> Value {
    json!({"origin_code": "LAX", "dest_code": "JFK", "date": "2025-11-04"})
}

fn provenance() -> Value {
    json!({"produced_by": name(DELEGATE), "model_version": "qwen3:8b", "payload_mode_used": "semantic_frame",
           "confidence": 0.93, "verified": false, "session_id": "s1", "timestamp": "2026-06-01T00:01:00Z"})
}

fn seconds_later(seconds: u64) -> Now {
    Now { unix: NOW.unix + seconds, monotonic_ms: NOW.monotonic_ms + seconds * 1_000 }
}

fn with(value: &Value, path: &str, member: Value) -> Value {
    let mut value = value.clone();
    let (object, name) = path.rsplit_once('/').unwrap();
    value.pointer_mut(object).unwrap()[name] = member;
    value
}

fn refused<T>(outcome: Result<T, Refusal>) -> (Code, String) {
    let refusal = outcome.err().expect("a refusal");
    (refusal.cause().unwrap_or(refusal.code()), format!("{} {}", refusal.reason(), refusal.detail()))
}
