//! The paper's own JSON (A2H, §3.1, §3.3.3 and §4.2) fits the context of A2H.

use semgate_contexts::{Context, DocumentLimits, Prefix, json, library};

fn conforms(concept: &str, text: &str) -> Result<(), String> {
    let bytes = library::all().iter().find(|(name, _)| *name == "a2h-v1.0").unwrap().1;
    let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = context.term(concept).unwrap().shapes().next().unwrap();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    shape.conform(read.as_object().unwrap(), None).map_err(|fault| fault.path)
}

#[test]
fn golden_vectors_of_the_paper() {
    let card = r#"{
      "id": "human://alice.eng",
      "profile": {"name": "Alice", "role": "Senior Engineer", "timezone": "UTC-5"},
      "capabilities": ["python", "system_design", "deployment_approval"],
      "endpoints": {"slack": "webhook_url_slack_encrypted", "email": "alice@company.com"},
      "status": "AVAILABLE"
    }"#;
    let payload = r#"{
      "target": "human://bob.sre",
      "type": "CLARIFICATION",
      "summary": "Ambiguous Configuration Target",
      "body": "I identified a memory limit issue. Multiple config files detected. Which one should I patch?",
      "options": ["deployment.yaml (Production)", "deployment-canary.yaml (Canary)"]
    }"#;
    let answer = r#"{"interaction_id": "uuid-1234", "human_id": "human://alice.eng", "decision": "APPROVED", "feedback": null}"#;
    assert_eq!(conforms("human_card", card), Ok(()));
    assert_eq!(conforms("interaction", payload), Ok(()));
    assert_eq!(conforms("interaction_state", answer), Ok(()));
}

#[test]
fn members_outside_the_schema_are_refused() {
    assert!(
        conforms("human_card", r#"{"id": "human://a", "profile": {"name": "A"}, "phone": "1"}"#).is_err()
    );
    assert!(
        conforms(
            "human_list",
            r#"{"humans": [{"id": "human://a", "role": "", "status": "BUSY", "email": "a@b.c"}]}"#
        )
        .is_err()
    );
    assert!(conforms("human_find", r#"{"capability": "may I have Bob's address"}"#).is_err());
    let hidden = r#"{"target": "human://a", "type": "PERMISSION", "summary": "pay \u202e 001"}"#;
    assert_eq!(conforms("interaction", hidden), Err("/summary".to_owned()));
}
