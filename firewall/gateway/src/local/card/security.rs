//! Security schemes of the agent's card. They stay only if the route forwards their credentials, since they hold only then.
//!
//! Supports both shapes of a scheme, each member by name: 0.3 (OpenAPI's, selected by `type`) and 1.0 (one member that names
//! it). Drops an unsupported scheme, and each requirement that needs it.

use semgate_contexts::json::{Json, Object};
use serde_json::{Map, Value};

use super::build::{MAX_LIST, scope, text, token};
use crate::upstream::internal_addresses::InternalAddresses;

/// Credentials that a route forwards.
#[derive(Clone, Debug, Default)]
pub(super) struct Passing {
    /// True if the `Authorization` of callers is forwarded.
    pub(super) authorization: bool,
    /// Header of an API key, in lower case.
    pub(super) api_key: Option<String>,
    /// The prose of schemes, which is not inspected.
    pub(super) texts: bool,
}

/// Text members of a scheme, by its name in 0.3 and in 1.0.
const SCHEMES: [(&str, &str, &[&str]); 4] = [
    ("apiKey", "apiKeySecurityScheme", &["description", "in", "location", "name"]),
    ("http", "httpAuthSecurityScheme", &["description", "scheme", "bearerFormat"]),
    ("oauth2", "oauth2SecurityScheme", &["description", "oauth2MetadataUrl"]),
    ("openIdConnect", "openIdConnectSecurityScheme", &["description", "openIdConnectUrl"]),
];

/// The flows of OAuth 2.0, and the text members of each.
const FLOWS: [&str; 5] = ["authorizationCode", "clientCredentials", "implicit", "password", "deviceCode"];
const FLOW_URLS: [&str; 4] = ["authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"];

impl Passing {
    /// Adds the schemes of the agent's card that hold through the gateway, and what it requires of them.
    /// A scheme with a URL that leads behind the gateway is left out.
    pub(super) fn tell(
        &self,
        theirs: Option<&Object<'_>>,
        inside: &InternalAddresses,
        card: &mut Map<String, Value>,
    ) {
        let Some(Json::Object(schemes)) = theirs.and_then(|card| card.get("securitySchemes")) else { return };
        let named = schemes.iter().filter(|(name, _)| token(name));
        let kept: Map<String, Value> = named
            .filter_map(|(name, scheme)| Some((name.to_owned(), self.scheme(scheme)?)))
            // no caller can show anything behind the gateway
            .filter(|(_, scheme)| leads_outside(scheme, inside))
            .take(MAX_LIST)
            .collect();
        if kept.is_empty() {
            return;
        }
        for member in ["security", "securityRequirements"] {
            let stated = theirs.and_then(|card| requirements(card, member, &kept));
            if let Some(stated) = stated.filter(|stated| leads_outside(stated, inside)) {
                card.insert(member.to_owned(), stated);
            }
        }
        card.insert("securitySchemes".to_owned(), kept.into());
    }

    fn scheme(&self, scheme: &Json<'_>) -> Option<Value> {
        let scheme = scheme.as_object()?;
        if let Some(kind) = scheme.get("type") {
            let kind = kind.as_str()?;
            let (_, _, members) = SCHEMES.iter().find(|(old, ..)| *old == kind)?;
            let mut kept = self.members(kind, scheme, members)?;
            kept.insert("type".to_owned(), kind.into());
            return Some(kept.into());
        }
        let mut members = scheme.iter();
        let (Some((key, inner)), None) = (members.next(), members.next()) else { return None };
        let (kind, new, members) = SCHEMES.iter().find(|(_, new, _)| *new == key)?;
        let kept = self.members(kind, inner.as_object()?, members)?;
        Some(Map::from_iter([((*new).to_owned(), kept.into())]).into())
    }

    fn members(&self, kind: &str, scheme: &Object<'_>, members: &[&str]) -> Option<Map<String, Value>> {
        let kept = members.iter().filter_map(|name| {
            let passes = |text: &String| match *name {
                "description" => self.texts,
                name if name.ends_with("Url") => true,
                _ => token(text),
            };
            Some(((*name).to_owned(), text(Some(scheme), name).filter(passes)?.into()))
        });
        let mut kept: Map<String, Value> = kept.collect();
        let stated = |name: &str| kept.get(name).and_then(Value::as_str);
        let carried = match kind {
            "apiKey" => {
                let location = stated("in").or_else(|| stated("location"));
                let header = self.api_key.as_deref().zip(stated("name"));
                location == Some("header")
                    && header.is_some_and(|(ours, name)| name.eq_ignore_ascii_case(ours))
            }
            "http" => self.authorization && stated("scheme").is_some(),
            "openIdConnect" => self.authorization && stated("openIdConnectUrl").is_some(),
            _ => self.authorization,
        };
        if !carried {
            return None;
        }
        if kind == "oauth2" {
            kept.insert("flows".to_owned(), flows(scheme, self.texts)?);
        }
        Some(kept)
    }
}

/// True if every URL of a scheme or of a requirement, and every scope with a URL in it, leads somewhere outside of the gateway.
fn leads_outside(value: &Value, inside: &InternalAddresses) -> bool {
    let scope = |text: &str| !text.contains("://") || !inside.is_led_to_by(text);
    match value {
        Value::Object(members) => members.iter().all(|(name, value)| match value {
            Value::String(url) if name.ends_with("Url") => !inside.is_led_to_by(url),
            Value::String(_) => true,
            // the texts of scopes are prose
            Value::Object(scopes) if name == "scopes" => scopes.keys().all(|name| scope(name)),
            value => leads_outside(value, inside),
        }),
        Value::Array(all) => all.iter().all(|value| leads_outside(value, inside)),
        Value::String(text) => scope(text),
        _ => true,
    }
}

fn flows(scheme: &Object<'_>, texts: bool) -> Option<Value> {
    let flows = scheme.get("flows")?.as_object()?;
    let flow = |name: &&str| {
        let flow = flows.get(name)?.as_object()?;
        let urls =
            FLOW_URLS.iter().filter_map(|name| Some(((*name).to_owned(), text(Some(flow), name)?.into())));
        let mut kept: Map<String, Value> = urls.collect();
        let scopes: Map<String, Value> = match flow.get("scopes") {
            Some(Json::Object(scopes)) => {
                let prose = |name: &str| text(Some(scopes), name).filter(|_| texts).unwrap_or_default();
                let names = scopes.iter().filter(|(name, _)| scope(name));
                names.map(|(name, _)| (name.to_owned(), prose(name).into())).take(MAX_LIST).collect()
            }
            _ => Map::new(),
        };
        kept.insert("scopes".to_owned(), scopes.into());
        if let Some(pkce) = flow.get("pkceRequired").and_then(Json::as_bool) {
            kept.insert("pkceRequired".to_owned(), pkce.into());
        }
        Some(((*name).to_owned(), kept.into()))
    };
    let kept: Map<String, Value> = FLOWS.iter().filter_map(flow).collect();
    (!kept.is_empty()).then(|| kept.into())
}

/// The alternatives whose schemes are all kept. An alternative without requirements stays.
fn requirements(card: &Object<'_>, member: &str, kept: &Map<String, Value>) -> Option<Value> {
    let Json::Array(all) = card.get(member)? else { return None };
    let one = |requirement: &Json<'_>| {
        let outer = requirement.as_object()?;
        // 1.0 nests the map and each list one member deeper
        let new = member == "securityRequirements";
        let schemes = if new { outer.get("schemes")?.as_object()? } else { outer };
        let mut stated = Map::new();
        for (name, scopes) in schemes.iter() {
            if !kept.contains_key(name) {
                return None;
            }
            let list = if new { scopes.as_object()?.get("list") } else { Some(scopes) };
            let list: Vec<Value> = match list {
                Some(Json::Array(list)) => {
                    let texts = list.iter().filter_map(Json::as_str).filter(|text| scope(text));
                    texts.map(Value::from).take(MAX_LIST).collect()
                }
                _ => Vec::new(),
            };
            let list =
                if new { Map::from_iter([("list".to_owned(), list.into())]).into() } else { list.into() };
            stated.insert(name.to_owned(), list);
        }
        Some(if new {
            Map::from_iter([("schemes".to_owned(), stated.into())]).into()
        } else {
            Value::Object(stated)
        })
    };
    let kept: Vec<Value> = all.iter().filter_map(one).take(MAX_LIST).collect();
    (!kept.is_empty()).then(|| kept.into())
}
