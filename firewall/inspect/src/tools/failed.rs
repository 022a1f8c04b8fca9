//! Tool results with `isError`. No output schema applies to them, and blocks that the route does not admit
//! are replaced.

use super::pin::task_of;
use super::visible::UNNAMED;
use crate::{Code, Direction, Refusal, inspection::Inspection, parse::reading, resolve::Resolved};
use semgate_contexts::{
    Performative, WorkBudget,
    json::{Json, Object},
};
use semgate_protocol::{
    Instance, Vocabulary,
    mcp::{Asked, FAILED, FailureBlocks},
};
use serde_json::{Value, json};

/// A failed result in the form for its caller.
pub(super) struct Failed {
    /// Whole response, as rewritten.
    pub response: Value,
    /// JSON Pointers to the removed parts, in the server's response.
    pub removed: Vec<String>,
}

/// Rewrites a response whose result has `isError`.
///
/// Removes structured content that does not fit the signed results, and blocks that the route does not admit.
/// One text of the gateway replaces all of these blocks. `None` if nothing is removed, and for every other
/// response.
pub(super) fn failed(case: &Inspection<'_>, asked: &Asked, response: &Json<'_>) -> Option<Failed> {
    let result = response.as_object()?.get("result")?.as_object()?;
    if result.get("isError").and_then(Json::as_bool) != Some(true) {
        return None;
    }
    let structured = result.get("structuredContent").filter(|content| fits(case, asked, content));
    let mut removed = Vec::new();
    if structured.is_none() && result.get("structuredContent").is_some() {
        removed.push("/result/structuredContent".to_owned());
    }
    let blocks = result.get("content")?.as_array()?;
    let reading = reading(case);
    let admitted = FailureBlocks::repeating(structured);
    let (mut kept, mut unread) = (Vec::new(), false);
    for (n, block) in blocks.iter().enumerate() {
        if admitted.admit(block, &reading) {
            kept.push(block.to_value());
        } else {
            removed.push(format!("/result/content/{n}"));
            unread = true;
        }
    }
    if removed.is_empty() {
        return None;
    }
    if unread {
        kept.push(json!({"type": "text", "text": FAILED}));
    }
    let mut response = response.to_value();
    let result = response.get_mut("result")?.as_object_mut()?;
    if structured.is_none() {
        result.remove("structuredContent");
    }
    result.insert("content".to_owned(), Value::Array(kept));
    Some(Failed { response, removed })
}

/// Checks a result without `isError` and without structured content. It passes only if the signed results
/// require nothing. MCP demands it: a server with an output schema MUST provide structured results.
///
/// # Errors
/// `content_invalid`.
pub(crate) fn provides_results(resolved: &Resolved<'_, '_>) -> Result<(), Refusal> {
    let message = resolved.message();
    let Some((tool, result)) = message.tool_call.filter(|_| resolved.case().direction == Direction::Reply)
    else {
        return Ok(());
    };
    let judged = |instance: &Instance<'_>| instance.of == Vocabulary::Context || instance.name == UNNAMED;
    let is_error = result.get("isError").and_then(Json::as_bool) == Some(true);
    if is_error || message.instances.iter().any(judged) {
        return Ok(());
    }
    let Some(pinned) = task_of(resolved.named().context(), tool) else { return Ok(()) };
    let results = pinned.term.side(Performative::Inform);
    results.map_or(Ok(()), |results| results.conform(&Object::default(), None)).map_err(|fault| {
        let rule = fault.rule;
        Refusal::new(
            Code::ContentInvalid,
            format!("`/result/structuredContent` is missing: without it the rule `{rule}` is not met"),
        )
        .with_hint(
            "give structured content with every result that is not an error, as the output schema requires",
        )
    })
}

/// Returns true if an error's structured content fits the tool's signed results. A tool without a context has
/// none; its result is judged whole.
fn fits(case: &Inspection<'_>, asked: &Asked, content: &Json<'_>) -> bool {
    let Json::Object(content) = content else { return false };
    let named = case.about.and_then(|about| case.generation.named(about.urn.as_str()));
    let pinned = named.zip(asked.tool.as_deref()).and_then(|(named, tool)| task_of(named.context(), tool));
    pinned.is_none_or(|pinned| {
        let results = pinned.term.side(Performative::Inform);
        results.is_ok_and(|results| results.conform_within(content, None, &WorkBudget::of_message()).is_ok())
    })
}
