//! Approvals with triggers, and approvals that signed contexts require.

use std::collections::BTreeSet;
use std::sync::Arc;

use semgate_contexts::{Context, Performative, json};

use super::super::{Explainer, Recalled, Recorded};
use super::recalled::{again, kept, parties};
use super::{explained, explainer};
use crate::house::{Ask, House, context, one_file, shipped_contexts};
use semgate_policies::{Keep, KeepAs, Keeper, PolicyLimits};

const OBSERVATION: &str =
    "permit (principal, action == Action::\"INFORM\", resource is supplyChain::local_observation);\n";
const UNSURE: &str = "@approve(\"sure?\") @confidence(\"confidence_score 0.8\") ";
const STEPS: &str = "@approve(\"go on?\") @steps(\"50\") ";
const BOTH: &str = "@approve(\"sure?\") @confidence(\"confidence_score 0.8\") @steps(\"50\") ";

fn cell(policies: &str, contexts: &[Arc<Context>], concept: &str, action: Performative) -> String {
    let explainer = Explainer::load(&one_file(policies), contexts, &PolicyLimits::default()).unwrap();
    let matrix = explainer.matrix(&PolicyLimits::default()).unwrap();
    matrix.concepts[concept][0].cells[&action].to_string()
}

fn observed(policies: &str) -> String {
    cell(policies, &shipped_contexts(), "supplyChain::local_observation", Performative::Inform)
}

#[test]
fn a_trigger_is_a_dependency_of_the_matrix() {
    let with = |words: &str| observed(&format!("{words}{OBSERVATION}"));
    assert_eq!(with(UNSURE), "depends on resource.confidence_score");
    assert_eq!(with(STEPS), "depends on the steps of the session");
    assert_eq!(with(BOTH), "depends on resource.confidence_score, the steps of the session");
    assert_eq!(
        observed(&format!("{UNSURE}{OBSERVATION}{OBSERVATION}")),
        "depends on resource.confidence_score"
    );
    let always = format!("@approve(\"why\") {OBSERVATION}{UNSURE}{OBSERVATION}");
    assert_eq!(observed(&always), "asks", "the one asks whatever the other depends on");
}

fn ops(version: &str, required: &str) -> Arc<Context> {
    let object = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    context(&format!(
        r#"{{"context":"urn:contexts:ops:{version}","tasks":{{"restart":{{"parameters":{object},"results":{object}{required}}}}}}}"#
    ))
}

#[test]
fn a_task_whose_context_requires_approval_asks_in_the_matrix() {
    let required = ",\"x-require-approval\":\"restarts a service\"";
    let of = |contexts: &[Arc<Context>], policy: &str| {
        let policies = format!("permit (principal, action, resource is ops::restart){policy};");
        cell(&policies, contexts, "ops::restart", Performative::Request)
    };
    assert_eq!(of(&[ops("v1.0", required)], ""), "asks");
    assert_eq!(of(&[ops("v1.0", required)], " when { resource has a }"), "asks, depends on resource.a");
    assert_eq!(of(&[ops("v1.0", "")], ""), "always");
    assert_eq!(of(&[ops("v1.0", ""), ops("v1.1", required)], ""), "depends on context.minor");
    let results = "permit (principal, action, resource is ops::restart_results);";
    assert_eq!(
        cell(results, &[ops("v1.0", required)], "ops::restart_results", Performative::Inform),
        "always"
    );
}

#[test]
fn an_explanation_shows_the_words_the_triggers_and_the_demand_of_the_context() {
    let value = r#"{"observed_fact_text":"a","confidence_score":0.7}"#;
    let ask = Ask {
        urn: "supplyChain:v1.0",
        term: "local_observation",
        action: Performative::Inform,
        value,
        ..Ask::default()
    };
    let report =
        explained(&one_file(&format!("@approvers(\"group:heads\") @quorum(\"2\") {BOTH}{OBSERVATION}")), ask);
    let [policy] = &report.policies[..] else { panic!("{:?}", report.policies) };
    assert_eq!(policy.asks.as_deref(), Some("sure? (approvers group:heads, quorum 2)"));
    assert_eq!(
        policy.asks_when.as_deref(),
        Some("where `confidence_score` is absent or below 0.8, or after 50 steps of a session")
    );
    let restart = Ask {
        urn: "devops:v1.0",
        term: "rolloutRestart",
        value: r#"{"service":"a","cluster":"b"}"#,
        ..Ask::default()
    };
    let report =
        explained(&one_file("permit (principal, action, resource is devops::rolloutRestart);"), restart);
    assert_eq!(
        report.note.as_deref(),
        Some("the signed context asks a person: restarts a production service")
    );
}

/// The question as a record keeps it after so many steps, and the verdict of the same policies on it.
fn remembered(words: &str, value: &str, keep: &Keep, steps: u64) -> Recalled {
    let source = one_file(&format!("{words}{OBSERVATION}"));
    let house = House::load(&source, shipped_contexts()).unwrap();
    let ask = Ask {
        urn: "supplyChain:v1.0",
        term: "local_observation",
        action: Performative::Inform,
        value,
        ..Ask::default()
    };
    let kept = house.question(ask, |question| {
        let mut keeper = Keeper::new(keep).after_steps(steps);
        keeper.add(&house.policies, question, false, &house.policies.decide(question), None);
        keeper.finish()
    });
    let read = json::read(kept.as_bytes(), &json::Limits::default()).unwrap();
    let explainer = explainer(&source);
    let recalled = |by_these| {
        let recorded = Recorded { by_these, ..Recorded::default() };
        explainer.recall(parties(&ask), read.as_object().unwrap(), recorded).unwrap().remove(0)
    };
    let (other, same) = (recalled(false), recalled(true));
    assert_eq!(same.now, Some(same.then.as_str()), "the set that decided decided so");
    other
}

/// A record of one set, asked of another: it holds no confidence, which no policy read then.
fn recalled_by(words: &str, recorded: &str, value: &str) -> Recalled {
    let house = House::load(&one_file(recorded), shipped_contexts()).unwrap();
    let ask = Ask {
        urn: "supplyChain:v1.0",
        term: "local_observation",
        action: Performative::Inform,
        value,
        ..Ask::default()
    };
    let other = explainer(&one_file(&format!("{words}{OBSERVATION}")));
    again(&house, &other, ask, &Keep::everything()).1.unwrap().remove(0)
}

#[test]
fn a_recorded_question_is_asked_again_with_its_confidence_and_its_steps() {
    let everything = Keep::everything();
    let low = r#"{"observed_fact_text":"a","confidence_score":0.79999999999999999}"#;
    let high = r#"{"observed_fact_text":"a","confidence_score":0.8}"#;
    for (words, value, steps, word) in [
        (UNSURE, low, 0, "approval"),
        (UNSURE, high, 0, "permitted"),
        (STEPS, low, 49, "permitted"),
        (STEPS, low, 50, "approval"),
        (BOTH, high, 50, "approval"),
    ] {
        let recalled = remembered(words, value, &everything, steps);
        assert_eq!((recalled.then.as_str(), recalled.now), (word, Some(word)), "{words} {value} {steps}");
    }
}

#[test]
fn a_confidence_that_was_not_kept_leaves_open_whether_a_person_is_asked() {
    let keep = kept(&[("supplyChain::local_observation.observed_fact_text", KeepAs::Values)], 10_000);
    let low = r#"{"observed_fact_text":"a","confidence_score":0.1}"#;
    let recalled = remembered(UNSURE, low, &keep, 0);
    let missing = BTreeSet::from(["resource.confidence_score".to_owned()]);
    assert_eq!((recalled.then.as_str(), recalled.now, &recalled.missing), ("approval", None, &missing));
    let recalled = remembered(BOTH, low, &keep, 50);
    assert_eq!(
        (recalled.now, recalled.missing.len()),
        (Some("approval"), 0),
        "the steps ask whatever it was"
    );
    let always = remembered("@approve(\"why\") ", low, &keep, 0);
    assert_eq!(always.now, Some("approval"));
    let by_others = recalled_by(UNSURE, OBSERVATION, low);
    assert_eq!((by_others.then.as_str(), by_others.now, &by_others.missing), ("permitted", None, &missing));
    let source = one_file(&format!("{UNSURE}{OBSERVATION}"));
    let house = House::load(&source, shipped_contexts()).unwrap();
    let ask = Ask {
        urn: "supplyChain:v1.0",
        term: "local_observation",
        action: Performative::Inform,
        value: low,
        ..Ask::default()
    };
    let (record, _) = again(&house, &explainer(&source), ask, &keep);
    assert!(record.contains("\"verdict\":\"approval\"") && !record.contains("\"steps\""), "{record}");
}
