//! Explanations name the policies that decided, and say when others explain.

use std::sync::Arc;

use semgate_contexts::{Context, DocumentLimits, library};
use semgate_policies::{PolicyLimits, PolicySource};

use super::*;

const SENDER: &str = "spiffe://semgate.test/agent/retailer-7";

fn explainer(policies: &str) -> Explainer {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("rules.cedar"), policies).unwrap();
    let agents =
        format!("{{\"agents\":[{{\"id\":\"{SENDER}\",\"groups\":[\"partners\"],\"credentials\":[]}}]}}");
    std::fs::write(dir.path().join("entities.json"), agents).unwrap();
    let source = PolicySource::read_dir(dir.path()).unwrap();
    let contexts: Vec<Arc<Context>> = library::all()
        .iter()
        .map(|(_, bytes)| {
            Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap().into()
        })
        .collect();
    Explainer::load(&source, &contexts, &PolicyLimits::default()).unwrap()
}

const PERMIT: &str = "@id(\"decisions\") permit (principal in Group::\"partners\", action, resource is supplyChain::current_decision);\n";
const FOR_OTHERS: &str =
    "@id(\"others\") permit (principal in Group::\"partners\", action, resource is payment::transfer);\n";

fn record(more: &str) -> String {
    format!(
        "{{\"time\":1,\"n\":1,\"decision_id\":\"a\",\"direction\":\"request\",\"sender\":\"{SENDER}\",\"context\":\"urn:contexts:supplyChain:v1.0\",\"performative\":\"INFORM\"{more}}}"
    )
}

#[test]
fn a_line_that_was_refused_as_a_whole_shows_the_permits_that_came_near() {
    let explainer = explainer(FOR_OTHERS);
    let line = record(",\"verdict\":\"refused\",\"code\":\"policy_denied\"");
    let explained = Explained::of(&explainer, &line);
    assert_eq!(explained.untold, None);
    assert!(explained.sets.contains("names no policy set"), "{}", explained.sets);
    assert!(explained.questions.iter().all(|question| question.now == Some("denied")));
}

#[test]
fn a_record_without_questions_says_why_nothing_is_explained() {
    let explainer = explainer(PERMIT);
    let early = Explained::of(&explainer, &record(",\"verdict\":\"refused\",\"code\":\"schema_violation\""));
    assert!(early.untold.unwrap().contains("before policies were asked"));
    let digest = explainer.policies().digest().to_string();
    let line =
        record(&format!(",\"verdict\":\"allowed\",\"digest\":\"sha-256:x\",\"policy_digest\":\"{digest}\""));
    let kept = Explained::of(&explainer, &line);
    assert!(kept.untold.unwrap().contains("[audit_values]"));
    assert!(kept.sets.contains("by the policies that decided it"), "{}", kept.sets);
    let other = Explained::of(&explainer, &record(",\"policy_digest\":\"sha-256:other\""));
    assert!(other.sets.starts_with("Other policies decided it: sha-256:other"), "{}", other.sets);
    for broken in ["", "[]", "{\"a\":1,\"a\":2}", "{"] {
        assert!(Explained::of(&explainer, broken).untold.is_some(), "{broken}");
    }
}
