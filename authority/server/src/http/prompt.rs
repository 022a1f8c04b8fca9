//! `GET /v1/contexts/{urn}/prompt`: a published context as text for the system prompt of a model.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use semgate_contexts::prompt::{Budget, PromptStatus, render};
use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::{FloorsDocument, Status};

use super::App;
use super::answer::{REVALIDATE, document};
use super::cache::{Key, Stamp};
use super::problem::{Code, Problem};
use super::references::References;
use super::segment::Segment;
use super::storage::{broken, run_blocking};
use crate::document::Document;
use crate::submit::index_of;

const TEXT: &str = "text/plain; charset=utf-8";

/// `GET /v1/contexts/{urn}/prompt?budget=N`. Only a document that counts, with all that it refers to, has a prompt: a model would take
/// what it reads for current.
pub(super) async fn prompt(
    State(app): State<Arc<App>>,
    Segment(urn): Segment,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let urn = ContextUrn::parse(&urn, &app.config.prefix).map_err(|_| Code::ContextUnknown)?;
    let budget = budget(query.as_deref())?;
    let (work, asked) = (Arc::clone(&app), urn.clone());
    let (digest, own) = run_blocking(move || standing(&work, &asked, "it")).await?;
    let referred = Key::References(digest);
    let referred = match app.cache.get(&referred) {
        Some(known) => known,
        None => written(&app, &urn, referred).await?,
    };
    let work = Arc::clone(&app);
    let status = run_blocking(move || worst(&work, own, &referred)).await?;
    let key = Key::Prompt { digest, budget, status };
    let text = match app.cache.get(&key) {
        Some(known) => known,
        None => written(&app, &urn, key).await?,
    };
    Ok(document(&headers, &text, TEXT, REVALIDATE))
}

/// The budget of a query that holds nothing else.
fn budget(query: Option<&str>) -> Result<Budget, Problem> {
    let Some(query) = query.filter(|query| !query.is_empty()) else { return Ok(Budget::DEFAULT) };
    let digits = query.strip_prefix("budget=");
    let digits = digits.ok_or_else(|| {
        Problem::new(Code::ParameterInvalid, "the only parameter is `budget`, a number of tokens, once")
    })?;
    Budget::parse(digits).map_err(|fault| Problem::new(Code::ParameterInvalid, fault))
}

/// The digest and status of a context that counts now; `who` names it in the problem of one that does not.
fn standing(app: &App, urn: &ContextUrn, who: &str) -> Result<(Digest, PromptStatus), Problem> {
    let record = index_of(&app.index).get(urn).map_err(|fault| broken(app, &fault))?;
    let record = record.ok_or(Code::ContextUnknown)?;
    let gone = |state| Err(Problem::new(Code::ContextNotCurrent, format_args!("{who} is {state}")));
    let status = match record.status {
        Status::Valid => PromptStatus::Valid,
        Status::Deprecated => PromptStatus::Deprecated,
        Status::Invalid => return gone("revoked"),
        Status::Suspended => return gone("suspended"),
    };
    let floors = FloorsDocument::read(&app.public().floors.bytes)
        .map_err(|fault| Problem::new(Code::Internal, fault))?
        .floors;
    let floor = floors.iter().find(|(line, _)| *line == urn.line());
    match floor.filter(|(_, least)| urn.version() < **least) {
        Some((line, least)) => {
            let detail = format_args!("{who} is below the floor of `{line}`, which is {least}");
            Err(Problem::new(Code::ContextNotCurrent, detail))
        }
        None => Ok((record.digest, status)),
    }
}

/// The status of a context with all that it refers to: deprecated if one of them is.
fn worst(app: &App, own: PromptStatus, referred: &Document) -> Result<PromptStatus, Problem> {
    let mut worst = own;
    for urn in std::str::from_utf8(&referred.bytes).map_err(|_| Code::Internal)?.lines() {
        let urn = ContextUrn::parse(urn, &app.config.prefix).map_err(|_| Code::Internal)?;
        let (_, status) = standing(app, &urn, &format!("it refers to `{urn}`, which"))?;
        if status != PromptStatus::Valid {
            worst = status;
        }
    }
    Ok(worst)
}

/// Writes a prompt, or the references of a document. Anybody may ask, so one document is compiled at a time.
async fn written(app: &Arc<App>, urn: &ContextUrn, key: Key) -> Result<Document, Problem> {
    let turn = Arc::clone(&app.prompts).acquire_owned().await.map_err(|_| Code::Stopping)?;
    let (work, urn) = (Arc::clone(app), urn.clone());
    run_blocking(move || {
        let _turn = turn;
        // a caller that waited may find it written
        if let Some(known) = work.cache.get(&key) {
            return Ok(known);
        }
        let (Key::Prompt { digest, .. } | Key::References(digest)) = &key else {
            return Err(Code::Internal.into());
        };
        let stamp = Stamp::of(&work.documents.path(digest)).ok_or(Code::Internal)?;
        let context = References::new(&work).published(&urn)?;
        if context.digest() != digest {
            return Err(Code::Internal.into());
        }
        let text = match &key {
            Key::Prompt { budget, status, .. } => render(&context, *status, *budget)
                .map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?,
            _ => context.references().iter().map(|other| format!("{}\n", other.urn())).collect(),
        };
        let document = Document::new(text);
        work.cache.keep(key, &document, Some(stamp));
        Ok(document)
    })
    .await
}
