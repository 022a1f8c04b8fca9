//! Verdicts in the answers of A2A and MCP.

use semgate_inspect::Code;
use serde_json::Value;

use crate::client::Reply;
use crate::say::SendOutcome;

/// Reads an answer. A refusal is an error with the gateway's problem document, or a tool's result that begins with a code. Another
/// error is the agent's own.
pub fn of_answer(reply: &Reply) -> SendOutcome {
    let outer = SendOutcome::read(reply);
    let Some(body) = message(reply) else { return outer };
    if let Some(problem) = problem(&body) {
        return SendOutcome { status: reply.status, ..SendOutcome::refused(problem) };
    }
    if outer.verdict != "ALLOWED" {
        return outer;
    }
    if body.pointer("/result/isError") == Some(&Value::Bool(true))
        && let Some(refused) =
            body.pointer("/result/content/0/text").and_then(Value::as_str).and_then(of_tool)
    {
        return SendOutcome { status: reply.status, ..refused };
    }
    let shown = body.get("result").or_else(|| body.get("error")).cloned();
    SendOutcome { reply: shown.or(Some(body)), ..outer }
}

/// The gateway's problem document: in the data of a JSON-RPC error, or in the details of HTTP+JSON.
fn problem(body: &Value) -> Option<&Value> {
    let parts = ["/error/data", "/error/details"].into_iter().filter_map(|part| body.pointer(part));
    let mut all = parts.flat_map(|part| part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice));
    all.find(|one| one.get("decision_id").is_some())
}

/// The message in a body, or in the last event of a stream that has one.
pub fn message(reply: &Reply) -> Option<Value> {
    if !reply.is_stream() {
        return serde_json::from_slice(&reply.body).ok();
    }
    let text = std::str::from_utf8(&reply.body).ok()?;
    let events = text.lines().rev().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    messages.find(|message| message.get("id").is_some() && message.get("method").is_none())
}

/// The refusal of a tool call: `<code>: <reason>; hint: <hint> [decision <id>]`.
fn of_tool(text: &str) -> Option<SendOutcome> {
    let (code, rest) = text.split_once(": ")?;
    let known = Code::ALL.iter().any(|known| known.as_str() == code);
    let (rest, id) = rest.strip_suffix(']')?.rsplit_once(" [decision ")?;
    let (reason, hint) =
        rest.split_once("; hint: ").map_or((rest, None), |(reason, hint)| (reason, Some(hint)));
    known.then(|| SendOutcome {
        verdict: "REFUSED",
        code: Some(code.to_owned()),
        reason: Some(reason.to_owned()),
        hint: hint.map(str::to_owned),
        decision_id: Some(id.to_owned()),
        ..SendOutcome::default()
    })
}

#[cfg(test)]
mod tests;
