//! The metadata of a protected resource (RFC 9728 §2), parsed strictly and rewritten.

use semgate_contexts::json::{self, Json, Object};
use semgate_inspect::{Code, Delivered, Refusal};
use serde_json::{Map, Value};

use super::challenge::{is_alg, is_scope};
use super::places::{self, Places};
use crate::pipeline::gateway_refusals::invalid;
use crate::upstream::internal_addresses::is_here;

/// Maximum entries of one list of authorization servers, scopes or algorithms. The bound is that of a card.
const MAX_LIST: usize = 64;

/// The only supported way to send a token (RFC 6750 §2.1): the gateway forwards no form and no query.
const BEARER_METHOD: &str = "header";

fn wrong(what: &str) -> Refusal {
    invalid(&format!("`{what}` in the metadata of the server is not valid"))
}

/// The document as sent to callers. Members not listed here are dropped: page addresses and names are for people, and signed
/// metadata state the old addresses.
///
/// # Errors
/// `upstream_invalid` for an invalid document or one of another resource. `reply_refused` for an authorization server outside
/// `servers`.
pub(super) fn rebuilt(
    theirs: &[u8],
    places: &Places,
    asked: &str,
    servers: Option<&[String]>,
) -> Result<String, Refusal> {
    let no = || invalid("the metadata of the server are not a JSON object");
    // `fetch` has bounded its size
    let read = json::read(theirs, &json::Limits::default()).map_err(|_| no())?;
    let theirs = read.as_object().ok_or_else(no)?;
    let mut ours = Map::new();
    let resource = theirs.get("resource").and_then(Json::as_str).ok_or_else(|| wrong("resource"))?;
    let resource = places.resource(resource, asked).ok_or_else(|| {
        invalid("the metadata of the server name another resource than the one behind this route")
    })?;
    ours.insert("resource".to_owned(), resource.into());
    if let Some(named) = texts(theirs, "authorization_servers", |_| true)? {
        for server in &named {
            authorization_server(server, places, servers)?;
        }
        ours.insert("authorization_servers".to_owned(), named.into());
    }
    if let Some(scopes) = texts(theirs, "scopes_supported", is_scope)? {
        ours.insert("scopes_supported".to_owned(), scopes.into());
    }
    if let Some(methods) = texts(theirs, "bearer_methods_supported", |_| true)? {
        let carried: Vec<&str> = methods.into_iter().filter(|method| *method == BEARER_METHOD).collect();
        ours.insert("bearer_methods_supported".to_owned(), carried.into());
    }
    if let Some(algs) = texts(theirs, "dpop_signing_alg_values_supported", is_alg)? {
        ours.insert("dpop_signing_alg_values_supported".to_owned(), algs.into());
    }
    let bound = "dpop_bound_access_tokens_required";
    if let Some(required) = theirs.get(bound) {
        let required = required.as_bool().ok_or_else(|| wrong(bound))?;
        ours.insert(bound.to_owned(), required.into());
    }
    Ok(Value::Object(ours).to_string())
}

/// A list of valid texts, if present.
fn texts<'o>(
    object: &'o Object<'_>,
    name: &str,
    fits: impl Fn(&str) -> bool,
) -> Result<Option<Vec<&'o str>>, Refusal> {
    let Some(list) = object.get(name) else { return Ok(None) };
    let list = list.as_array().filter(|list| list.len() <= MAX_LIST).ok_or_else(|| wrong(name))?;
    let text = |one: &'o Json<'_>| one.as_str().filter(|text| fits(text)).ok_or_else(|| wrong(name));
    list.iter().map(text).collect::<Result<_, _>>().map(Some)
}

/// Checks an authorization server, where a person may sign in. It must use TLS or be on the client's own machine, and must
/// not lead past the gateway. A local one counts only if the operator lists it or the route is local too.
fn authorization_server(text: &str, places: &Places, servers: Option<&[String]>) -> Result<(), Refusal> {
    let at = places::stated(text).filter(places::safe).ok_or_else(|| wrong("authorization_servers"))?;
    if places.leads_inside(&at) {
        return Err(invalid("the server names an address behind the gateway as authorization server")
            .with_hint("ask the operator: its authorization server needs an address of its own"));
    }
    if servers.is_none() && is_here(&at) && !places.is_here() {
        return Err(invalid("the server names an authorization server on the caller's own machine")
            .with_hint("ask the operator, who can list it (`authorization_servers`)"));
    }
    if servers.is_some_and(|servers| !servers.iter().any(|server| server == text)) {
        return Err(Refusal::new(
            Code::ReplyRefused,
            "the server names an authorization server that the operator does not list",
        )
        .with_hint("ask the operator, with the decision id")
        .with_cause(Code::TargetRefused)
        .with_delivered(Delivered::Yes));
    }
    Ok(())
}
