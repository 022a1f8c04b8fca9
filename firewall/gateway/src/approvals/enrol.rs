//! Enrolment (F1-28): a one-time link by which a person binds a certificate or an address to the own card.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};
use semgate_approvals::{HumanCard, HumanId};
use semgate_contexts::Digest;
use semgate_statement::durable::replace;
use serde_json::{Value, json};
use std::io::Write;

use super::humans;
use super::listener::{People, Problem};
use crate::clock::unix_now;
use crate::control::admin_listener::Shown;

/// Seconds for which a link counts: an operator hands it over, and the person follows it the same day.
const LASTS: u64 = 24 * 3600;
/// Open links: more than a company enrols in a day.
const MAX_LINKS: usize = 4_096;
/// Bytes of a posted form.
const MAX_FORM: usize = 4_096;
/// Bytes of an address.
const MAX_ADDRESS: usize = 512;
/// Channels whose address a person states, with the label of the field.
const CHANNELS: [(&str, &str); 2] = [("slack_user", "Slack member id"), ("email", "E-mail address")];
/// The page holds no script, no style of others and no link.
const POLICY: &str = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The open links. A link lives in memory, as the digest of its token: a restart ends all of them.
#[derive(Clone)]
struct Enrolment {
    people: People,
    links: Arc<Mutex<HashMap<Digest, Link>>>,
}

#[derive(Clone)]
struct Link {
    human: HumanId,
    until: u64,
}

/// The pages of enrolment.
pub(crate) fn router(people: &People) -> Router {
    let state = Enrolment { people: people.clone(), links: Arc::default() };
    Router::new()
        .route("/v1/humans/{id}/enrol", post(make))
        .route("/enrol/{token}", get(show).post(bind))
        .with_state(state)
}

/// Makes a link for a person. Only operators do.
async fn make(
    State(enrolment): State<Enrolment>,
    Extension(Shown(shown)): Extension<Shown>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let config = &enrolment.people.config;
    let operator = shown.filter(|id| config.operators.contains(id));
    let operator = operator.ok_or_else(|| {
        let why = "only an operator makes enrolment links: its id belongs into `approvals.operators`";
        Problem::new(StatusCode::FORBIDDEN, "forbidden", why)
    })?;
    let registry = enrolment.people.desk.registry();
    let human = [id.clone(), format!("human://{id}")].iter().find_map(|id| HumanId::parse(id));
    let human = human.filter(|human| registry.get(human).is_some()).ok_or_else(unknown)?;
    let mut bytes = [0; 32];
    let no_random = |_| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "state_unavailable", "no randomness");
    SystemRandom::new().fill(&mut bytes).map_err(no_random)?;
    let (token, until) = (URL_SAFE_NO_PAD.encode(bytes), unix_now().saturating_add(LASTS));
    {
        let mut links = enrolment.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, link| link.until >= unix_now());
        if links.len() >= MAX_LINKS {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many", "too many links are open"));
        }
        links.insert(Digest::of(token.as_bytes()), Link { human: human.clone(), until });
    }
    tracing::info!(%human, operator, "an operator made an enrolment link");
    let path = format!("/enrol/{token}");
    Ok(Json(
        json!({"human": human, "link": format!("{}{path}", config.base()), "path": path, "expires": until}),
    ))
}

impl Enrolment {
    fn link(&self, token: &str) -> Option<Link> {
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.get(&Digest::of(token.as_bytes())).filter(|link| link.until >= unix_now()).cloned()
    }

    /// Returns true if a person's card may take this certificate: it is no server's, and the card has none.
    fn may_bind(&self, human: &HumanId, id: &String) -> bool {
        let People { desk, config } = &self.people;
        let is_server = config.console.contains(id) || config.operators.contains(id);
        let has_one = desk.registry().get(human).is_some_and(|card| card.certificate.is_some());
        !is_server && !has_one
    }

    /// Takes a link, once.
    fn take(&self, token: &str) -> Option<Link> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.remove(&Digest::of(token.as_bytes())).filter(|link| link.until >= unix_now())
    }

    /// Changes a card on disk and in the registry.
    fn change(&self, human: &HumanId, change: impl FnOnce(&mut HumanCard)) -> Result<(), Problem> {
        let (desk, dir) = (&self.people.desk, &self.people.config.humans);
        let failed = |why: &dyn std::fmt::Display| {
            tracing::error!(%human, %why, "a card cannot be changed");
            Problem::new(StatusCode::CONFLICT, "conflict", "the card cannot be changed: ask the operator")
        };
        let files = humans::files(dir).map_err(|why| failed(&why))?;
        let cards = files.iter().map(|path| humans::read(path)).collect::<Result<Vec<_>, _>>();
        let mut cards = cards.map_err(|why| failed(&why))?;
        let at = cards.iter().position(|card| card.id == *human).ok_or_else(unknown)?;
        let (Some(card), Some(path)) = (cards.get_mut(at), files.get(at)) else { return Err(unknown()) };
        change(card);
        let written = serde_json::to_vec_pretty(card).map_err(|why| failed(&why))?;
        let registry = humans::registry(dir, cards, desk.card_key()).map_err(|why| failed(&why))?;
        replace(path, 0o600, |file| file.write_all(&written)).map_err(|why| failed(&why))?;
        desk.set_registry(registry);
        Ok(())
    }
}

/// Shows the form. Reading it changes nothing: programs that scan mail follow links.
async fn show(
    State(enrolment): State<Enrolment>,
    Extension(Shown(shown)): Extension<Shown>,
    Path(token): Path<String>,
) -> Response {
    let Some(link) = enrolment.link(&token) else { return gone() };
    let certificate = match &shown {
        Some(id) => format!(
            "<p><label><input type=\"checkbox\" name=\"certificate\" value=\"yes\"> Bind the certificate that this browser shows: <code>{}</code></label></p>",
            escaped(id)
        ),
        None => "<p>This browser shows no client certificate.</p>".to_owned(),
    };
    let fields = CHANNELS.iter().map(|(name, label)| {
        format!("<p><label>{label} <input name=\"{name}\" maxlength=\"{MAX_ADDRESS}\" autocomplete=\"off\"></label></p>")
    });
    let fields = if enrolment.people.desk.card_key().is_some() { fields.collect() } else { String::new() };
    page(
        StatusCode::OK,
        &format!(
            "<h1>Enrol {}</h1><form method=\"post\">{certificate}{fields}<p><button>Enrol</button></p></form>",
            escaped(link.human.as_str())
        ),
    )
}

/// Binds the chosen proofs, and ends the link.
async fn bind(
    State(enrolment): State<Enrolment>,
    Extension(Shown(shown)): Extension<Shown>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let is_form = headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/x-www-form-urlencoded");
    if !is_form || body.len() > MAX_FORM || enrolment.link(&token).is_none() {
        return gone();
    }
    let form: HashMap<String, String> = url::form_urlencoded::parse(&body).into_owned().collect();
    let certificate = shown.filter(|_| form.get("certificate").is_some_and(|value| value == "yes"));
    let desk = &enrolment.people.desk;
    let fits = |text: &&String| {
        !text.is_empty() && text.len() <= MAX_ADDRESS && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let addresses: Vec<(&str, &String)> =
        CHANNELS.iter().filter_map(|(name, _)| Some((*name, form.get(*name).filter(fits)?))).collect();
    if certificate.is_none() && addresses.is_empty() {
        return page(
            StatusCode::UNPROCESSABLE_ENTITY,
            "<h1>Nothing to enrol</h1><p>Go back and fill in the form.</p>",
        );
    }
    let Some(link) = enrolment.take(&token) else { return gone() };
    if certificate.as_ref().is_some_and(|id| !enrolment.may_bind(&link.human, id)) {
        return page(
            StatusCode::CONFLICT,
            "<h1>Not enrolled</h1><p>This certificate is not a person's, or the card has one already. Ask your operator.</p>",
        );
    }
    let mut sealed = Vec::new();
    for (channel, address) in addresses {
        match desk.card_key().map(|key| key.seal(&link.human, channel, address)) {
            Some(Ok(value)) => sealed.push((channel.to_owned(), value)),
            _ => {
                return page(
                    StatusCode::CONFLICT,
                    "<h1>Not enrolled</h1><p>This gateway seals no addresses.</p>",
                );
            }
        }
    }
    let changed = enrolment.change(&link.human, |card| {
        card.endpoints.extend(sealed);
        if certificate.is_some() {
            card.certificate = certificate;
        }
    });
    match changed {
        Ok(()) => {
            tracing::info!(human = %link.human, "a person enrolled by a link");
            page(StatusCode::OK, "<h1>Enrolled</h1><p>You may close this page.</p>")
        }
        Err(problem) => problem.into_response(),
    }
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "there is no human card of this person")
}

fn gone() -> Response {
    page(StatusCode::NOT_FOUND, "<h1>This link is over</h1><p>Ask your operator for another one.</p>")
}

fn page(status: StatusCode, body: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Semgate</title><body>{body}</body></html>"
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (status, headers, text).into_response()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
