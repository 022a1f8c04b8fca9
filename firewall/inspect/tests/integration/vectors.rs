//! Vectors in messages: each fault its own refusal, similarity in policies, and the model that a session chose (F0-52).

use crate::common;
use crate::stage;

use common::{NOW, agent_id, library, say, view};
use semgate_contexts::{ModelName, Prefix};
use semgate_inspect::{Code, Generation, InspectLimits, Route};
use semgate_negotiation::Features;
use semgate_policies::PolicySource;
use serde_json::{Value, json};
use stage::{Stage, stage_of};
use std::collections::BTreeMap;
use std::sync::Arc;

const POLICY: &str = r#"
@id("close") permit(principal, action, resource is search::ask)
    when { resource.intent.similarity has refund_request && resource.intent.similarity.refund_request >= 800 };
@id("listed") permit(principal, action, resource is search::find);
"#;

fn document() -> Value {
    let space =
        |model: &str, dimensions| json!({ "model": model, "dimensions": dimensions, "metric": "cosine" });
    let large = space("acme/large", 2);
    let concept = |embedding: Value| {
        json!({ "type": "object", "required": ["intent"],
        "properties": { "intent": { "x-embedding": embedding } } })
    };
    json!({
        "context": "urn:contexts:search:v1.0",
        "concepts": { "ask": concept(space("acme/mini", 3)), "find": concept(json!([space("acme/mini", 3), large])) },
        "codes": { "intents": ["refund_request"] },
        "references": { "refund_request": { "acme/mini": [1, 0, 0], "acme/large": [0, 1] } },
    })
}

fn stage() -> Stage {
    let mut authority = library();
    authority.publish(document().to_string().as_bytes());
    let mut source = PolicySource::shipped();
    source.files.push(("search.cedar".to_owned(), POLICY.to_owned()));
    let view = view(&mut authority);
    let policies = common::policies(&source, &view);
    let generation = Generation::new(vec![view], policies, BTreeMap::new(), Prefix::default()).unwrap();
    let mut stage = stage_of(generation, InspectLimits::default());
    let mut route = Route::clone(&common::route("l8, all lines"));
    route.name = "l8".to_owned();
    route.options.embeddings =
        ["acme/mini", "acme/large"].map(|name| ModelName::parse(name).unwrap()).to_vec();
    stage.route = Arc::new(route);
    stage
}

/// The code and the reason for a message with this vector, as text.
fn judged(stage: &Stage, concept: &str, intent: &str, lock: Option<&str>) -> Result<(), (Code, String)> {
    let lock = lock.map(|lock| format!(r#""lock":"{lock}","#)).unwrap_or_default();
    let (from, to) = (agent_id("retailer-7"), agent_id("wholesaler-1"));
    let message = format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"{from}","receiver_id":"{to}","context":"urn:contexts:search:v1.0",{lock}"content":{{"concept_type":"{concept}","intent":{intent}}}}}"#
    );
    let said = say(&stage.inspector, &stage.route, "retailer-7", message, NOW);
    said.map(drop).map_err(|refusal| (refusal.code(), refusal.reason().to_owned()))
}

fn rule(rule: &str) -> Result<(), (Code, String)> {
    Err((Code::ContentInvalid, format!("`/content/intent` does not fit the rule `{rule}`")))
}

#[test]
fn f0_52_each_fault_of_a_vector_is_a_refusal_of_its_own() {
    let stage = stage();
    judged(&stage, "ask", "[2, 1, 0.5]", None).unwrap();
    judged(&stage, "ask", r#"{"model":"acme/mini","vector":[1,0,0]}"#, None).unwrap();
    let refused = |intent: &str| judged(&stage, "ask", intent, None);
    assert_eq!(refused("[1, 0]"), rule("x-embedding-dimensions"));
    assert_eq!(refused("[1, 0, 0, 0]"), rule("x-embedding-dimensions"));
    assert_eq!(refused(r#"{"model":"acme/large","vector":[1,0]}"#), rule("x-embedding-model"));
    assert_eq!(refused(r#"[1, 0, "NaN"]"#), rule("x-embedding-finite"));
    assert_eq!(refused("[1, 0, null]"), rule("x-embedding-null"));
    assert_eq!(refused(r#"[1, 0, "0"]"#), rule("x-embedding-number"));
    assert_eq!(refused("[0, 0, 0]"), rule("x-embedding-norm"));
    let (code, reason) = refused("[1, 0, NaN]").unwrap_err();
    assert_eq!(code, Code::Malformed);
    assert!(reason.contains("NaN and Infinity are no numbers of JSON"), "{reason}");
    let (code, reason) = refused("[1, 0, -Infinity]").unwrap_err();
    assert_eq!((code, reason.contains("number has no digit")), (Code::Malformed, true), "{reason}");
}

#[test]
fn f0_52_a_policy_reads_the_similarity_to_a_reference_of_the_same_model_alone() {
    let stage = stage();
    judged(&stage, "ask", "[4, 3, 0]", None).unwrap();
    let (code, _) = judged(&stage, "ask", "[3, 4, 0]", None).unwrap_err();
    assert_eq!(code, Code::PolicyDenied);
    let (code, _) = judged(&stage, "ask", "[-1, 0, 0]", None).unwrap_err();
    assert_eq!(code, Code::PolicyDenied);
}

#[test]
fn f0_52_a_session_refuses_vectors_of_another_model_than_it_chose() {
    let stage = stage();
    let mini = r#"{"model":"acme/mini","vector":[1,0,0]}"#;
    let large = r#"{"model":"acme/large","vector":[1,0]}"#;
    judged(&stage, "find", mini, None).unwrap();
    judged(&stage, "find", large, None).unwrap();
    let shake = |features: &[&str]| {
        let features = Features::sorted(features.iter().copied()).unwrap();
        stage.shake_hands_with("retailer-7", &["search:v1.0"], vec![], &features).unwrap()
    };
    let session = shake(&["embedding:acme/mini", "embedding:other"]);
    assert_eq!(session.model().unwrap().as_str(), "acme/mini");
    judged(&stage, "find", mini, Some(&session.lock)).unwrap();
    assert_eq!(judged(&stage, "find", large, Some(&session.lock)), rule("x-embedding-session"));
    judged(&stage, "ask", "[1, 0, 0]", Some(&session.lock)).unwrap();
    let session = shake(&["embedding:acme/large", "embedding:acme/mini"]);
    assert_eq!(session.model().unwrap().as_str(), "acme/large");
    assert_eq!(judged(&stage, "ask", "[1, 0, 0]", Some(&session.lock)), rule("x-embedding-session"));
    // a session without a choice binds nothing
    let session = shake(&[]);
    assert_eq!(session.model(), None);
    judged(&stage, "find", large, Some(&session.lock)).unwrap();
}
