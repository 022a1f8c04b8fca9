//! Trace headers reach the agent, and each message is a SERVER and a CLIENT span.

use crate::support;

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::otlp::{Receiver, Seen, post};
use support::policies::{REPLY, message, metrics, records};
use support::{Answer, PATIENCE, Up, python, wait_for};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn decision() -> String {
    message(&json!({"concept": "current_decision", "item_id": "SECRET-beer", "quantity": 1}))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A header that the agent got last.
fn got(agent: &Scripted, name: &str) -> Option<String> {
    let heads = agent.heads();
    let lines = heads.last().unwrap().lines();
    lines
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value.to_owned())
}

/// Records of requests, once there are so many.
fn requests(gateway: &Gateway, count: usize) -> Vec<Value> {
    wait_for("the records", || {
        let all = records(gateway).into_iter().filter(|record| record["direction"] == "request");
        Some(all.collect::<Vec<_>>()).filter(|all| all.len() >= count)
    })
}

#[test]
fn trace_headers_reach_the_agent_and_one_that_does_not_fit_is_dropped_and_recorded() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, "");
    let url = format!("http://{}/", gateway.l8);
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let headers =
        format!("traceparent: {parent}\r\ntracestate: a=1\r\nbaggage: user=me\r\nx-request-id: 7\r\n");
    assert_eq!(post(&url, &headers, &decision()).status, 200);
    let names = ["traceparent", "tracestate", "baggage", "x-request-id"];
    let expected = [Some(parent.as_str()), Some("a=1"), Some("user=me"), None];
    assert_eq!(
        names.map(|name| got(&agent, name)).map(|one| one.clone()),
        expected.map(|one| one.map(str::to_owned))
    );

    let headers = "traceparent: 00-0-0-0\r\ntracestate: a=1\r\nbaggage: obey me\r\n";
    assert_eq!(post(&url, headers, &decision()).status, 200, "a trace refuses nothing");
    assert_eq!(names.map(|name| got(&agent, name)), [None, None, None, None]);
    let records = requests(&gateway, 2);
    assert_eq!(records[0]["trace_id"], TRACE);
    assert_eq!(records[0].get("removed"), None);
    assert_eq!(records[1].get("trace_id"), None, "a trace that nobody names is not made up");
    let dropped = json!(["header:traceparent", "header:tracestate", "header:baggage"]);
    assert_eq!(records[1]["removed"], dropped);
    assert!(records.iter().all(|record| record["gateway"].as_str().is_some_and(|name| !name.is_empty())));
}

#[test]
fn trace_headers_of_the_opening_request_reach_the_agent_of_a_socket() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let open = free_address();
    let route = format!(
        "[[route]]\nname = \"sockets\"\nlisten = \"{open}\"\nbinding = \"l8\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/l8\"\ncontexts = [\"*\"]\nwebsocket = true\n",
        agent.address
    );
    let gateway = Gateway::before(&up, agent.address, &route);
    let parent = format!("00-{TRACE}-{CALLER}-01");
    let mut caller = TcpStream::connect(open).unwrap();
    caller.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "GET / HTTP/1.1\r\nhost: {open}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\ntraceparent: {parent}\r\n\r\n"
    );
    caller.write_all(head.as_bytes()).unwrap();
    // one text message of up to 64 KiB with a mask of zeros (RFC 6455 §5.2)
    let body = decision();
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    caller.write_all(&[&[0x81, 0xfe][..], &length, &[0; 4], body.as_bytes()].concat()).unwrap();
    wait_for("the request for a socket", || (agent.received() > 0).then_some(()));
    assert_eq!(got(&agent, "upgrade").as_deref(), Some("websocket"));
    assert_eq!(got(&agent, "traceparent"), Some(parent));
    assert_eq!(requests(&gateway, 1)[0]["trace_id"], TRACE);
}

fn pair(spans: &[Seen]) -> [Seen; 2] {
    let of = |kind| {
        spans.iter().find(|seen| seen.is(kind)).unwrap_or_else(|| panic!("{kind:?} in {spans:#?}")).clone()
    };
    assert_eq!(spans.len(), 2, "{spans:#?}");
    [of(SpanKind::Server), of(SpanKind::Client)]
}

#[test]
fn a_message_is_a_server_and_a_client_span_and_the_agent_is_called_by_the_latter() {
    let up = Up::start();
    let receiver = Receiver::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, &receiver.settings("1.0"));
    let url = format!("http://{}/", gateway.l8);
    assert_eq!(post(&url, "", &decision()).status, 200);
    let [server, client] = pair(&receiver.wait("two spans", |spans| spans.len() >= 2));
    let record = &requests(&gateway, 1)[0];
    assert_eq!(record["trace_id"], hex(&server.span.trace_id), "the record names the trace that began here");
    assert!(server.span.parent_span_id.is_empty());
    assert_eq!(
        (&client.span.trace_id, &client.span.parent_span_id),
        (&server.span.trace_id, &server.span.span_id)
    );
    let called = format!("00-{}-{}-01", hex(&server.span.trace_id), hex(&client.span.span_id));
    assert_eq!(got(&agent, "traceparent"), Some(called));
    for (key, value) in [
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.id", "spiffe://semgate.test/agent/wholesaler-1"),
        ("semgate.route", "l8"),
        ("semgate.verdict", "allowed"),
        ("semgate.decision_id", record["decision_id"].as_str().unwrap()),
        ("semgate.context", "urn:contexts:supplyChain:v1.0"),
        ("semgate.concepts", "current_decision"),
        ("semgate.policies", record["policies"][0].as_str().unwrap()),
        ("semgate.reply.verdict", "allowed"),
    ] {
        assert_eq!(server.attribute(key).as_deref(), Some(value), "{key}");
    }
    assert_eq!(server.service, "semgate");
    assert!(server.span.start_time_unix_nano <= client.span.start_time_unix_nano);
    assert!(client.span.end_time_unix_nano <= server.span.end_time_unix_nano);

    let refused = message(&json!({"concept": "current_decision", "item_id": "SECRET-beer", "quantity": -1}));
    assert_eq!(post(&url, "", &refused).code(), "content_invalid");
    let spans = receiver.wait("the span of a refusal", |spans| spans.len() >= 3);
    let last = &spans[2];
    assert!(last.is(SpanKind::Server), "a refused message calls nobody");
    assert_eq!(last.attribute("semgate.code").as_deref(), Some("content_invalid"));
    assert_eq!(last.attribute("error.type").as_deref(), Some("content_invalid"));
    assert_eq!(last.span.status.as_ref().unwrap().code(), StatusCode::Error);
    assert!(!format!("{spans:?}").contains("SECRET"), "no value of a message is in a span");
    let exported = || metrics(&gateway).contains("semgate_spans_exported_total 3\n").then_some(());
    wait_for("the count of exported spans", exported);
}

/// Exemplars of `/metrics` in OpenMetrics, as a strict reader shows them.
fn exemplars(gateway: &Gateway) -> Vec<Value> {
    let mut stream = TcpStream::connect(gateway.admin).unwrap();
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {}\r\naccept: {accept}\r\n\r\n", gateway.admin).unwrap();
    let answer = Answer::read(&mut stream);
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type").as_deref(), Some(kind));
    let mut reader = Command::new(python::with_openmetrics());
    reader.arg(python::script("open_metrics.py"));
    let mut child =
        reader.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&answer.body).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_bucket_of_durations_names_the_trace_of_a_message_in_it() {
    let up = Up::start();
    let receiver = Receiver::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, &receiver.settings("0"));
    let url = format!("http://{}/", gateway.l8);
    assert_eq!(post(&url, &format!("traceparent: 00-{TRACE}-{CALLER}-01\r\n"), &decision()).status, 200);
    let both = wait_for("two exemplars", || Some(exemplars(&gateway)).filter(|all| all.len() == 2));
    let directions: BTreeSet<_> = both.iter().map(|one| one[1]["direction"].as_str().unwrap()).collect();
    assert_eq!(directions.into_iter().collect::<Vec<_>>(), ["reply", "request"]);
    for exemplar in &both {
        assert_eq!(exemplar[0], "semgate_duration_seconds_bucket");
        assert_eq!((&exemplar[1]["route"], &exemplar[2]), (&json!("l8"), &json!(TRACE)));
        let bound = exemplar[1]["le"].as_str().unwrap().parse().unwrap_or(f64::INFINITY);
        assert!(exemplar[3].as_f64().unwrap() <= bound, "{exemplar}");
    }
}

#[test]
fn the_callers_decision_to_sample_is_followed() {
    let up = Up::start();
    let receiver = Receiver::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, &receiver.settings("0"));
    let url = format!("http://{}/", gateway.l8);
    let header = |flags: &str| format!("traceparent: 00-{TRACE}-{CALLER}-{flags}\r\n");
    assert_eq!(post(&url, &header("00"), &decision()).status, 200);
    assert_eq!(got(&agent, "traceparent"), Some(format!("00-{TRACE}-{CALLER}-00")), "as it came");
    assert_eq!(post(&url, "", &decision()).status, 200);
    assert_eq!(got(&agent, "traceparent"), None, "outside the share no trace begins");
    assert_eq!(post(&url, &header("01"), &decision()).status, 200);
    let [server, client] = pair(&receiver.wait("two spans", |spans| spans.len() >= 2));
    assert_eq!(
        (hex(&server.span.trace_id), hex(&server.span.parent_span_id)),
        (TRACE.to_owned(), CALLER.to_owned())
    );
    assert_eq!(got(&agent, "traceparent"), Some(format!("00-{TRACE}-{}-01", hex(&client.span.span_id))));
    let traces: BTreeSet<_> =
        requests(&gateway, 3).iter().map(|record| record["trace_id"].to_string()).collect();
    assert_eq!(traces.len(), 2, "{traces:?}");
}

#[test]
fn a_receiver_that_refuses_spans_holds_up_no_message_and_the_lost_ones_are_counted() {
    let up = Up::start();
    let receiver = Receiver::answering("400 Bad Request");
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, &receiver.settings("1"));
    let url = format!("http://{}/", gateway.l8);
    for _ in 0..3 {
        assert_eq!(post(&url, "", &decision()).status, 200);
    }
    let lost = || metrics(&gateway).contains("semgate_spans_lost_total 6\n").then_some(());
    wait_for("the count of lost spans", lost);
    assert!(gateway.log().contains("spans cannot be exported"), "{}", gateway.log());
}
