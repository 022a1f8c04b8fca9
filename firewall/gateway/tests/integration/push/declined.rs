//! A push configuration that the agent did not take leaves no address behind.

use super::common::agent::{Agent, answer};
use super::common::grpc::{self, Says, ask, call, framed, json as said, proto, status};
use super::common::{Gateway, House, RETAILER, h2, route};
use super::{ALL, Scene, message, notify, scene, task, update, write_rules};
use serde_json::{Value, json};
use std::sync::Mutex;

/// What agents answer that did not do what they were asked for.
fn refusals() -> Vec<(&'static str, Vec<u8>)> {
    let error =
        |code: i32| json!({"jsonrpc": "2.0", "id": 7, "error": {"code": code, "message": "no"}}).to_string();
    let json = "Content-Type: application/json\r\n";
    vec![
        ("an error of the protocol", answer("200 OK", json, error(-32003).as_bytes())),
        ("an error of its own", answer("200 OK", json, error(-31000).as_bytes())),
        ("an error with a status", answer("400 Bad Request", json, error(-32602).as_bytes())),
        ("a status and nothing", answer("500 Internal Server Error", "", b"")),
        ("a page", answer("503 Service Unavailable", "Content-Type: text/html\r\n", b"<p>later</p>")),
        ("a redirect", answer("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n", b"")),
    ]
}

impl Scene {
    /// The next answers are these bytes.
    fn instead(&self, bytes: Option<Vec<u8>>) {
        *self.memory.1.lock().unwrap() = bytes;
    }

    /// The address that the agent was told last.
    fn leads_nowhere(&self, task: &str, what: &str) {
        let refused = notify(&self.memory.lane(), &update(task, 5).to_string());
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{what}");
    }
}

#[test]
fn a_configuration_that_the_agent_refused_kept_its_address() {
    let mut scene = scene();
    let before = scene.configured();
    for (what, bytes) in refusals() {
        scene.instead(Some(bytes));
        let set = json!({"taskId": "t-1", "id": "conf-1", "url": scene.target()});
        let refused = scene.call("CreateTaskPushNotificationConfig", &set);
        assert!(refused.get("error").is_some(), "{what}: {refused}");
        assert_ne!(scene.memory.lane(), before, "{what}");
        scene.leads_nowhere("t-1", what);
        // the one that the agent has under that id goes on
        assert_eq!(notify(&before, &update("t-1", 5).to_string()).status, 204, "{what}");
    }
    let lane = scene.memory.lane();
    scene.gateway.stop().unwrap();
    let kept = super::common::read(&scene.house.path("state/owners.jsonl"));
    let token = |url: &str| url.rsplit_once('/').unwrap().1.to_owned();
    let lines =
        |of: &str| kept.lines().filter(|line| line.contains(of)).map(str::to_owned).collect::<Vec<_>>();
    let last = lines(&token(&lane)).pop().unwrap_or_default();
    assert!(last.is_empty() || last.contains("forgotten"), "it comes back after no restart: {last}");
    assert!(lines(&token(&before)).pop().unwrap().contains("learnt"));
}

#[test]
fn attack_a_configuration_whose_deletion_was_acknowledged_with_nothing_went_on_delivering() {
    for status in ["204 No Content", "200 OK"] {
        let scene = scene();
        let lane = scene.configured();
        assert_eq!(notify(&lane, &update("t-1", 5).to_string()).status, 204);
        scene.instead(Some(answer(status, "", b"")));
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "DeleteTaskPushNotificationConfig",
            "params": {"taskId": "t-1", "id": "conf-1"}});
        let deleted = scene.gateway.post("a2a", "A2A-Version: 1.0\r\n", body.to_string().as_bytes());
        assert!(deleted.status < 300, "{status}: {deleted:?}");
        scene.leads_nowhere("t-1", status);
        assert_eq!(scene.receiver.seen().len(), 1, "{status}");
    }
}

#[test]
fn a_configuration_beside_a_message_that_the_agent_refused_kept_its_address() {
    let scene = scene();
    scene.begin("t-2");
    let error = br#"{"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}}"#;
    let events = [b"data: ".as_slice(), error, b"\n\n"].concat();
    let stream = answer("200 OK", "Content-Type: text/event-stream\r\n", &events);
    let all = refusals().into_iter().map(|(what, bytes)| (what, "SendMessage", bytes));
    let streams = ["an error of the protocol", "a page"].map(|what| {
        let bytes = refusals().into_iter().find(|(of, _)| *of == what).unwrap().1;
        (what, "SendStreamingMessage", bytes)
    });
    for (what, method, bytes) in all.chain(streams).chain([("an event", "SendStreamingMessage", stream)]) {
        scene.instead(Some(bytes));
        let mut send = message("m-2");
        send["message"]["taskId"] = "t-2".into();
        send["configuration"] = json!({"taskPushNotificationConfig": {"url": scene.target()}});
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": send}).to_string();
        let refused = scene.gateway.post("a2a", "A2A-Version: 1.0\r\n", body.as_bytes());
        assert!(refused.body.contains("\"error\""), "{what}: {refused:?}");
        scene.leads_nowhere("t-2", what);
    }
    assert!(scene.receiver.seen().is_empty());
}

#[test]
fn the_address_beside_a_stream_stays_where_its_task_began_before_the_error() {
    let scene = scene();
    let begun = json!({"jsonrpc": "2.0", "id": 7, "result": {"task": task("t-6")}});
    let error = json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "no"}});
    let events = format!("data: {begun}\n\ndata: {error}\n\n");
    scene.instead(Some(answer("200 OK", "Content-Type: text/event-stream\r\n", events.as_bytes())));
    let mut send = message("t-6");
    send["configuration"] = json!({"taskPushNotificationConfig": {"url": scene.target()}});
    let body =
        json!({"jsonrpc": "2.0", "id": 7, "method": "SendStreamingMessage", "params": send}).to_string();
    let answer = scene.gateway.post("a2a", "A2A-Version: 1.0\r\n", body.as_bytes());
    assert!(answer.body.contains("t-6") && answer.body.contains("\"error\""), "{answer:?}");
    assert_eq!(notify(&scene.memory.lane(), &update("t-6", 5).to_string()).status, 204);
}

#[test]
fn a_configuration_that_never_reached_the_agent_was_kept() {
    let mut house = House::new();
    write_rules(&house, ALL);
    house.remember();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let more = format!(
        "plain_sender = \"{RETAILER}\"\n[route.push]\nlisten = \"127.0.0.1:0\"\nplain = true\ntargets = [\"http://localhost:*/in/\"]"
    );
    let mut gateway =
        Gateway::start(house.config(&route("a2a", "a2a", &format!("http://{nobody}/a2a"), &more), ""));
    let mut send = message("t-1");
    send["configuration"] = json!({"taskPushNotificationConfig": {"url": "http://localhost:1/in/"}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": send}).to_string();
    let answer = gateway.post("a2a", "A2A-Version: 1.0\r\n", body.as_bytes());
    assert_eq!(answer.json()["error"]["data"][0]["code"], "upstream_unavailable", "{answer:?}");
    gateway.stop().unwrap();
    let kept = super::common::read(&house.path("state/owners.jsonl"));
    let count = |of: &str| kept.lines().filter(|line| line.contains(of) && line.contains("delivery")).count();
    assert_eq!((count("\"learnt\""), count("\"forgotten\"")), (1, 1), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_an_agent_of_grpc_refused_kept_its_address() {
    let says: &'static Mutex<Vec<Says>> = Box::leak(Box::default());
    let agent = grpc::Agent::start(move |_| says.lock().unwrap().pop().unwrap());
    let receiver = Agent::start(|_| super::Act::Say(answer("200 OK", "", b"")));
    let mut house = House::new();
    write_rules(&house, ALL);
    house.remember();
    let target = format!("http://127.0.0.1:{}/in/", receiver.port);
    let more = format!(
        "plain_sender = \"{RETAILER}\"\ntransports = [\"grpc\"]\nupstream_http2 = true\n[route.push]\nlisten = \"127.0.0.1:0\"\nplain = true\ntargets = [\"{target}\"]"
    );
    let at = format!("http://127.0.0.1:{}", agent.port);
    let gateway = Gateway::start(house.config(&route("grpc", "a2a", &at, &more), ""));
    let mut client = h2::plain(gateway.port("grpc")).await;
    let mut asks = async |method: &str, body: Vec<u8>, answers: Says| {
        says.lock().unwrap().push(answers);
        let ended = ask(&mut client, call(method, framed(&body))).await;
        (ended.status(), agent.seen().last().unwrap().body.clone())
    };
    let begin = proto("SendMessageRequest", &message("t-1"));
    let begun = proto("SendMessageResponse", &json!({"task": task("t-1")}));
    assert_eq!(asks("SendMessage", begin, Says::one(&begun)).await.0, 0);
    let lane = |kind: &str, body: &[u8], at: &str| {
        said(kind, &body[5..]).pointer(at).and_then(Value::as_str).unwrap().to_owned()
    };
    let config = proto("TaskPushNotificationConfig", &json!({"taskId": "t-1", "id": "c-1", "url": target}));
    let mut alone = Says::pieces(vec![]);
    alone.head.push(("grpc-status", "8".to_owned()));
    for answers in [Says::pieces(vec![status(3)]), Says::pieces(vec![status(13)]), alone] {
        let (ended, body) = asks("CreateTaskPushNotificationConfig", config.clone(), answers).await;
        assert_ne!(ended, 0);
        let lane = lane("TaskPushNotificationConfig", &body, "/url");
        let refused = notify(&lane, &update("t-1", 5).to_string());
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "status {ended}");
    }
    let mut send = message("m-2");
    send["message"]["taskId"] = "t-1".into();
    send["configuration"] = json!({"taskPushNotificationConfig": {"url": target}});
    let send = proto("SendMessageRequest", &send);
    for method in ["SendMessage", "SendStreamingMessage"] {
        let (ended, body) = asks(method, send.clone(), Says::pieces(vec![status(9)])).await;
        assert_ne!(ended, 0);
        let lane = lane("SendMessageRequest", &body, "/configuration/taskPushNotificationConfig/url");
        let refused = notify(&lane, &update("t-1", 5).to_string());
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{method}");
    }
    assert!(receiver.seen().is_empty());
}
