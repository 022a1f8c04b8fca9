//! `POST /v1/trust`: any publisher may submit a statement of the root; the signatures decide.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use semgate_statement::jws::MultiJws;
use semgate_statement::statement::{MAX_STATEMENT_BYTES, TYPE};
use semgate_statement::{RootAct, SignedStatement, Statement, context};
use serde_json::json;

use super::attempt::Attempt;
use super::author::Author;
use super::lifecycle_handlers::check_withdrawable;
use super::problem::{Code, Problem};
use super::sequencer_client::{charge_submission, status_of, submit_and_wait};
use super::{App, answer, body};
use crate::submit::{Consent, Request};

/// `POST /v1/trust`
pub(super) async fn submit(
    State(app): State<Arc<App>>,
    request: HttpRequest<Body>,
) -> Result<Response, Problem> {
    let mut attempt = Attempt::begin(&app, "trust", &request);
    let answer = submitted(&app, &mut attempt, request).await;
    attempt.end(answer).await
}

async fn submitted(
    app: &App,
    attempt: &mut Attempt,
    request: HttpRequest<Body>,
) -> Result<Response, Problem> {
    let author = Author::of_any_right(app, &request)?;
    attempt.ready()?;
    let _waiting = charge_submission(app, &author)?;
    if body::media_type(request.headers())? != context::MEDIA_TYPE {
        return Err(Code::MediaTypeUnsupported.into());
    }
    let bytes = body::read(request.into_body(), MAX_STATEMENT_BYTES, app.config.limits.body_timeout).await?;
    let jws = MultiJws::read(&bytes, TYPE, MAX_STATEMENT_BYTES)
        .map_err(|fault| Problem::new(Code::SignatureInvalid, fault))?;
    let signed = SignedStatement::of_root(jws, &app.config.prefix)
        .map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    let Statement::Root(statement) = signed.unverified().clone() else {
        return Err(Code::ParameterInvalid.into());
    };
    if let RootAct::Recognise(recognition) = &statement.act {
        check_withdrawable(app, recognition)?;
    }
    let by = author.id().to_owned();
    attempt.entry.on = Some(format!("{} {}", statement.kind(), statement.number));
    let done = submit_and_wait(app, attempt, Request::Root(Box::new(signed)), by, Consent::Enough).await?;
    attempt.entry.index = Some(done.index);
    let body =
        json!({"kind": statement.kind(), "number": statement.number, "index": done.index, "seq": done.seq});
    Ok(answer::json(status_of(&done), &body))
}
