//! The agent card: the agent's own, taken apart and put together again (a named transformation, DESIGN §2.1).
//!
//! Only members with a name here are taken over, each within bounds; addresses, capabilities, security schemes and signatures
//! are the gateway's, because what the agent says about those is not true of the way through the gateway.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::time::Duration;

use bytes::Bytes;
use semgate_contexts::json::{self, Json, Object};
use semgate_contexts::schema::refused_in_free_text;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::admit::CARD_PATH;
use crate::answer::Answer;
use crate::decision::DecisionId;
use crate::forward;
use crate::path::Lane;
use crate::refuse::answer;

/// How long a fetched card is served: long enough that asking costs the agent nothing, short enough to follow a deployment.
const KEPT: Duration = Duration::from_secs(60);
/// How long the bare card is served in place of one that could not be had.
const KEPT_BARE: Duration = Duration::from_secs(5);
/// Bytes of one text: a paragraph.
const MAX_TEXT: usize = 2048;
/// Skills, and tags of a skill.
const MAX_LIST: usize = 64;

/// The card of one route on one core.
pub(crate) struct Card {
    url: String,
    name: String,
    extension: String,
    kept: RefCell<Option<(Instant, Bytes)>>,
}

impl Card {
    /// `url` is where callers reach the route, `name` what the card is called if the agent has none, `extension` our URI.
    pub(crate) fn new(url: String, name: String, extension: String) -> Self {
        Self { url, name, extension, kept: RefCell::default() }
    }

    /// The card as an answer. The agent is asked at most once in [`KEPT`], by the gateway in its own name.
    pub(crate) async fn answer(&self, lane: &Lane, decision: DecisionId) -> Answer {
        lane.metrics.cards.increment(1);
        let kept = self.kept.borrow().clone();
        let body = match kept {
            Some((until, body)) if Instant::now() < until => body,
            _ => self.renewed(lane).await,
        };
        answer(decision, 200, "application/json", body)
    }

    async fn renewed(&self, lane: &Lane) -> Bytes {
        let theirs = fetch(lane).await;
        let life = if theirs.is_some() { KEPT } else { KEPT_BARE };
        let body = self.build(theirs.as_deref());
        *self.kept.borrow_mut() = Some((Instant::now() + life, body.clone()));
        body
    }

    /// The card from the agent's bytes; from nothing, or from what is no card, the bare one.
    fn build(&self, theirs: Option<&[u8]>) -> Bytes {
        let read = theirs.and_then(|bytes| json::read(bytes, &json::Limits::default()).ok());
        let object = match &read {
            Some(Json::Object(object)) => Some(object),
            _ => None,
        };
        let mut card = Map::new();
        let mut put = |name: &str, value: Value| card.insert(name.to_owned(), value);
        put("name", text(object, "name").unwrap_or_else(|| self.name.clone()).into());
        put(
            "description",
            text(object, "description").unwrap_or_else(|| "An agent behind Semgate".to_owned()).into(),
        );
        put("version", text(object, "version").unwrap_or_else(|| "1.0".to_owned()).into());
        put(
            "supportedInterfaces",
            json!([{"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]),
        );
        put(
            "capabilities",
            json!({
                "streaming": false,
                "pushNotifications": false,
                "extensions": [{"uri": self.extension, "description": "Shared contexts (SNL)", "required": true}]
            }),
        );
        put("defaultInputModes", json!(["application/json"]));
        put("defaultOutputModes", json!(["application/json"]));
        put("skills", skills(object).into());
        if let Some(provider) = provider(object) {
            put("provider", provider);
        }
        Bytes::from(Value::Object(card).to_string())
    }
}

async fn fetch(lane: &Lane) -> Option<Bytes> {
    let lease = lane.pool.lease().await.ok()?;
    let request = lane.address.card_request(CARD_PATH);
    let (head, body) =
        forward::exchange(&lane.pool, lease, request, &lane.shared.limits, &|| Ok(())).await.ok()?;
    (head.status == 200).then_some(body)
}

/// A string within bounds and without the characters that free text must not hold (F0-34), line feeds apart; anything else is as if
/// it were not there.
fn text(object: Option<&Object<'_>>, name: &str) -> Option<String> {
    match object?.get(name)? {
        Json::String(text) if plain(text) => Some(text.clone().into_owned()),
        _ => None,
    }
}

fn plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TEXT && !text.chars().any(|c| c != '\n' && refused_in_free_text(c))
}

fn provider(object: Option<&Object<'_>>) -> Option<Value> {
    let Json::Object(provider) = object?.get("provider")? else { return None };
    let organization = text(Some(provider), "organization")?;
    Some(json!({"organization": organization, "url": text(Some(provider), "url").unwrap_or_default()}))
}

fn skills(object: Option<&Object<'_>>) -> Vec<Value> {
    let Some(Json::Array(skills)) = object.and_then(|object| object.get("skills")) else { return Vec::new() };
    let skill = |skill: &Json<'_>| {
        let Json::Object(skill) = skill else { return None };
        let of = |name: &str| text(Some(skill), name);
        let tags: Vec<Value> = match skill.get("tags") {
            Some(Json::Array(tags)) => tags.iter().filter_map(tag).take(MAX_LIST).collect(),
            _ => Vec::new(),
        };
        Some(json!({"id": of("id")?, "name": of("name")?, "description": of("description")?, "tags": tags}))
    };
    skills.iter().filter_map(skill).take(MAX_LIST).collect()
}

fn tag(tag: &Json<'_>) -> Option<Value> {
    match tag {
        Json::String(tag) if plain(tag) => Some(Value::String(tag.clone().into_owned())),
        _ => None,
    }
}
