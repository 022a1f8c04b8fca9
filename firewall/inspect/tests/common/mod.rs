//! Worlds to judge messages in: a small authority in memory, followed once, and the shipped policies.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod sums;

use bytes::Bytes;
use semgate_contexts::{Context, Line, Prefix, Version};
use semgate_inspect::{
    Arrived, Generation, HeaderClaims, InspectLimits, Inspector, LineScope, Now, Peer, Permit, Refusal,
    Route, RouteOptions, TextParts,
};
use semgate_policies::{Policies, PolicyLimits, PolicySource};
use semgate_protocol::{
    Binding, Call, Form,
    a2a::{Operation, Version as A2aVersion},
};
use semgate_statement::{Act, View, testing::MemoryAuthority, testing::START};
use std::{collections::BTreeMap, sync::Arc};

pub const NOW: Now = Now { unix: START + 60, monotonic_ms: 60_000 };

pub fn agent(name: &str) -> Peer {
    Peer::configured(&agent_id(name))
}

pub fn agent_id(name: &str) -> String {
    format!("spiffe://semgate.test/agent/{name}")
}

pub fn library() -> MemoryAuthority {
    MemoryAuthority::with_library(START)
}

pub fn view(authority: &mut MemoryAuthority) -> Arc<View> {
    authority.follower().view()
}

pub fn policies(source: &PolicySource, view: &View) -> Arc<Policies> {
    let contexts: Vec<Arc<Context>> = view.contexts().filter_map(|loaded| loaded.context.clone()).collect();
    Arc::new(Policies::load(source, &contexts, &PolicyLimits::default()).unwrap())
}

/// Policies are typed from the whole library: a follower that starts after a revocation has no document of what was revoked.
pub fn generation_with(view: Arc<View>, source: &PolicySource, floors: &[(&str, Version)]) -> Generation {
    let policies = policies(source, &self::view(&mut library()));
    let floors: BTreeMap<Line, Version> =
        floors.iter().map(|(line, min)| (Line::parse(line).unwrap(), *min)).collect();
    Generation::new(vec![view], policies, floors, Prefix::default()).unwrap()
}

pub fn generation(authority: &mut MemoryAuthority) -> Generation {
    generation_with(view(authority), &PolicySource::shipped(), &[])
}

/// The world called `name` in golden files.
pub fn world(name: &str) -> Generation {
    let mut authority = library();
    let shipped = PolicySource::shipped();
    match name {
        "day" => {}
        "supply chain revoked" => drop(authority.change(Act::Revoke, "supplyChain:v1.0")),
        "supply chain revoked while followed" => return followed(&mut authority, "supplyChain:v1.0"),
        "control vocabulary revoked while followed" => return followed(&mut authority, "snl:v1.0"),
        "a2a vocabulary revoked while followed" => return followed(&mut authority, "a2a:v1.0"),
        "supply chain suspended" => drop(authority.change(Act::Suspend, "supplyChain:v1.0")),
        "payment v1.1 retired" => drop(authority.change(Act::Retire, "payment:v1.1")),
        "payment v1.0 revoked" => drop(authority.change(Act::Revoke, "payment:v1.0")),
        "poisoned travel" => {
            let urn = MemoryAuthority::urn("travel:v2.1");
            let digest = authority.replay.published(&urn).unwrap().digest;
            let other = authority.replay.published(&MemoryAuthority::urn("payment:v1.1")).unwrap().digest;
            let poison = authority.documents[&other].clone();
            authority.serve_instead(&format!("/v1/contexts/by-digest/{digest}"), poison);
            let mut follower = semgate_statement::Follower::without_memory(authority.config());
            let _ = authority.follow(&mut follower);
            return generation_with(follower.view(), &shipped, &[]);
        }
        "operator floor of payment at v2.0" => {
            return generation_with(view(&mut authority), &shipped, &[("payment", Version::new(2, 0))]);
        }
        "texts permitted" => {
            let mut source = shipped;
            let text = r#"@id("ask-texts") permit(principal in Group::"partners", action, resource is a2a::text);
                @id("reply-texts") permit(principal in Group::"repliers", action, resource is a2a::text);
                @id("push") permit(principal in Group::"partners", action, resource is a2a::CreateTaskPushNotificationConfig);"#;
            source.files.push(("texts.cedar".to_owned(), text.to_owned()));
            return generation_with(view(&mut authority), &source, &[]);
        }
        "a policy that overflows" => {
            let mut source = shipped;
            let text = r#"@id("overflow") permit(principal, action, resource is supplyChain::current_decision)
                when { resource.quantity + 9223372036854775807 > 0 };"#;
            source.files.push(("overflow.cedar".to_owned(), text.to_owned()));
            return generation_with(view(&mut authority), &source, &[]);
        }
        other => panic!("there is no world `{other}`"),
    }
    generation_with(view(&mut authority), &shipped, &[])
}

/// A follower that knew the context before it was revoked.
fn followed(authority: &mut MemoryAuthority, revoked: &str) -> Generation {
    let mut follower = authority.follower();
    authority.change(Act::Revoke, revoked);
    authority.follow(&mut follower).unwrap();
    generation_with(follower.view(), &PolicySource::shipped(), &[])
}

/// The route called `name` in golden files.
pub fn route(name: &str) -> Arc<Route> {
    let scopes = |texts: &[&str]| texts.iter().map(|text| LineScope::parse(text).unwrap()).collect();
    let mut route = Route {
        name: name.to_owned(),
        binding: Binding::L8,
        receiver: agent_id("wholesaler-1"),
        upstream: "http://127.0.0.1:1/l8".to_owned(),
        contexts: scopes(&["travel", "supplyChain", "payment", "snl"]),
        text_parts: TextParts::default(),
        tenant: None,
        options: RouteOptions::default(),
    };
    match name {
        "l8" => {}
        "l8, all lines" => route.contexts = scopes(&["*"]),
        "l8, payment v1 only" => route.contexts = scopes(&["payment:v1"]),
        "a2a" => route.binding = Binding::A2a,
        "a2a, texts admitted" => {
            route.binding = Binding::A2a;
            route.text_parts.text = true;
        }
        "a2a, texts admitted, the protocol's words by default" => {
            route.binding = Binding::A2a;
            route.text_parts.text = true;
            route.options.default_contexts = vec![MemoryAuthority::urn("a2a:v1.0")];
        }
        "a2a, texts admitted, supply chain by default" => {
            route.binding = Binding::A2a;
            route.text_parts.text = true;
            route.options.default_contexts = vec![MemoryAuthority::urn("supplyChain:v1.0")];
        }
        "a2a, supply chain by default" => {
            route.binding = Binding::A2a;
            route.options.default_contexts = vec![MemoryAuthority::urn("supplyChain:v1.0")];
        }
        "l8, supply chain by default" => {
            route.options.default_contexts = vec![MemoryAuthority::urn("supplyChain:v1.0")];
        }
        "l8, lock required" => route.options.require_lock = true,
        "a2a, lock required" => {
            route.binding = Binding::A2a;
            route.options.require_lock = true;
        }
        "a2a, texts admitted, lock required" => {
            route.binding = Binding::A2a;
            route.text_parts.text = true;
            route.options.require_lock = true;
        }
        "a2a, agent keeps callers apart, travel by default" => {
            route.binding = Binding::A2a;
            route.options.keeps_callers_apart = true;
            route.options.default_contexts = vec![MemoryAuthority::urn("travel:v2.1")];
        }
        "a2a, both versions" => {
            route.binding = Binding::A2a;
            route.options.versions = vec![A2aVersion::V10, A2aVersion::V03];
        }
        "a2a, agent keeps callers apart" => {
            route.binding = Binding::A2a;
            route.options.keeps_callers_apart = true;
        }
        "a2a, tenant acme" => {
            route.binding = Binding::A2a;
            route.tenant = Some("acme".to_owned());
        }
        other => panic!("there is no route `{other}`"),
    }
    Arc::new(route)
}

pub fn inspector(generation: Generation) -> Inspector {
    Inspector::new(InspectLimits::default(), generation)
}

/// How a request arrives whose body is all there is: 1.0 over JSON-RPC on routes of A2A.
pub fn arrived(route: &Route, body: impl Into<Bytes>) -> Arrived {
    let call = match route.binding {
        Binding::A2a => Call::a2a(A2aVersion::V10, Form::JsonRpc),
        _ => Call::l8(),
    };
    Arrived::whole(call, body.into())
}

pub fn say(
    inspector: &Inspector,
    route: &Arc<Route>,
    from: &str,
    body: impl Into<Bytes>,
    now: Now,
) -> Result<Permit, Refusal> {
    inspector.inspect(route, &agent(from), &HeaderClaims::default(), arrived(route, body), now)
}

/// The form called `name` in golden files: `rpc`, or `rest` or `grpc` with an operation.
pub fn form(name: &str) -> Form {
    let operation = |name: &str| Operation::parse(name).unwrap();
    match name.split_once(' ') {
        Some(("rest", name)) => Form::Rest(operation(name)),
        Some(("grpc", name)) => Form::Grpc(operation(name)),
        _ if name == "rpc" => Form::JsonRpc,
        _ => panic!("there is no form `{name}`"),
    }
}

/// The supply-chain message of the paper.
pub fn supply_chain() -> Vec<u8> {
    base("supply chain")
}

/// A message of `golden/bases.json`, as bytes.
pub fn base(name: &str) -> Vec<u8> {
    serde_json::to_vec(&bases()[name]).unwrap()
}

pub fn bases() -> serde_json::Value {
    serde_json::from_str(include_str!("../golden/bases.json")).unwrap()
}

/// Where notifications go that nobody is shown anything at.
pub fn delivery() -> semgate_inspect::Delivery {
    semgate_inspect::Delivery {
        url: "https://hooks.test/a2a/".to_owned(),
        token: None,
        authentication: None,
        old: false,
        task: None,
        config: None,
        until: None,
        route: String::new(),
    }
}

/// One of the base messages with what the patch changes.
pub fn changed(name: &str, change: serde_json::Value) -> Vec<u8> {
    let mut message: serde_json::Value = serde_json::from_slice(&base(name)).unwrap();
    merge(&mut message, &change);
    serde_json::to_vec(&message).unwrap()
}

/// RFC 7396: members of the patch replace, `null` removes, objects merge.
pub fn merge(target: &mut serde_json::Value, patch: &serde_json::Value) {
    use serde_json::Value;
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(members) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            members.remove(key);
        } else {
            merge(members.entry(key.clone()).or_insert(Value::Null), change);
        }
    }
}
