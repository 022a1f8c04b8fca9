//! Refusals as answers of a delegate: stock clients show their text.

use super::kind::Kind;
use crate::{Echo, RefusalDraft, RefusedTask};
use serde_json::{Value, json};

/// Writes `SESSION_REJECT` for a proposed session and `TASK_FAILED` for everything about a task, signed if there is a
/// secret. None for other requests, whose clients look at the HTTP status.
pub(super) fn write(draft: &RefusalDraft<'_>, echo: &Echo) -> Option<Vec<u8>> {
    let asked = echo.get("type").and_then(Kind::parse)?;
    let kind = match asked {
        Kind::SessionPropose => Kind::SessionReject,
        Kind::TaskSubmit | Kind::TaskUpdate | Kind::TaskCancel => Kind::TaskFailed,
        _ => return None,
    };
    let of = |name: &str| echo.get(name).unwrap_or_default();
    // `|` separates the texts of a signature
    let text = draft.text.replace('|', "/");
    let error = error(draft, &text);
    let (body, covered) = match kind {
        Kind::SessionReject => {
            (json!({"type": kind.as_str(), "reason": text, "error": error}), text.as_str())
        }
        _ => {
            let task = of("task_id");
            (json!({"type": kind.as_str(), "task_id": task, "error": error}), task)
        }
    };
    let mut envelope = json!({
        "message_id": draft.message_id,
        "session_id": of("session_id"),
        "from": draft.sender,
        "to": of("from"),
        "body": body,
        "payload_mode": "text",
        "timestamp": draft.timestamp,
        "provenance": null,
    });
    if let (Some(secret), Some(members)) = (draft.secret, envelope.as_object_mut()) {
        let parts = [draft.sender, of("from"), of("session_id"), draft.timestamp, draft.message_id, covered];
        let signed = format!("{}|{}", parts.join("|"), kind.as_str());
        members.insert("signature".to_owned(), secret.mark(&signed).into());
        members.insert("signature_algorithm".to_owned(), "hmac-sha256".into());
    }
    Some(envelope.to_string().into_bytes())
}

/// The task of a refused request. The Rust client reads no answer to a submission, and asks for its state instead.
pub(super) fn task(echo: &Echo) -> Option<RefusedTask<'_>> {
    let task = echo.get("task_id")?;
    match echo.get("type").and_then(Kind::parse)? {
        Kind::TaskSubmit => Some(RefusedTask::Begun(task)),
        Kind::TaskUpdate => Some(RefusedTask::AskedFor(task)),
        _ => None,
    }
}

/// The error: the gateway's code, or the delegate's own, and never the delegate's text.
fn error(draft: &RefusalDraft<'_>, text: &str) -> Value {
    let (code, category, severity, retryable) = match draft.failure {
        Some(failure) => (failure.code.as_str(), failure.category, failure.severity, failure.retryable),
        None => (draft.code, "policy", "fatal", false),
    };
    json!({
        "code": code,
        "category": category,
        "message": text,
        "severity": severity,
        "retryable": retryable,
        "partial_output": draft.problem,
    })
}
