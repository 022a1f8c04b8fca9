//! `/v1/overrides`: permissions of named persons, each logged before its version is published.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use http::HeaderMap;
use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::permission::MAX_SIGNED_BYTES;
use semgate_statement::{SignedPermission, StatementFault, context};
use serde_json::{Value, json};

use super::answer::{REVALIDATE, document};
use super::attempt::Attempt;
use super::author::{Author, Right, holds};
use super::lifecycle_handlers::carry_out;
use super::problem::{Code, Problem};
use super::sequencer_client::charge_submission;
use super::storage::run_blocking;
use super::{App, body};
use crate::clock::now;
use crate::document::Document;
use crate::ledger::{Override, Overrides};
use crate::proposals::Target;

/// `POST /v1/overrides`: any publisher may submit it. The signer must hold the right on the line, and must be the one who submits it if a
/// second person is needed.
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    request: HttpRequest<Body>,
) -> Result<Response, Problem> {
    let mut attempt = Attempt::begin(&app, "override", &request);
    let answer = permit(&app, &mut attempt, request).await;
    attempt.end(answer).await
}

async fn permit(app: &App, attempt: &mut Attempt, request: HttpRequest<Body>) -> Result<Response, Problem> {
    let author = Author::of_any_right(app, &request)?;
    attempt.ready()?;
    let _waiting = charge_submission(app, &author)?;
    if body::media_type(request.headers())? != context::MEDIA_TYPE {
        return Err(Code::MediaTypeUnsupported.into());
    }
    let bytes = body::read(request.into_body(), MAX_SIGNED_BYTES, app.config.limits.body_timeout).await?;
    let permission = read(app, &bytes)?;
    let person = permission
        .verify(&app.people(), now())
        .map_err(|fault| Problem::new(Code::SignatureInvalid, fault))?;
    let person = person.id().as_str();
    let target = Target::Override(Box::new(permission));
    attempt.about(&target);
    attempt.entry.signed_by = Some(person.to_owned());
    for (line, _) in target.versions() {
        holds(app, person, Right::Override, line)?;
    }
    carry_out(app, attempt, person, target).await
}

fn read(app: &App, bytes: &[u8]) -> Result<SignedPermission, Problem> {
    let permission = SignedPermission::read(bytes, &app.config.prefix).map_err(|fault| match fault {
        StatementFault::Jws(_) => Problem::new(Code::SignatureInvalid, fault),
        fault => Problem::new(Code::ParameterInvalid, fault),
    })?;
    permission.unverified().check_new().map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    if permission.unverified().authority != app.config.authority {
        return Err(Problem::new(Code::OverrideRefused, "the permission is for another authority"));
    }
    Ok(permission)
}

/// `GET /v1/overrides`: a hint, as every listing; the log holds the statements.
pub(super) async fn list(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Problem> {
    let overrides = Arc::clone(&app.public().overrides);
    let made = run_blocking(move || Ok(overrides.listing(listing).clone())).await?;
    Ok(document(&headers, &made, "application/json", REVALIDATE))
}

fn listing(overrides: &Overrides) -> Document {
    let mut all: Vec<&Override> = overrides.all().values().flatten().collect();
    all.sort_by_key(|one| one.index);
    let listed = json!({ "overrides": all.into_iter().map(override_json).collect::<Vec<Value>>() });
    Document::new(listed.to_string())
}

fn override_json(one: &Override) -> Value {
    let permitted = one.permission.unverified();
    let siblings = permitted.siblings.keys().map(ContextUrn::as_str).collect::<Vec<_>>();
    json!({
        "urn": permitted.urn.as_str(), "digest": permitted.digest.to_string(), "by": one.by, "name": permitted.name,
        "reason": permitted.reason, "beside": siblings, "index": one.index, "logged_at": one.logged_at,
    })
}

/// Returns `Some` if a named person permitted this document beside all of these versions; `None` if there is no permission.
///
/// # Errors
/// The reason why an existing permission does not hold.
pub(super) fn permitted(
    app: &App,
    urn: &ContextUrn,
    digest: &Digest,
    siblings: &[(ContextUrn, Digest)],
) -> Result<(), Option<String>> {
    let public = app.public();
    let key = (urn.clone(), *digest);
    let Some(logged) = public.overrides.all().get(&key) else {
        let another = public.overrides.all().keys().any(|(other, _)| other == urn);
        return Err(another.then(|| "the permission under this name is for another document".to_owned()));
    };
    let mut lacking = None;
    for one in logged {
        let siblings = siblings.iter().map(|(urn, digest)| (urn, digest));
        match one.permission.unverified().unnamed_sibling(siblings) {
            None => return Ok(()),
            Some(urn) => lacking = Some(format!("the permission does not name `{urn}`, which counts now")),
        }
    }
    Err(lacking)
}
