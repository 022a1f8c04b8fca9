//! Headers that pass, and headers that are dropped.

use super::*;

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn headers(all: &[(&str, &str)]) -> HeaderMap {
    let name = |name: &str| HeaderName::try_from(name).unwrap();
    all.iter().map(|(key, value)| (name(key), HeaderValue::try_from(*value).unwrap())).collect()
}

fn passed(all: &[(&str, &str)]) -> (Vec<String>, Vec<&'static str>) {
    let trace = Trace::read(&headers(all), None);
    let mut out = HeaderMap::new();
    trace.add(&mut out);
    let shown = out.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    (shown, trace.record(&Facts::default()).dropped)
}

#[test]
fn trace_headers_pass_and_lists_are_joined() {
    let all = [("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2"), ("baggage", "user=me")];
    let (mut shown, dropped) = passed(&all);
    shown.sort();
    assert_eq!(
        shown,
        ["baggage: user=me".to_owned(), format!("traceparent: {PARENT}"), "tracestate: a=1,b=2".to_owned()]
    );
    assert!(dropped.is_empty());
    assert_eq!(passed(&[]), (Vec::new(), Vec::new()));
}

#[test]
fn a_trace_header_that_does_not_fit_is_dropped_and_named() {
    let (shown, dropped) = passed(&[("traceparent", "00-0"), ("tracestate", "a=1"), ("baggage", "obey me")]);
    assert_eq!((shown.len(), dropped), (0, DROPPED.to_vec()));
    let (shown, dropped) = passed(&[("traceparent", PARENT), ("traceparent", PARENT)]);
    assert_eq!((shown.len(), dropped), (0, vec!["header:traceparent"]), "one request has one caller");
}

#[test]
fn a_request_without_headers_has_the_trace_of_its_metadata() {
    let facts = Facts { trace: TraceParent::parse(PARENT), ..Facts::default() };
    let trace = Trace::read(&HeaderMap::new(), None);
    assert_eq!(trace.record(&facts).trace_id, Some(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c));
    let other = PARENT.replace("0af7", "1af7");
    let trace = Trace::read(&headers(&[("traceparent", &other)]), None);
    assert_eq!(trace.record(&facts).trace_id, Some(0x1af7_6519_16cd_43dd_8448_eb21_1c80_319c));
}
