//! Trace headers of a request (W3C Trace Context and Baggage), which the agent gets within their bounds.
//!
//! They are for operators. No policy and no schema sees them. A header that does not fit is dropped and recorded, and refuses
//! nothing.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ring::digest::{SHA256, digest};
use semgate_inspect::{Direction, Facts};
use semgate_protocol::trace::{self, TraceParent};

use crate::pipeline::decision::DecisionId;
use crate::pipeline::record::spans::Ended;
use crate::pipeline::record::{SpanIds, Traced};
use crate::server::worker::RouteWorker;

const TRACEPARENT: HeaderName = HeaderName::from_static(trace::TRACEPARENT);
const TRACESTATE: HeaderName = HeaderName::from_static(trace::TRACESTATE);
const BAGGAGE: HeaderName = HeaderName::from_static(trace::BAGGAGE);

/// Names of dropped headers in `removed` of a record.
const DROPPED: [&str; 3] = ["header:traceparent", "header:tracestate", "header:baggage"];

/// The trace of one message. Its spans end with it.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    head: TraceHead,
    /// Position of the caller: of the head, else of `_meta`.
    parent: Cell<Option<TraceParent>>,
    /// The message, if messages may have spans.
    message: Option<TracedMessage>,
    /// Decided once: at the first record.
    spans: OnceCell<Option<SpanIds>>,
}

/// Facts for the spans of a message.
#[derive(Clone)]
struct TracedMessage {
    worker: Rc<RouteWorker>,
    decision: DecisionId,
    began: Instant,
    method: Method,
    status: Cell<u16>,
}

impl fmt::Debug for TracedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TracedMessage").field("decision", &self.decision).finish_non_exhaustive()
    }
}

impl TracedMessage {
    /// Decides as the caller did, and without a caller's decision by the id of the trace.
    fn spans(&self, parent: Option<TraceParent>) -> Option<SpanIds> {
        let sample = self.worker.shared.audit.sample()?;
        let own = self.decision.bits();
        if !parent.map_or_else(|| sample.takes(own), TraceParent::is_sampled) || own == 0 {
            return None;
        }
        // members of a group share a decision, and have routes of their own
        let mixed = [&own.to_be_bytes()[..], self.worker.route.name.as_bytes()].concat();
        let mixed = digest(&SHA256, &mixed);
        let (ids, _) = mixed.as_ref().as_chunks::<8>();
        let [server, client, ..] = *ids else { return None };
        Some(SpanIds {
            trace_id: parent.map_or(own, |parent| parent.trace_id),
            parent: parent.map(|parent| parent.span_id),
            server: u64::from_be_bytes(server).max(1),
            client: u64::from_be_bytes(client).max(1),
        })
    }
}

/// Trace headers of one request.
#[derive(Clone, Debug, Default)]
struct TraceHead {
    parent: Option<TraceParent>,
    state: Option<HeaderValue>,
    baggage: Option<HeaderValue>,
    /// Names in [`DROPPED`].
    dropped: Vec<&'static str>,
}

impl TraceHead {
    /// Reads the three headers. A state without a parent means nothing (Trace Context §3.3), and is dropped.
    fn read(headers: &HeaderMap) -> Self {
        let mut head = Self::default();
        let [parent, state, baggage] = DROPPED;
        let traceparent = head.take(headers, &TRACEPARENT, parent);
        head.parent = traceparent.and_then(|value| TraceParent::parse(value.to_str().ok()?));
        head.state = head.take(headers, &TRACESTATE, state);
        if head.parent.is_none() && head.state.take().is_some() {
            head.dropped.push(state);
        }
        head.baggage = head.take(headers, &BAGGAGE, baggage);
        head
    }

    /// The one value of a header. Lists may stand on several lines (RFC 9110 §5.3).
    fn take(&mut self, headers: &HeaderMap, name: &HeaderName, dropped: &'static str) -> Option<HeaderValue> {
        let mut all = headers.get_all(name).iter();
        let first = all.next()?;
        let mut value = first.clone();
        for next in all {
            let joined = [value.as_bytes(), b",", next.as_bytes()].concat();
            value = HeaderValue::from_bytes(&joined).unwrap_or(value);
        }
        if value.to_str().is_ok_and(|text| trace::fits(name.as_str(), text)) {
            return Some(value);
        }
        self.dropped.push(dropped);
        None
    }
}

impl Trace {
    /// The trace of the request with these headers.
    pub(crate) fn of(worker: &Rc<RouteWorker>, decision: DecisionId, parts: &Parts) -> Rc<Self> {
        let message = worker.shared.audit.sample().map(|_| TracedMessage {
            worker: Rc::clone(worker),
            decision,
            began: Instant::now(),
            method: parts.method.clone(),
            status: Cell::new(0),
        });
        Rc::new(Self::read(&parts.headers, message))
    }

    /// The trace of messages without spans: those of the socket that is opened with these headers, or a notification.
    pub(crate) fn without_spans(headers: &HeaderMap) -> Rc<Self> {
        Rc::new(Self::read(headers, None))
    }

    fn read(headers: &HeaderMap, message: Option<TracedMessage>) -> Self {
        let head = TraceHead::read(headers);
        Self { parent: Cell::new(head.parent), head, message, spans: OnceCell::new() }
    }

    /// The same trace for another message that is made of the request.
    pub(crate) fn again(&self, worker: &Rc<RouteWorker>, decision: DecisionId) -> Rc<Self> {
        let message = self.message.clone();
        let message = message.map(|message| TracedMessage { worker: Rc::clone(worker), decision, ..message });
        Rc::new(Self {
            head: self.head.clone(),
            parent: self.parent.clone(),
            message,
            spans: OnceCell::new(),
        })
    }

    /// Keeps the status of the answer for the spans.
    pub(crate) fn answered(&self, status: StatusCode) {
        if let Some(message) = &self.message {
            message.status.set(status.as_u16());
        }
    }

    /// The part of a record. A request without headers takes the position that its `_meta` states.
    pub(crate) fn record(&self, facts: &Facts) -> Traced {
        let request = facts.direction == Direction::Request;
        if request && self.parent.get().is_none() {
            self.parent.set(facts.trace);
        }
        let parent = self.parent.get();
        let spans = *self.spans.get_or_init(|| self.message.as_ref()?.spans(parent));
        Traced {
            trace_id: parent.map(|parent| parent.trace_id).or(spans.map(|spans| spans.trace_id)),
            spans,
            dropped: if request { self.head.dropped.clone() } else { Vec::new() },
        }
    }

    /// Adds the headers for the agent. The CLIENT span of a message that has one is the agent's caller.
    pub(crate) fn add(&self, headers: &mut HeaderMap) {
        let TraceHead { parent, state, baggage, .. } = &self.head;
        let own = self.spans.get().copied().flatten().map(|SpanIds { trace_id, client, .. }| {
            let flags = self.parent.get().map_or(0, |parent| parent.flags) | 1;
            TraceParent { trace_id, span_id: client, flags }
        });
        let parent = own.or(*parent).and_then(|parent| HeaderValue::try_from(parent.to_string()).ok());
        let all = [(TRACEPARENT, parent), (TRACESTATE, state.clone()), (BAGGAGE, baggage.clone())];
        headers.extend(all.into_iter().filter_map(|(name, value)| Some((name, value?))));
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let Some(ids) = self.spans.get().copied().flatten() else { return };
        let Some(TracedMessage { worker, began, method, status, .. }) = &self.message else { return };
        worker.shared.audit.ended(Ended {
            ids,
            method: method.clone(),
            status: status.get(),
            route: worker.route.name.clone(),
            at: SystemTime::now(),
            after: began.elapsed(),
        });
    }
}

#[cfg(test)]
mod tests;
