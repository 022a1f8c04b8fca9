//! Vectors as policies see them: a model and a similarity in thousandths, and no number of the vector.

use std::sync::Arc;

use semgate_contexts::{Context, Performative};

use super::{Ask, House, RETAILER, context, denied, one_file, permitted};
use crate::{PolicySource, Verdict, schema_text};

const ONE_AGENT: &str =
    r#"{"agents":[{"id":"spiffe://semgate.test/agent/retailer-7","groups":[],"credentials":[]}]}"#;

const MINI: &str = r#"{"model":"mini","dimensions":2,"metric":"cosine"}"#;
const BOTH: &str = r#"[{"model":"mini","dimensions":2,"metric":"cosine"},{"model":"large","dimensions":3,"metric":"cosine"}]"#;
const REFERENCES: &str =
    r#","references":{"refund request":{"mini":[1,0],"large":[0,0,1]},"note":{"mini":[0,1]}}"#;
const OF_MINI: &str = r#","references":{"refund request":{"mini":[1,0]},"note":{"mini":[0,1]}}"#;

fn note(minor: u32, embedding: &str, more: &str) -> Arc<Context> {
    context(&format!(
        r#"{{"context":"urn:contexts:t:v1.{minor}","codes":{{"c":["refund request"]}},"concepts":{{"note":{{"type":"object","properties":{{"intent":{{"x-embedding":{embedding}}}}}}}}}{more}}}"#
    ))
}

fn typed(contexts: &[Arc<Context>]) -> String {
    let text = schema_text(contexts).unwrap();
    let at = text.find("entity note").unwrap();
    let one_line = text[at..].split(';').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace("__cedar::", "")
}

fn load(policies: &str, contexts: Vec<Arc<Context>>) -> Result<House, Vec<String>> {
    House::load(&PolicySource { entities: ONE_AGENT.into(), ..one_file(policies) }, contexts)
}

fn ask(house: &House, value: &str) -> Verdict {
    house.ask(Ask {
        sender: RETAILER,
        action: Performative::Inform,
        urn: "t:v1.0",
        term: "note",
        value,
        ..Ask::default()
    })
}

#[test]
fn a_vector_is_a_record_of_its_model_and_its_similarities() {
    let without = typed(&[note(0, MINI, "")]);
    assert!(
        without.contains("intent") && without.contains("model") && !without.contains("similarity"),
        "{without}"
    );
    let with = typed(&[note(0, MINI, OF_MINI)]);
    for part in ["similarity", "note", "refund request", "Long"] {
        assert!(with.contains(part), "{part}: {with}");
    }
    assert!(!with.contains("Set") && !with.contains("decimal"), "{with}");
}

#[test]
fn a_policy_reads_the_similarity_in_exact_thousandths() {
    let policy = r#"permit (principal, action, resource is t::note) when
        { resource has intent && resource.intent.similarity has "refund request" && resource.intent.similarity["refund request"] == 707 };"#;
    let house = load(policy, vec![note(0, MINI, OF_MINI)]).unwrap();
    assert_eq!(ask(&house, r#"{"intent":[1,1]}"#), permitted(&["p.cedar#1"]));
    assert_eq!(ask(&house, r#"{"intent":[1,1.01]}"#), denied(&[], &[]));
    assert_eq!(ask(&house, "{}"), denied(&[], &[]));
}

#[test]
fn a_vector_of_another_model_has_no_similarity_to_a_reference_that_is_not_of_it() {
    let policy = r#"@id("note") permit (principal, action, resource is t::note) when
        { resource has intent && resource.intent.similarity has note && resource.intent.similarity.note == 1000 };
        @id("large") permit (principal, action, resource is t::note) when
        { resource has intent && resource.intent.model == "large" && resource.intent.similarity has "refund request" };"#;
    let house = load(policy, vec![note(0, BOTH, REFERENCES)]).unwrap();
    assert_eq!(ask(&house, r#"{"intent":{"model":"mini","vector":[0,2]}}"#), permitted(&["p.cedar#note"]));
    assert_eq!(
        ask(&house, r#"{"intent":{"model":"large","vector":[0,2,0]}}"#),
        permitted(&["p.cedar#large"])
    );
}

#[test]
fn no_number_of_a_vector_is_there_for_a_policy() {
    let reads = |what: &str| {
        let policy = format!(
            "permit (principal, action, resource is t::note) when {{ resource has intent && {what} }};"
        );
        load(&policy, vec![note(0, MINI, OF_MINI)]).err()
    };
    for what in ["resource.intent.contains(1)", "resource.intent.vector == [1]", "resource.intent == [1, 0]"]
    {
        assert!(reads(what).is_some(), "{what}");
    }
    assert_eq!(reads(r#"resource.intent.model == "mini""#), None);
}

#[test]
fn a_model_that_no_version_lists_is_a_mistake_of_the_policy() {
    let policy = r#"permit (principal, action, resource is t::note) when { resource has intent && resource.intent.model == "tiny" };"#;
    let faults = load(policy, vec![note(0, BOTH, REFERENCES)]).err().unwrap();
    assert!(faults[0].contains("`resource.intent.model` is `\"tiny\"` in no version"), "{faults:?}");
    assert!(load(&policy.replace("tiny", "large"), vec![note(0, BOTH, REFERENCES)]).is_ok());
}

#[test]
fn versions_with_more_references_have_one_type() {
    let policy = r#"permit (principal, action, resource is t::note) when
        { resource has intent && resource.intent has similarity && resource.intent.similarity has note && resource.intent.similarity.note > 900 };"#;
    let house = load(policy, vec![note(0, MINI, ""), note(1, MINI, OF_MINI)]).unwrap();
    // the version of the message decides, and the older one has no reference
    assert_eq!(ask(&house, r#"{"intent":[0,1]}"#), denied(&[], &[]));
    let newer = house.ask(Ask {
        sender: RETAILER,
        action: Performative::Inform,
        urn: "t:v1.1",
        term: "note",
        value: r#"{"intent":[0,1]}"#,
        ..Ask::default()
    });
    assert_eq!(newer, permitted(&["p.cedar#1"]));
}
