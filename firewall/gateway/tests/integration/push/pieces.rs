//! Text that notifications put behind other text counts as told only where it arrived.

use super::{ALL, Scene, notify, scene_of};
use crate::common::Answer;
use crate::common::agent::{Act, Agent, answer};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const WORD: &str = r#"
@id("word") forbid (principal, action, resource is a2a::text) when { resource.text like "*DELETE*" };
"#;

/// A target that answers one notification after the other with these, and the address that the agent posts to.
fn house(statuses: &'static [&'static str]) -> (Scene, String) {
    let seen = AtomicUsize::new(0);
    let receiver = Agent::start(move |_| {
        let status = statuses.get(seen.fetch_add(1, Ordering::SeqCst));
        status.map_or(Act::Wait(Duration::from_secs(3)), |status| Act::Say(answer(status, "", b"")))
    });
    let scene = scene_of(&format!("{ALL}{WORD}"), receiver.port, receiver, ("", "1s"));
    let lane = scene.configured_beside();
    (scene, lane)
}

fn said(text: &str, append: bool) -> String {
    let artifact = json!({"artifactId": "a", "parts": [{"text": text}]});
    let update = json!({"taskId": "t-2", "contextId": "c-t-2", "append": append, "artifact": artifact});
    json!({ "artifactUpdate": update }).to_string()
}

fn tells(lane: &str, text: &str, append: bool) -> Answer {
    notify(lane, &said(text, append))
}

#[track_caller]
fn unsettled(answer: &Answer) {
    assert_eq!(answer.problem(), (422, "content_uninspectable".to_owned()), "{answer:?}");
    assert!(answer.body.contains("its delivery is unknown"), "{answer:?}");
}

#[test]
fn attack_a_piece_that_the_target_did_not_take_stands_between_two_that_it_took() {
    for statuses in [&["200 OK", "500 Internal Server Error"][..], &["200 OK"]] {
        let (_scene, lane) = house(statuses);
        assert_eq!(tells(&lane, "DEL", false).status, 204);
        assert!(tells(&lane, "xx", true).status >= 500, "refused, or not answered in time");
        unsettled(&tells(&lane, "ETE", true));
    }
    let (_scene, lane) = house(&["200 OK", "200 OK", "200 OK"]);
    for (text, append) in [("DEL", false), ("xx", true), ("ETE", true)] {
        assert_eq!(tells(&lane, text, append).status, 204, "what arrives is told");
    }
}

#[test]
fn attack_the_agent_goes_while_its_piece_is_on_its_way() {
    let (scene, lane) = house(&["200 OK"]);
    assert_eq!(tells(&lane, "DEL", false).status, 204);
    let rest = lane.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_at(rest.find('/').unwrap());
    let body = said("xx", true);
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    crate::common::wait("the piece at the target", || scene.receiver.seen().len() == 2);
    drop(stream);
    unsettled(&tells(&lane, "ETE", true));
    assert_eq!(scene.receiver.seen().len(), 2, "what would make the word did not leave");
}
