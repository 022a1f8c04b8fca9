//! Metrics for `/metrics`. Labels are names and codes only, never payload values or agents' names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use semgate_contexts::Digest;
use semgate_inspect::{Code, Direction, ShadowCounts};

use crate::control::policy_state::{PolicyReport, PolicyStates};
use crate::fault::RunFault;
use crate::pipeline::record::exemplars::Exemplars;

/// Bucket bounds in seconds, from a tenth of a decision's cost to past the upstream timeout.
pub(crate) const BUCKETS: &[f64] = &[
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.001, 0.002_5, 0.01, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0,
    30.0,
];

const METADATA: Metadata<'static> = Metadata::new("semgate_gateway", Level::INFO, None);

/// Counter of lost log lines, which belongs to the process like the log itself.
static LOST_LINES: OnceLock<fn() -> u64> = OnceLock::new();

/// Exports this count as `semgate_log_lines_lost_total` at `/metrics` of every gateway in the process. Only the first call
/// has an effect.
pub fn count_lost_log_lines(lost: fn() -> u64) {
    let _ = LOST_LINES.set(lost);
}

/// The recorder of one gateway. Several gateways may run in one process, so it is never installed globally.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
    /// Counters created on first use.
    rare: Mutex<HashMap<(String, &'static str, &'static str), Counter>>,
    policies: PolicyStates,
    /// Traces of durations, if messages may have spans.
    exemplars: Option<Arc<Exemplars>>,
}

/// Counters and their descriptions.
const COUNTERS: &[(&str, &str)] = &[
    ("semgate_protocols_total", "Messages by route, direction and verdict; `allowed` or the refusal's code."),
    ("semgate_connections_total", "Connections by listener and how they began."),
    ("semgate_handshakes_failed_total", "Failed TLS handshakes by listener and reason."),
    ("semgate_signed_messages_total", "Verified messages by route and the form that the signature covers."),
    ("semgate_cards_total", "Agent cards served."),
    ("semgate_follow_total", "Requests to authorities by outcome."),
    ("semgate_policy_loads_total", "Loads of the policy directory by outcome."),
    ("semgate_shadow_loads_total", "Loads of the shadow policies by outcome."),
    ("semgate_spans_exported_total", "Spans that the receiver took."),
    ("semgate_spans_lost_total", "Spans that found no room or that the receiver did not take."),
    ("semgate_log_lines_lost_total", "Log lines lost because standard error was too slow."),
];

/// Gauges and their descriptions.
const GAUGES: &[(&str, &str)] = &[
    ("semgate_connections", "Connections open."),
    ("semgate_generation", "Number of the live generation."),
    ("semgate_log_size", "Size of the authority's log as followed."),
    ("semgate_status_expires", "Unix time at which the authority's status turns stale."),
    ("semgate_contexts", "Known contexts of the authority."),
    ("semgate_context_bytes", "Estimated bytes of the compiled contexts of the authority."),
    ("semgate_contexts_left_out", "Contexts of the authority that found no room."),
    ("semgate_contexts_unrecognised", "Contexts of the authority that lack recognition."),
    ("semgate_log_keys_unlisted", "Configured log keys of the authority that no trust list names."),
    (
        "semgate_memory_whole",
        "1 if the follower state of the authority is complete on disk, 0 if a restart would begin stale.",
    ),
    ("semgate_memory_reserve", "1 if room for a revocation by the authority is reserved on disk."),
    ("semgate_certificate_expiry_seconds", "Unix time at which an own certificate or its issuer ends."),
    ("semgate_distrusted", "1 if the operator distrusts the authority."),
    ("semgate_config_current", "1 if the gateway runs the configuration on disk as of the last SIGHUP."),
    (
        "semgate_policy_set_current",
        "1 if the policies on disk are live, 0 if they were rejected or are still loading.",
    ),
    ("semgate_shadow_set_current", "The same for the shadow policies."),
    (
        "semgate_policy_looked",
        "Unix time at which the last check of the policies on disk ended, loads included.",
    ),
    ("semgate_shadow_looked", "The same for the shadow policies."),
    ("semgate_held_bytes", "Bytes that messages of all agents hold, of `limits.held_bytes`."),
    ("semgate_audit_written", "Audit records written since the start."),
    ("semgate_audit_lost", "Audit records that found no room; their messages were refused."),
    ("semgate_audit_ocsf_lost", "OCSF events that were lost; their audit records were not."),
];

impl Metrics {
    pub(crate) fn new(policies: PolicyStates, exemplars: Option<Arc<Exemplars>>) -> Result<Self, RunFault> {
        let builder =
            PrometheusBuilder::new().set_buckets(BUCKETS).map_err(|e| RunFault::system("metrics", e))?;
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        let metrics = Self(Arc::new(Inner { recorder, handle, rare: Mutex::default(), policies, exemplars }));
        metrics.describe();
        Ok(metrics)
    }

    fn describe(&self) {
        for (name, text) in COUNTERS {
            self.0.recorder.describe_counter((*name).into(), None, (*text).into());
        }
        for (name, text) in GAUGES {
            self.0.recorder.describe_gauge((*name).into(), None, (*text).into());
        }
        let text = "Time from a message's head to its verdict, and for replies to the reply's verdict.";
        self.0.recorder.describe_histogram("semgate_duration_seconds".into(), None, text.into());
    }

    pub(crate) fn counter(&self, name: &'static str, labels: &[(&'static str, String)]) -> Counter {
        self.0.recorder.register_counter(&key(name, labels), &METADATA)
    }

    pub(crate) fn gauge(&self, name: &'static str, labels: &[(&'static str, String)]) -> Gauge {
        self.0.recorder.register_gauge(&key(name, labels), &METADATA)
    }

    fn histogram(&self, name: &'static str, labels: &[(&'static str, String)]) -> Histogram {
        self.0.recorder.register_histogram(&key(name, labels), &METADATA)
    }

    /// Renders the text format of Prometheus.
    pub(crate) fn render(&self) -> String {
        let PolicyStates { live, shadow, counts, scan } = &self.0.policies;
        let (live, shadow) = (live.report(), shadow.as_ref().map(|shadow| shadow.report()));
        self.stand(&live, "semgate_policy_set_current", "semgate_policy_looked");
        if let Some(shadow) = &shadow {
            self.stand(shadow, "semgate_shadow_set_current", "semgate_shadow_looked");
        }
        let lost = LOST_LINES.get().map_or(0, |lost| lost());
        self.counter("semgate_log_lines_lost_total", &[]).absolute(lost);
        let mut text = self.0.handle.render();
        let mut digests = vec![("live", live.live)];
        if let Some(shadow) = shadow {
            digests.push(("shadow", shadow.live));
            text.push_str(&differences(counts));
        }
        text.push_str(&sets(&digests));
        text.push_str(&scan.metrics());
        text
    }

    /// Renders OpenMetrics with exemplars. `None` if there are none, since messages have no spans.
    pub(crate) fn open_metrics(&self) -> Option<String> {
        self.0.exemplars.as_ref().map(|exemplars| exemplars.open_metrics(&self.render()))
    }

    /// Exports the state of a set, from its first check on.
    #[allow(clippy::cast_precision_loss, reason = "gauges are floats by their format")]
    fn stand(&self, report: &PolicyReport, current: &'static str, looked: &'static str) {
        if let Some(at) = report.looked {
            self.gauge(current, &[]).set(f64::from(u8::from(report.current)));
            self.gauge(looked, &[]).set(at as f64);
        }
    }

    /// Folds recorded samples into the buckets, so that memory stays bounded without scrapes.
    pub(crate) fn upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    /// The handles of one route.
    pub(crate) fn route(&self, name: &str) -> RouteMetrics {
        let of = |direction: Direction| {
            let labels = [("route", name.to_owned()), ("direction", direction.as_str().to_owned())];
            let mut allowed = labels.to_vec();
            allowed.push(("verdict", "allowed".to_owned()));
            DirectionMetrics {
                allowed: self.counter("semgate_protocols_total", &allowed),
                duration: self.histogram("semgate_duration_seconds", &labels),
            }
        };
        RouteMetrics {
            metrics: self.clone(),
            route: name.to_owned(),
            request: of(Direction::Request),
            reply: of(Direction::Reply),
            cards: self.counter("semgate_cards_total", &[("route", name.to_owned())]),
            open: self.gauge("semgate_connections", &[("route", name.to_owned())]),
        }
    }
}

/// Digests of the live policy sets. Written directly, since the recorder would keep the label of a former digest for ever.
fn sets(sets: &[(&str, Option<Digest>)]) -> String {
    let mut text = "# HELP semgate_policy_set_info The policy sets in use, by digest.\n\
                    # TYPE semgate_policy_set_info gauge\n"
        .to_owned();
    for (set, digest) in sets.iter().filter_map(|(set, digest)| Some((set, (*digest)?))) {
        text.push_str(&format!("semgate_policy_set_info{{set=\"{set}\",digest=\"{digest}\"}} 1\n"));
    }
    text
}

/// Differences of the shadow set, by kind and direction only, since concepts and agents are unbounded.
fn differences(counts: &ShadowCounts) -> String {
    let mut text = format!(
        "# HELP semgate_shadow_asked_total Messages that the shadow policies judged.\n\
         # TYPE semgate_shadow_asked_total counter\n\
         semgate_shadow_asked_total {}\n\
         # HELP semgate_shadow_differences_total Messages that the shadow policies would treat differently, by their verdict.\n\
         # TYPE semgate_shadow_differences_total counter\n",
        counts.asked()
    );
    for (direction, would, count) in counts.differed() {
        let (direction, would) = (direction.as_str(), would.as_str());
        text.push_str(&format!(
            "semgate_shadow_differences_total{{direction=\"{direction}\",would=\"{would}\"}} {count}\n"
        ));
    }
    text
}

fn key(name: &'static str, labels: &[(&'static str, String)]) -> Key {
    let labels: Vec<Label> = labels.iter().map(|(name, value)| Label::new(*name, value.clone())).collect();
    Key::from_parts(name, labels)
}

/// Metrics of one route; the frequent handles are created once.
#[derive(Clone)]
pub(crate) struct RouteMetrics {
    metrics: Metrics,
    route: String,
    request: DirectionMetrics,
    reply: DirectionMetrics,
    pub(crate) cards: Counter,
    pub(crate) open: Gauge,
}

#[derive(Clone)]
struct DirectionMetrics {
    allowed: Counter,
    duration: Histogram,
}

impl RouteMetrics {
    fn direction(&self, direction: Direction) -> &DirectionMetrics {
        match direction {
            Direction::Request => &self.request,
            Direction::Reply => &self.reply,
        }
    }

    pub(crate) fn allowed(&self, direction: Direction, seconds: f64) {
        let metrics = self.direction(direction);
        metrics.allowed.increment(1);
        metrics.duration.record(seconds);
    }

    pub(crate) fn refused(&self, direction: Direction, code: Code, seconds: f64) {
        self.rare(direction, code.as_str());
        self.direction(direction).duration.record(seconds);
    }

    pub(crate) fn abandoned(&self, direction: Direction) {
        self.rare(direction, "abandoned");
    }

    fn rare(&self, direction: Direction, verdict: &'static str) {
        let name = (self.route.clone(), direction.as_str(), verdict);
        let mut rare = self.metrics.0.rare.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = [
            ("route", self.route.clone()),
            ("direction", direction.as_str().to_owned()),
            ("verdict", verdict.to_owned()),
        ];
        let counter =
            rare.entry(name).or_insert_with(|| self.metrics.counter("semgate_protocols_total", &labels));
        counter.increment(1);
    }

    /// Counts a failed handshake by its reason.
    pub(crate) fn handshake_failed(&self, reason: &'static str) {
        let labels = [("route", self.route.clone()), ("reason", reason.to_owned())];
        self.metrics.counter("semgate_handshakes_failed_total", &labels).increment(1);
    }

    /// Counts a verified message by the encoding that its signature covers.
    pub(crate) fn signed(&self, form: &'static str) {
        let labels = [("route", self.route.clone()), ("form", form.to_owned())];
        self.metrics.counter("semgate_signed_messages_total", &labels).increment(1);
    }

    /// Counts a new connection, or the reason for its failure.
    pub(crate) fn connection(&self, how: &'static str) {
        let labels = [("route", self.route.clone()), ("outcome", how.to_owned())];
        self.metrics.counter("semgate_connections_total", &labels).increment(1);
    }
}
