//! Content of verified files, and the memory of versions.

use super::*;
use semgate_contexts::ContextUrn;

fn artefact(features: u32, content: Vec<u8>) -> ScanArtefact {
    ScanArtefact { version: 1, issued_at: 0, features: features.into(), field: None, content }
}

fn field(context: &str) -> FieldOfContext {
    FieldOfContext {
        context: ContextUrn::parse(context, &Prefix::default()).unwrap(),
        concept: "decision_contingency".to_owned(),
        position: "/then_change_text".to_owned(),
    }
}

fn refused(artefact: &ScanArtefact, is_model: bool) -> String {
    content(artefact, is_model).err().unwrap()
}

#[test]
fn attack_a_format_of_features_that_this_program_does_not_know_never_runs() {
    let why = refused(&artefact(FEATURES + 1, Vec::new()), true);
    assert!(why.contains("(`features`)"), "{why}");
}

#[test]
fn a_model_is_no_baseline_and_garbage_is_neither() {
    let of_field = || ScanArtefact {
        field: Some(field("urn:contexts:supplyChain:v1.0")),
        ..artefact(FEATURES, vec![7; 99])
    };
    assert!(refused(&of_field(), true).contains("(`kind`)"));
    assert!(refused(&artefact(FEATURES, vec![7; 99]), false).contains("(`kind`)"));
    assert!(refused(&of_field(), false).starts_with("baseline refused: "));
    assert!(refused(&artefact(FEATURES, vec![7; 99]), true).starts_with("scan model refused: "));
}

#[test]
fn minor_versions_share_a_field_and_majors_do_not() {
    let key = |urn: &str| key_of(Some(&field(urn)));
    assert_eq!(key("urn:contexts:supplyChain:v1.0"), key("urn:contexts:supplyChain:v1.7"));
    assert_ne!(key("urn:contexts:supplyChain:v1.0"), key("urn:contexts:supplyChain:v2.0"));
    assert_eq!(key_of(None), MODEL);
    assert!(key("urn:contexts:supplyChain:v1.0").contains('/'), "no field has the key of the model");
}

#[test]
fn attack_a_memory_of_versions_that_cannot_be_read_is_no_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(NEWEST);
    assert_eq!(newest(&file), Ok(Newest::new()));
    for text in ["{", "[]", r#"{"model":{"version":1}}"#, r#"{"model":{"version":-1,"digest":""}}"#] {
        std::fs::write(&file, text).unwrap();
        assert!(newest(&file).is_err(), "{text}");
    }
}
