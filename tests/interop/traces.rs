//! One trace from the client through the gateway to the agent. Client and agent are those of the official SDKs for Python, under OpenTelemetry's
//! own instrumentation (`opentelemetry-instrument`), which nobody changed. Client, gateway and agent export to one strict receiver.

use crate::support;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::otlp::{Receiver, Seen};
use support::{Ended, SEMGATE, Up, python, wait_for};

/// A script under instrumentation, as this service.
fn instrumented(python: &Path, script: &str, service: &str, receiver: &Receiver) -> Command {
    let mut command = Command::new(python.with_file_name("opentelemetry-instrument"));
    command
        .arg(python)
        .arg(python::script(script))
        .env("OTEL_SERVICE_NAME", service)
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_METRICS_EXPORTER", "none")
        .env("OTEL_LOGS_EXPORTER", "none")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", receiver.address))
        .env("OTEL_BSP_SCHEDULE_DELAY", "200")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts an agent that prints its address.
fn agent(script: &str, receiver: &Receiver) -> (Ended, Value) {
    let mut command = instrumented(python::interpreter(), script, "agent", receiver);
    let mut child = command.stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (Ended(child), serde_json::from_str(&line).expect(&line))
}

/// Runs a client to its end, and returns what it printed.
fn played(child: Child, input: &[Value]) -> String {
    let mut child = child;
    let mut pipe = child.stdin.take().unwrap();
    input.iter().for_each(|line| writeln!(pipe, "{line}").unwrap());
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The spans of each trace whose message had this method at the gateway and was forwarded, once client, gateway and agent have exported theirs.
fn traces(receiver: &Receiver, method: &str, count: usize) -> Vec<Vec<Seen>> {
    let of_method = |seen: &&Seen| {
        let keys = ["mcp.method.name", "rpc.method"];
        let forwarded = seen.attribute("semgate.verdict").as_deref() == Some("allowed");
        seen.is(SpanKind::Server)
            && forwarded
            && keys.iter().any(|key| seen.attribute(key).as_deref() == Some(method))
    };
    let whole = |spans: &[Seen]| {
        let gateway = spans.iter().filter(|seen| seen.service == "semgate").filter(of_method);
        let ids: BTreeSet<_> = gateway.map(|seen| seen.span.trace_id.clone()).collect();
        let of = |id| spans.iter().filter(move |seen| seen.span.trace_id == id).cloned().collect::<Vec<_>>();
        ids.into_iter().map(of).collect::<Vec<_>>()
    };
    let complete = |trace: &Vec<Seen>| {
        let root = |seen: &Seen| seen.span.parent_span_id.is_empty();
        let services: BTreeSet<&str> = trace.iter().map(|seen| seen.service.as_str()).collect();
        services.len() == 3 && trace.iter().any(root) && unparented(trace).is_empty()
    };
    let enough = |spans: &[Seen]| {
        let traces = whole(spans);
        traces.len() >= count && traces.iter().all(complete)
    };
    let what = format!("whole traces of {method}");
    whole(&receiver.wait(&what, enough))
}

/// Spans whose parent nobody exported.
fn unparented(trace: &[Seen]) -> Vec<&Seen> {
    let known: BTreeSet<_> = trace.iter().map(|seen| &seen.span.span_id).collect();
    let lost =
        |seen: &&Seen| !seen.span.parent_span_id.is_empty() && !known.contains(&seen.span.parent_span_id);
    trace.iter().filter(lost).collect()
}

/// Checks the chain: a span of the client, SERVER and CLIENT of the gateway, a SERVER span of the agent. One span has no parent.
fn is_one_chain(trace: &[Seen]) {
    let by_id = |id: &[u8]| trace.iter().find(|seen| seen.span.span_id == id);
    let roots = trace.iter().filter(|seen| seen.span.parent_span_id.is_empty());
    assert_eq!(roots.map(|seen| seen.service.as_str()).collect::<Vec<_>>(), ["client"], "{trace:#?}");
    let gateway = |seen: &&Seen| seen.service == "semgate" && seen.is(SpanKind::Client);
    let calls: Vec<_> = trace.iter().filter(gateway).collect();
    assert!(!calls.is_empty(), "{trace:#?}");
    for call in calls {
        let server = by_id(&call.span.parent_span_id).unwrap();
        assert!(server.service == "semgate" && server.is(SpanKind::Server), "{server:?}");
        assert_eq!(by_id(&server.span.parent_span_id).map(|seen| seen.service.as_str()), Some("client"));
        let answers = |seen: &&Seen| seen.span.parent_span_id == call.span.span_id;
        let answer = trace.iter().find(answers).unwrap_or_else(|| panic!("nobody answers {call:?}"));
        assert!(answer.service == "agent" && answer.is(SpanKind::Server), "{answer:?}");
    }
}

/// An `up` whose A2A route leads to this agent, and whose gateway exports here.
fn up(agent: &str, receiver: &Receiver) -> (tempfile::TempDir, Up) {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("semgate");
    let first = Up::start_in(&dir);
    let (config, own) = (first.path("/firewall_config"), first.text("/sample_agent/url").to_owned());
    first.stop();
    let text = std::fs::read_to_string(&config).unwrap();
    let was = format!("{own}/a2a");
    assert!(text.contains(&was), "{text}");
    let text = text.replace(&was, &format!("http://{agent}/")) + "\n" + &receiver.settings("0.0");
    std::fs::write(&config, text).unwrap();
    (temporary, Up::start_in(&dir))
}

#[test]
fn an_a2a_message_is_one_trace_from_the_client_to_the_agent() {
    let receiver = Receiver::start();
    let (_agent, serves) = agent("a2a_agent.py", &receiver);
    let (_temporary, up) = up(serves["http"].as_str().unwrap(), &receiver);
    let claim = json!({"urn:contexts:snl:v1.0": {"context": "urn:contexts:supplyChain:v1.0", "performative": "INFORM"}});
    let case = json!({"case": "one", "data": {"concept": "current_decision", "item_id": "beer", "quantity": 3}, "metadata": claim});
    let mut client = instrumented(python::interpreter(), "a2a_client.py", "client", &receiver);
    let shown = played(client.arg(&up.dir).arg("retailer-7").spawn().unwrap(), &[case]);
    assert!(shown.contains("\"shown\""), "{shown}");
    for trace in traces(&receiver, "SendMessage", 1) {
        is_one_chain(&trace);
    }
}

#[test]
fn a_grpc_call_and_a_stream_are_one_trace_each_from_the_client_to_the_agent() {
    let receiver = Receiver::start();
    let (_agent, serves) = agent("grpc_agent.py", &receiver);
    let agent = serves["grpc"].as_str().unwrap();
    let up = Up::start();
    let listen = free_address().to_string();
    let route = format!(
        "[[route]]\nname = \"grpc\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{agent}\"\nupstream_http2 = true\ncontexts = [\"*\"]\ntransports = [\"grpc\"]\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n"
    );
    let _gateway = Gateway::before(&up, agent.parse().unwrap(), &(route + &receiver.settings("0")));
    let mut client = instrumented(python::interpreter(), "grpc_client.py", "client", &receiver);
    let shown = played(client.arg(&listen).spawn().unwrap(), &[]);
    assert!(shown.contains("\"step\": \"stream\", \"shown\""), "{shown}");
    for method in ["GetTask", "SendStreamingMessage"] {
        for trace in traces(&receiver, method, 1) {
            is_one_chain(&trace);
        }
    }
}

#[test]
fn a_tool_call_of_mcp_is_one_trace_from_the_client_to_the_server_in_both_versions() {
    let receiver = Receiver::start();
    let up = Up::start();
    let (server, mcp): (SocketAddr, SocketAddr) = (free_address(), free_address());
    let mut command = instrumented(python::with_mcp(), "mcp_server.py", "agent", &receiver);
    command.arg(server.port().to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Ended(command.spawn().unwrap());
    wait_for("the server", || TcpStream::connect(server).ok());
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    for words in [
        &["context", "import", "mcp", &format!("http://{server}/mcp"), "--line", "sums", "--out", draft][..],
        &["context", "publish", draft, "--dir", dir],
    ] {
        let output = Command::new(SEMGATE).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::write(up.path("/policies").join("mcp.cedar"), crate::mcp::RULES).unwrap();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{server}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n"
    );
    let _gateway = Gateway::before(&up, server, &(route + &receiver.settings("0")));
    let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    for (count, mode) in [(1, "2026-07-28"), (2, "legacy")] {
        let mut client = instrumented(python::with_mcp(), "mcp_client.py", "client", &receiver);
        let url = format!("http://{mcp}/mcp");
        let shown = played(client.args([url.as_str(), mode]).spawn().unwrap(), std::slice::from_ref(&add));
        assert!(shown.contains("{\"sum\": 3}"), "{mode}: {shown}");
        let traces = traces(&receiver, "tools/call", count);
        assert_eq!(traces.len(), count, "{mode}");
        for trace in &traces {
            is_one_chain(trace);
            let tool = trace.iter().filter_map(|seen| seen.attribute("gen_ai.tool.name"));
            assert!(tool.into_iter().any(|tool| tool == "add"), "{trace:#?}");
        }
    }
}
