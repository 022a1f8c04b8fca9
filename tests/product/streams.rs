//! A2A through the running binary: streams, tasks, HTTP+JSON and 0.3, as an agent sees them.

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::task_agent::TaskAgent;
use support::{Answer, PATIENCE, Up, wait_for};

const EXTENSION: &str = "urn:contexts:snl:v1.0";
const CONTEXT: &str = "urn:contexts:supplyChain:v1.0";
const V10: (&str, &str) = ("a2a-version", "1.0");

fn message(id: &str) -> Value {
    json!({
        "messageId": id, "role": "ROLE_USER", "metadata": {EXTENSION: {"context": CONTEXT}},
        "parts": [{"data": {"concept": "current_decision", "item_id": "beer", "quantity": 120}}],
    })
}

fn call(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "r-1", "method": method, "params": params})
}

fn events(answer: &Answer) -> Vec<Value> {
    let text = String::from_utf8(answer.body.clone()).unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

/// A gateway before an agent with tasks, with one more route, which takes both versions and two transports.
fn open_route(up: &Up) -> (Gateway, SocketAddr) {
    let behind = TaskAgent::start().address;
    let listen = free_address();
    let more = format!(
        "[[route]]\nname = \"open\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/a2a\"\ncontexts = [\"*\"]\nversions = [\"1.0\", \"0.3\"]\ntransports = [\"jsonrpc\", \"rest\"]\n"
    );
    (Gateway::before(up, behind, &more), listen)
}

fn ask(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {to}\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        let head = format!("content-type: application/a2a+json\r\ncontent-length: {}\r\n", body.len());
        request.push_str(&head);
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    Answer::read(&mut stream)
}

#[test]
fn a_stream_passes_event_by_event_and_each_leaves_a_record() {
    let up = Up::before(&TaskAgent::start());
    let url = up.text("/gateway/a2a").to_owned();
    let request = call("SendStreamingMessage", json!({"message": message("m-1")}));
    let answer = up.post("retailer-7", &url, &[V10], request.to_string().as_bytes());
    assert_eq!(answer.header("content-type").as_deref(), Some("text/event-stream"), "{}", answer.head);
    let events = events(&answer);
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[0]["result"]["task"]["status"]["state"], "TASK_STATE_WORKING");
    assert_eq!(events[1]["result"]["artifactUpdate"]["artifact"]["parts"][0]["data"]["quantity"], 120);
    assert_eq!(events[2]["result"]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let decision = answer.header("semgate-decision").unwrap();
    wait_for("a record for the request and each event", || {
        let records = up.audit();
        (records.iter().filter(|record| record["decision_id"] == decision).count() == 4).then_some(())
    });
}

#[test]
fn task_of_another_sender_is_not_found_whether_read_cancelled_or_subscribed_to() {
    let up = Up::before(&TaskAgent::start());
    let url = up.text("/gateway/a2a").to_owned();
    let post = |agent: &str, body: Value| up.post(agent, &url, &[V10], body.to_string().as_bytes());
    let params = json!({"message": message("m-2"), "configuration": {"returnImmediately": true}});
    let begun = post("retailer-7", call("SendMessage", params)).json();
    let id = begun["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    for method in ["GetTask", "CancelTask", "SubscribeToTask"] {
        let theirs = post("treasurer-1", call(method, json!({"id": id}))).json();
        let nobodys = post("treasurer-1", call(method, json!({"id": "task-of-nobody"}))).json();
        assert_eq!(theirs["error"]["code"], -32001, "{method}: {theirs}");
        assert_eq!(theirs["error"]["message"], nobodys["error"]["message"], "nothing tells them apart");
    }
    let read = post("retailer-7", call("GetTask", json!({"id": id}))).json();
    assert_eq!(read["result"]["status"]["state"], "TASK_STATE_WORKING", "{read}");
    let subscribed = post("retailer-7", call("SubscribeToTask", json!({"id": id})));
    assert_eq!(events(&subscribed).len(), 3, "{}", String::from_utf8_lossy(&subscribed.body));
    let again = post("retailer-7", call("CancelTask", json!({"id": id}))).json();
    assert_eq!(again["error"]["code"], -32002, "the agent's own error keeps its number: {again}");
}

#[test]
fn a_task_is_its_owners_still_after_a_restart_or_a_crash_of_the_gateway() {
    let up = Up::start();
    let (mut gateway, open) = open_route(&up);
    let post = |body: Value| ask(open, "POST", "/", &[V10], Some(&body)).json();
    let params = json!({"message": message("m-3"), "configuration": {"returnImmediately": true}});
    let begun = post(call("SendMessage", params));
    let id = begun["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
    for signal in ["TERM", "KILL"] {
        gateway.restart(signal);
        let read = post(call("GetTask", json!({"id": id})));
        assert_eq!(read["result"]["status"]["state"], "TASK_STATE_WORKING", "{signal}: {read}");
    }
}

#[test]
fn over_http_json_the_same_is_said_by_path_and_query() {
    let up = Up::start();
    let (_gateway, open) = open_route(&up);
    let sent = ask(open, "POST", "/message:send", &[V10], Some(&json!({"message": message("m-3")})));
    assert_eq!(sent.status, 200, "{}", String::from_utf8_lossy(&sent.body));
    assert_eq!(sent.json()["message"]["parts"][0]["data"]["quantity"], 120);
    let streamed = ask(open, "POST", "/message:stream", &[V10], Some(&json!({"message": message("m-4")})));
    assert_eq!(events(&streamed)[2]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    let id = events(&streamed)[0]["task"]["id"].as_str().unwrap().to_owned();
    let read = ask(open, "GET", &format!("/tasks/{id}?historyLength=0"), &[V10], None);
    assert_eq!(read.json()["id"], id, "{}", String::from_utf8_lossy(&read.body));
    let listed = ask(open, "GET", "/tasks?pageSize=10", &[V10], None).json();
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 1, "{listed}");
    let done = ask(open, "POST", &format!("/tasks/{id}:cancel"), &[V10], None);
    assert_eq!(
        (done.status, done.json()["error"]["details"][0]["reason"].as_str()),
        (400, Some("TASK_NOT_CANCELABLE"))
    );

    for (method, path, status, code) in [
        ("GET", "/tasks/task-of-nobody", 404, "not_found"),
        ("GET", "/tasks?pageSize=10&pageSize=20", 400, "malformed"),
        ("GET", "/tasks?other=1", 400, "malformed"),
        ("GET", "/tasks/a%2fb", 400, "malformed"),
        ("PUT", "/tasks/a", 404, "method_unsupported"),
        ("GET", "/received", 404, "method_unsupported"),
    ] {
        let refused = ask(open, method, path, &[V10], None);
        let json = refused.json();
        assert_eq!(
            (refused.status, json["error"]["code"].as_u64()),
            (status, Some(status.into())),
            "{path}: {json}"
        );
        assert_eq!(json["error"]["details"][1]["code"], code, "{path}: {json}");
    }
    let stripped = ask(open, "POST", "/message:send", &[], Some(&json!({"message": message("m-5")}))).json();
    assert_eq!(
        stripped["error"]["details"][0]["reason"], "VERSION_NOT_SUPPORTED",
        "0.3 has no http+json here"
    );
}

#[test]
fn in_0_3_messages_streams_and_tasks_pass_and_a_stripped_version_is_refused_where_only_1_0_is_taken() {
    let up = Up::start();
    let (gateway, open) = open_route(&up);
    let old = json!({
        "kind": "message", "messageId": "m-6", "role": "user", "metadata": {EXTENSION: {"context": CONTEXT}},
        "parts": [{"kind": "data", "data": {"concept": "current_decision", "item_id": "beer", "quantity": 7}}],
    });
    let headers = [("x-a2a-extensions", EXTENSION)];
    let sent = ask(open, "POST", "/", &headers, Some(&call("message/send", json!({"message": old}))));
    assert_eq!(sent.json()["result"]["kind"], "message", "{}", String::from_utf8_lossy(&sent.body));
    assert_eq!(sent.header("x-a2a-extensions").as_deref(), Some(EXTENSION));
    let streamed = ask(open, "POST", "/", &[], Some(&call("message/stream", json!({"message": old}))));
    let events = events(&streamed);
    let kinds: Vec<&str> = events.iter().map(|e| e["result"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["task", "artifact-update", "status-update"]);
    let id = &events[0]["result"]["id"];
    let read = ask(open, "POST", "/", &[], Some(&call("tasks/get", json!({"id": id})))).json();
    assert_eq!(read["result"]["status"]["state"], "completed", "{read}");

    let downgraded = ask(gateway.a2a, "POST", "/", &[], Some(&call("message/send", json!({"message": old}))));
    assert_eq!(downgraded.json()["error"]["code"], -32009);
    let differ = [V10];
    let body = call("SendMessage", json!({"message": message("m-7")}));
    let refused = ask(open, "POST", "/?A2A-Version=0.3", &differ, Some(&body));
    assert_eq!(refused.code(), "malformed");
}

#[test]
fn a_stream_ends_when_its_context_is_revoked() {
    let up = Up::start();
    let event = json!({"jsonrpc": "2.0", "id": "r-1", "result": {"statusUpdate": {
        "taskId": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}}});
    let event = format!("data: {event}\n\n");
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let agent = Scripted::answering(format!("{head}{:x}\r\n{event}\r\n", event.len()).into_bytes());
    let gateway = Gateway::before(&up, agent.address, "");
    let mut stream = TcpStream::connect(gateway.a2a).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = call("SendStreamingMessage", json!({"message": message("m-8")})).to_string();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\na2a-version: 1.0\r\ncontent-type: application/json\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut text = String::new();
    let mut until = |wanted: &str| {
        let mut buffer = [0; 4096];
        while !text.contains(wanted) {
            let size = stream.read(&mut buffer).unwrap();
            assert!(size > 0, "`{wanted}` in {text}");
            text.push_str(&String::from_utf8_lossy(&buffer[..size]));
        }
        text.clone()
    };
    until("TASK_STATE_WORKING");
    assert!(up.semgate(&["context", "revoke", "supplyChain:v1.0", "--reason", "test"]).status.success());
    let began = Instant::now();
    let all = until("0\r\n\r\n");
    assert!(all.contains("context_revoked"), "{all}");
    // the bound of the promise is a second; a debug build on a busy machine is given five
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn a_version_beside_transports_that_do_not_carry_it_passed_the_check_and_carried_nothing() {
    let up = Up::start();
    let file = up.path("/firewall_config");
    let (text, listen) = (std::fs::read_to_string(&file).unwrap(), free_address());
    let with = |choice: &str| {
        let route = format!(
            "\n[[route]]\nname = \"old\"\nlisten = \"{listen}\"\nbinding = \"a2a\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://127.0.0.1:1/a2a\"\nupstream_http2 = true\ncontexts = [\"*\"]\n{choice}\n"
        );
        let wrong = file.with_file_name("old.toml");
        std::fs::write(&wrong, format!("{text}{route}")).unwrap();
        wrong
    };
    let told = |job: &str, file: &std::path::Path| {
        let output = std::process::Command::new(support::SEMGATE)
            .args(["firewall", job, "--config"])
            .arg(file)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (transports, versions, key) in
        [("\"grpc\"", "\"0.3\"", "versions"), ("\"rest\"", "\"0.3\"", "versions")]
    {
        let wrong = with(&format!("transports = [{transports}]\nversions = [{versions}]"));
        for job in ["check", "run"] {
            let (status, said) = told(job, &wrong);
            assert_eq!(status, Some(1), "{job}: {said}");
            let fault = format!("`route `old`: {key}` must be without `0.3`");
            assert!(
                said.contains("old.toml`: line ") && said.contains(&fault) && said.contains("\nhint: "),
                "{job}: {said}"
            );
        }
    }
    let (status, said) =
        told("check", &with("transports = [\"jsonrpc\", \"grpc\"]\nversions = [\"1.0\", \"0.3\"]"));
    assert_eq!(status, Some(0), "{said}");
}
