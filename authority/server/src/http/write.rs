//! Writes: certificate → right on the line → document or parameter → the sequencer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use bytes::Bytes;
use semgate_contexts::compare::CancelToken;
use semgate_contexts::{Context, ContextUrn, Line, Version};
use semgate_policies::PublisherAct;
use semgate_statement::context::{ContextFault, verify_context_among};
use semgate_statement::jws::General;
use semgate_statement::statement::check_new_reason;
use semgate_statement::{Act, context, sign_context};
use serde_json::{Value, json};

use super::App;
use super::answer;
use super::attempt::{Attempt, note_rules};
use super::author::{Author, Right};
use super::body;
use super::lifecycle_handlers::{carry_out, withdrawal};
use super::problem::{Code, Problem};
use super::references::{References, document_code};
use super::segment::Segment;
use super::sequencer_client::{charge_submission, status_of, submit_and_wait, wait_until_covered};
use super::sign::{SignedDocument, compiled, publish_request, signer};
use super::storage::{broken, run_blocking};
use crate::account::Charge;
use crate::audit::Entry;
use crate::clock::now;
use crate::config::{REASON_BYTES, REQUEST_BYTES};
use crate::proposals::Target;
use crate::submit::{Consent, Done, Request, index_of};
use crate::wordings::{RULE, SuspiciousWording, suspicious_wordings};

type Answer = Result<Response, Problem>;
type Shared = State<Arc<App>>;

/// `POST /v1/contexts`
pub(super) async fn publish(State(app): Shared, request: HttpRequest<Body>) -> Answer {
    let mut attempt = Attempt::begin(&app, "publish", &request);
    let answer = published(&app, &mut attempt, request).await;
    attempt.end(answer).await
}

async fn published(app: &Arc<App>, attempt: &mut Attempt, request: HttpRequest<Body>) -> Answer {
    let author = Author::of(app, &request, Right::Publish)?;
    attempt.ready()?;
    let _waiting = charge_submission(app, &author)?;
    let signed = match body::media_type(request.headers())?.as_str() {
        "application/json" => false,
        context::MEDIA_TYPE => true,
        _ => return Err(Code::MediaTypeUnsupported.into()),
    };
    let limits = &app.config.limits;
    let bytes = body::read(request.into_body(), limits.context_bytes, limits.body_timeout).await?;
    publish_document(app, attempt, Some(author), bytes, signed).await
}

/// Checks, signs, submits and answers one document. Without an author the configuration asks for it, which holds every right.
pub(super) async fn publish_document(
    app: &Arc<App>,
    attempt: &mut Attempt,
    author: Option<Author>,
    bytes: Bytes,
    signed: bool,
) -> Answer {
    let permit = Arc::clone(&app.checks).acquire_owned().await.map_err(|_| Code::Stopping)?;
    let work = Arc::clone(app);
    let by = author.as_ref().map_or_else(|| app.config.authority.clone(), |author| author.id().to_owned());
    let mut entry = attempt.entry.clone();
    let stop = app.comparing.child();
    let _waits = stop.cancel_on_drop();
    let prepared = run_blocking(move || {
        // the permit belongs to the work: it is free when the work has ended, also if the caller went away
        let _place = permit;
        let room = work.reserve.restore();
        room.map_err(|fault| {
            Problem::new(Code::of_write(&fault), "the remaining room on the disk is reserved for revocations")
        })?;
        let prepare = if signed { prepare_signed } else { prepare };
        let prepared = prepare(&work, author.as_ref(), &bytes, &mut entry, &stop);
        Ok((entry, prepared))
    });
    let (entry, prepared) = prepared.await?;
    attempt.entry = entry;
    let (urn, digest, prepared) = prepared?;
    let (done, warnings) = match prepared {
        Prepared::Known(index) => {
            (Done { fresh: false, index, seq: wait_until_covered(app, index).await? }, Vec::new())
        }
        Prepared::Ask(request, warnings) => {
            (submit_and_wait(app, attempt, request, by, Consent::Enough).await?, warnings)
        }
    };
    attempt.entry.index = Some(done.index);
    let mut body = json!({"urn": urn, "digest": digest, "index": done.index, "seq": done.seq});
    if let (false, Some(members)) = (warnings.is_empty(), body.as_object_mut()) {
        members.insert("warnings".to_owned(), warnings.into());
    }
    Ok(answer::json(status_of(&done), &body))
}

/// A submission before it goes to the sequencer.
enum Prepared {
    /// The same digest is published already.
    Known(u64),
    /// The sequencer decides; with the warnings for the publisher.
    Ask(Request, Vec<Value>),
}

/// A bare document: checked, made canonical, and signed by the signer of its line.
fn prepare(
    app: &App,
    author: Option<&Author>,
    bytes: &Bytes,
    entry: &mut Entry,
    stop: &CancelToken,
) -> Result<(String, String, Prepared), Problem> {
    let seen = app.public().size;
    let referred = References::new(app);
    let document =
        Context::check_among(bytes, &app.config.prefix, &app.document_limits, &|urn| referred.find(urn))
            .map(Arc::new)
            .map_err(|fault| referred.problem(document_code(&fault), &fault))?;
    may_publish(app, author, &document, entry)?;
    let names = (document.urn().as_str().to_owned(), document.digest().to_string());
    let warnings = match urn_state(app, &referred, &document, document.bytes(), stop)? {
        UrnState::No(warnings) => warnings,
        UrnState::Already(known) => return Ok((names.0, names.1, known)),
    };
    let compiled = compiled(app, &document)?;
    let signer = signer(app, document.urn().line())?;
    let signed = sign_context(&document, &signer.identity, &app.keys.random)
        .map_err(|fault| Problem::new(Code::Internal, fault))?;
    let chain = signer.identity.chain.clone();
    let request =
        publish_request(app, &document, SignedDocument { bytes: signed, chain, compiled }, signer, seen)?;
    Ok((names.0, names.1, Prepared::Ask(request, warnings)))
}

/// A signed document: verified under this authority's roots now, and kept byte for byte.
fn prepare_signed(
    app: &App,
    author: Option<&Author>,
    bytes: &Bytes,
    entry: &mut Entry,
    stop: &CancelToken,
) -> Result<(String, String, Prepared), Problem> {
    let seen = app.public().size;
    let anchors = app.keys.anchors();
    let roots = anchors.roots();
    let referred = References::new(app);
    let (prefix, limits) = (&app.config.prefix, &app.document_limits);
    let checked = verify_context_among(bytes, roots, now(), prefix, limits, &|urn| referred.find(urn))
        .map_err(|fault| match fault {
            ContextFault::Document(fault) => referred.problem(document_code(&fault), &fault),
            ContextFault::Jws(_) | ContextFault::LineNotDelegated => {
                Problem::new(Code::SignatureInvalid, fault)
            }
        })?;
    let document = checked.context();
    may_publish(app, author, document, entry)?;
    let names = (document.urn().as_str().to_owned(), document.digest().to_string());
    let warnings = match urn_state(app, &referred, document, bytes, stop)? {
        UrnState::No(warnings) => warnings,
        UrnState::Already(known) => return Ok((names.0, names.1, known)),
    };
    let jws = General::read(bytes, context::TYPE, roots, context::MAX_SIGNED_BYTES)
        .map_err(|fault| Problem::new(Code::SignatureInvalid, fault))?;
    let compiled = compiled(app, document)?;
    let signed = SignedDocument { bytes: bytes.to_vec(), chain: jws.chain().clone(), compiled };
    let request = publish_request(app, document, signed, signer(app, document.urn().line())?, seen)?;
    Ok((names.0, names.1, Prepared::Ask(request, warnings)))
}

/// Checks that right and policies let this publisher publish it.
fn may_publish(
    app: &App,
    author: Option<&Author>,
    document: &Context,
    entry: &mut Entry,
) -> Result<(), Problem> {
    let urn = document.urn();
    (entry.on, entry.digest) = (Some(urn.as_str().to_owned()), Some(document.digest().to_string()));
    let Some(author) = author else { return Ok(()) };
    author.may(urn.line())?;
    // publishing never needs four eyes: see `Rules` and the configuration
    let ruled = app.rules.rule(author.id(), PublisherAct::Publish, urn.line(), urn.version());
    note_rules(entry, ruled).map(drop)
}

/// The state of a URN at the authority: published or free.
enum UrnState {
    /// Free, or published without a good file; with the warnings for the publisher.
    No(Vec<Value>),
    /// Published; with the result for the submission.
    Already(Prepared),
}

/// Looks a URN up in the index: the same digest, another one, or nothing. The same digest without a good file is submitted again, so that
/// the file is rewritten. A new document may refer only to contexts that count.
fn urn_state(
    app: &App,
    referred: &References<'_>,
    document: &Arc<Context>,
    offered: &[u8],
    stop: &CancelToken,
) -> Result<UrnState, Problem> {
    let record = index_of(&app.index).get(document.urn()).map_err(|fault| broken(app, &fault))?;
    let Some(record) = record else {
        referred.count(document)?;
        let mut warnings = super::compare::prove_compatible(app, referred, document, stop)?;
        warnings.extend(wordings(document));
        return Ok(UrnState::No(warnings));
    };
    if record.digest == *document.digest() {
        let good = matches!(app.documents.read(&record.digest), Ok(Some(_)));
        let known = UrnState::Already(Prepared::Known(record.index));
        return Ok(if good { known } else { UrnState::No(Vec::new()) });
    }
    let conflict = Request::Conflict {
        urn: document.urn().clone(),
        digest: *document.digest(),
        document: offered.to_vec(),
    };
    Ok(UrnState::Already(Prepared::Ask(conflict, Vec::new())))
}

/// Warnings of texts that read like instructions to a model. The operator's log has them too.
fn wordings(document: &Context) -> Vec<Value> {
    let warning = |one: SuspiciousWording| {
        let (urn, pointer) = (document.urn(), &one.pointer);
        tracing::warn!(%urn, pointer, injection = one.injection, "a text of a published context reads like an instruction");
        json!({"pointer": pointer, "rule": RULE, "what": one.what()})
    };
    suspicious_wordings(document).into_iter().map(warning).collect()
}

/// `POST /v1/contexts/{urn}/{act}`
async fn change(
    app: Arc<App>,
    act: Act,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    let mut attempt = Attempt::begin(&app, act.as_str(), &request);
    let answer = changed(&app, &mut attempt, act, urn, request).await;
    attempt.end(answer).await
}

async fn changed(
    app: &App,
    attempt: &mut Attempt,
    act: Act,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    let (author, _waiting) = begin_request(app, attempt, &request, Right::Revoke)?;
    let [reason] = small(app, request, ["reason"]).await?;
    let Segment(urn) = urn?;
    let urn = ContextUrn::parse(&urn, &app.config.prefix)
        .map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    attempt.entry.on = Some(urn.as_str().to_owned());
    author.may(urn.line())?;
    let reason = checked(reason)?;
    carry_out(app, attempt, author.id(), Target::Change { act, urn, reason, ends: None }).await
}

/// `POST /v1/contexts/{urn}/revoke`
pub(super) async fn revoke(
    State(app): Shared,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    change(app, Act::Revoke, urn, request).await
}

/// `POST /v1/contexts/{urn}/suspend`
pub(super) async fn suspend(
    State(app): Shared,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    change(app, Act::Suspend, urn, request).await
}

/// `POST /v1/contexts/{urn}/resume`
pub(super) async fn resume(
    State(app): Shared,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    change(app, Act::Resume, urn, request).await
}

/// `POST /v1/contexts/{urn}/retire`
pub(super) async fn retire(
    State(app): Shared,
    urn: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    change(app, Act::Retire, urn, request).await
}

/// `POST /v1/floors`
pub(super) async fn floor(State(app): Shared, request: HttpRequest<Body>) -> Answer {
    let mut attempt = Attempt::begin(&app, "floor", &request);
    let answer = raised(&app, &mut attempt, request).await;
    attempt.end(answer).await
}

async fn raised(app: &App, attempt: &mut Attempt, request: HttpRequest<Body>) -> Answer {
    let (author, _waiting) = begin_request(app, attempt, &request, Right::Floor)?;
    let [line, min, reason] = small(app, request, ["line", "min", "reason"]).await?;
    let line = Line::parse(&line).map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    attempt.entry.on = Some(line.as_str().to_owned());
    author.may(&line)?;
    let min = Version::parse(&min).map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    let reason = checked(reason)?;
    carry_out(app, attempt, author.id(), Target::Floor { line, min, reason }).await
}

/// `POST /v1/recognitions/{authority}/withdraw`: the kill switch, for publishers who may revoke on every line of the recognition.
pub(super) async fn withdraw(
    State(app): Shared,
    recognised: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    let mut attempt = Attempt::begin(&app, "withdraw", &request);
    let answer = withdrawn(&app, &mut attempt, recognised, request).await;
    attempt.end(answer).await
}

async fn withdrawn(
    app: &App,
    attempt: &mut Attempt,
    recognised: Result<Segment, Problem>,
    request: HttpRequest<Body>,
) -> Answer {
    let (author, _waiting) = begin_request(app, attempt, &request, Right::Revoke)?;
    let [reason] = small(app, request, ["reason"]).await?;
    let Segment(recognised) = recognised?;
    // the newest recognition of that authority, whatever its state
    let anchors = app.keys.anchors();
    let known = anchors.recognised().find(|one| one.recognition.recognised == recognised);
    let known = known.ok_or(Code::RecognitionUnknown)?;
    let recognition = &known.recognition;
    attempt.entry.on = Some(recognised);
    recognition.names().iter().try_for_each(|line| author.may(line))?;
    let target = withdrawal(recognition, known.index, checked(reason)?);
    carry_out(app, attempt, author.id(), target).await
}

async fn small<const N: usize>(
    app: &App,
    request: HttpRequest<Body>,
    names: [&'static str; N],
) -> Result<[String; N], Problem> {
    let bytes = body::read(request.into_body(), REQUEST_BYTES, app.config.limits.body_timeout).await?;
    body::texts(&bytes, names)
}

fn checked(reason: String) -> Result<String, Problem> {
    if reason.len() > REASON_BYTES {
        return Err(Problem::new(
            Code::ParameterInvalid,
            format_args!("`reason` is longer than {REASON_BYTES} bytes"),
        ));
    }
    check_new_reason(&reason).map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
    Ok(reason)
}

/// Begins every small JSON request: the author, the check that the attempt can be recorded, and the charge to the author's account.
fn begin_request(
    app: &App,
    attempt: &mut Attempt,
    request: &HttpRequest<Body>,
    right: Right,
) -> Result<(Author, Charge), Problem> {
    let author = Author::of(app, request, right)?;
    attempt.ready()?;
    let waiting = charge_submission(app, &author)?;
    body::only_json(request.headers())?;
    Ok((author, waiting))
}
