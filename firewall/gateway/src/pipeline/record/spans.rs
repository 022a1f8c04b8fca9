//! Spans of messages, made of their records: SERVER for the caller's request, CLIENT for the agent's part.
//!
//! The audit thread makes them, so the path of a message does not. Spans are best effort: one without room is counted and
//! lost. They hold what a record holds, and no payload value.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use semgate_inspect::{Direction, Facts};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::exemplars::Exemplars;
use super::{Outcome, Record, SpanIds};

/// Spans of a message.
pub(super) const PAIR: u64 = 2;
/// Messages in transit that have spans. Each holds about 2 KiB.
const OPEN: usize = 4_096;
/// Finished spans that wait for the exporter: about two seconds at a thousand messages a second.
const WAITING: usize = 4_096;

/// The end of a message that has spans.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ids: SpanIds,
    pub(crate) method: http::Method,
    pub(crate) status: u16,
    pub(crate) route: String,
    pub(crate) at: SystemTime,
    pub(crate) after: Duration,
}

/// Spans for the exporter, and the number of lost ones.
pub(crate) struct Finished {
    pub(crate) spans: Receiver<Span>,
    pub(crate) lost: Arc<AtomicU64>,
}

/// Spans that wait for the end of their message.
pub(crate) struct Collector {
    open: HashMap<u64, Parts>,
    out: Sender<Span>,
    lost: Arc<AtomicU64>,
    exemplars: Arc<Exemplars>,
}

/// Parts of one message: its request, and the last record of its reply.
#[derive(Default)]
struct Parts {
    request: Option<Half>,
    reply: Option<Half>,
}

struct Half {
    name: String,
    attributes: Vec<KeyValue>,
    after: Duration,
    allowed: bool,
    code: Option<&'static str>,
}

impl Collector {
    /// Counter of lost spans.
    pub(super) fn lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost)
    }

    /// A collector, and its other end.
    pub(crate) fn new(exemplars: Arc<Exemplars>) -> (Self, Finished) {
        let (out, spans) = channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let collector = Self { open: HashMap::new(), out, lost: Arc::clone(&lost), exemplars };
        (collector, Finished { spans, lost })
    }

    /// Keeps what a record tells of a message that has spans.
    pub(super) fn record(&mut self, record: &Record) {
        let Some(ids) = record.traced.spans else { return };
        let is_new = !self.open.contains_key(&ids.server);
        if is_new && self.open.len() >= OPEN {
            let any = self.open.keys().next().copied();
            any.and_then(|any| self.open.remove(&any));
            self.lost.fetch_add(PAIR, Ordering::Relaxed);
        }
        let parts = self.open.entry(ids.server).or_default();
        match record.facts.direction {
            Direction::Request => parts.request = Some(Half::of(record)),
            Direction::Reply => parts.reply = Some(Half::of(record)),
        }
    }

    /// Finishes the spans of a message. One without a record has none.
    pub(super) fn ended(&mut self, ended: Ended) {
        let Some(parts) = self.open.remove(&ended.ids.server) else { return };
        let halves = [(Direction::Request, &parts.request), (Direction::Reply, &parts.reply)];
        for (direction, half) in halves {
            if let Some(half) = half {
                self.exemplars.keep(&ended.route, direction, ended.ids.trace_id, half.after);
            }
        }
        for span in spans(parts, ended) {
            if self.out.try_send(span).is_err() {
                self.lost.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The SERVER span, and the CLIENT span of a message that was forwarded.
fn spans(parts: Parts, ended: Ended) -> Vec<Span> {
    let Ended { ids, method, status, route, at, after } = ended;
    let Parts { request, reply } = parts;
    let began = nanos(at.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(after));
    let time = |after: Duration| began.saturating_add(nanos(after));
    let named = request.as_ref().or(reply.as_ref()).map(|half| half.name.clone());
    let name = named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{method} {route}"));
    let span = |kind: SpanKind, id: u64, parent: Option<u64>, attributes: Vec<KeyValue>| Span {
        trace_id: ids.trace_id.to_be_bytes().to_vec(),
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: parent.map(|parent| parent.to_be_bytes().to_vec()).unwrap_or_default(),
        flags: 1,
        name: name.clone(),
        kind: kind.into(),
        attributes,
        ..Span::default()
    };
    // a part of another message, such as one of a group, has no answer of its own
    let status = (status > 0).then(|| number("http.response.status_code", i64::from(status)));
    let head = [text("http.request.method", method.as_str()), text("semgate.route", &route)];
    let of_reply = || reply.iter().flat_map(|half| half.attributes.iter().cloned());
    let of_request = request.iter().flat_map(|half| half.attributes.iter().cloned());
    let all = head.into_iter().chain(status).chain(of_request).chain(of_reply()).collect();
    let code = request.as_ref().and_then(|half| half.code).or(reply.as_ref().and_then(|half| half.code));
    let mut server = span(SpanKind::Server, ids.server, ids.parent, all);
    (server.start_time_unix_nano, server.end_time_unix_nano) = (began, time(after));
    fail(&mut server, code);
    let mut all = vec![server];
    if let Some(request) = request.as_ref().filter(|half| half.allowed) {
        let asked = request.attributes.iter().filter(|one| !one.key.starts_with("semgate."));
        let attributes = asked.cloned().chain(of_reply()).collect();
        let mut client = span(SpanKind::Client, ids.client, Some(ids.server), attributes);
        client.start_time_unix_nano = time(request.after);
        client.end_time_unix_nano = time(reply.as_ref().map_or(after, |half| half.after).max(request.after));
        fail(&mut client, reply.as_ref().and_then(|half| half.code));
        all.push(client);
    }
    all
}

/// Marks a span of a refused message.
fn fail(span: &mut Span, code: Option<&'static str>) {
    let Some(code) = code else { return };
    span.attributes.push(text("error.type", code));
    span.status = Some(Status { code: StatusCode::Error.into(), message: code.to_owned() });
}

impl Half {
    fn of(record: &Record) -> Self {
        let facts = &record.facts;
        let code = match record.outcome {
            Outcome::Refused(code) => Some(code.as_str()),
            Outcome::Allowed | Outcome::Abandoned | Outcome::OfPeople(_) => None,
        };
        let (name, attributes) = match facts.direction {
            Direction::Request => (name(facts), request(record, code)),
            Direction::Reply => (String::new(), reply(record, code)),
        };
        Self {
            name,
            attributes,
            after: Duration::from_micros(record.duration_us),
            allowed: record.outcome == Outcome::Allowed,
            code,
        }
    }
}

/// Called tool of MCP.
fn tool(facts: &Facts) -> Option<&str> {
    let called = facts.method == Some("tools/call");
    facts.unnamed_tool.as_deref().or(facts.concepts.first().map(String::as_str)).filter(|_| called)
}

/// Name of the spans: the method with its tool, else the performative.
fn name(facts: &Facts) -> String {
    match (facts.method, tool(facts)) {
        (Some(method), Some(tool)) => format!("{method} {tool}"),
        (Some(method), None) => method.to_owned(),
        (None, _) => facts.performative.map(|act| act.as_str().to_owned()).unwrap_or_default(),
    }
}

fn request(record: &Record, code: Option<&'static str>) -> Vec<KeyValue> {
    let facts = &record.facts;
    let mut all = vec![
        text("semgate.decision_id", &record.decision.to_string()),
        text("semgate.verdict", record.outcome.verdict()),
        text("semgate.sender", &facts.sender),
        text("semgate.receiver", &facts.receiver),
    ];
    let mcp = facts.protocol == "mcp";
    let operation = if mcp { tool(facts).map(|_| "execute_tool") } else { Some("invoke_agent") };
    let optional = [
        ("semgate.code", code),
        ("semgate.context", facts.context.as_deref()),
        ("semgate.performative", facts.performative.map(|act| act.as_str())),
        ("gen_ai.operation.name", operation),
        ("gen_ai.agent.id", (!mcp).then_some(facts.receiver.as_str())),
        ("gen_ai.tool.name", tool(facts)),
        (if mcp { "mcp.method.name" } else { "rpc.method" }, facts.method),
    ];
    all.extend(optional.into_iter().filter_map(|(key, value)| Some(text(key, value?))));
    all.push(list("semgate.concepts", facts.concepts.iter().map(String::as_str)));
    all.push(list("semgate.policies", facts.policy_ids().into_iter()));
    all
}

fn reply(record: &Record, code: Option<&'static str>) -> Vec<KeyValue> {
    let facts = &record.facts;
    let mut all = vec![text("semgate.reply.verdict", record.outcome.verdict())];
    all.extend(code.map(|code| text("semgate.reply.code", code)));
    all.push(list("semgate.reply.concepts", facts.concepts.iter().map(String::as_str)));
    all.push(list("semgate.reply.policies", facts.policy_ids().into_iter()));
    all
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// An attribute of text.
pub(crate) fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.to_owned()))
}

fn number(key: &str, value: i64) -> KeyValue {
    pair(key, Value::IntValue(value))
}

fn list<'t>(key: &str, values: impl Iterator<Item = &'t str>) -> KeyValue {
    let value = |text: &str| AnyValue { value: Some(Value::StringValue(text.to_owned())) };
    pair(key, Value::ArrayValue(ArrayValue { values: values.map(value).collect() }))
}
