//! One message from socket to socket: what passes, the headers that the upstream agent gets, and what never reaches it.

use crate::common;

use common::agent::{Act, Agent, answer, ok};
use common::{Answer, Gateway, House, RETAILER, message, plain_route, reply, reset, route, wait};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

#[test]
fn an_allowed_message_reaches_the_agent_byte_for_byte_and_its_reply_comes_back() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    // spelled as no serializer would: the bytes themselves must arrive
    let body = message().to_string().replace("120", "1.2e2").replace("{\"content\"", "{ \"content\"");
    let headers = "Authorization: Bearer x\r\nCookie: a=b\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n\
        Semgate-Sender: spiffe://semgate.test/agent/treasurer-1\r\nClient-Cert: :AAAA:\r\nSemgate-Decision: mine\r\nX-Any: y\r\n";
    let answer = gateway.post("plain", headers, body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), reply());

    let seen = agent.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].body, body.as_bytes());
    assert!(seen[0].head.starts_with("POST /l8 HTTP/1.1\r\n"), "{}", seen[0].head);
    assert_eq!(seen[0].header("semgate-sender").unwrap(), RETAILER);
    assert_eq!(seen[0].header("semgate-decision").as_deref(), answer.header("semgate-decision"));
    for gone in [
        "authorization",
        "cookie",
        "x-forwarded-for",
        "forwarded",
        "client-cert",
        "x-any",
        "transfer-encoding",
    ] {
        assert_eq!(seen[0].header(gone), None, "{gone}");
    }

    wait("two records", || house.audit().len() == 2);
    let audit = house.audit();
    assert_eq!((&audit[0]["direction"], &audit[0]["verdict"]), (&"request".into(), &"allowed".into()));
    assert_eq!((&audit[1]["direction"], &audit[1]["verdict"]), (&"reply".into(), &"allowed".into()));
    assert_eq!(audit[0]["decision_id"], audit[1]["decision_id"]);
    assert_eq!(audit[0]["sender"], RETAILER);
    assert_eq!(audit[0]["concepts"], serde_json::json!(["current_decision"]));
    let mut record = audit[0].clone();
    for ours in ["time", "decision_id", "digest", "policy_digest", "duration_us"] {
        // numbers and hashes of the gateway's own can hold any digits
        assert!(record.as_object_mut().unwrap().remove(ours).is_some(), "{ours}");
    }
    let text = record.to_string();
    assert!(!text.contains("sku-1") && !text.contains("120"), "no payload value: {text}");
}

#[test]
fn connections_to_the_agent_and_of_the_caller_are_kept() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway =
        Gateway::start(house.config(&plain_route(agent.port).replace("workers = 2", "workers = 1"), ""));
    let body = message().to_string();
    let one = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let last = one.replace("Host: a", "Host: a\r\nConnection: close");
    let all = gateway.raw("plain", format!("{one}{one}{last}").as_bytes());
    assert_eq!(all.matches("HTTP/1.1 200").count(), 3, "{all}");
    assert_eq!(agent.seen().len(), 3);
    assert_eq!(agent.connections(), 1);
}

#[test]
fn a_kept_connection_that_the_agent_closed_is_replaced_and_nothing_is_sent_twice() {
    let house = house();
    let agent = Agent::start(|_| Act::SayAndClose(ok(reply().to_string().as_bytes())));
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    for _ in 0..4 {
        assert_eq!(gateway.say(&message()).status, 200);
        std::thread::sleep(Duration::from_millis(30));
    }
    assert_eq!(agent.seen().len(), 4);
}

#[test]
fn refusals_of_the_inspector_answer_problem_documents_and_reach_nobody() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut message = message();
        change(&mut message);
        gateway.say(&message).problem()
    };
    type Change = Box<dyn Fn(&mut serde_json::Value)>;
    let table: Vec<(u16, &str, Change)> = vec![
        (403, "sender_mismatch", Box::new(|m| m["sender_id"] = "treasurer-1".into())),
        (403, "receiver_mismatch", Box::new(|m| m["receiver_id"] = "retailer-7".into())),
        (404, "context_unknown", Box::new(|m| m["context"] = "urn:contexts:supplyChain:v9.0".into())),
        (403, "policy_denied", Box::new(|m| m["context"] = "urn:contexts:nowhere:v1.0".into())),
        (422, "concept_undefined", Box::new(|m| m["content"]["concept_type"] = "my_mood".into())),
        (422, "content_invalid", Box::new(|m| m["content"]["quantity"] = (-1).into())),
        (400, "malformed", Box::new(|m| m["extra"] = 1.into())),
    ];
    for (status, code, change) in table {
        assert_eq!(with(&*change), (status, code.to_owned()));
    }
    let twice = message().to_string().replacen('{', "{\"message_id\":\"x\",", 1);
    assert_eq!(gateway.post("plain", "", twice.as_bytes()).problem(), (400, "duplicate_key".to_owned()));
    assert_eq!(
        gateway
            .post("plain", "L9-Context: urn:contexts:payment:v2.0\r\n", message().to_string().as_bytes())
            .problem()
            .1,
        "malformed"
    );
    assert!(agent.seen().is_empty());
    wait("a record each", || house.audit().len() == 9);
    assert!(
        house.audit().iter().all(|record| record["verdict"] == "refused" && record["sender"] == RETAILER)
    );
}

#[test]
fn what_the_agent_behind_may_not_say_is_refused_as_delivered() {
    let house = house();
    let text = reply().to_string();
    let big = format!("{{\"a\":\"{}\"}}", "x".repeat(70_000));
    let json = "Content-Type: application/json\r\n";
    let mut wrong = reply();
    wrong["content"]["concept_type"] = "my_mood".into();
    let mut foreign = reply();
    foreign["context"] = "urn:contexts:payment:v2.0".into();
    let table: Vec<(&str, Act, u16, &str, &str)> = vec![
        ("not json", Act::Say(ok(b"<html>secret</html>")), 502, "upstream_invalid", "yes"),
        (
            "html",
            Act::Say(answer("200 OK", "Content-Type: text/html\r\n", text.as_bytes())),
            502,
            "upstream_invalid",
            "yes",
        ),
        (
            "two types",
            Act::Say(answer("200 OK", &format!("{json}{json}"), text.as_bytes())),
            502,
            "upstream_invalid",
            "yes",
        ),
        (
            "compressed",
            Act::Say(answer("200 OK", &format!("{json}Content-Encoding: gzip\r\n"), text.as_bytes())),
            502,
            "upstream_invalid",
            "yes",
        ),
        (
            "redirect",
            Act::Say(answer("302 Found", "Location: http://evil.test/\r\n", b"")),
            502,
            "upstream_invalid",
            "yes",
        ),
        (
            "error text",
            Act::Say(answer("500 Oops", json, b"{\"stack\":\"secret\"}")),
            502,
            "upstream_invalid",
            "yes",
        ),
        (
            "upgrade",
            Act::SayAndClose(
                b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n".to_vec(),
            ),
            502,
            "upstream_invalid",
            "yes",
        ),
        ("too much", Act::Say(ok(big.as_bytes())), 502, "upstream_invalid", "yes"),
        ("cut", Act::SayAndClose(ok(text.as_bytes())[..80].to_vec()), 502, "upstream_invalid", "yes"),
        ("never", Act::Wait(Duration::from_secs(30)), 504, "upstream_timeout", "unknown"),
        ("drip", Act::Drip(ok(text.as_bytes()), Duration::from_millis(4)), 504, "upstream_timeout", "yes"),
        ("nothing", Act::SayAndClose(Vec::new()), 502, "upstream_unavailable", "unknown"),
        ("undefined concept", Act::Say(ok(wrong.to_string().as_bytes())), 502, "reply_refused", "yes"),
        ("other context", Act::Say(ok(foreign.to_string().as_bytes())), 502, "reply_refused", "yes"),
    ];
    let limits = "upstream_timeout = \"700ms\"\nreply_bytes = 65536\nheader_bytes = 16384";
    for (name, act, status, code, delivered) in table {
        let agent = Agent::start(move |_| act.clone());
        let gateway = Gateway::start(house.config(&plain_route(agent.port), limits));
        let answer = gateway.say(&message());
        assert_eq!(answer.problem(), (status, code.to_owned()), "{name}: {answer:?}");
        assert_eq!(answer.json()["delivered"], delivered, "{name}");
        assert!(!answer.body.contains("secret") && !answer.head.contains("evil"), "{name}: {answer:?}");
        assert_eq!(agent.seen().len(), 1, "{name}: sent once");
    }
}

/// As the HTTP client of the JDK makes it with each request without TLS.
#[test]
fn bug_a_client_that_offers_http2_was_refused() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAB\r\n";
    let body = message().to_string();
    let answer = gateway.post("plain", offer, body.as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json(), reply());
    let seen = agent.seen();
    assert_eq!(seen[0].body, body.as_bytes());
    for gone in ["upgrade", "http2-settings", "connection"] {
        assert_eq!(seen[0].header(gone), None, "{gone}");
    }
}

#[test]
fn bytes_that_are_no_http_are_an_invalid_reply_and_not_an_absent_agent() {
    let house = house();
    let body = reply().to_string();
    let lengths =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nContent-Length: 1\r\n\r\n{body}", body.len());
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(200_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: x\r\n".repeat(100));
    let cases = [
        b"garbage\r\n\r\n".to_vec(),
        b"\0\x01\x02garbage\r\n\r\n".to_vec(),
        b"HTTP/2 200 OK\r\n\r\n".to_vec(),
        lengths.into_bytes(),
        endless.into_bytes(),
        many.into_bytes(),
    ];
    for (number, bytes) in cases.into_iter().enumerate() {
        let agent = Agent::start(move |_| Act::Say(bytes.clone()));
        let gateway = Gateway::start(house.config(&plain_route(agent.port), "upstream_timeout = \"2s\""));
        let answer = gateway.say(&message());
        assert_eq!(answer.problem(), (502, "upstream_invalid".to_owned()), "{number}: {answer:?}");
        assert_eq!(answer.json()["delivered"], "unknown", "{number}");
        assert_eq!(answer.json()["detail"], "the answer of the upstream agent is not HTTP", "{number}");
        assert_eq!(agent.seen().len(), 1, "{number}: sent once");
    }
}

#[test]
fn replies_with_two_lengths_a_partial_status_or_another_charset_do_not_pass() {
    let house = house();
    let text = reply().to_string();
    let json = "Content-Type: application/json\r\n";
    let typed = |kind: &str| answer("200 OK", &format!("Content-Type: {kind}\r\n"), text.as_bytes());
    let chunked = format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let both = |first: &str, second: &str| {
        format!("HTTP/1.1 200 OK\r\n{json}{first}\r\n{second}\r\n\r\n{chunked}").into_bytes()
    };
    let length = format!("Content-Length: {}", chunked.len());
    let cases = [
        (both(&length, "Transfer-Encoding: chunked"), 502),
        (both("Transfer-Encoding: chunked", &length), 502),
        (
            answer("206 Partial Content", &format!("{json}Content-Range: bytes 0-9/10\r\n"), text.as_bytes()),
            502,
        ),
        (answer("203 Changed", json, text.as_bytes()), 502),
        (typed("application/json; charset=utf-16"), 502),
        (typed("application/json;x=y; CHARSET = \"utf-16\""), 502),
        (typed("application/json; charset=utf-8; charset=utf-16"), 502),
        (typed("application/json;charset=\"UTF-8\""), 200),
        (answer("202 Accepted", json, text.as_bytes()), 202),
    ];
    for (number, (bytes, status)) in cases.into_iter().enumerate() {
        let agent = Agent::start(move |_| Act::Say(bytes.clone()));
        let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
        let answer = gateway.say(&message());
        assert_eq!(answer.status, status, "{number}: {answer:?}");
        if status == 502 {
            assert_eq!(answer.problem().1, "upstream_invalid", "{number}");
            assert_eq!(answer.json()["delivered"], "yes", "{number}");
        }
    }
}

#[test]
fn cookies_trailers_and_other_headers_of_the_agent_do_not_pass() {
    let house = house();
    let body = reply().to_string();
    let chunked = format!(
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\nContent-Type: application/json; charset=utf-8\r\n\
         Set-Cookie: a=b\r\nServer: secret\r\nX-Any: y\r\nSemgate-Decision: theirs\r\n\r\n{:x}\r\n{body}\r\n0\r\nX-T: t\r\n\r\n",
        body.len()
    );
    let agent = Agent::start(move |_| Act::Say(chunked.clone().into_bytes()));
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let answer = gateway.say(&message());
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.json(), reply());
    for gone in ["set-cookie", "server", "x-any", "x-t", "theirs", "trailer"] {
        assert!(!answer.head.contains(gone), "{gone}: {answer:?}");
    }
}

#[test]
fn an_agent_that_is_away_is_told_as_not_delivered() {
    let house = house();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let gateway = Gateway::start(house.config(&plain_route(port), ""));
    let answer = gateway.say(&message());
    assert_eq!(answer.problem(), (502, "upstream_unavailable".to_owned()));
    assert_eq!(answer.json()["delivered"], "no");
    wait("one record", || house.audit().len() == 1);
    assert_eq!(house.audit()[0]["context"], "urn:contexts:supplyChain:v1.0");
}

#[test]
fn a_failing_audit_lets_nothing_pass() {
    let house = house();
    std::os::unix::fs::symlink("/dev/full", house.path("audit.jsonl")).unwrap();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    wait("the first failed write", || gateway.say(&message()).status == 503);
    let before = agent.seen().len();
    let answer = gateway.say(&message());
    assert_eq!(answer.problem(), (503, "audit_unavailable".to_owned()));
    assert!(answer.header("retry-after").is_some());
    assert_eq!(answer.json()["delivered"], "no");
    assert_eq!(agent.seen().len(), before);
    assert_eq!(gateway.admin("/readyz").status, 503);
}

#[test]
fn a_caller_who_leaves_leaves_a_record() {
    use std::io::Write;
    let house = house();
    let agent = Agent::start(|_| Act::Wait(Duration::from_secs(20)));
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let body = message().to_string();
    let mut stream = gateway.connect("plain");
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    wait("the agent has it", || !agent.seen().is_empty());
    reset(stream);
    wait("abandoned", || house.audit().len() == 2);
    assert_eq!(house.audit()[1]["verdict"], "abandoned");
    assert_eq!(house.audit()[1]["direction"], "reply");
}

#[test]
fn a_caller_who_leaves_before_the_agent_is_reached_leaves_a_record() {
    use std::io::Write;
    let house = house();
    // takes connections and never says a word of TLS
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("https://127.0.0.1:{}/l8", silent.local_addr().unwrap().port());
    let route = route("plain", "l8", &upstream, &format!("plain_sender = \"{RETAILER}\""));
    let gateway = Gateway::start(house.config(&route, "connect_timeout = 60"));
    let body = message().to_string();
    let mut stream = gateway.connect("plain");
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let _held = silent.accept().unwrap();
    reset(stream);
    wait("abandoned", || house.audit().len() == 1);
    let record = &house.audit()[0];
    assert_eq!((&record["verdict"], &record["direction"]), (&"abandoned".into(), &"request".into()));
    assert_eq!(record["sender"], RETAILER);
    assert!(!record["concepts"].as_array().unwrap().is_empty(), "what was asked is told: {record}");
}

#[test]
fn a_caller_who_leaves_in_the_middle_of_a_body_leaves_a_record() {
    use std::io::Write;
    let house = house();
    let gateway = Gateway::start(house.config(&plain_route(1), ""));
    let mut stream = gateway.connect("plain");
    stream
        .write_all(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
        )
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    wait("a record", || house.audit().len() == 1);
    let record = &house.audit()[0];
    assert_ne!(record["verdict"], "allowed", "{record}");
    assert_eq!((&record["direction"], &record["sender"]), (&"request".into(), &RETAILER.into()));
    assert_eq!(record["protocol"], "l8");
}

#[test]
fn an_agent_that_sends_too_much_is_limited_before_its_body_is_read() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway =
        Gateway::start(house.config(&plain_route(agent.port), "rate_per_second = 1\nrate_burst = 2"));
    assert_eq!(gateway.say(&message()).status, 200);
    assert_eq!(gateway.say(&message()).status, 200);
    let answer = gateway.say(&message());
    assert_eq!(answer.problem(), (429, "rate_limited".to_owned()));
    assert_eq!(answer.header("retry-after"), Some("1"));
}

/// One of several answers on a connection.
fn one_answer(stream: &mut TcpStream) -> Answer {
    let mut text = String::new();
    let mut reader = BufReader::new(stream);
    while !text.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut text).unwrap(), 0, "{text}");
    }
    let length = Answer::parse(&text).header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Answer::parse(&(text + std::str::from_utf8(&body).unwrap()))
}

/// The connection was closed behind such an answer without a word, and the next request on it was lost.
#[test]
fn bug_a_connection_was_lost_with_an_answer_that_came_before_the_body() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    let body = message().to_string();
    let head = |more: &str| {
        let length = body.len();
        format!(
            "POST / HTTP/1.1\r\nHost: gw\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{more}\r\n"
        )
    };
    // refused by its head, whose body comes in a write of its own
    let mut stream = gateway.connect("plain");
    for _ in 0..3 {
        stream.write_all(head("").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        stream.write_all(body.as_bytes()).unwrap();
        let answer = one_answer(&mut stream);
        assert_eq!((answer.status, answer.header("connection")), (400, None), "{answer:?}");
    }
    // who waits to be asked for the body is not, and hears that no other request can follow
    stream.write_all(head("Expect: 100-continue\r\n").as_bytes()).unwrap();
    let answer = one_answer(&mut stream);
    assert_eq!((answer.status, answer.header("connection")), (400, Some("close")), "{answer:?}");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
    // nor can one behind a body that is framed wrongly
    let mut stream = gateway.connect("plain");
    let head =
        "POST / HTTP/1.1\r\nHost: gw\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(b"zz\r\n").unwrap();
    let answer = one_answer(&mut stream);
    assert_eq!((answer.status, answer.header("connection")), (400, Some("close")), "{answer:?}");
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn framing_faults_count_against_the_rate_of_their_agent() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway =
        Gateway::start(house.config(&plain_route(agent.port), "rate_per_second = 1\nrate_burst = 3"));
    let faulty = || Answer::parse(&gateway.raw("plain", b"POST / HTTP/1.0\r\nHost: a\r\n\r\n")).problem();
    assert_eq!(gateway.say(&message()).status, 200, "good ones share the count");
    for _ in 0..2 {
        assert_eq!(faulty(), (400, "malformed".to_owned()));
    }
    assert_eq!(faulty(), (429, "rate_limited".to_owned()));
}

#[test]
fn a_removed_audit_file_is_made_again_and_no_record_is_lost() {
    let house = house();
    let agent = Agent::saying(&reply());
    let gateway = Gateway::start(house.config(&plain_route(agent.port), ""));
    assert_eq!(gateway.say(&message()).status, 200);
    wait("two records", || house.audit().len() == 2);
    std::fs::remove_file(house.path("audit.jsonl")).unwrap();
    assert_eq!(gateway.say(&message()).status, 200);
    wait("two more", || house.audit().len() == 2);
    assert_eq!(house.audit()[0]["n"], 3);
}
