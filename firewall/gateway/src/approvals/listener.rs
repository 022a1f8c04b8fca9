//! The address for people: they read waiting requests and answer them.

use std::sync::Arc;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post, put};
use axum::{Extension, Router};
use semgate_approvals::{
    ActionDigest, Answer, ApprovalFault, Factor, Hold, HoldId, HumanCard, HumanId, HumanStatus, Pass, Reply,
    Verdict,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, DeskFault};
use crate::config::ApprovalsConfig;
use crate::control::admin_listener::Shown;

/// Holds in one list: nobody reads more.
const LISTED: usize = 200;
/// Header by which a console names the person that it has logged in.
const PERSON: &str = "semgate-person";
/// Header by which a console states how the person proved who they are.
const FACTOR: &str = "semgate-factor";

/// Sources of the answers.
#[derive(Clone)]
pub(crate) struct People {
    pub(crate) desk: Desk,
    pub(crate) config: Arc<ApprovalsConfig>,
}

/// The person who calls, with the proof.
#[derive(Clone)]
struct Caller {
    card: HumanCard,
    factor: Factor,
}

/// A refusal to a person: status, code, and one line.
pub(crate) struct Problem(StatusCode, &'static str, String);

impl Problem {
    pub(super) fn new(status: StatusCode, code: &'static str, detail: &str) -> Self {
        Self(status, code, detail.to_owned())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self(status, code, detail) = self;
        let body = json!({"title": code.replace('_', " "), "status": status.as_u16(), "code": code, "detail": detail});
        (status, [(CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
    }
}

impl From<DeskFault> for Problem {
    fn from(fault: DeskFault) -> Self {
        let why = match fault {
            DeskFault::Refused(why) => why,
            DeskFault::Unavailable => {
                let text = "the journal of approvals cannot be written; ask the operator";
                return Self(StatusCode::SERVICE_UNAVAILABLE, "state_unavailable", text.to_owned());
            }
        };
        let (status, code) = match why {
            ApprovalFault::Unknown => (StatusCode::NOT_FOUND, "not_found"),
            ApprovalFault::Closed
            | ApprovalFault::OtherAction
            | ApprovalFault::DecidedBefore
            | ApprovalFault::Spent => (StatusCode::CONFLICT, "conflict"),
            ApprovalFault::NotYours | ApprovalFault::Own => (StatusCode::FORBIDDEN, "forbidden"),
            ApprovalFault::WeakProof => (StatusCode::FORBIDDEN, "assurance_too_low"),
            ApprovalFault::ReasonRequired => (StatusCode::UNPROCESSABLE_ENTITY, "reason_required"),
            ApprovalFault::TooLong => (StatusCode::PAYLOAD_TOO_LARGE, "malformed"),
            ApprovalFault::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too_many"),
            ApprovalFault::NotOffered | ApprovalFault::Unfit | ApprovalFault::NotCanonical => {
                (StatusCode::UNPROCESSABLE_ENTITY, "malformed")
            }
        };
        Self(status, code, why.to_string())
    }
}

impl From<ApprovalFault> for Problem {
    fn from(why: ApprovalFault) -> Self {
        DeskFault::Refused(why).into()
    }
}

/// The pages for identified people.
pub(crate) fn router(people: &People) -> Router {
    let identified = Router::new()
        .route("/v1/approvals", get(list))
        .route("/v1/approvals/{id}", get(show))
        .route("/v1/approvals/{id}/approve", post(approve))
        .route("/v1/approvals/{id}/deny", post(deny))
        .route("/v1/approvals/{id}/delegate", post(delegate))
        .route("/v1/humans", get(humans))
        .route("/v1/humans/{id}/status", put(status))
        .layer(from_fn_with_state(people.clone(), identify));
    identified.route("/.well-known/jwks.json", get(jwks)).with_state(people.clone())
}

/// Identifies the person: by certificate, or through a console that vouches for them.
async fn identify(State(people): State<People>, mut request: Request, next: Next) -> Response {
    let shown = request.extensions().get::<Shown>().and_then(|shown| shown.0.clone());
    match caller(&people, shown.as_deref(), request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

fn caller(people: &People, shown: Option<&str>, headers: &HeaderMap) -> Result<Caller, Problem> {
    let unauthenticated = |why: &str| Problem(StatusCode::UNAUTHORIZED, "unauthenticated", why.to_owned());
    let forbidden = |why: &str| Problem(StatusCode::FORBIDDEN, "forbidden", why.to_owned());
    let Some(id) = shown else {
        return Err(unauthenticated("show the client certificate that your human card names"));
    };
    let registry = people.desk.registry();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let only = |name: &str| headers.get_all(name).iter().count() == 1;
    let is_console = people.config.console.iter().any(|console| console == id);
    if !is_console {
        if headers.contains_key(PERSON) || headers.contains_key(FACTOR) {
            return Err(forbidden("only a console acts for people: its id belongs into `approvals.console`"));
        }
        let card =
            registry.by_certificate(id).ok_or_else(|| forbidden("no human card names this certificate"))?;
        return Ok(Caller { card: card.clone(), factor: Factor::Certificate });
    }
    if !only(PERSON) || !only(FACTOR) {
        return Err(unauthenticated("a console sends one `Semgate-Person` and one `Semgate-Factor`"));
    }
    let person = text(PERSON)
        .and_then(HumanId::parse)
        .ok_or_else(|| unauthenticated("the console names no person"))?;
    let card = registry.get(&person).ok_or_else(|| forbidden("there is no human card of this person"))?;
    let factor = match text(FACTOR) {
        Some("certificate") => Factor::ConsoleCertificate,
        Some("oidc") => Factor::ConsoleLogin,
        Some("link") => Factor::ConsoleLink,
        _ => return Err(unauthenticated("the console does not say how the person logged in")),
    };
    Ok(Caller { card: card.clone(), factor })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    state: Option<String>,
    /// Number of requests to skip.
    #[serde(default)]
    offset: usize,
}

async fn list(
    State(people): State<People>,
    Extension(caller): Extension<Caller>,
    Query(listing): Query<Listing>,
) -> Result<Json<Value>, Problem> {
    let (open, ended) = match listing.state.as_deref() {
        None | Some("open") => (true, false),
        Some("ended") => (false, true),
        Some("all") => (true, true),
        Some(_) => return Err(malformed("`state` is `open`, `ended` or `all`")),
    };
    let registry = people.desk.registry();
    let mut holds: Vec<Arc<Hold>> = people.desk.read(|book| {
        let wanted = |hold: &&Arc<Hold>| if hold.state.is_open() { open } else { ended };
        let visible =
            |hold: &&Arc<Hold>| is_visible(hold, &caller, book.why_not(hold, &caller.card, &registry));
        book.holds().filter(wanted).filter(visible).cloned().collect()
    });
    let total = holds.len();
    // what ends soonest comes first; of ended ones the newest
    holds.sort_by_key(|hold| match hold.state.is_open() {
        true => (false, hold.expires_at, hold.id.clone()),
        false => (true, u64::MAX.saturating_sub(hold.opened_at), hold.id.clone()),
    });
    let page = holds.iter().skip(listing.offset).take(LISTED);
    let shown: Vec<Value> = page.map(|hold| people.desk.summarise(hold, &caller.card)).collect();
    Ok(Json(json!({"as": caller.card.id, "total": total, "approvals": shown})))
}

/// People see what they may decide, what is their own, and what they decided.
fn is_visible(hold: &Hold, caller: &Caller, why_not: Option<ApprovalFault>) -> bool {
    let id = &caller.card.id;
    why_not != Some(ApprovalFault::NotYours)
        || caller.card.stands_behind(hold.sender())
        || hold.decisions.iter().any(|decision| decision.human_id == *id)
}

fn visible(people: &People, caller: &Caller, id: &str) -> Result<Arc<Hold>, Problem> {
    let hold = HoldId::parse(id).and_then(|id| people.desk.hold(&id)).ok_or(ApprovalFault::Unknown)?;
    let why_not = people.desk.why_not(&hold, &caller.card);
    if is_visible(&hold, caller, why_not) { Ok(hold) } else { Err(ApprovalFault::Unknown.into()) }
}

async fn show(
    State(people): State<People>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let hold = visible(&people, &caller, &id)?;
    if people.desk.why_not(&hold, &caller.card).is_none() {
        people.desk.seen(hold.id.clone(), caller.card.id.clone()).await?;
    }
    let hold = people.desk.hold(&hold.id).ok_or(ApprovalFault::Unknown)?;
    Ok(Json(people.desk.show(&hold, &caller.card)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decided {
    digest: String,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    selected_option: Option<String>,
    #[serde(default)]
    data: Option<Value>,
}

async fn approve(
    state: State<People>,
    caller: Extension<Caller>,
    id: Path<String>,
    body: Json<Decided>,
) -> Result<Json<Value>, Problem> {
    decide(Verdict::Approved, state, caller, id, body).await
}

async fn deny(
    state: State<People>,
    caller: Extension<Caller>,
    id: Path<String>,
    body: Json<Decided>,
) -> Result<Json<Value>, Problem> {
    decide(Verdict::Denied, state, caller, id, body).await
}

async fn decide(
    verdict: Verdict,
    State(people): State<People>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(body): Json<Decided>,
) -> Result<Json<Value>, Problem> {
    let hold = visible(&people, &caller, &id)?;
    let digest = ActionDigest::parse(&body.digest).ok_or_else(|| malformed("`digest` is no digest"))?;
    let reply = Reply { verdict, option: body.selected_option, data: body.data, reason: body.reason };
    let (human, factor) = (caller.card.id.clone(), caller.factor);
    people.desk.answer(Answer { id: hold.id.clone(), digest, human, factor, reply }).await?;
    let hold = people.desk.hold(&hold.id).ok_or(ApprovalFault::Unknown)?;
    Ok(Json(people.desk.show(&hold, &caller.card)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delegated {
    to: HumanId,
}

async fn delegate(
    State(people): State<People>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(body): Json<Delegated>,
) -> Result<Json<Value>, Problem> {
    let hold = visible(&people, &caller, &id)?;
    people
        .desk
        .delegate(Pass {
            id: hold.id.clone(),
            from: caller.card.id.clone(),
            to: body.to,
            factor: caller.factor,
        })
        .await?;
    let hold = people.desk.hold(&hold.id).ok_or(ApprovalFault::Unknown)?;
    Ok(Json(people.desk.show(&hold, &caller.card)))
}

async fn humans(State(people): State<People>) -> Json<Value> {
    let registry = people.desk.registry();
    let shown = registry.cards().map(|card| {
        json!({
            "id": card.id, "profile": card.profile, "capabilities": card.capabilities, "groups": card.groups,
            "status": people.desk.read(|book| book.status(card)), "certificate": card.certificate,
            "channels": card.endpoints.keys().collect::<Vec<_>>(),
        })
    });
    Json(json!({"humans": shown.collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStatus {
    status: HumanStatus,
}

async fn status(
    State(people): State<People>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    Json(body): Json<NewStatus>,
) -> Result<Json<Value>, Problem> {
    if caller.card.id.as_str() != id && caller.card.id.name() != id {
        return Err(Problem(StatusCode::FORBIDDEN, "forbidden", "people set their own status".to_owned()));
    }
    people.desk.set_status(caller.card.id.clone(), body.status).await?;
    Ok(Json(json!({"id": caller.card.id, "status": body.status})))
}

async fn jwks(State(people): State<People>) -> Json<Value> {
    Json(people.desk.jwks())
}

fn malformed(why: &str) -> Problem {
    Problem(StatusCode::BAD_REQUEST, "malformed", why.to_owned())
}
