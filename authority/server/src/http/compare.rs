//! Proof of compatibility: compares a submission with the other versions of its major, and any two documents for any caller.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::Request as HttpRequest;
use axum::response::Response;
use http::StatusCode;
use semgate_contexts::compare::{CancelToken, Comparison, Role, Verdict, compare_as};
use semgate_contexts::json::{self, Json, Object};
use semgate_contexts::{Context, ContextUrn, Digest, DocumentFault, Version};
use semgate_statement::Status;
use serde_json::{Value, json};

use super::App;
use super::answer;
use super::body;
use super::overrides;
use super::problem::{Code, Problem};
use super::references::{References, document_code};
use super::storage::{broken, run_blocking};
use super::type_conflicts;
use crate::submit::index_of;
use crate::version_numbers::first_free_version;

/// Compares a new document with every published version of its major that is not revoked. It must accept what earlier ones accept, and
/// later ones must accept what it accepts. No other line may have its namespace in policies. A named person may permit this exact document
/// beside all of them. Returns warnings: the members that policies no longer see, because their types differ between versions.
///
/// # Errors
/// `version_breaks` with the comparison and a document that shows it; `version_unproven` if compatibility is not known. `version_untyped`
/// if it is compatible, but gateways would refuse its messages or those of another version because of it. `stopping` if the authority stops
/// before all was compared.
pub(super) fn prove_compatible(
    app: &App,
    referred: &References<'_>,
    document: &Arc<Context>,
    stop: &CancelToken,
) -> Result<Vec<Value>, Problem> {
    let urn = document.urn();
    let all = index_of(&app.index).of_major(urn).map_err(|fault| broken(app, &fault))?;
    let all = all.into_iter().filter(|(other, _)| other != urn);
    let (mut revoked, others): (Vec<_>, Vec<_>) =
        all.partition(|(_, record)| record.status == Status::Invalid);
    let others: Vec<(ContextUrn, Digest)> =
        others.into_iter().map(|(other, record)| (other, record.digest)).collect();
    let most = app.config.limits.compared_versions;
    let mut warnings = Vec::new();
    let mut obstacle = match others.len() > most {
        true => Some(Obstacle::too_many(most)),
        false => obstacle(app, referred, document, &others, stop)?,
    };
    if obstacle.is_none() {
        // gateways type revoked versions too, since policies may name them; the newest of these, as many as may be read
        revoked.sort_by_key(|(other, _)| std::cmp::Reverse(other.version()));
        let revoked = revoked.iter().map(|(other, _)| other).take(most.saturating_sub(others.len()));
        let all: Vec<&ContextUrn> = others.iter().map(|(other, _)| other).chain(revoked).collect();
        warnings = type_conflicts::warnings(referred, document, all.iter().copied())?;
        obstacle = type_conflict(app, referred, document, all.into_iter(), stop)?;
    }
    if obstacle.is_none() {
        let all = type_conflicts::namesakes(app, document)?;
        obstacle = type_conflict(app, referred, document, all.iter(), stop)?;
    }
    // the result would reach nobody by then
    check_caller_waits(stop)?;
    let Some(obstacle) = obstacle else { return Ok(warnings) };
    match overrides::permitted(app, urn, document.digest(), &others) {
        Ok(()) => Ok(warnings),
        Err(why) => Err(obstacle.refused(why)),
    }
}

/// The reason that stands in the way of a version.
struct Obstacle {
    code: Code,
    detail: String,
    comparison: Option<Value>,
}

impl Obstacle {
    /// The result for a version that is beyond the limit, and so not compared.
    fn too_many(most: usize) -> Self {
        let detail =
            format!("more than {most} versions of this major count, too many to compare with all of them");
        Self { code: Code::VersionUnproven, detail, comparison: None }
    }

    fn refused(self, unpermitted: Option<String>) -> Problem {
        let mut detail = self.detail;
        if let Some(why) = unpermitted {
            detail.push_str("; ");
            detail.push_str(&why);
        }
        let problem = Problem::new(self.code, detail);
        match self.comparison {
            Some(comparison) => problem.with("comparison", comparison),
            None => problem,
        }
    }
}

/// A new document and a published version, the lower number first.
struct Pair<'a> {
    old: &'a Context,
    new: &'a Context,
}

impl<'a> Pair<'a> {
    fn of(document: &'a Context, other: &'a Context) -> Self {
        match other.urn().version().minor < document.urn().version().minor {
            true => Self { old: other, new: document },
            false => Self { old: document, new: other },
        }
    }

    fn compare(&self, app: &App, stop: &CancelToken) -> Comparison {
        compare_as(self.old, self.new, None, &app.config.limits.compare(), stop)
    }

    /// The comparison as JSON: the parts that stand in the way, and the number to use.
    fn report(&self, app: &App, urn: &ContextUrn, comparison: &Comparison) -> Value {
        let mut value = type_conflicts::comparison_json(comparison, self.old, self.new);
        if let Some(map) = value.as_object_mut() {
            if let Some(next) = next_major(app, urn) {
                map.insert("next_version".to_owned(), next.into());
            }
            map.insert(
                "parts".to_owned(),
                comparison.obstacles().map(semgate_contexts::compare::Part::to_value).collect(),
            );
        }
        value
    }
}

/// Parts that a detail names at most: it is one line, and whoever fixes so many asks again.
const PARTS_TOLD: usize = 16;

/// The parts of versions that stand in the way, in words.
#[derive(Default)]
struct Parts {
    named: Vec<String>,
    more: usize,
}

impl Parts {
    fn add(&mut self, other: &ContextUrn, comparison: &Comparison) {
        for part in comparison.obstacles() {
            if self.named.len() < PARTS_TOLD {
                self.named.push(format!("compared with `{other}`, `{}`: {}", part.pointer, part.reason));
            } else {
                self.more += 1;
            }
        }
    }

    fn detail(&self) -> String {
        let all = self.named.join("; ");
        if self.more == 0 { all } else { format!("{all}; and {} more", self.more) }
    }
}

/// The first version that it breaks, with all parts in its way; else all versions beside which compatibility is not known.
fn obstacle(
    app: &App,
    referred: &References<'_>,
    document: &Context,
    others: &[(ContextUrn, Digest)],
    stop: &CancelToken,
) -> Result<Option<Obstacle>, Problem> {
    let (mut unknown, mut parts) = (None, Parts::default());
    for (other, _) in others {
        check_caller_waits(stop)?;
        let context = referred.published(other)?;
        let pair = Pair::of(document, &context);
        let comparison = pair.compare(app, stop);
        let code = match comparison.verdict {
            Verdict::Compatible => continue,
            Verdict::Breaking => Code::VersionBreaks,
            Verdict::Unknown => Code::VersionUnproven,
        };
        if code == Code::VersionBreaks {
            let mut parts = Parts::default();
            parts.add(other, &comparison);
            let comparison = Some(pair.report(app, document.urn(), &comparison));
            return Ok(Some(Obstacle { code, detail: parts.detail(), comparison }));
        }
        parts.add(other, &comparison);
        unknown.get_or_insert_with(|| pair.report(app, document.urn(), &comparison));
    }
    Ok(unknown.map(|comparison| Obstacle {
        code: Code::VersionUnproven,
        detail: parts.detail(),
        comparison: Some(comparison),
    }))
}

/// Checks that gateways can type it beside these versions, and these beside it.
fn type_conflict<'u>(
    app: &App,
    referred: &References<'_>,
    document: &Arc<Context>,
    others: impl Iterator<Item = &'u ContextUrn>,
    stop: &CancelToken,
) -> Result<Option<Obstacle>, Problem> {
    let Some(conflict) = type_conflicts::first_conflict(referred, document, others)? else { return Ok(None) };
    let comparison = conflict.with.map(|other| {
        let pair = Pair::of(document, &other);
        pair.report(app, document.urn(), &pair.compare(app, stop))
    });
    let detail = format!("gateways would refuse every message of a version: {}", conflict.why);
    Ok(Some(Obstacle { code: Code::VersionUntyped, detail, comparison }))
}

/// The first major without publications that is not below the floor of the line.
fn next_major(app: &App, urn: &ContextUrn) -> Option<String> {
    let highest =
        index_of(&app.index).of_line(urn).ok()?.into_iter().map(|(other, _)| other.version().major).max();
    let major = highest.unwrap_or_default().max(urn.version().major).checked_add(1)?;
    Some(format!("v{major}.0"))
}

/// `POST /v1/compare`
pub(super) async fn route(
    State(app): State<Arc<App>>,
    request: HttpRequest<Body>,
) -> Result<Response, Problem> {
    body::only_json(request.headers())?;
    let limits = &app.config.limits;
    let most = limits.context_bytes.saturating_mul(2);
    let bytes = body::read(request.into_body(), most, limits.body_timeout).await?;
    // anybody may ask, so a bounded number of comparisons runs at once, and none queues
    let permit = Arc::clone(&app.comparisons)
        .try_acquire_owned()
        .map_err(|_| Problem::new(Code::Busy, "too many comparisons at once"))?;
    let work = Arc::clone(&app);
    let stop = app.comparing.child();
    let _waits = stop.cancel_on_drop();
    let comparison = run_blocking(move || {
        // the permit belongs to the work: it is free when the work has ended, also if the caller went away
        let _place = permit;
        run_comparison(&work, &bytes, &stop)
    });
    let comparison = comparison.await?;
    Ok(answer::json(StatusCode::OK, &comparison))
}

/// Checks that a caller still waits for the comparison.
fn check_caller_waits(stop: &CancelToken) -> Result<(), Problem> {
    if stop.is_cancelled() { Err(Code::Stopping.into()) } else { Ok(()) }
}

fn run_comparison(app: &App, bytes: &[u8], stop: &CancelToken) -> Result<Value, Problem> {
    check_caller_waits(stop)?;
    let limits = json::Limits {
        max_bytes: bytes.len(),
        max_depth: app.document_limits.max_depth.saturating_add(2),
        max_nodes: app.document_limits.max_nodes.saturating_mul(2),
        max_string_bytes: app.document_limits.max_payload_bytes,
        large_integers: true,
        ..json::Limits::default()
    };
    let read = body::read_json(bytes, &limits)?;
    let object = body::closed(&read, &["old", "new", "role"])?;
    let role = role(object)?;
    let referred = References::new(app);
    let old = side(app, &referred, object, "old", role)?;
    let new = side(app, &referred, object, "new", role)?;
    let comparison = compare_as(&old, &new, role, &app.config.limits.compare(), stop);
    check_caller_waits(stop)?;
    let (mut value, next) = (type_conflicts::comparison_json(&comparison, &old, &new), comparison.next);
    // a bare schema belongs to no line
    let of_line = match object.get("new") {
        Some(Json::Object(document)) => document.get("context").is_some(),
        _ => true,
    };
    let free = if of_line { free(app, &new, next)? } else { None };
    if let Some(members) = value.as_object_mut() {
        members.insert("next_version".to_owned(), free.unwrap_or(next).to_string().into());
        members.insert("next_is_free".to_owned(), free.map(|_| true).into());
    }
    Ok(value)
}

/// The first number from `next` on that is free on the line, or is held by this exact document.
fn free(app: &App, new: &Context, next: Version) -> Result<Option<Version>, Problem> {
    let line = index_of(&app.index).of_line(new.urn()).map_err(|fault| broken(app, &fault))?;
    let others = line.into_iter().filter(|(_, record)| record.digest != *new.digest());
    Ok(first_free_version(&others.map(|(urn, _)| urn.version()).collect(), next))
}

/// The side that must go on understanding it; without it each part decides by its own role.
fn role(object: &Object<'_>) -> Result<Option<Role>, Problem> {
    match object.get("role").map(|role| role.as_str().unwrap_or_default()) {
        None => Ok(None),
        Some("accepts" | "concept" | "parameters") => Ok(Some(Role::Accepts)),
        Some("answers" | "results") => Ok(Some(Role::Answers)),
        Some(_) => Err(Problem::new(
            Code::ParameterInvalid,
            "`role` is `accepts`, `concept`, `parameters`, `answers` or `results`",
        )),
    }
}

/// A published context by its URN, a document, or a schema alone.
fn side(
    app: &App,
    referred: &References<'_>,
    object: &Object<'_>,
    name: &'static str,
    role: Option<Role>,
) -> Result<Arc<Context>, Problem> {
    let given = object.get(name);
    let document = match given {
        Some(Json::String(urn)) => {
            let urn = ContextUrn::parse(urn, &app.config.prefix)
                .map_err(|fault| Problem::new(Code::ParameterInvalid, fault))?;
            return referred.find(&urn).ok_or_else(|| Code::ContextUnknown.into());
        }
        Some(Json::Object(document)) if document.get("context").is_some() => given.map(Json::to_value),
        Some(Json::Object(_)) if role.is_none() => {
            return Err(Problem::new(Code::ParameterInvalid, "only schemas can be compared under a `role`"));
        }
        Some(schema @ Json::Object(_)) => Some(wrap_schema(app, name, schema.to_value())),
        _ => None,
    };
    let wrong = || {
        Problem::new(
            Code::Malformed,
            format_args!("member `{name}` is neither a URN nor a document nor a schema"),
        )
    };
    let document = document.ok_or_else(wrong)?;
    let prefix = &app.config.prefix;
    let bytes = document.to_string();
    let read =
        Context::check_among(bytes.as_bytes(), prefix, &app.document_limits, &|urn| referred.find(urn));
    read.map(Arc::new).map_err(|fault: DocumentFault| referred.problem(document_code(&fault), &fault))
}

/// Wraps a schema in a document with one concept, `value`; its definitions become those of the document.
fn wrap_schema(app: &App, name: &str, mut schema: Value) -> Value {
    let defs = schema.as_object_mut().and_then(|map| map.remove("$defs"));
    let minor = u8::from(name == "new");
    let mut document = json!({
        "context": format!("{}:compare:v1.{minor}", app.config.prefix.as_str()),
        "concepts": { "value": schema },
    });
    if let (Some(defs), Some(map)) = (defs, document.as_object_mut()) {
        map.insert("$defs".to_owned(), defs);
    }
    document
}

#[cfg(test)]
mod tests;
