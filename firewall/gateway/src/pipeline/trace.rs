//! Trace headers of a request (W3C Trace Context and Baggage), which the agent gets within their bounds.
//!
//! They are for operators. No policy and no schema sees them. A header that does not fit is dropped and recorded, and refuses
//! nothing.

use std::cell::Cell;
use std::rc::Rc;

use http::{HeaderMap, HeaderName, HeaderValue};
use semgate_inspect::{Direction, Facts};
use semgate_protocol::trace::{self, TraceParent};

use crate::pipeline::record::Traced;

const TRACEPARENT: HeaderName = HeaderName::from_static(trace::TRACEPARENT);
const TRACESTATE: HeaderName = HeaderName::from_static(trace::TRACESTATE);
const BAGGAGE: HeaderName = HeaderName::from_static(trace::BAGGAGE);

/// Names of dropped headers in `removed` of a record.
const DROPPED: [&str; 3] = ["header:traceparent", "header:tracestate", "header:baggage"];

/// The trace of one message.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    head: TraceHead,
    /// Position of the caller: of the head, else of `_meta`.
    parent: Cell<Option<TraceParent>>,
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
    pub(crate) fn of(headers: &HeaderMap) -> Rc<Self> {
        let head = TraceHead::read(headers);
        Rc::new(Self { parent: Cell::new(head.parent), head })
    }

    /// The same trace for another message that is made of the request.
    pub(crate) fn again(&self) -> Rc<Self> {
        Rc::new(Self { head: self.head.clone(), parent: self.parent.clone() })
    }

    /// The part of a record. A request without headers takes the position that its `_meta` states.
    pub(crate) fn record(&self, facts: &Facts) -> Traced {
        let request = facts.direction == Direction::Request;
        if request && self.parent.get().is_none() {
            self.parent.set(facts.trace);
        }
        Traced {
            trace_id: self.parent.get().map(|parent| parent.trace_id),
            dropped: if request { self.head.dropped.clone() } else { Vec::new() },
        }
    }

    /// Adds the headers for the agent.
    pub(crate) fn add(&self, headers: &mut HeaderMap) {
        let TraceHead { parent, state, baggage, .. } = &self.head;
        let parent = parent.and_then(|parent| HeaderValue::try_from(parent.to_string()).ok());
        let all = [(TRACEPARENT, parent), (TRACESTATE, state.clone()), (BAGGAGE, baggage.clone())];
        headers.extend(all.into_iter().filter_map(|(name, value)| Some((name, value?))));
    }
}

#[cfg(test)]
mod tests;
