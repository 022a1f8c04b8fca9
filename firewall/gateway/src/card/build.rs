//! The card as the gateway writes it. Its words are the agent's; its addresses and capabilities are the gateway's.

use bytes::Bytes;
use semgate_contexts::json::{Json, Object};
use semgate_contexts::schema::refused_in_free_text;
use semgate_message::a2a::Version;
use serde_json::{Map, Value, json};

use super::contexts::{Extension, Known, KnownLines, ToldAt};
use super::security::Passing;
use crate::config::{RouteConfig, Transport};
use crate::inside::Inside;

/// Maximum bytes of one text: a paragraph.
const MAX_TEXT: usize = 2048;
/// Maximum number of skills, tags of a skill, media types or examples.
pub(super) const MAX_LIST: usize = 64;

/// Replacement for a missing or invalid version.
const VERSION: &str = "1.0";

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
    /// Credentials that the route forwards to the agent.
    passing: Passing,
    /// Internal addresses of all agents. No text that names one passes.
    inside: Inside,
}

impl Says {
    /// Creates the gateway's members. `url` is the callers' address of the route; `routes` are all routes of the gateway.
    pub(crate) fn new(route: &RouteConfig, routes: &[RouteConfig], url: String, extension: String) -> Self {
        let choices = &route.choices;
        let mixed = choices.admit.text || choices.admit.file;
        Self {
            name: route.receiver.rsplit('/').next().unwrap_or_default().to_owned(),
            url,
            extension: Extension::new(extension),
            required: choices.require_lock || choices.default_contexts.is_empty(),
            versions: choices.versions.clone(),
            transports: choices.transports.clone(),
            push: choices.push.is_some(),
            mixed,
            passing: Passing {
                authorization: choices.forward_authorization,
                api_key: choices.api_key_header.clone(),
            },
            inside: Inside::behind(routes),
        }
    }

    /// The public card from the agent's own; without one, the bare card. It names no context except the extension.
    ///
    /// # Errors
    /// The location of a context that cannot be removed.
    pub(super) fn public(&self, theirs: Option<&Object<'_>>, lines: &KnownLines) -> Result<Bytes, ToldAt> {
        let mut card = self.card(theirs);
        Known { extension: &self.extension, lines }.hide(&mut card)?;
        for (member, ours) in [("name", self.name.as_str()), ("version", VERSION)] {
            card.entry(member).or_insert_with(|| ours.into());
        }
        Ok(Bytes::from(Value::Object(card).to_string()))
    }

    /// The card for a caller that the agent knows, with the contexts that it names.
    pub(crate) fn card(&self, theirs: Option<&Object<'_>>) -> Map<String, Value> {
        let mut card = Map::new();
        let mut put = |name: &str, value: Value| card.insert(name.to_owned(), value);
        let or = |name: &str, else_: &str| self.text(theirs, name).unwrap_or_else(|| else_.to_owned());
        put("name", or("name", &self.name).into());
        put("description", or("description", "An agent behind Semgate").into());
        put("version", or("version", VERSION).into());
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
        json!({
            "streaming": flag(theirs, "streaming"),
            "pushNotifications": self.push && flag(theirs, "pushNotifications"),
            "extendedAgentCard": flag(theirs, "extendedAgentCard"),
            "extensions": [{"uri": self.extension.uri(), "description": "Shared contexts (SNL)", "required": self.required}]
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
            let of = |name: &str| self.text(Some(skill), name);
            let mut said = Map::new();
            let mut put = |name: &str, value: Value| said.insert(name.to_owned(), value);
            put("id", of("id")?.into());
            put("name", of("name")?.into());
            put("description", of("description")?.into());
            put("tags", self.texts(skill, "tags").unwrap_or_default().into());
            if let Some(examples) = self.texts(skill, "examples") {
                put("examples", examples.into());
            }
            for name in ["inputModes", "outputModes"] {
                if let Some(modes) = self.modes(Some(skill), name) {
                    put(name, modes);
                }
            }
            Some(Value::Object(said))
        };
        skills.iter().filter_map(skill).take(MAX_LIST).collect()
    }

    /// A text that may pass and does not lead past the gateway.
    fn text(&self, object: Option<&Object<'_>>, name: &str) -> Option<String> {
        text(object, name).filter(|text| !self.inside.named_in(text))
    }

    fn texts(&self, object: &Object<'_>, name: &str) -> Option<Vec<Value>> {
        let Json::Array(texts) = object.get(name)? else { return None };
        let passes = |text: &&str| plain(text) && !self.inside.named_in(text);
        let texts = texts.iter().filter_map(Json::as_str).filter(passes);
        Some(texts.map(Value::from).take(MAX_LIST).collect())
    }

    /// Provider of the agent. The gateway's url replaces one that leads past the gateway.
    fn provider(&self, theirs: Option<&Object<'_>>) -> Option<Value> {
        let Json::Object(provider) = theirs?.get("provider")? else { return None };
        let organization = self.text(Some(provider), "organization")?;
        let url = text(Some(provider), "url").unwrap_or_default();
        let url = if self.inside.named_in(&url) { self.url.clone() } else { url };
        Some(json!({"organization": organization, "url": url}))
    }
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
