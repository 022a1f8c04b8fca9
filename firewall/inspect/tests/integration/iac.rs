//! Signed messages of IAC: their parties, their one time, their types, and the answers that name no context.

use crate::common;
use bytes::Bytes;
use common::{NOW, agent, agent_id, generation_with, inspector, library, view};
use ring::signature::{Ed25519KeyPair, KeyPair};
use semgate_contexts::json;
use semgate_inspect::{
    Answered, Arrived, Code, Exchanges, HeaderClaims, Inspector, Now, Peer, Permit, Refusal, ReplyPermit,
    Route, TextParts,
};
use semgate_policies::PolicySource;
use semgate_protocol::{
    Binding, Call,
    iac::{Draft, Frame, MessageType, MessageType::*},
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Permits the supply chain both ways, and of the protocol all but `terminate`.
const RULES: &str = r#"
    @id("iac-planning") permit (principal in Group::"partners", action, resource is supplyChain::current_decision);
    @id("iac-planned") permit (principal in Group::"repliers", action, resource is supplyChain::current_decision);
    @id("iac-flights") permit (principal in Group::"partners", action, resource is travel::bookFlight);
    @id("iac-ping") permit (principal, action, resource is iac::ping);
    @id("iac-broadcast") permit (principal in Group::"partners", action, resource is iac::broadcast);
    @id("iac-binary") permit (principal in Group::"partners", action, resource is iac::binary);
    @id("iac-run") permit (principal in Group::"partners", action, resource is iac::run);
"#;

struct House {
    inspector: Inspector,
    route: Arc<Route>,
    exchanges: Exchanges,
}

fn source(more: &str) -> PolicySource {
    let mut source = PolicySource::shipped();
    source.files.push(("iac-test.cedar".to_owned(), format!("{RULES}{more}")));
    source
}

fn house_with(more: &str) -> House {
    let generation = generation_with(view(&mut library()), &source(more), &[]);
    let inspector = inspector(generation);
    let route = Route {
        binding: Binding::Iac,
        text_parts: TextParts { raw: true, ..TextParts::default() },
        ..Route::clone(&common::route("l8, all lines"))
    };
    House { exchanges: inspector.exchanges(), inspector, route: Arc::new(route) }
}

fn house() -> House {
    house_with("")
}

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

/// A draft between the two agents by their aliases.
fn draft(kind: MessageType, msg_id: u64, payload: &Value) -> Draft {
    Draft {
        from: "retailer-7".to_owned(),
        to: "wholesaler-1".to_owned(),
        kind,
        payload: if payload.is_null() { String::new() } else { payload.to_string() },
        timestamp: NOW.unix,
        msg_id,
        session_id: 0,
        extra: Vec::new(),
    }
}

fn answer(kind: MessageType, msg_id: u64, payload: &Value) -> Draft {
    let draft = draft(kind, msg_id, payload);
    Draft { from: draft.to, to: draft.from, ..draft }
}

fn decision(urn: Option<&str>) -> Value {
    let mut payload = json!({"concept": "current_decision", "item_id": "beer", "quantity": 120});
    if let Some(urn) = urn {
        payload["l9"] = json!({"context": urn});
    }
    payload
}

const CHAIN: Option<&str> = Some("urn:contexts:supplyChain:v1.0");

/// The checked protobuf and the judged JSON of a signed message.
fn received(draft: Draft) -> (Bytes, Bytes) {
    let frame = Frame::read(Bytes::from(draft.sign(&key(1)))).unwrap();
    let public = key(1).public_key().as_ref().try_into().unwrap();
    frame.verify(&public).unwrap();
    let judged = frame.judged(&json::Limits::default()).unwrap();
    (frame.bytes().clone(), judged)
}

impl House {
    fn ask_at(&self, draft: Draft, now: Now) -> Result<Permit, Refusal> {
        let (body, judged) = received(draft);
        let peer = Peer::signed(&agent_id("retailer-7"));
        let arrived = Arrived { call: Call::iac(), body, judged };
        self.inspector.inspect(&self.route, &peer, &HeaderClaims::default(), arrived, now)
    }

    fn ask(&self, draft: Draft) -> Result<Permit, Code> {
        self.ask_at(draft, NOW).map_err(|refusal| refusal.code())
    }

    /// Sends a message that may pass.
    fn sends(&mut self, draft: Draft) {
        let permit = self.ask(draft).unwrap();
        self.exchanges.room(&permit).unwrap();
        self.exchanges.sent(permit.spend().1);
    }

    fn answers(&mut self, draft: Draft) -> Result<ReplyPermit, Refusal> {
        let (body, judged) = received(draft);
        let replier = agent("wholesaler-1");
        self.inspector.inspect_said(&mut self.exchanges, &replier, Answered { body, judged }, NOW)
    }

    /// The cause of the refusal of an answer.
    fn cause(&mut self, draft: Draft) -> Option<Code> {
        self.answers(draft).err().and_then(|refusal| refusal.cause())
    }
}

#[test]
fn exactly_the_signed_protobuf_passes_in_both_directions() {
    let mut house = house();
    let asks = draft(Command, 1, &decision(CHAIN));
    let permit = house.ask(asks.clone()).unwrap();
    assert_eq!(permit.facts().method, Some("command"));
    let (outgoing, sent) = permit.spend();
    assert_eq!(outgoing.body, received(asks).0);
    house.exchanges.sent(sent);
    let says = answer(MessageType::Reply, 2, &decision(None));
    let permit = house.answers(says.clone()).unwrap();
    assert_eq!(permit.facts().context.as_deref(), CHAIN);
    assert_eq!(permit.spend().1, received(says).0);
    assert!(house.exchanges.is_empty());
}

#[test]
fn iac_attack_replay() {
    let house = house();
    let message = || draft(Command, 7, &decision(CHAIN));
    let _ = house.ask(message()).unwrap();
    assert_eq!(house.ask(message()).unwrap_err(), Code::Replayed);
    // the same message in another form of the encoding is the same message; another id or session is another
    assert!(house.ask(Draft { msg_id: 8, ..message() }).is_ok());
    assert!(house.ask(Draft { session_id: 3, ..message() }).is_ok());
    // a message that was refused for another reason may come again
    let terminate = || draft(Terminate, 9, &Value::Null);
    assert_eq!(house.ask(terminate()).unwrap_err(), Code::PolicyDenied);
    assert_eq!(house.ask(terminate()).unwrap_err(), Code::PolicyDenied);
}

#[test]
fn iac_attack_stamp_outside_the_window() {
    let house = house();
    let at = |timestamp: u64, msg_id: u64| {
        let draft = Draft { timestamp, ..draft(Command, msg_id, &decision(CHAIN)) };
        house.ask(draft).err()
    };
    assert_eq!(at(NOW.unix - 301, 1), Some(Code::Replayed));
    assert_eq!(at(NOW.unix + 301, 2), Some(Code::Replayed));
    assert_eq!(at(NOW.unix - 300, 3), None);
    // microseconds, as the paper has it
    assert_eq!(at((NOW.unix + 300) * 1_000_000, 4), None);
    assert_eq!(at((NOW.unix - 301) * 1_000_000, 5), Some(Code::Replayed));
    // milliseconds are no time near ours
    assert_eq!(at(NOW.unix * 1000, 6), Some(Code::Replayed));
    // the id is remembered for as long as the stamp would let it pass
    let late = Now { unix: NOW.unix + 299, ..NOW };
    assert_eq!(
        house.ask_at(draft(Command, 3, &decision(CHAIN)), late).map(drop).unwrap_err().code(),
        Code::Replayed
    );
}

#[test]
fn iac_attack_from_of_another_agent() {
    let house = house();
    let from = |from: &str| house.ask(Draft { from: from.to_owned(), ..draft(Command, 1, &decision(CHAIN)) });
    for other in ["treasurer-1", "", "Retailer-7", "retailer-7 ", &"a1".repeat(32)] {
        assert_eq!(from(other).unwrap_err(), Code::SenderMismatch, "{other}");
    }
    assert!(from(&agent_id("retailer-7")).is_ok());
    let to = |kind, to: &str| house.ask(Draft { to: to.to_owned(), ..draft(kind, 2, &decision(CHAIN)) });
    assert_eq!(to(Command, "treasurer-1").unwrap_err(), Code::ReceiverMismatch);
    assert_eq!(to(Command, "").unwrap_err(), Code::ReceiverMismatch);
    assert!(to(Broadcast, "").is_ok());
}

#[test]
fn the_type_is_a_question_of_its_own_to_policy() {
    let house = house();
    let payload = decision(CHAIN);
    assert!(house.ask(draft(Command, 1, &payload)).is_ok());
    assert!(house.ask(draft(Run, 2, &payload)).is_ok());
    assert_eq!(house.ask(draft(Terminate, 3, &payload)).unwrap_err(), Code::PolicyDenied);
    assert_eq!(house.ask(draft(Create, 4, &Value::Null)).unwrap_err(), Code::PolicyDenied);
    // a name in the payload is no type
    let named = json!({"concept": "ping", "l9": {"context": "urn:contexts:iac:v1.0"}});
    assert_eq!(house.ask(draft(Command, 5, &named)).unwrap_err(), Code::ConceptUndefined);
    let permit = house.ask(draft(Ping, 6, &Value::Null)).unwrap();
    assert_eq!(permit.facts().context.as_deref(), Some("urn:contexts:iac:v1.0"));
}

#[test]
fn opaque_bytes_pass_where_route_and_policy_admit_them() {
    let mut house = house();
    let with_bytes = |msg_id| Draft { extra: b"opaque".to_vec(), ..draft(Command, msg_id, &decision(CHAIN)) };
    assert!(house.ask(with_bytes(1)).is_ok());
    let closed = Route { text_parts: TextParts::default(), ..Route::clone(&house.route) };
    house.route = Arc::new(closed);
    assert_eq!(house.ask(with_bytes(2)).unwrap_err(), Code::ContentUninspectable);
}

#[test]
fn an_answer_without_a_context_has_that_of_all_open_requests() {
    let mut house = house();
    house.sends(draft(Command, 1, &decision(CHAIN)));
    house.sends(draft(Command, 2, &decision(CHAIN)));
    assert!(house.answers(answer(MessageType::Reply, 11, &decision(None))).is_ok());
    // a ping is answered in protocol terms, and does not count beside content
    house.sends(draft(Ping, 3, &Value::Null));
    let permit = house.answers(answer(MessageType::Reply, 12, &decision(None))).unwrap();
    assert_eq!(permit.facts().context.as_deref(), CHAIN);
    let permit = house.answers(answer(Ping, 13, &Value::Null)).unwrap();
    assert_eq!(permit.facts().context.as_deref(), Some("urn:contexts:iac:v1.0"));
    assert!(house.exchanges.is_empty());
    let refusal = house.answers(answer(MessageType::Reply, 14, &decision(CHAIN))).unwrap_err();
    assert_eq!((refusal.code(), refusal.cause()), (Code::ReplyRefused, Some(Code::OutOfTurn)));
}

#[test]
fn an_answer_without_a_context_is_refused_when_several_are_open() {
    let mut house = house();
    house.sends(draft(Command, 1, &decision(CHAIN)));
    let mut flight = common::bases()["flight"]["content"].clone();
    flight["l9"] = json!({"context": "urn:contexts:travel:v2.1"});
    house.sends(draft(Command, 2, &flight));
    assert_eq!(house.cause(answer(MessageType::Reply, 11, &decision(None))), Some(Code::ContextMissing));
    assert!(house.answers(answer(MessageType::Reply, 12, &decision(CHAIN))).is_ok());
    // a context with nothing open
    let other = decision(Some("urn:contexts:payment:v1.1"));
    assert_eq!(house.cause(answer(MessageType::Reply, 13, &other)), Some(Code::ContextUnknown));
}

#[test]
fn iac_attack_reply_that_asks_or_that_nobody_asked_for() {
    let mut house = house();
    let says = |msg_id| answer(MessageType::Reply, msg_id, &decision(CHAIN));
    assert_eq!(house.cause(says(1)), Some(Code::OutOfTurn));
    house.sends(draft(Command, 1, &decision(CHAIN)));
    assert_eq!(house.cause(answer(Command, 2, &decision(CHAIN))), Some(Code::Malformed));
    // an answer of somebody else, and one to somebody else
    let from_another = Draft { from: "treasurer-1".to_owned(), ..says(3) };
    assert_eq!(house.cause(from_another), Some(Code::SenderMismatch));
    let to_another = Draft { to: "treasurer-1".to_owned(), ..says(4) };
    assert_eq!(house.cause(to_another), Some(Code::ReceiverMismatch));
    assert!(house.answers(says(5)).is_ok());
    house.sends(draft(Command, 6, &decision(CHAIN)));
    assert_eq!(house.cause(says(5)), Some(Code::Replayed));
}

#[test]
fn an_agent_may_answer_what_only_informs_and_may_ignore_requests() {
    let mut house = house();
    house.sends(draft(Broadcast, 1, &decision(CHAIN)));
    assert!(house.answers(answer(MessageType::Reply, 2, &decision(None))).is_ok());
    // a stock server never answers: the oldest request makes room
    for msg_id in 100..300 {
        house.sends(draft(Command, msg_id, &decision(CHAIN)));
    }
    assert!(house.answers(answer(MessageType::Reply, 3, &decision(None))).is_ok());
}

#[test]
fn a_signed_answer_is_not_redacted() {
    let redacts = r#"@id("reference") @redact("booking_reference")
        permit (principal in Group::"repliers", action, resource is travel::bookFlight_results)
        when { context.direction == "reply" };"#;
    let mut house = house_with(redacts);
    let mut flight = common::bases()["flight"]["content"].clone();
    flight["l9"] = json!({"context": "urn:contexts:travel:v2.1"});
    house.sends(draft(Command, 1, &flight));
    let mut booked = json!({"task": "bookFlight", "status": "confirmed", "booking_reference": "SECRET7"});
    assert_eq!(house.cause(answer(MessageType::Reply, 2, &booked)), Some(Code::PolicyError));
    booked.as_object_mut().unwrap().remove("booking_reference");
    assert!(house.answers(answer(MessageType::Reply, 3, &booked)).is_ok());
}

#[test]
fn a_key_in_hexadecimal_digits_is_a_name() {
    let hex: String = key(1).public_key().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut source = source("");
    let mut entities: Value = serde_json::from_slice(&source.entities).unwrap();
    entities["agents"][0]["names"] = json!({"iac": "alice"});
    entities["agents"][0]["keys"] = json!({"iac": [hex]});
    source.entities = entities.to_string().into_bytes();
    let house =
        House { inspector: inspector(generation_with(view(&mut library()), &source, &[])), ..house() };
    for (msg_id, (from, fits)) in
        [("alice", true), (hex.as_str(), true), ("bob", false), (&hex.to_uppercase(), false)]
            .into_iter()
            .enumerate()
    {
        let draft = Draft { from: from.to_owned(), ..draft(Command, msg_id as u64, &decision(CHAIN)) };
        assert_eq!(house.ask(draft).is_ok(), fits, "{from}");
    }
}
