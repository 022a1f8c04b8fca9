//! The skills of an agent card. A card describes an agent's skills in words, without their inputs. So each skill becomes a task with open
//! questions.

use std::collections::BTreeSet;
use std::path::Path;

use http::Method;
use semgate_contexts::json;
use semgate_import::draft::{Draft, Drafted};
use semgate_import::names;
use semgate_import::schema::legible;
use serde_json::{Value, json};

use super::From;
use super::endpoint::HttpEndpoint;
use crate::fault::Fault;

/// Path of a card (A2A 1.0 §8.2).
const CARD: &str = "/.well-known/agent-card.json";

/// The longest kept text of a card, in characters.
const MAX_TEXT: usize = 2_000;

/// Fetches the card and drafts from it.
pub(super) async fn draft(from: &From) -> Result<(Draft, String), Fault> {
    Ok(drafted(&card(&from.url, from.roots.as_deref()).await?))
}

/// The card of an agent at this address, or at that of the card itself.
///
/// # Errors
/// No answer, or no card.
pub(super) async fn card(url: &str, roots: Option<&Path>) -> Result<Value, Fault> {
    let endpoint = HttpEndpoint::new(url, roots)?;
    let path = (!url.ends_with(".json")).then_some(CARD);
    let reply = endpoint.ask(Method::GET, path, &[("accept", "application/json")], Vec::new()).await?;
    let none = |why: String| {
        Fault::new(format_args!("`{url}` shows no agent card: {why}"))
            .hint("name the agent as `https://host`, or its card")
    };
    if reply.status != 200 {
        return Err(none(format!("status {}", reply.status)));
    }
    let card = json::read(&reply.body, &json::Limits::default());
    let card = card.map_err(|fault| none(format!("its answer cannot be read ({fault})")))?;
    Ok(card.to_value())
}

/// The draft of a card, and the agent's name.
pub(super) fn drafted(card: &Value) -> (Draft, String) {
    let mut draft = Draft::default();
    draft.warn("a card describes skills in words: the review must settle every parameter and result");
    let skills: Vec<&Value> = card.get("skills").and_then(Value::as_array).into_iter().flatten().collect();
    let of = |skill: &Value, member: &str| {
        skill.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let id = |skill: &Value| Some(of(skill, "id")).filter(|id| !id.is_empty()).unwrap_or(of(skill, "name"));
    let ids: Vec<String> = skills.iter().map(|skill| id(skill)).collect();
    let names = names::tasks(ids.iter().map(String::as_str));
    let mut seen = BTreeSet::new();
    for (skill, id) in skills.into_iter().zip(&ids) {
        let Some(name) = names.get(id.as_str()) else { continue };
        if !seen.insert(id) {
            draft.left_out.push((id.clone(), "another skill has the same id".to_owned()));
            continue;
        }
        let mut drafted = Drafted::new(name, id);
        let (given, title) = (of(skill, "description"), of(skill, "name"));
        let (description, shown) = (legible(&given), legible(&title));
        if description.len() != given.len() || shown.len() != title.len() {
            drafted.warn("its text holds invisible characters: they are left out".to_owned());
        }
        let description: String = description.chars().take(MAX_TEXT).collect();
        let open = "open: which parameters does it take, of which types, and which of them are text?";
        let results = "open: what does it answer?";
        drafted.task = json!({
            "parameters": {"type": "object", "title": shown, "description": description, "$comment": open},
            "results": {"type": "object", "$comment": results},
        });
        drafted.warn("it takes and answers an empty object until the review defines both".to_owned());
        draft.tasks.push(drafted);
    }
    let name = card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    (draft, name)
}
