//! Recent verdicts at the admin address: live, resumable, bounded, and never at the cost of a message.

use crate::support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted, free_address};
use support::policies::{REPLY, message, records};
use support::{Answer, PATIENCE, Up, plain_get, wait_for};

fn decision() -> String {
    message(&json!({"concept": "current_decision", "item_id": "SECRET-beer", "quantity": 1}))
}

/// A message that breaks its schema.
fn wrong() -> String {
    message(&json!({"concept": "current_decision", "item_id": "SECRET-beer", "quantity": "one"}))
}

/// One event of a stream.
#[derive(Debug)]
struct Event {
    kind: String,
    id: Option<u64>,
    data: Value,
}

/// An open stream.
struct Stream {
    socket: TcpStream,
    head: String,
    text: String,
}

impl Stream {
    fn open(admin: SocketAddr, query: &str, headers: &str) -> Self {
        let mut socket = TcpStream::connect(admin).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(socket, "GET /verdicts{query} HTTP/1.1\r\nhost: {admin}\r\n{headers}\r\n").unwrap();
        let mut stream = Self { socket, head: String::new(), text: String::new() };
        while !stream.text.contains("\r\n\r\n") {
            stream.more();
        }
        let (head, rest) = stream.text.split_once("\r\n\r\n").unwrap();
        (stream.head, stream.text) = (head.to_owned(), rest.to_owned());
        stream
    }

    fn more(&mut self) {
        let mut buffer = [0; 16 * 1024];
        let n = self.socket.read(&mut buffer).unwrap();
        assert!(n > 0, "the stream ended: {}", self.text);
        self.text.push_str(std::str::from_utf8(&buffer[..n]).unwrap());
    }

    /// The next event. Each is one chunk, whose lines end with an empty one.
    fn next(&mut self) -> Event {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    event
                        .lines()
                        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": ").map(str::to_owned))
                };
                let Some(data) = field("data") else { continue };
                return Event {
                    kind: field("event").unwrap_or_else(|| "message".to_owned()),
                    id: field("id").map(|id| id.parse().unwrap()),
                    data: serde_json::from_str(&data).unwrap(),
                };
            }
            self.more();
        }
    }
}

fn get(address: SocketAddr, path: &str) -> Answer {
    plain_get(&format!("http://{address}{path}"))
}

#[test]
fn verdicts_arrive_live_and_a_reader_resumes_where_it_left() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, "");
    let mut stream = Stream::open(gateway.admin, "", "");
    assert!(stream.head.starts_with("HTTP/1.1 200"), "{}", stream.head);
    assert!(stream.head.to_ascii_lowercase().contains("content-type: text/event-stream"));
    assert_eq!(gateway.post(&decision()).status, 200);
    assert_eq!(gateway.post(&wrong()).code(), "content_invalid");
    let events: Vec<Event> = (0..3).map(|_| stream.next()).collect();
    let verdicts: Vec<&Value> = events.iter().map(|event| &event.data["verdict"]).collect();
    assert_eq!(verdicts, ["allowed", "allowed", "refused"]);
    // an event is the audit line, under its number
    let file = records(&gateway);
    for (event, line) in events.iter().zip(&file) {
        assert_eq!((&event.data, event.id), (line, line["n"].as_u64()));
    }
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    let resumed = [
        Stream::open(gateway.admin, &format!("?after={}", ids[0]), ""),
        Stream::open(gateway.admin, "", &format!("last-event-id: {}\r\n", ids[0])),
        // a browser repeats the query of its first request
        Stream::open(gateway.admin, "?after=0", &format!("last-event-id: {}\r\n", ids[0])),
    ];
    for mut stream in resumed {
        assert_eq!((stream.next().id, stream.next().id), (Some(ids[1]), Some(ids[2])));
    }
    let text = format!("{events:?}");
    assert!(!text.contains("SECRET"), "no payload value enters a record: {text}");
}

#[test]
fn a_decision_is_shown_with_its_records_until_a_restart_and_not_an_unknown_one() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let mut gateway = Gateway::before(&up, agent.address, "");
    let id = gateway.post(&decision()).header("semgate-decision").unwrap();
    let shown = wait_for("both records", || {
        let shown = get(gateway.admin, &format!("/decisions/{id}"));
        (shown.status == 200 && shown.json()["records"].as_array().unwrap().len() == 2).then(|| shown.json())
    });
    assert_eq!(shown["decision_id"], id.as_str());
    let directions: Vec<&Value> =
        shown["records"].as_array().unwrap().iter().map(|record| &record["direction"]).collect();
    assert_eq!(directions, ["request", "reply"]);
    assert_eq!(get(gateway.admin, &format!("/decisions/{}", "a".repeat(26))).status, 404);
    // the ring begins empty, and a reader learns how much it did not see
    let last = records(&gateway).last().unwrap()["n"].as_u64().unwrap();
    gateway.restart("TERM");
    assert_eq!(get(gateway.admin, &format!("/decisions/{id}")).status, 404);
    let gap = Stream::open(gateway.admin, &format!("?after={}", last - 1), "").next();
    assert_eq!((gap.kind.as_str(), &gap.data), ("gap", &json!({"missed": 1})));
}

#[test]
fn refusals_are_counted_by_minute_and_code() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, "");
    assert_eq!(gateway.post(&decision()).status, 200);
    let code = gateway.post(&wrong()).code();
    assert_eq!(code, "content_invalid");
    let sum = |list: &Value| list.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
    let counts = wait_for("three verdicts", || {
        let counts = get(gateway.admin, "/refusals").json();
        (sum(&counts["allowed"]) == 2 && counts["codes"].get(&code).is_some()).then_some(counts)
    });
    assert_eq!(sum(&counts["codes"][&code]), 1);
    assert_eq!(counts["codes"].as_object().unwrap().len(), 1, "{counts}");
    let minutes = counts["minutes"].as_array().unwrap();
    assert_eq!((minutes.len(), counts["allowed"].as_array().unwrap().len()), (60, 60));
    assert_eq!(minutes[59].as_u64().unwrap() - minutes[0].as_u64().unwrap(), 59);
    assert_eq!(get(gateway.admin, "/refusals?minutes=5").json()["minutes"].as_array().unwrap().len(), 5);
    for bad in ["0", "61", "-1", "x", ""] {
        let answer = get(gateway.admin, &format!("/refusals?minutes={bad}"));
        assert_eq!(answer.status, 400, "{bad}");
        assert!(answer.body.starts_with(b"malformed: "), "{bad}");
    }
    for bad in ["?after=x", "?after=-1", "?before=1"] {
        assert_eq!(get(gateway.admin, &format!("/verdicts{bad}")).status, 400, "{bad}");
    }
}

#[test]
fn attack_a_page_or_a_stranger_at_the_probe_address_reads_verdicts() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let probe = free_address();
    let gateway = Gateway::before(&up, agent.address, &format!("[probe]\nlisten = \"{probe}\"\n"));
    assert_eq!(gateway.post(&decision()).status, 200);
    for path in ["/verdicts", "/refusals", "/decisions/aaaaaaaaaaaaaaaaaaaaaaaaaa", "/status"] {
        assert_eq!(get(probe, path).status, 404, "{path}");
        for header in ["host: evil.test", "host: localhost\r\norigin: https://evil.test"] {
            let mut socket = TcpStream::connect(gateway.admin).unwrap();
            write!(socket, "GET {path} HTTP/1.1\r\n{header}\r\n\r\n").unwrap();
            let answer = Answer::read(&mut socket);
            assert_eq!(answer.status, 403, "{path} {header}");
            assert!(answer.body.starts_with(b"host_refused: "), "{answer:?}");
        }
    }
}

#[test]
fn attack_readers_take_every_stream_and_never_read() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, agent.address, "");
    assert_eq!(gateway.post(&decision()).status, 200);
    let first = wait_for("the records", || records(&gateway).first().map(|record| record["n"].clone()));
    let mut streams: Vec<Stream> = (0..16).map(|_| Stream::open(gateway.admin, "", "")).collect();
    assert!(streams.iter().all(|stream| stream.head.starts_with("HTTP/1.1 200")));
    let one_more = get(gateway.admin, "/verdicts");
    assert_eq!(one_more.status, 503);
    assert!(one_more.body.starts_with(b"too_many_streams: "));
    // two records a message, and more than the ring holds
    for _ in 0..560 {
        assert_eq!(gateway.post(&decision()).status, 200, "no message waits for a reader");
    }
    for path in ["/healthz", "/readyz", "/metrics", "/status", "/refusals"] {
        assert_eq!(get(gateway.admin, path).status, 200, "{path}");
    }
    // the records that somebody asks for too late are counted
    drop(streams.pop());
    let after = format!("?after={first}");
    let mut late = wait_for("a free stream", || {
        let stream = Stream::open(gateway.admin, &after, "");
        stream.head.starts_with("HTTP/1.1 200").then_some(stream)
    });
    let (gap, next) = (late.next(), late.next());
    assert_eq!(gap.kind, "gap");
    assert_eq!(gap.data["missed"].as_u64().unwrap() + first.as_u64().unwrap() + 1, next.id.unwrap());
    // a reader that comes back has all of them, from its first record or with a gap
    let mut last = 0;
    while last < 1_122 {
        let event = streams[0].next();
        let missed = event.data["missed"].as_u64().unwrap_or(0);
        let n = event.id.unwrap_or(last + missed);
        assert_eq!(n, if event.id.is_some() { last + 1 } else { last + missed });
        last = n;
    }
}
