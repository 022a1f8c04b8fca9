//! Tests of `authority_client`.

use serde_json::json;

use super::*;

#[test]
fn a_refused_version_is_told_with_the_comparison_that_its_hint_names() {
    let comparison = json!({"old": "urn:contexts:a:v1.0", "new": "urn:contexts:a:v1.1", "verdict": "breaking", "next_version": "v2.0",
        "parts": [{"verdict": "breaking", "pointer": "/concepts/b", "reason": "it is gone"}]});
    let body = json!({"code": "version_breaks", "detail": "it breaks", "hint": "see `comparison.next_version`", "comparison": comparison});
    let body = body.to_string().into();
    let fault = refused(&Reply { status: 409, body, headers: http::HeaderMap::new() });
    assert_eq!(fault.json()["comparison"], comparison);
    let shown = fault.to_string();
    for line in
        ["  breaking    /concepts/b: it is gone", "next version: v2.0", "hint: see `comparison.next_version`"]
    {
        assert!(shown.lines().any(|one| one == line), "{line}: {shown}");
    }
}
