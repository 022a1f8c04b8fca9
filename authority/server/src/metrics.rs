//! Counters and gauges, served at `/metrics` of the admin address. They live in a recorder of this authority, so that several servers in
//! one process (as `semgate up` runs them) share nothing.

use metrics::{Key, KeyName, Label, Level, Metadata, Recorder, SharedString};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use std::sync::OnceLock;

static ABOUT: Metadata<'static> = Metadata::new("semgate_authority", Level::INFO, Some(module_path!()));

/// The count of lost log lines. It belongs to the process, as the log does.
static LOST_LINES: OnceLock<fn() -> u64> = OnceLock::new();

/// Shows this count as `semgate_log_lines_lost_total` at `/metrics` of every server in the process. The first call counts.
pub fn count_lost_log_lines(lost: fn() -> u64) {
    let _ = LOST_LINES.set(lost);
}

/// The recorder of one authority.
pub(crate) struct Metrics {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Metrics {
    /// A recorder with nothing in it but descriptions.
    pub fn new() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets(&[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5])
            .unwrap_or_else(|_| PrometheusBuilder::new())
            .build_recorder();
        let handle = recorder.handle();
        let one = Self { recorder, handle };
        for (name, what) in [
            ("semgate_authority_requests_total", "requests answered, by method and status"),
            (
                "semgate_authority_connections_refused_total",
                "connections closed because an account, the unknown callers, the handshakes or the total reached the limit",
            ),
            (
                "semgate_authority_strangers_refused_total",
                "attempts to write by certificate holders that are not publishers",
            ),
            (
                "semgate_authority_handshakes_failed_total",
                "connections whose tls handshake failed, by reason",
            ),
            (
                "semgate_authority_client_crls_total",
                "revocation lists of publishers, by result; also reads that found no directory",
            ),
            ("semgate_authority_tls_reloads_total", "changed tls files, by whether they are in use"),
            (
                "semgate_authority_unsigned_total",
                "heads and batches that a key did not sign because its device failed",
            ),
            ("semgate_authority_streams_refused_total", "streams refused, by the bound that was reached"),
            ("semgate_authority_entries_total", "log entries committed by this process"),
            ("semgate_authority_batches_total", "group commits by this process"),
            ("semgate_authority_witness_failures_total", "times that a witness did not answer"),
            ("semgate_authority_witness_ahead_total", "times that a witness had seen another log"),
            ("semgate_authority_conflicts_total", "second digests offered for a published urn"),
            ("semgate_authority_followers_ahead_total", "followers that had seen a larger log than this one"),
            ("semgate_authority_deltas_total", "times a delta was made by this process"),
            ("semgate_authority_listings_total", "times the listing of contexts was made by this process"),
            ("semgate_authority_pages_total", "times a page of the listing was made by this process"),
            ("semgate_log_lines_lost_total", "log lines lost because standard error was too slow"),
            ("semgate_authority_index_rebuilt_total", "rebuilds of the index by this process"),
        ] {
            one.recorder.describe_counter(KeyName::from_const_str(name), None, SharedString::const_str(what));
        }
        // an alert sees a rise only from a value before
        for name in ["semgate_authority_unsigned_total", "semgate_authority_followers_ahead_total"] {
            one.add(name, &[], 0);
        }
        for (name, what) in [
            ("semgate_authority_log_size", "entries of the log"),
            ("semgate_authority_contexts", "published contexts"),
            ("semgate_authority_evidence", "files of evidence"),
            (
                "semgate_authority_reserve_whole",
                "1 while the reserved room is complete, 0 while publishing waits for it",
            ),
            ("semgate_authority_clock_wrong", "1 while nothing is signed by this clock, by the reason"),
            ("semgate_authority_cosignatures", "cosignatures of the newest checkpoint"),
            ("semgate_authority_head_issued_seconds", "issued_at of the current head, unix time"),
            ("semgate_authority_head_next_update_seconds", "next_update of the current head, unix time"),
            ("semgate_authority_certificate_not_after_seconds", "end of a role's certificate, unix time"),
        ] {
            one.recorder.describe_gauge(KeyName::from_const_str(name), None, SharedString::const_str(what));
        }
        let name = KeyName::from_const_str("semgate_authority_commit_seconds");
        one.recorder.describe_histogram(
            name,
            None,
            SharedString::const_str("time of a group commit, until its head is public"),
        );
        one
    }

    /// Counts one.
    pub fn count(&self, name: &'static str, labels: &[(&'static str, String)]) {
        self.add(name, labels, 1);
    }

    /// Counts several.
    pub fn add(&self, name: &'static str, labels: &[(&'static str, String)], by: u64) {
        self.recorder.register_counter(&key(name, labels), &ABOUT).increment(by);
    }

    /// Sets a gauge.
    pub fn gauge(&self, name: &'static str, labels: &[(&'static str, String)], value: u64) {
        self.recorder.register_gauge(&key(name, labels), &ABOUT).set(value as f64);
    }

    /// Adds a duration in seconds to a histogram.
    pub fn took(&self, name: &'static str, seconds: f64) {
        self.recorder.register_histogram(&key(name, &[]), &ABOUT).record(seconds);
    }

    /// The Prometheus text.
    pub fn render(&self) -> String {
        let lost = LOST_LINES.get().map_or(0, |lost| lost());
        self.recorder.register_counter(&key("semgate_log_lines_lost_total", &[]), &ABOUT).absolute(lost);
        self.handle.run_upkeep();
        self.handle.render()
    }
}

fn key(name: &'static str, labels: &[(&'static str, String)]) -> Key {
    let labels: Vec<Label> = labels.iter().map(|(k, v)| Label::new(*k, v.clone())).collect();
    Key::from_parts(name, labels)
}
