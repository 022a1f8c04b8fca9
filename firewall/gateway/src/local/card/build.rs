//! The card as the gateway writes it. Its words are the agent's; its addresses and capabilities are the gateway's.

use bytes::Bytes;
use semgate_contexts::json::{Json, Object};
use semgate_contexts::schema::refused_in_free_text;
use semgate_protocol::a2a::Version;
use serde_json::{Map, Value, json};

use super::context_names::{Extension, NamedAt};
use super::security::Passing;
use crate::config::{Part, RouteConfig, Transport};
use crate::upstream::internal_addresses::InternalAddresses;

/// Maximum bytes of one text: a paragraph.
const MAX_TEXT: usize = 2048;
/// Maximum number of skills, tags of a skill, media types or examples.
pub(super) const MAX_LIST: usize = 64;

/// Bytes of a name that machines read: of a skill, a scheme or a scope.
const MAX_TOKEN: usize = 128;

/// Replacement for a missing or invalid version.
const VERSION: &str = "1.0";
/// The description of a card and of a skill where the route passes no prose.
const DESCRIPTION: &str = "An agent behind Semgate";
const SKILL: &str = "A skill of this agent";

/// Members of a card that the gateway states itself.
pub(crate) struct Says {
    /// Name of the card if the agent states none.
    name: String,
    url: String,
    pub(super) extension: Extension,
    /// True if a message without a context or lock is refused, which makes the extension mandatory.
    required: bool,
    versions: Vec<Version>,
    transports: Vec<Transport>,
    /// True if push configurations are forwarded.
    push: bool,
    /// True if texts or files pass, which allows media types other than JSON.
    mixed: bool,
    /// Prose of the agent passes, not inspected.
    texts: bool,
    /// Credentials that the route forwards to the agent.
    passing: Passing,
    /// Internal addresses of all agents. No URL that leads to one passes.
    inside: InternalAddresses,
}

impl Says {
    /// Creates the gateway's members. `url` is the callers' address of the route; `inside` are the internal addresses of all routes.
    pub(crate) fn new(
        route: &RouteConfig,
        inside: &InternalAddresses,
        url: String,
        extension: String,
    ) -> Self {
        let a2a = &route.a2a;
        let mixed = route.agent.admit.iter().any(|part| matches!(part, Part::Text | Part::File));
        Self {
            name: route.receiver.rsplit('/').next().unwrap_or_default().to_owned(),
            url,
            extension: Extension::new(extension),
            required: route.agent.require_lock || route.default_contexts.is_empty(),
            versions: a2a.versions.clone(),
            transports: a2a.transports.clone(),
            push: a2a.push.is_some(),
            mixed,
            texts: a2a.card_texts,
            passing: Passing {
                authorization: route.forward_authorization,
                api_key: route.api_key_header.clone(),
                texts: a2a.card_texts,
            },
            inside: inside.clone(),
        }
    }

    /// The public card from the agent's own; without one, the bare card. It names no context except the extension.
    ///
    /// # Errors
    /// A security scheme or requirement that names a context: without it callers would authenticate otherwise, or not at all.
    pub(super) fn public(&self, theirs: Option<&Object<'_>>) -> Result<Bytes, NamedAt> {
        let mut card = self.card(theirs);
        if let Some(Value::Array(skills)) = card.get_mut("skills") {
            let names = |skill: &Value| skill.get("id").and_then(Value::as_str).map(str::to_owned);
            skills.retain(|skill| !names(skill).is_some_and(|id| self.extension.is_not_alone_in(&id)));
        }
        // without their prose, which is not inspected
        let mut security = Map::new();
        Passing { texts: false, ..self.passing.clone() }.tell(theirs, &self.inside, &mut security);
        for (member, value) in &security {
            self.extension.alone_in(value, &format!("/{member}"))?;
        }
        Ok(Bytes::from(Value::Object(card).to_string()))
    }

    /// The card for a caller that the agent knows, with the contexts that it names.
    pub(crate) fn card(&self, theirs: Option<&Object<'_>>) -> Map<String, Value> {
        let mut card = Map::new();
        let mut put = |name: &str, value: Value| card.insert(name.to_owned(), value);
        let or = |name: &str, ours: &str| self.prose(theirs, name).unwrap_or_else(|| ours.to_owned());
        put("name", or("name", &self.name).into());
        put("description", or("description", DESCRIPTION).into());
        put(
            "version",
            text(theirs, "version").filter(|text| version(text)).unwrap_or_else(|| VERSION.to_owned()).into(),
        );
        put("supportedInterfaces", self.interfaces().into());
        put("capabilities", self.capabilities(theirs));
        put("defaultInputModes", self.modes(theirs, "defaultInputModes").unwrap_or_else(json_only));
        put("defaultOutputModes", self.modes(theirs, "defaultOutputModes").unwrap_or_else(json_only));
        put("skills", self.skills(theirs).into());
        if let Some(provider) = self.provider(theirs) {
            put("provider", provider);
        }
        self.passing.tell(theirs, &self.inside, &mut card);
        let mut put = |name: &str, value: Value| card.insert(name.to_owned(), value);
        if self.versions.contains(&Version::V03) && self.transports.contains(&Transport::JsonRpc) {
            put("url", self.url.clone().into());
            put("preferredTransport", "JSONRPC".into());
            put("protocolVersion", "0.3.0".into());
            let extended = flag(capabilities(theirs), "extendedAgentCard")
                || flag(theirs, "supportsAuthenticatedExtendedCard");
            put("supportsAuthenticatedExtendedCard", extended.into());
        }
        card
    }

    fn interfaces(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for transport in &self.transports {
            let (binding, url) = match transport {
                Transport::JsonRpc => ("JSONRPC", self.url.as_str()),
                Transport::Rest => ("HTTP+JSON", self.url.as_str()),
                // gRPC callers expect an authority
                Transport::Grpc => {
                    let authority = self.url.split_once("://").map_or(self.url.as_str(), |(_, rest)| rest);
                    ("GRPC", authority.split('/').next().unwrap_or(authority))
                }
            };
            for version in &self.versions {
                // 0.3 is supported over JSON-RPC only
                if *version == Version::V10 || *transport == Transport::JsonRpc {
                    all.push(
                        json!({"url": url, "protocolBinding": binding, "protocolVersion": version.as_str()}),
                    );
                }
            }
        }
        all
    }

    fn capabilities(&self, theirs: Option<&Object<'_>>) -> Value {
        let theirs = capabilities(theirs);
        let mut extension = json!({"uri": self.extension.uri(), "description": "Shared contexts (SNL)", "required": self.required});
        if let Some(extension) = extension.as_object_mut().filter(|_| self.texts) {
            extension.insert("params".to_owned(), json!({"card_texts": "not inspected"}));
        }
        json!({
            "streaming": flag(theirs, "streaming"),
            "pushNotifications": self.push && flag(theirs, "pushNotifications"),
            "extendedAgentCard": flag(theirs, "extendedAgentCard"),
            "extensions": [extension]
        })
    }

    /// Media types; only those of JSON if nothing else passes.
    fn modes(&self, of: Option<&Object<'_>>, name: &str) -> Option<Value> {
        let Json::Array(modes) = of?.get(name)? else { return None };
        let media = |text: &str| {
            let byte = |b: u8| b.is_ascii_alphanumeric() || b"/+-.*".contains(&b);
            text.len() <= 128 && text.contains('/') && text.bytes().all(byte)
        };
        let wanted = |text: &&str| media(text) && (self.mixed || text.ends_with("json"));
        let modes: Vec<&str> = modes.iter().filter_map(Json::as_str).filter(wanted).take(MAX_LIST).collect();
        (!modes.is_empty()).then(|| modes.into())
    }

    fn skills(&self, theirs: Option<&Object<'_>>) -> Vec<Value> {
        let Some(Json::Array(skills)) = theirs.and_then(|object| object.get("skills")) else {
            return Vec::new();
        };
        let skill = |skill: &Json<'_>| {
            let Json::Object(skill) = skill else { return None };
            let of = |name: &str| self.prose(Some(skill), name);
            let id = text(Some(skill), "id").filter(|id| token(id))?;
            let mut kept = Map::new();
            let mut put = |name: &str, value: Value| kept.insert(name.to_owned(), value);
            put("name", of("name").unwrap_or_else(|| id.clone()).into());
            put("description", of("description").unwrap_or_else(|| SKILL.to_owned()).into());
            put("tags", self.texts(skill, "tags").unwrap_or_default().into());
            if let Some(examples) = self.texts(skill, "examples") {
                put("examples", examples.into());
            }
            put("id", id.into());
            for name in ["inputModes", "outputModes"] {
                if let Some(modes) = self.modes(Some(skill), name) {
                    put(name, modes);
                }
            }
            Some(Value::Object(kept))
        };
        skills.iter().filter_map(skill).take(MAX_LIST).collect()
    }

    /// A text for people, where the route passes those of the agent.
    fn prose(&self, object: Option<&Object<'_>>, name: &str) -> Option<String> {
        text(object, name).filter(|_| self.texts)
    }

    fn texts(&self, object: &Object<'_>, name: &str) -> Option<Vec<Value>> {
        let Json::Array(texts) = object.get(name)? else { return None };
        let texts = texts.iter().filter_map(Json::as_str).filter(|text| plain(text));
        self.texts.then(|| texts.map(Value::from).take(MAX_LIST).collect())
    }

    /// Provider of the agent. The gateway's url replaces one that leads past the gateway.
    fn provider(&self, theirs: Option<&Object<'_>>) -> Option<Value> {
        let Json::Object(provider) = theirs?.get("provider")? else { return None };
        let organization = self.prose(Some(provider), "organization")?;
        let url = text(Some(provider), "url").filter(|url| !self.inside.is_led_to_by(url));
        Some(json!({"organization": organization, "url": url.unwrap_or_else(|| self.url.clone())}))
    }
}

/// Up to three numbers with dots between.
fn version(text: &str) -> bool {
    let number = |part: &str| (1..=9).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() <= 3 && text.split('.').all(number)
}

/// A name for machines: ASCII letters, digits, dots, hyphens and underscores.
pub(super) fn token(text: &str) -> bool {
    let byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(byte)
}

/// A scope of RFC 6749: visible ASCII without quotes and backslashes.
pub(super) fn scope(text: &str) -> bool {
    let byte = |b: u8| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\');
    (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(byte)
}

fn json_only() -> Value {
    json!(["application/json"])
}

fn capabilities<'o, 'j>(theirs: Option<&'o Object<'j>>) -> Option<&'o Object<'j>> {
    match theirs?.get("capabilities")? {
        Json::Object(capabilities) => Some(capabilities),
        _ => None,
    }
}

fn flag(object: Option<&Object<'_>>, name: &str) -> bool {
    object.and_then(|object| object.get(name)).and_then(Json::as_bool) == Some(true)
}

/// A string within bounds and without the characters forbidden in free text, except line feeds. Any other value counts as
/// absent.
pub(super) fn text(object: Option<&Object<'_>>, name: &str) -> Option<String> {
    match object?.get(name)? {
        Json::String(text) if plain(text) => Some(text.clone().into_owned()),
        _ => None,
    }
}

pub(super) fn plain(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TEXT && !text.chars().any(|c| c != '\n' && refused_in_free_text(c))
}
