//! Text that is put behind what may not have arrived: notifications that were lost, and events that were refused.

use super::{FORBIDS, generation, parts};
use crate::common::{NOW, agent, base, changed, delivery, route, say};
use bytes::Bytes;
use semgate_inspect::{
    Code, Delivered, InspectLimits, Inspector, Peer, Posted, Refusal, Route, Sent, StreamState,
};
use serde_json::{Value, json};
use std::sync::Arc;

const UNSETTLED: &str = "nobody knows whether it arrived";

/// A gateway whose caller was told of task t-1, and has notifications of it sent under two tokens.
pub struct House {
    pub inspector: Inspector,
    pub route: Arc<Route>,
}

pub fn house() -> House {
    house_with(InspectLimits::default())
}

pub fn house_with(limits: InspectLimits) -> House {
    house_of(Inspector::new(limits, generation(FORBIDS)))
}

pub fn house_of(inspector: Inspector) -> House {
    let house = House { inspector, route: route("a2a, texts admitted") };
    for token in ["one", "two"] {
        let asked = say(&house.inspector, &house.route, "retailer-7", base("a2a stream"), NOW);
        let mut permit = asked.unwrap();
        house.inspector.deliver(&mut permit, token, delivery());
        let (sent, mut stream) = (permit.spend().1, StreamState::default());
        house.event(&sent, &mut stream, base("a2a event task")).unwrap();
    }
    house
}

pub fn piece(text: &str, append: bool) -> Value {
    json!({"append": append, "artifact": {"artifactId": "a-9", "parts": parts(&[text])}})
}

pub fn behind(text: &str) -> Value {
    piece(text, true)
}

pub fn begun(text: &str) -> Value {
    piece(text, false)
}

impl House {
    pub fn event(&self, sent: &Sent, stream: &mut StreamState, event: Vec<u8>) -> Result<(), Refusal> {
        let replier = agent("wholesaler-1");
        self.inspector.inspect_event(sent, stream, &replier, Bytes::from(event), NOW).map(drop)
    }

    /// A stream of the task, the same for as long as it is held.
    pub fn subscribed(&self) -> impl FnMut(Value) -> Result<(), Refusal> + '_ {
        let subscribe = changed("a2a get task", json!({"method": "SubscribeToTask", "id": "s-1"}));
        let asked = say(&self.inspector, &self.route, "retailer-7", subscribe, NOW).unwrap();
        let sent = asked.spend().1;
        let mut stream = self.inspector.stream(&sent);
        self.event(&sent, &mut stream, base("a2a event task")).unwrap();
        move |update| {
            let event = changed("a2a event text", json!({"result": {"artifactUpdate": update}}));
            self.event(&sent, &mut stream, event)
        }
    }

    /// A notification that may leave, of which nothing is known yet.
    pub fn posts(&self, token: &str, update: &Value) -> Result<Posted, Refusal> {
        let mut update = update.clone();
        update["taskId"] = "t-1".into();
        update["contextId"] = "c-1".into();
        let body = Bytes::from(json!({"artifactUpdate": update}).to_string());
        let replier = Peer::configured(&self.route.receiver);
        let permit = self.inspector.inspect_notification(&self.route, token, &replier, body, NOW)?;
        Ok(permit.posted())
    }

    pub fn arrives(&self, token: &str, posted: &Posted, outcome: Delivered) {
        self.inspector.arrived(&self.route, token, posted, outcome);
    }

    /// One of which it is known at once what became of it.
    pub fn posted(&self, token: &str, update: &Value, outcome: Delivered) -> Result<(), Refusal> {
        self.posts(token, update).map(|posted| self.arrives(token, &posted, outcome))
    }
}

#[track_caller]
pub fn denied(outcome: Result<(), Refusal>) {
    let refusal = outcome.unwrap_err();
    assert_eq!(refusal.cause().unwrap_or(refusal.code()), Code::PolicyDenied, "{}", refusal.detail());
}

#[track_caller]
fn unsettled(outcome: Result<(), Refusal>) {
    let refusal = outcome.unwrap_err();
    let code = refusal.cause().unwrap_or(refusal.code());
    let told = format!("{} {}", refusal.reason(), refusal.detail());
    assert!(code == Code::ContentUninspectable && told.contains(UNSETTLED), "{told}");
}

#[test]
fn attack_a_notification_is_broken_off_so_that_what_it_said_counts_as_told() {
    // what arrives is told
    let house = house();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    house.posted("one", &behind("xx"), Delivered::Yes).unwrap();
    house.posted("one", &behind("ETE"), Delivered::Yes).unwrap();
    // what is known not to have arrived is not
    let house = self::house();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    house.posted("one", &behind("xx"), Delivered::No).unwrap();
    denied(house.posted("one", &behind("ETE"), Delivered::Yes));
    house.posted("one", &behind("ightful"), Delivered::Yes).unwrap();
    // nor is what is on its way, or was given up, or of which nobody knows
    for outcome in [None, Some(Delivered::Unknown)] {
        let house = self::house();
        house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
        let posted = house.posts("one", &behind("xx")).unwrap();
        outcome.into_iter().for_each(|outcome| house.arrives("one", &posted, outcome));
        unsettled(house.posted("one", &behind("ETE"), Delivered::Yes));
        unsettled(house.posted("one", &behind("ightful"), Delivered::Yes));
        // told whole, it goes on
        house.posted("one", &begun("hello"), Delivered::Yes).unwrap();
        house.posted("one", &behind(" you"), Delivered::Yes).unwrap();
    }
}

#[test]
fn attack_what_a_lost_notification_said_stands_between_two_pieces_on_a_stream() {
    let house = house();
    let (mut early, begin) = (house.subscribed(), begun("DEL"));
    early(begin).unwrap();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    let posted = house.posts("one", &behind("xx")).unwrap();
    // on its way, and after nobody knows
    for outcome in [Delivered::Unknown, Delivered::Unknown] {
        denied(house.subscribed()(behind("ETE")));
        denied(early(behind("ETE")));
        house.arrives("one", &posted, outcome);
    }
    let mut late = house.subscribed();
    late(behind("ightful")).unwrap();
    denied(house.subscribed()(behind(" DELETE")));
    // a stream that tells it makes it told to who reads that, and not to the place
    let house = self::house();
    let mut stream = house.subscribed();
    stream(begun("DEL")).unwrap();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    house.posted("one", &behind("xx"), Delivered::Unknown).unwrap();
    stream(behind("xx")).unwrap();
    denied(house.subscribed()(behind("ETE")));
    stream(behind("ETE")).unwrap();
}

#[test]
fn a_target_that_is_away_keeps_nothing_from_other_targets_and_streams() {
    let house = house();
    let mut stream = house.subscribed();
    for (n, text) in ["one ", "two ", "three ", "four"].into_iter().enumerate() {
        let update = piece(text, n > 0);
        stream(update.clone()).unwrap();
        house.posted("one", &update, Delivered::No).unwrap();
        house.posted("two", &update, Delivered::Yes).unwrap();
    }
    // without a stream too
    let house = self::house();
    for (n, text) in ["one ", "two ", "three ", "four"].into_iter().enumerate() {
        let update = piece(text, n > 0);
        let away = house.posts("one", &update).unwrap();
        let there = house.posts("two", &update).unwrap();
        house.arrives("two", &there, Delivered::Yes);
        house.arrives("one", &away, Delivered::No);
    }
    denied(house.posted("two", &behind("DELETE"), Delivered::Yes));
}

#[test]
fn attack_an_event_that_is_refused_takes_the_place_of_what_was_told() {
    let house = house();
    let asked = say(&house.inspector, &house.route, "retailer-7", base("a2a stream"), NOW).unwrap();
    let (sent, mut stream) = (asked.spend().1, StreamState::default());
    let told = |artifact: &str, history: Value| {
        let artifact = json!({"artifactId": "a-9", "parts": parts(&[artifact])});
        changed("a2a event task", json!({"result": {"task": {"artifacts": [artifact], "history": history}}}))
    };
    house.event(&sent, &mut stream, told("DEL", json!([]))).unwrap();
    let said = |text: &str| json!({"messageId": "h-1", "role": "ROLE_AGENT", "parts": parts(&[text])});
    denied(house.event(&sent, &mut stream, told("zz", json!([said("DEL"), said("ETE")]))));
    denied(house.subscribed()(behind("ETE")));
    house.subscribed()(behind("ightful")).unwrap();
}

#[test]
fn attack_many_tasks_of_others_end_a_stream_that_appends() {
    let house = house_with(InspectLimits { told_text: 1, ..InspectLimits::default() });
    let mut stream = house.subscribed();
    stream(begun("DEL")).unwrap();
    let other = changed("a2a stream", json!({"params": {"message": {"messageId": "m-9"}}}));
    let other = say(&house.inspector, &house.route, "retailer-7", other, NOW).unwrap().spend().1;
    let artifact =
        json!({"taskId": "t-9", "append": false, "artifact": {"artifactId": "a-9", "parts": parts(&["zz"])}});
    let event = changed("a2a event text", json!({"result": {"artifactUpdate": artifact}}));
    house.event(&other, &mut StreamState::default(), event).unwrap();
    stream(behind("ightful")).unwrap();
    denied(stream(behind(" DELETE")));
    let refusal = house.subscribed()(behind("now")).unwrap_err();
    assert_eq!(refusal.cause(), Some(Code::ContentUninspectable), "{}", refusal.detail());
}

#[test]
fn attack_an_answer_that_is_refused_takes_the_place_of_what_was_told() {
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("DEL")).unwrap();
    let other = changed("a2a stream", json!({"params": {"message": {"messageId": "m-9"}}}));
    let other = say(&house.inspector, &house.route, "retailer-7", other, NOW).unwrap().spend().1;
    let event = changed("a2a event task", json!({"result": {"task": {"id": "t-9", "contextId": "c-9"}}}));
    house.event(&other, &mut StreamState::default(), event).unwrap();
    // a configuration beside a message, which a notification binds to the other task before the answer comes
    let mut permit = say(&house.inspector, &house.route, "retailer-7", base("a2a stream"), NOW).unwrap();
    house.inspector.deliver(&mut permit, "three", delivery());
    let sent = permit.spend().1;
    let replier = agent("wholesaler-1");
    let status = json!({"taskId": "t-9", "contextId": "c-9", "status": {"state": "TASK_STATE_WORKING"}});
    let body = Bytes::from(json!({ "statusUpdate": status }).to_string());
    let _ = house.inspector.inspect_notification(&house.route, "three", &replier, body, NOW).unwrap();
    let artifact = json!({"artifactId": "a-9", "parts": parts(&["zz"])});
    let task = json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [artifact]});
    let asked: Value = serde_json::from_slice(&base("a2a stream")).unwrap();
    let id = &asked["id"];
    let body = Bytes::from(json!({"jsonrpc": "2.0", "id": id, "result": {"task": task}}).to_string());
    let refusal = house.inspector.inspect_reply(&sent, &replier, 200, body, NOW).unwrap_err();
    assert!(refusal.detail().contains("a push configuration is about one task"), "{}", refusal.detail());
    denied(house.subscribed()(behind("ETE")));
    house.subscribed()(behind("ightful")).unwrap();
}
