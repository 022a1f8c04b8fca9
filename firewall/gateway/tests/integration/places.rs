//! An agent over HTTP/2 takes so many messages at once: past that a message waits before it is looked at for the last time, never after.

use crate::common;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use common::h2::{DATA, END_STREAM, GOAWAY, HEADERS, RST_STREAM, Raw, code};
use common::{Answer, Gateway, House, RETAILER, message, reply, reset, route, wait};
use semgate_policies::PolicySource;

/// A while in which a message that may go would have gone.
const WHILE: Duration = Duration::from_millis(300);

fn house() -> House {
    let mut house = House::new();
    house.remember();
    house
}

/// A gateway of one core before an agent that listens here.
fn before(house: &House, limits: &str) -> (Arc<Gateway>, TcpListener) {
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let more = format!("plain_sender = \"{RETAILER}\"\nupstream_http2 = true");
    let upstream = format!("http://127.0.0.1:{}/l8", agent.local_addr().unwrap().port());
    let mut config = house.config(&route("plain", "l8", &upstream, &more), limits);
    config.workers = 1;
    (Arc::new(Gateway::start(config)), agent)
}

fn say(gateway: &Arc<Gateway>) -> JoinHandle<Answer> {
    let gateway = Arc::clone(gateway);
    std::thread::spawn(move || gateway.say(&message()))
}

/// Waits until the gateway has other policies.
fn turn(gateway: &Gateway, change: impl FnOnce()) {
    let digest = || gateway.admin("/status").json()["policies"]["digest"].clone();
    let before = digest();
    change();
    wait("the policies", || digest() != before);
}

fn disable(house: &House) {
    let shipped = PolicySource::shipped();
    let mut entities: serde_json::Value = serde_json::from_slice(&shipped.entities).unwrap();
    let agents = entities["agents"].as_array_mut().unwrap();
    agents.iter_mut().find(|agent| agent["id"] == RETAILER).unwrap()["disabled"] = true.into();
    let entities = entities.to_string().into_bytes();
    house.write_policies(&PolicySource { entities, ..shipped });
}

/// A sender filled what the agent takes, said one message more and was taken out: the end of its streams let the message go.
#[test]
fn attack_a_message_of_a_disabled_sender_goes_out_when_a_stream_ends() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
    let held = say(&gateway);
    let mut raw = Raw::accept(&agent, 1);
    let stream = raw.message();
    let late = say(&gateway);
    assert!(raw.is_silent(WHILE), "it waits for a place");
    turn(&gateway, || disable(&house));
    raw.answer(stream, &reply());
    held.join().unwrap();
    let refused = late.join().unwrap();
    assert_eq!(refused.problem(), (403, "policy_denied".to_owned()));
    assert_eq!(refused.json()["delivered"], "no");
    assert!(raw.is_silent(WHILE), "nothing of it was written");
}

/// Its record said `abandoned`, and it was delivered seconds later.
#[test]
fn attack_a_message_whose_caller_left_goes_out_when_a_stream_ends() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
    let held = say(&gateway);
    let mut raw = Raw::accept(&agent, 1);
    let stream = raw.message();
    let body = message().to_string();
    let mut late = gateway.connect("plain");
    let head = format!(
        "POST / HTTP/1.1\r\nHost: gw\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    std::io::Write::write_all(&mut late, format!("{head}{body}").as_bytes()).unwrap();
    assert!(raw.is_silent(WHILE));
    reset(late);
    wait("the record", || house.audit().iter().any(|record| record["verdict"] == "abandoned"));
    raw.answer(stream, &reply());
    assert_eq!(held.join().unwrap().status, 200);
    assert!(raw.is_silent(WHILE), "nothing of it was written");
}

/// One caller that held what the agent takes kept all others waiting, and nobody could say whether their messages had arrived.
#[test]
fn attack_who_finds_every_place_taken_is_told_that_nothing_was_delivered() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
    let held = say(&gateway);
    let mut raw = Raw::accept(&agent, 1);
    let stream = raw.message();
    let refused = gateway.say(&message());
    assert_eq!(refused.problem(), (502, "upstream_unavailable".to_owned()));
    assert_eq!(refused.json()["delivered"], "no");
    assert!(refused.body.contains("accepts no more messages at once"), "{refused:?}");
    raw.answer(stream, &reply());
    assert_eq!(held.join().unwrap().status, 200);
    let next = say(&gateway);
    let stream = raw.message();
    raw.answer(stream, &reply());
    assert_eq!(next.join().unwrap().status, 200, "its place is free again");
}

#[test]
fn where_one_connection_is_full_another_is_opened() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 2");
    let held = say(&gateway);
    let mut first = Raw::accept(&agent, 1);
    let stream = first.message();
    let other = say(&gateway);
    let mut second = Raw::accept(&agent, 1);
    let on_second = second.message();
    let third = say(&gateway);
    assert!(second.is_silent(WHILE) && first.is_silent(WHILE), "there are two connections and no more");
    second.answer(on_second, &reply());
    assert_eq!(other.join().unwrap().status, 200);
    let on_second = second.message();
    second.answer(on_second, &reply());
    first.answer(stream, &reply());
    assert_eq!((held.join().unwrap().status, third.join().unwrap().status), (200, 200));
}

#[test]
fn an_agent_that_takes_no_more_for_now_gets_nothing_until_it_does() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
    let first = say(&gateway);
    let mut raw = Raw::accept(&agent, 100);
    let stream = raw.message();
    raw.takes(0);
    raw.answer(stream, &reply());
    assert_eq!(first.join().unwrap().status, 200);
    let next = say(&gateway);
    assert!(raw.is_silent(WHILE), "it takes none");
    raw.takes(1);
    let stream = raw.message();
    raw.answer(stream, &reply());
    assert_eq!(next.join().unwrap().status, 200);
}

#[test]
fn nothing_is_said_before_the_agent_said_how_many_it_takes() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1\nconnect_timeout = \"300ms\"");
    let refused = say(&gateway);
    let mut raw = Raw::accept(&agent, 0);
    assert!(raw.is_silent(WHILE));
    let refused = refused.join().unwrap();
    assert_eq!(refused.problem(), (502, "upstream_unavailable".to_owned()));
    assert_eq!(refused.json()["delivered"], "no");
}

/// Its head was out, and the agent let the body in whenever it liked: after the sender was disabled.
#[test]
fn attack_a_body_that_waits_for_the_agents_flow_control_is_written_after_its_sender_was_disabled() {
    // nothing of the body, or some of it
    for window in [0, 5] {
        let house = house();
        let (gateway, agent) = before(&house, "");
        let late = say(&gateway);
        let mut raw = Raw::accept_narrow(&agent, window);
        let stream = raw.next(&[HEADERS]).unwrap().stream;
        if window > 0 {
            let piece = raw.next(&[DATA]).unwrap();
            assert_eq!((piece.payload.len(), piece.flags & END_STREAM), (5, 0));
        }
        assert!(raw.is_silent(WHILE), "it waits for more window than {window}");
        turn(&gateway, || disable(&house));
        let refused = late.join().unwrap();
        assert_eq!(refused.problem(), (502, "upstream_unavailable".to_owned()));
        let problem = refused.json();
        assert_eq!(
            (&problem["detail"], &problem["delivered"]),
            (
                &"the upstream agent did not read the whole message while it was still allowed".into(),
                &"unknown".into()
            )
        );
        let reset = raw.next(&[RST_STREAM, DATA]).unwrap();
        assert_eq!((reset.kind, reset.stream, code(&reset)), (RST_STREAM, stream, 8), "CANCEL");
        raw.lets_in(65_535);
        assert!(raw.is_silent(WHILE), "nothing more of it was written");
    }
}

#[test]
fn a_body_that_waits_for_the_agents_flow_control_goes_on_under_other_policies_that_leave_its_sender() {
    let house = house();
    let (gateway, agent) = before(&house, "");
    let late = say(&gateway);
    let mut raw = Raw::accept_narrow(&agent, 5);
    let stream = raw.next(&[HEADERS]).unwrap().stream;
    turn(&gateway, || {
        let mut policies = PolicySource::shipped();
        let more = "permit (principal in Group::\"planners\", action, resource is travel::bookFlight);";
        policies.files.push(("more.cedar".to_owned(), more.to_owned()));
        house.write_policies(&policies);
    });
    std::thread::sleep(WHILE);
    raw.lets_in(65_535);
    assert_eq!(raw.message(), stream);
    raw.answer(stream, &reply());
    assert_eq!(late.join().unwrap().status, 200);
}

/// It has the message: what became of it is its answer to say.
#[test]
fn a_message_that_the_agent_took_is_not_taken_back_while_it_thinks() {
    let house = house();
    let (gateway, agent) = before(&house, "");
    let said = say(&gateway);
    let mut raw = Raw::accept(&agent, 100);
    let stream = raw.message();
    turn(&gateway, || disable(&house));
    std::thread::sleep(2 * WHILE);
    raw.answer(stream, &reply());
    let refused = said.join().unwrap();
    assert_eq!(refused.problem(), (502, "reply_refused".to_owned()));
    assert_eq!(
        (&refused.json()["cause"], &refused.json()["delivered"]),
        (&"policy_denied".into(), &"yes".into())
    );
}

/// The agent ends its connection in good order (RFC 9113 §6.8): nothing past this stream is begun.
fn retire(raw: &mut Raw, last: u32) {
    raw.send(GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
}

#[test]
fn an_agent_that_retires_its_connection_finishes_what_is_open_and_has_the_next_message_on_another() {
    for last in ["this", "all"] {
        let house = house();
        let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
        let held = say(&gateway);
        let mut retired = Raw::accept(&agent, 4);
        let open = retired.message();
        retire(&mut retired, if last == "this" { open } else { u32::MAX >> 1 });
        std::thread::sleep(WHILE);
        let next = say(&gateway);
        let mut raw = Raw::accept(&agent, 4);
        let stream = raw.message();
        raw.answer(stream, &reply());
        assert_eq!(next.join().unwrap().status, 200, "last id: {last}");
        retired.answer(open, &reply());
        assert_eq!(held.join().unwrap().status, 200, "last id: {last}");
    }
}

#[test]
fn a_message_past_the_last_stream_of_a_retired_connection_was_not_delivered() {
    let house = house();
    let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
    let (first, second) = (say(&gateway), say(&gateway));
    let mut raw = Raw::accept(&agent, 2);
    let (one, _) = (raw.message(), raw.message());
    retire(&mut raw, one);
    raw.answer(one, &reply());
    let mut answers = [first.join().unwrap(), second.join().unwrap()];
    answers.sort_by_key(|answer| answer.status);
    assert_eq!(answers[0].status, 200);
    assert_eq!(answers[1].problem(), (502, "upstream_unavailable".to_owned()));
    assert_eq!(answers[1].json()["delivered"], "no");
}

#[test]
fn a_message_whose_stream_the_agent_refuses_was_not_delivered_and_one_that_it_cancels_may_have_been() {
    for (reason, delivered) in [(7_u32, "no"), (8, "unknown")] {
        let house = house();
        let (gateway, agent) = before(&house, "upstream_http2_connections = 1");
        let held = say(&gateway);
        let mut raw = Raw::accept(&agent, 1);
        let stream = raw.message();
        raw.send(RST_STREAM, 0, stream, &reason.to_be_bytes());
        let refused = held.join().unwrap();
        assert_eq!(refused.problem(), (502, "upstream_unavailable".to_owned()));
        assert_eq!(refused.json()["delivered"], delivered, "reason {reason}");
    }
}
