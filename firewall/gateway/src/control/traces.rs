//! Export of spans: OTLP over HTTP with protobuf, in batches, to one receiver.
//!
//! Best effort. A receiver that does not answer holds up nothing: spans wait within a bound, and the rest is counted and lost.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use metrics::Counter;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use semgate_statement::Answer;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::config::{Config, TracesConfig};
use crate::control::follow::addresses::Addresses;
use crate::control::follow::fetch::Fetcher;
use crate::control::metrics::Metrics;
use crate::fault::RunFault;
use crate::pipeline::record::spans::{Finished, text};
use crate::server::materials;

/// Spans of one request, as the OpenTelemetry SDKs have it.
const BATCH: usize = 512;
/// Wait for a full batch.
const GATHER: Duration = Duration::from_secs(1);
/// Time for one request, as the OpenTelemetry SDKs have it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts for one batch; the first pause between two is a second, and each is twice as long as the one before.
const ATTEMPTS: u32 = 5;
/// Time for the last spans at the end.
const LAST: Duration = Duration::from_secs(2);
/// Silence after which no more spans come at the end. The audit thread makes them every two milliseconds.
const QUIET: Duration = Duration::from_millis(100);
/// Bytes of an answer; a partial success is a number and a line of text.
const ANSWER: u64 = 64 * 1024;

/// The exporter of one gateway.
pub(crate) struct Exporter {
    finished: Finished,
    fetcher: Fetcher,
    path: Uri,
    headers: HeaderMap,
    resource: Resource,
    exported: Counter,
    lost: Counter,
    working: bool,
}

/// The reason why a batch did not arrive.
enum Failure {
    /// Another attempt may succeed.
    Now(String),
    /// The receiver refuses the batch.
    Ever(String),
}

impl Exporter {
    /// An exporter to the configured receiver.
    ///
    /// # Errors
    /// Unusable roots or headers.
    pub(crate) fn new(
        config: &Config,
        traces: &TracesConfig,
        finished: Finished,
        metrics: &Metrics,
    ) -> Result<Self, RunFault> {
        let tls = materials::receiver(config, traces)?;
        let path =
            Uri::try_from(traces.endpoint.path.as_str()).map_err(|why| RunFault::system("traces", why))?;
        let resource = vec![
            text("service.name", &traces.service_name),
            text("service.version", env!("CARGO_PKG_VERSION")),
            text("service.instance.id", &config.name),
        ];
        Ok(Self {
            finished,
            fetcher: Fetcher::new(Addresses::one(&traces.endpoint), tls.as_ref(), TIMEOUT),
            path,
            headers: traces.headers.as_deref().map_or_else(|| Ok(HeaderMap::new()), read_headers)?,
            resource: Resource { attributes: resource, ..Resource::default() },
            exported: metrics.counter("semgate_spans_exported_total", &[]),
            lost: metrics.counter("semgate_spans_lost_total", &[]),
            working: true,
        })
    }

    /// Exports until the future is dropped.
    pub(crate) async fn run(&mut self) {
        while let Some(first) = self.finished.spans.recv().await {
            let end = Instant::now() + GATHER;
            let mut batch = vec![first];
            while batch.len() < BATCH {
                match timeout_at(end, self.finished.spans.recv()).await {
                    Ok(Some(span)) => batch.push(span),
                    Ok(None) | Err(_) => break,
                }
            }
            self.export(batch, ATTEMPTS).await;
        }
    }

    /// Exports the last spans.
    pub(crate) async fn finish(&mut self) {
        let last = async {
            let mut batch = Vec::new();
            while let Ok(Some(span)) = timeout(QUIET, self.finished.spans.recv()).await {
                batch.push(span);
            }
            if !batch.is_empty() {
                self.export(batch, 1).await;
            }
        };
        let _ = timeout(LAST, last).await;
    }

    async fn export(&mut self, batch: Vec<Span>, attempts: u32) {
        let count = batch.len() as u64;
        let scope = InstrumentationScope { name: "semgate".to_owned(), ..InstrumentationScope::default() };
        let spans = vec![ScopeSpans { scope: Some(scope), spans: batch, ..ScopeSpans::default() }];
        let resource = Some(self.resource.clone());
        let of_resource = ResourceSpans { resource, scope_spans: spans, ..ResourceSpans::default() };
        let body = ExportTraceServiceRequest { resource_spans: vec![of_resource] }.encode_to_vec();
        let body = Bytes::from(body);
        let mut pause = Duration::from_secs(1);
        for attempt in 1..=attempts {
            match self.send(body.clone()).await {
                Ok(rejected) => {
                    self.exported.increment(count.saturating_sub(rejected));
                    self.lost.increment(rejected);
                    if !std::mem::replace(&mut self.working, true) {
                        tracing::info!("spans are exported again");
                    }
                    break;
                }
                Err(Failure::Now(_)) if attempt < attempts => {
                    sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                Err(Failure::Now(why) | Failure::Ever(why)) => {
                    self.lost.increment(count);
                    if std::mem::replace(&mut self.working, false) {
                        tracing::warn!(%why, "spans cannot be exported and are lost");
                    }
                    break;
                }
            }
        }
        self.lost.increment(self.finished.lost.swap(0, Ordering::Relaxed));
    }

    /// Sends one batch, and returns the number of spans that the receiver rejected.
    async fn send(&mut self, body: Bytes) -> Result<u64, Failure> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        let sent = self.fetcher.send(request, ANSWER).await;
        let Answer { status, body, .. } = sent.map_err(|why| Failure::Now(why.to_string()))?;
        match status {
            200..=299 => {
                let answer = ExportTraceServiceResponse::decode(body.as_slice()).unwrap_or_default();
                let rejected = answer.partial_success.map_or(0, |partial| partial.rejected_spans);
                Ok(u64::try_from(rejected).unwrap_or(0))
            }
            // OTLP 1.x, "Retryable response codes"
            429 | 502 | 503 | 504 => Err(Failure::Now(format!("the receiver answered with status {status}"))),
            _ => Err(Failure::Ever(format!("the receiver answered with status {status}"))),
        }
    }
}

/// Reads `name: value` lines. A value is never logged.
///
/// # Errors
/// The file is unreadable, or a line is no header.
pub(crate) fn read_headers(path: &Path) -> Result<HeaderMap, RunFault> {
    let fault = |why: String| RunFault::File { path: path.to_owned(), what: "headers of traces", why };
    let text = std::fs::read_to_string(path).map_err(|why| fault(why.to_string()))?;
    let mut headers = HeaderMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let header = line.split_once(':').and_then(|(name, value)| {
            let mut value = HeaderValue::try_from(value.trim()).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::try_from(name.trim()).ok()?, value))
        });
        let (name, value) =
            header.ok_or_else(|| fault(format!("line {} is not `name: value`", number.saturating_add(1))))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Checks the files of `[traces]`.
///
/// # Errors
/// As [`Exporter::new`].
pub(crate) fn check(config: &Config) -> Result<(), RunFault> {
    let Some(traces) = &config.traces else { return Ok(()) };
    let _ = materials::receiver(config, traces)?;
    traces.headers.as_deref().map_or(Ok(()), |path| read_headers(path).map(drop))
}
