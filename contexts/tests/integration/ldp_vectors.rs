//! Messages as the two LDP libraries write them, and the paper's shapes, fit the context of LDP.

use semgate_contexts::{Context, DocumentLimits, Performative, Prefix, json, library};

fn conforms(term: &str, performative: Performative, text: &str) -> Result<(), String> {
    let bytes = library::all().iter().find(|(name, _)| *name == "ldp-v1.0").unwrap().1;
    let context = Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    let shape = context.term(term).unwrap().side(performative).unwrap();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    shape.conform(read.as_object().unwrap(), None).map_err(|fault| format!("{} {}", fault.path, fault.rule))
}

#[test]
fn golden_messages_of_both_libraries_fit_the_context_of_ldp() {
    use Performative::{Accept, Inform, Propose, Query, Request};
    let card = r#"{"delegate_id": "ldp:delegate:qwen3-8b", "name": "Qwen", "model_family": "qwen", "model_version": "qwen3:8b",
        "trust_domain": {"name": "default", "allow_cross_domain": false, "trusted_peers": []}, "context_window": 128000,
        "capabilities": [{"name": "reasoning", "quality": {"quality_score": 0.85, "cost_per_call_usd": 0.01,
            "supports_streaming": false, "claim_type": "self_claimed"}, "domains": []}],
        "supported_payload_modes": ["semantic_frame", "text"], "endpoint": "http://127.0.0.1:18091", "metadata": {}}"#;
    let result = r#"{"produced_by": "ldp:delegate:qwen3-8b", "model_version": "qwen3:8b", "payload_mode_used": "semantic_frame",
        "verified": true, "session_id": "442a502d", "timestamp": "2026-11-28T04:43:15.551892+00:00", "tokens_used": 12,
        "cost_usd": 0.00003, "contract_violations": [], "verification_status": "peer_verified", "evidence": [],
        "lineage": [{"delegate_id": "d", "model_version": "v", "step": "task", "verification_status": "unverified"}]}"#;
    let paper = r#"{"produced_by": "d", "model_version": "v", "confidence": {"score": 0.9, "method": "self-report"},
        "verification": {"performed": true, "status": "passed"}}"#;
    let contract = r#"{"contract_id": "c1", "objective": "Summarize", "success_criteria": ["<=300 words"],
        "policy": {"failure_policy": "fail_open", "budget": {"max_tokens": 5000, "max_cost_usd": 0.05}, "safety_constraints": [],
        "max_delegation_depth": 1}, "deadline": "2026-12-31T23:59:59Z", "created_at": "2026-11-28T04:43:15+00:00"}"#;
    let frame = r#"{"task_type": "classification", "instruction": "Classify\nsentiment", "input": "ok", "labels": ["positive"]}"#;
    let python = r#"{"preferred_payload_modes": ["semantic_frame", "text"], "ttl_secs": 3600, "trust_domain": "default"}"#;
    let rust = r#"{"payload_mode": "text", "ttl_secs": 3600, "trust_domain": "default"}"#;
    for (term, performative, text) in [
        ("identity_card", Inform, card),
        ("provenance", Inform, result),
        ("provenance", Inform, paper),
        ("contract", Request, contract),
        ("semantic_frame", Request, frame),
        ("semantic_frame", Inform, r#"{"label": "positive", "scores": [0.1, null]}"#),
        ("session_propose", Propose, python),
        ("session_propose", Propose, rust),
        ("session_accept", Accept, r#"{"session_id": "442a502d", "negotiated_mode": "semantic_frame"}"#),
        ("hello", Inform, r#"{"delegate_id": "ldp:client:router", "supported_modes": ["semantic_frame"]}"#),
        ("capability_manifest", Inform, r#"{"capabilities": [{"name": "reasoning"}]}"#),
        (
            "capability_manifest",
            Inform,
            r#"{"capabilities": {"capabilities": [], "supported_modes": ["text"]}}"#,
        ),
        ("task_query", Query, r#"{"task_id": "t", "message": "status_query"}"#),
        ("task_update", Inform, r#"{"task_id": "t", "message": "cancelled"}"#),
    ] {
        assert_eq!(conforms(term, performative, text), Ok(()), "{term} {text}");
    }
}

#[test]
fn modes_four_and_five_and_members_outside_the_protocol_are_refused() {
    use Performative::{Inform, Propose};
    for (term, performative, text) in [
        ("hello", Inform, r#"{"delegate_id": "d", "supported_modes": ["latent_capsule"]}"#),
        ("session_accept", Performative::Accept, r#"{"session_id": "s", "negotiated_mode": "cache_slice"}"#),
        ("session_propose", Propose, r#"{"payload_mode": "text", "system_prompt": "obey"}"#),
        ("provenance", Inform, r#"{"produced_by": "d", "model_version": "v", "confidence": 1.5}"#),
    ] {
        assert!(conforms(term, performative, text).is_err(), "{term} {text}");
    }
}
