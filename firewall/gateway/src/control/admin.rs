//! The operator's endpoints: `/healthz`, `/readyz`, `/metrics`, `/status`. On loopback local programs may call them, elsewhere
//! the holders of named certificates; pages in a browser may not. The first three answer everyone at the probe address. Recent
//! verdicts are beside them ([`verdicts`]).

use std::sync::Arc;

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use semgate_statement::view::{Freshness, LoadedContext};
use semgate_statement::{NotRecognised, PersistenceState, View};
use serde_json::{Value, json};

use super::verdicts;
use crate::clock::unix_now;
use crate::control::follow::{FollowerStates, ReloadState};
use crate::control::health::Health;
use crate::control::metrics::Metrics;
use crate::control::policy_state::{PolicyReport, PolicyStates};
use crate::control::scan_state::ScanReport;
use crate::pipeline::admit::host::Names;
use crate::server::listen::BoundRoute;
use crate::server::materials::Materials;
use crate::server::own_certificates::OwnCertificate;
use crate::server::shared::Shared;

/// Number of unrecognised lines of one authority that `/status` lists with their reasons. An operator corrects the first ones
/// and asks again.
const LINES_TOLD: usize = 64;

/// Media type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// Sources of the answers.
#[derive(Clone)]
pub(crate) struct Admin {
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Metrics,
    pub(crate) policies: PolicyStates,
    pub(crate) routes: Arc<ArcSwap<Vec<BoundRoute>>>,
    pub(crate) reloads: Arc<ReloadState>,
    pub(crate) follower_states: Arc<FollowerStates>,
    pub(crate) health: Health,
    pub(crate) materials: Arc<ArcSwap<Materials>>,
}

impl Admin {
    /// Builds the operator's service, which answers to these names only.
    pub(crate) fn router(&self, names: Names) -> Router {
        let names = Arc::new(names);
        let pages = self.pages().route("/status", get(status)).with_state(self.clone());
        let pages = pages.merge(verdicts::router(Arc::clone(self.shared.audit.ring())));
        pages.layer(from_fn(move |request: Request, next: Next| called(Arc::clone(&names), request, next)))
    }

    /// Builds the service of the probe address.
    pub(crate) fn probe(&self) -> Router {
        self.pages().with_state(self.clone())
    }

    fn pages(&self) -> Router<Self> {
        let pages = Router::new().route("/healthz", get(healthy)).route("/readyz", get(ready));
        pages.route("/metrics", get(metrics))
    }

    /// Lists everything that currently keeps a message from passing. An empty list means ready.
    fn obstacles(&self) -> Vec<String> {
        let now = unix_now();
        let mut obstacles = Vec::new();
        let generation = self.shared.inspector.generation();
        // a distrusted authority is not waited for
        for view in generation.views().iter().filter(|view| !view.is_distrusted()) {
            if view.freshness(now) == Freshness::Stale {
                let what = if view.size() == 0 { "has not answered yet" } else { "has a stale status" };
                let why = self.follower_states.obstacle(view.authority());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                obstacles.push(format!("authority `{}` {what}{why}", view.authority()));
            }
            if let Some(PersistenceState { complete: false, fault: Some(why), .. }) =
                self.follower_states.memory(view.authority())
            {
                let what = "is not completely saved on disk, so a restart would begin stale";
                obstacles.push(format!("authority `{}` {what}: {why}", view.authority()));
            }
        }
        if self.policies.live.report().live.is_none() {
            let why = "no policy set is live, so nothing passes: the policies do not fit the known contexts";
            obstacles.push(why.to_owned());
        }
        if self.shared.audit.working().is_err() {
            obstacles.push("the audit log accepts no records".to_owned());
        }
        obstacles
    }

    fn status(&self) -> Value {
        let generation = self.shared.inspector.generation();
        let shadow = self.policies.shadow.as_ref().map(|state| policies(&state.report()));
        let now = unix_now();
        let authorities: Vec<Value> =
            generation.views().iter().map(|view| authority(view, &self.follower_states, now)).collect();
        let routes: Vec<Value> =
            self.routes.load().iter().map(|route| json!({"name": route.name, "url": route.url})).collect();
        json!({
            "ready": self.obstacles().is_empty(),
            "obstacles": self.obstacles(),
            "generation": generation.number(),
            "config": {"current": self.reloads.fault().is_none(), "fault": self.reloads.fault()},
            "policies": policies(&self.policies.live.report()),
            "shadow": shadow,
            "scan": scan(&self.policies.scan.report()),
            "authorities": authorities,
            "audit": {
                "written": self.shared.audit.written(),
                "lost": self.shared.audit.lost(),
                "working": self.shared.audit.working().is_ok(),
            },
            "certificates": certificates(&self.materials.load().own, now),
            "routes": routes,
        })
    }
}

/// The gateway's own certificates with their ends, issuing certificates included.
fn certificates(own: &[OwnCertificate], now: u64) -> Vec<Value> {
    let all = own.iter().flat_map(|own| own.chain.iter().map(move |one| (own, one)));
    all.map(|(own, one)| {
        json!({
            "file": own.file, "subject": one.subject, "not_after": one.not_after, "days_left": one.days_left(now),
        })
    })
    .collect()
}

fn policies(report: &PolicyReport) -> Value {
    json!({
        "digest": report.live.map(|digest| digest.to_string()),
        "current": report.current,
        "loading": report.loading.map(|digest| digest.to_string()),
        "looked": report.looked,
        "rejected": report.rejected.map(|digest| digest.to_string()),
        "faults": report.faults,
        "contexts_left_out": report.left_out,
        "warnings": report.warnings,
    })
}

fn scan(report: &ScanReport) -> Value {
    json!({
        "model": report.model.map(|digest| digest.to_string()),
        "version": report.version,
        "baselines": report.baselines,
        "current": report.faults.is_empty(),
        "faults": report.faults,
    })
}

/// Reason why another authority or the operator makes nothing of this authority count.
fn unrecognised(view: &View, now: u64) -> Option<NotRecognised> {
    match view.recognised()? {
        (_, Err(why)) => Some(why),
        (_, Ok(said)) => (now >= said.until).then_some(NotRecognised::Ended),
    }
}

/// Lines of a recognised authority that still do not count: the first [`LINES_TOLD`] by name.
fn refused_lines(view: &View, now: u64) -> Vec<Value> {
    let lines = view.unrecognised_lines(now);
    let reported = lines.iter().take(LINES_TOLD).map(|(line, policy_line)| {
        json!({
            "line": line.as_str(), "why_not": policy_line.why.as_str(), "detail": policy_line.why.to_string(),
            "contexts": policy_line.contexts,
        })
    });
    reported.collect()
}

/// Contexts that found no room: the first [`LINES_TOLD`] by name.
fn left_out(view: &View) -> Vec<String> {
    let line = |loaded: &LoadedContext| {
        let why = loaded.fault.as_deref().unwrap_or_default();
        format!("`{}` is {why}", loaded.urn)
    };
    let mut all: Vec<String> = view.left_out().map(line).collect();
    all.sort_unstable();
    all.truncate(LINES_TOLD);
    all
}

fn authority(view: &View, states: &FollowerStates, now: u64) -> Value {
    let (memory, obstacle) = (states.memory(view.authority()), states.obstacle(view.authority()));
    let floors: serde_json::Map<String, Value> = view
        .floors()
        .iter()
        .map(|(line, floor)| (line.as_str().to_owned(), floor.to_string().into()))
        .collect();
    let recognised = view.recognised().map(|(by, said)| {
        let until = said.ok().map(|said| said.until);
        json!({
            "by": by, "until": until, "why_not": unrecognised(view, now).map(NotRecognised::as_str),
            "refused_lines": refused_lines(view, now),
        })
    });
    json!({
        "name": view.authority(),
        "url": states.address(view.authority()),
        "recognised": recognised,
        "distrusted": view.is_distrusted(),
        "size": view.size(),
        "issued_at": view.issued_at(),
        "next_update": view.next_update(),
        "root_threshold": view.root_threshold(),
        "unlisted_log_keys": view.unlisted_log_keys(),
        "fresh": view.freshness(now) == Freshness::Fresh,
        "obstacle": obstacle.map(|why| json!({"cause": why.cause(), "detail": why.to_string()})),
        "contexts": view.contexts().count(),
        "context_bytes": view.compiled_bytes(),
        "contexts_left_out": left_out(view),
        "floors": floors,
        "memory": memory.map(|memory| json!({
            "whole": memory.complete, "reserve": memory.reserve,
            "fault": memory.fault.map(|why| why.to_string()),
        })),
    })
}

/// Refuses requests to another name, and requests of pages, before anything is read or answered.
async fn called(names: Arc<Names>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match names.judge(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => {
            let text = format!("{}: {} ({})\n", refusal.code(), refusal.reason(), refusal.hint());
            (StatusCode::FORBIDDEN, text).into_response()
        }
    }
}

/// Asks every serving thread; this answer itself comes from the thread that follows.
async fn healthy(State(admin): State<Admin>) -> Response {
    let silent = admin.health.silent().await;
    if silent.is_empty() {
        return "ok\n".into_response();
    }
    let text = format!("no answer from: {}\n", silent.join(", "));
    (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
}

async fn ready(State(admin): State<Admin>) -> Response {
    let obstacles = admin.obstacles();
    if obstacles.is_empty() {
        return "ready\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", obstacles.join("\n"))).into_response()
}

/// Prefers OpenMetrics for a caller that accepts it and messages that have exemplars.
async fn metrics(State(admin): State<Admin>, headers: HeaderMap) -> Response {
    let accepts = |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains(OPEN_METRICS));
    if headers.get_all(ACCEPT).iter().any(accepts)
        && let Some(text) = admin.metrics.open_metrics()
    {
        let kind = format!("{OPEN_METRICS}; version=1.0.0; charset=utf-8");
        return ([(CONTENT_TYPE, kind)], text).into_response();
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], admin.metrics.render()).into_response()
}

async fn status(State(admin): State<Admin>) -> Json<Value> {
    Json(admin.status())
}
