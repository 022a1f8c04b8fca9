//! Appended text on streams and push targets: each is judged behind the text that it carried itself.

use super::{FORBIDS, generation, parts};
use crate::common::{NOW, agent, base, changed, delivery, route, say};
use bytes::Bytes;
use semgate_inspect::{
    Code, Delivered, InspectLimits, Inspector, Peer, Posted, Refusal, Route, Sent, StreamState,
};
use serde_json::{Value, json};
use std::sync::Arc;

const UNSETTLED: &str = "its delivery is unknown";

/// A gateway whose caller was told of task t-1, and has notifications of it sent under two tokens.
struct House {
    inspector: Inspector,
    route: Arc<Route>,
}

fn house() -> House {
    let inspector = Inspector::new(InspectLimits::default(), generation(FORBIDS));
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

fn piece(text: &str, append: bool) -> Value {
    json!({"append": append, "artifact": {"artifactId": "a-9", "parts": parts(&[text])}})
}

fn behind(text: &str) -> Value {
    piece(text, true)
}

fn begun(text: &str) -> Value {
    piece(text, false)
}

impl House {
    fn event(&self, sent: &Sent, stream: &mut StreamState, event: Vec<u8>) -> Result<(), Refusal> {
        let replier = agent("wholesaler-1");
        self.inspector.inspect_event(sent, stream, &replier, Bytes::from(event), NOW).map(drop)
    }

    /// The artifact in these pieces, in the answer to a read of the task.
    fn reads(&self, pieces: &[&str]) -> Result<(), Refusal> {
        let request = base("a2a get task");
        let id = serde_json::from_slice::<Value>(&request).unwrap()["id"].clone();
        let asked = say(&self.inspector, &self.route, "retailer-7", request, NOW).unwrap();
        let artifact = json!({"artifactId": "a-9", "parts": parts(pieces)});
        let task = json!({"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}, "artifacts": [artifact]});
        let body = Bytes::from(json!({"jsonrpc": "2.0", "id": id, "result": task}).to_string());
        let replier = Peer::configured(&self.route.receiver);
        self.inspector.inspect_reply(&asked.spend().1, &replier, 200, body, NOW).map(drop)
    }

    /// A stream of the task that carries nothing yet.
    fn subscribes(&self) -> (Sent, StreamState) {
        let subscribe = changed("a2a get task", json!({"method": "SubscribeToTask", "id": "s-1"}));
        let asked = say(&self.inspector, &self.route, "retailer-7", subscribe, NOW).unwrap();
        let sent = asked.spend().1;
        let stream = self.inspector.stream(&sent);
        (sent, stream)
    }

    /// A stream of the task, the same for as long as it is held. Its first event is the task without artifacts.
    fn subscribed(&self) -> impl FnMut(Value) -> Result<(), Refusal> + '_ {
        let (sent, mut stream) = self.subscribes();
        self.event(&sent, &mut stream, base("a2a event task")).unwrap();
        move |update| {
            let event = changed("a2a event text", json!({"result": {"artifactUpdate": update}}));
            self.event(&sent, &mut stream, event)
        }
    }

    /// A notification that may leave, of which nothing is known yet.
    fn posts(&self, token: &str, update: &Value) -> Result<Posted, Refusal> {
        let mut update = update.clone();
        update["taskId"] = "t-1".into();
        update["contextId"] = "c-1".into();
        let body = Bytes::from(json!({"artifactUpdate": update}).to_string());
        let replier = Peer::configured(&self.route.receiver);
        let permit = self.inspector.inspect_notification(&self.route, token, &replier, body, NOW)?;
        Ok(permit.posted())
    }

    fn arrives(&self, token: &str, posted: &Posted, outcome: Delivered) {
        self.inspector.arrived(token, posted, outcome);
    }

    /// One of which it is known at once what became of it.
    fn posted(&self, token: &str, update: &Value, outcome: Delivered) -> Result<(), Refusal> {
        self.posts(token, update).map(|posted| self.arrives(token, &posted, outcome))
    }
}

#[track_caller]
fn denied(outcome: Result<(), Refusal>) {
    let refusal = outcome.unwrap_err();
    assert_eq!(refusal.cause().unwrap_or(refusal.code()), Code::PolicyDenied, "{}", refusal.detail());
}

const START: &str = "did not carry from its start";

#[track_caller]
fn uninspectable(outcome: Result<(), Refusal>, why: &str) {
    let refusal = outcome.unwrap_err();
    let code = refusal.cause().unwrap_or(refusal.code());
    let text = format!("{} {}", refusal.reason(), refusal.detail());
    assert!(code == Code::ContentUninspectable && text.contains(why), "{text}");
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
        uninspectable(house.posted("one", &behind("ETE"), Delivered::Yes), UNSETTLED);
        uninspectable(house.posted("one", &behind("ightful"), Delivered::Yes), UNSETTLED);
        // it may arrive behind a later whole, so that nothing is put behind that either
        house.posted("one", &begun("hello"), Delivered::Yes).unwrap();
        uninspectable(house.posted("one", &behind(" you"), Delivered::Yes), UNSETTLED);
    }
}

#[test]
fn a_push_target_that_is_away_keeps_nothing_from_another_target_or_a_stream() {
    let house = house();
    let mut stream = house.subscribed();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    for (n, text) in ["one ", "two ", "three ", "four"].into_iter().enumerate() {
        let update = piece(text, n > 0);
        stream(update.clone()).unwrap();
        house.posted("one", &behind(text), Delivered::No).unwrap();
        house.posted("two", &update, Delivered::Yes).unwrap();
    }
    denied(house.posted("one", &behind("ETE"), Delivered::Yes));
    denied(house.posted("two", &behind("DELETE"), Delivered::Yes));
}

#[test]
fn attack_two_notifications_of_one_artifact_overtake_each_other() {
    let house = house();
    let first = house.posts("one", &begun("DEL")).unwrap();
    let second = house.posts("one", &begun("xx")).unwrap();
    house.arrives("one", &second, Delivered::No);
    // the target may have the first one, which is not settled
    uninspectable(house.posted("one", &behind("ETE"), Delivered::Yes), UNSETTLED);
    house.arrives("one", &first, Delivered::Yes);
    uninspectable(house.posted("one", &behind("ETE"), Delivered::Yes), START);
    house.posted("one", &begun("hello"), Delivered::Yes).unwrap();
    house.posted("one", &behind(" you"), Delivered::Yes).unwrap();
}

#[test]
fn attack_a_stream_appends_to_an_artifact_that_another_stream_or_target_carried() {
    let house = house();
    let mut first = house.subscribed();
    first(begun("DEL")).unwrap();
    house.posted("one", &begun("DEL"), Delivered::Yes).unwrap();
    // agents of a2a-sdk 0.3 begin a stream that is subscribed to anew with the next piece
    uninspectable(house.subscribed()(behind("ETE")), START);
    uninspectable(house.posted("two", &behind("ETE"), Delivered::Yes), START);
    denied(first(behind("ETE")));
    denied(house.posted("one", &behind("ETE"), Delivered::Yes));
    // the stream without the artifact in its first task, and with it
    let mut again = house.subscribed();
    uninspectable(again(behind("ETE")), START);
    again(begun("DEL")).unwrap();
    denied(again(behind("ETE")));
    again(behind("ightful")).unwrap();
}

#[test]
fn a_task_that_is_subscribed_to_again_goes_on_behind_the_artifacts_of_its_first_event() {
    let house = house();
    let (sent, mut stream) = house.subscribes();
    let artifact = |id: &str, texts: &[&str]| json!({"artifactId": id, "parts": parts(texts)});
    let artifacts = json!([artifact("a-8", &["other"]), artifact("a-9", &["some ", "DEL"])]);
    let task = changed("a2a event task", json!({"result": {"task": {"artifacts": artifacts}}}));
    house.event(&sent, &mut stream, task).unwrap();
    let update = |text: &str| changed("a2a event text", json!({"result": {"artifactUpdate": behind(text)}}));
    denied(house.event(&sent, &mut stream, update("ETE")));
    house.event(&sent, &mut stream, update("ightful")).unwrap();
}

#[test]
fn a_caller_whose_streams_break_subscribes_again_and_again() {
    let house = house();
    let mut whole = String::new();
    for _ in 0..30 {
        let mut stream = house.subscribed();
        stream(begun(&whole)).unwrap();
        for word in ["some ", "more "] {
            stream(behind(word)).unwrap();
            whole.push_str(word);
        }
        denied(stream(behind("DELETE")));
    }
}

#[test]
fn attack_an_event_that_is_refused_counts_as_text_so_far() {
    let house = house();
    let (sent, mut stream) = house.subscribes();
    let task = |artifact: &str, history: Value| {
        let artifact = json!({"artifactId": "a-9", "parts": parts(&[artifact])});
        changed("a2a event task", json!({"result": {"task": {"artifacts": [artifact], "history": history}}}))
    };
    house.event(&sent, &mut stream, task("DEL", json!([]))).unwrap();
    let message = |text: &str| json!({"messageId": "h-1", "role": "ROLE_AGENT", "parts": parts(&[text])});
    denied(house.event(&sent, &mut stream, task("zz", json!([message("DEL"), message("ETE")]))));
    let update = |text: &str| changed("a2a event text", json!({"result": {"artifactUpdate": behind(text)}}));
    denied(house.event(&sent, &mut stream, update("ETE")));
    house.event(&sent, &mut stream, update("ightful")).unwrap();
}

#[test]
fn attack_a_stream_of_ever_new_artifacts_fills_the_memory() {
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("DEL")).unwrap();
    for n in 0..1_024 {
        let artifact = json!({"artifactId": format!("b-{n}"), "parts": parts(&["x"])});
        stream(json!({"append": false, "artifact": artifact})).unwrap();
    }
    uninspectable(stream(behind("ETE")), START);
    // the artifact that was carried last goes on
    stream(json!({"append": true, "artifact": {"artifactId": "b-1023", "parts": parts(&["y"])}})).unwrap();
}

#[test]
fn an_artifact_that_was_streamed_in_many_pieces_is_read_whole() {
    let house = house();
    let mut stream = house.subscribed();
    stream(begun("a ")).unwrap();
    for _ in 1..200 {
        stream(behind("a ")).unwrap();
    }
    house.reads(&["a "; 200]).unwrap();
    let refused = house.reads(&["a "; 4_097]).unwrap_err();
    assert_eq!(refused.cause(), Some(Code::TooComplex), "{}", refused.detail());
}
