//! Requests reach people, and answers come back, without a network beyond this machine.

mod clicks;
mod links;
mod sending;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use ring::hmac;
use semgate_approvals::{
    Action, ActionInstance, Asked, Event, Hold, HoldId, HumanCard, HumanRegistry, Interaction,
    InteractionKind, Question, Subject,
};
use semgate_policies::{Approval, Assurance, ReasonRule};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::super::Desk;
use super::super::desk::pair;
use super::super::journal::Journal;
use super::super::keys::ApprovalKeys;
use super::courier::Errand;
use super::doors::Doors;
use super::*;
use crate::clock::unix_now;

const SECRET: &str = "8f742231b10e8888abcd99yyyzzz85a5";

/// A desk with Bob and Alice, its doors, and every event that reached the disk.
struct World {
    dir: tempfile::TempDir,
    desk: Desk,
    config: Arc<ApprovalsConfig>,
    doors: Doors,
    work: RefCell<Option<mpsc::Receiver<Errand>>>,
    events: Rc<RefCell<Vec<Event>>>,
}

fn people() -> Vec<HumanCard> {
    let card = |name: &str, endpoints: Value| {
        serde_json::from_value(json!({
            "id": format!("human://{name}"), "profile": {"name": name}, "capabilities": ["approver"],
            "endpoints": endpoints, "certificate": format!("spiffe://semgate.test/human/{name}"),
        }))
        .unwrap()
    };
    vec![
        card("bob.sre", json!({"slack_user": "U024BOB"})),
        card("alice.eng", json!({"slack_user": "U024ALICE"})),
    ]
}

/// Runs a test in a local set, with a scribe for its world.
fn with_world<F: Future<Output = ()>>(
    settings: &str,
    people: Vec<HumanCard>,
    test: impl FnOnce(Rc<World>) -> F,
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async move {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("slack.secret"), format!("{SECRET}\n")).unwrap();
        test(Rc::new(World::open(dir, settings, people))).await;
    });
}

impl World {
    fn open(dir: tempfile::TempDir, settings: &str, people: Vec<HumanCard>) -> Self {
        let secret = dir.path().join("slack.secret");
        let head = format!(
            "listen = \"127.0.0.1:0\"\nhumans = \"humans\"\n{settings}\n[slack]\nsigning_secret = {secret:?}\n"
        );
        let config: Arc<ApprovalsConfig> = Arc::new(toml::from_str(&head).unwrap());
        let keys = ApprovalKeys::open(dir.path()).unwrap();
        let (book, journal) = Journal::open(dir.path(), config.book(), &keys).unwrap();
        let (desk, scribe) = pair(book, journal, HumanRegistry::new(people).unwrap(), keys);
        let (errand, work) = errands();
        let doors = Doors::open(desk.clone(), Arc::clone(&config), errand.clone()).unwrap();
        let events = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&events);
        let observer =
            Box::new(move |event: &Event, _: Option<&Arc<Hold>>| seen.borrow_mut().push(event.clone()));
        tokio::task::spawn_local(scribe.run(vec![observer, listener(errand)]));
        Self { dir, desk, config, doors, work: RefCell::new(Some(work)), events }
    }

    /// The same state directory after a crash.
    fn again(self: Rc<Self>, people: Vec<HumanCard>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for file in ["approvals.jsonl", "approvals.key", "slack.secret"] {
            std::fs::copy(self.dir.path().join(file), dir.path().join(file)).unwrap();
        }
        Self::open(dir, "", people)
    }

    fn router(&self) -> Router {
        router(&self.doors)
    }

    async fn hold(&self, subject: Subject, demand: impl FnOnce(&mut Approval)) -> Arc<Hold> {
        let mut approval = Approval::new("p.cedar#large", "A large payment");
        demand(&mut approval);
        let is_action = matches!(subject, Subject::Action(_));
        let demands = if is_action { vec![approval] } else { Vec::new() };
        let (session, decision_id) = (None, "d-1".into());
        let question = Question { subject, urn: None, demands, session, decision_id, generation: 1 };
        let id = if is_action {
            match self.desk.ask(question).await.unwrap() {
                Asked::Waits(id) => id,
                other => panic!("{other:?}"),
            }
        } else {
            self.desk.interact(question).await.unwrap()
        };
        self.desk.hold(&id).unwrap()
    }

    async fn payment(&self, amount: u32) -> Arc<Hold> {
        self.hold(payment(amount), |_| {}).await
    }

    fn state(&self, id: &HoldId) -> String {
        json!(self.desk.hold(id).unwrap().state).as_str().unwrap().to_owned()
    }

    fn decided(&self) -> usize {
        self.events.borrow().iter().filter(|event| matches!(event, Event::Decided { .. })).count()
    }
}

fn payment(amount: u32) -> Subject {
    Subject::Action(Action {
        sender: "spiffe://semgate.test/agent/retailer-7".into(),
        receiver: "spiffe://semgate.test/agent/bank-1".into(),
        binding: "l8".into(),
        context: format!("sha-256:{}", "1".repeat(64)).into(),
        performative: "REQUEST".into(),
        instances: vec![ActionInstance { concept: "transfer".to_owned(), value: json!({"amount": amount}) }],
        refers: Vec::new(),
    })
}

fn clarification(options: &[&str]) -> Subject {
    Subject::Interaction(Box::new(Interaction {
        sender: "spiffe://semgate.test/agent/ops-1".into(),
        target: semgate_approvals::HumanId::parse("human://bob.sre").unwrap(),
        kind: InteractionKind::Clarification,
        summary: "Ambiguous Configuration Target".to_owned(),
        body: "Two files match.".to_owned(),
        options: options.iter().map(|&option| option.to_owned()).collect(),
        required_input: None,
        secret: false,
        reason: None,
        context: None,
        call: None,
        responds_to: None,
        callback: None,
    }))
}

/// Status, headers as text, and body.
struct Answered {
    status: StatusCode,
    head: String,
    body: String,
}

async fn call(router: Router, request: Request<Body>) -> Answered {
    let response = TowerToHyperService::new(router).call(request).await.unwrap();
    let (status, head) = (response.status(), format!("{:?}", response.headers()));
    let body = to_bytes(response.into_body(), 1 << 22).await.unwrap();
    Answered { status, head, body: String::from_utf8(body.to_vec()).unwrap() }
}

fn request(method: Method, path: &str, fields: &[(&str, &str)]) -> Request<Body> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(body))
        .unwrap()
}

/// A click as Slack posts it.
fn click(user: &str, value: &str, at: u64, secret: &str) -> Request<Body> {
    let payload = json!({
        "type": "block_actions", "user": {"id": user, "username": "bob"}, "team": {"id": "T1"},
        "actions": [{"type": "button", "action_id": "approve", "value": value}],
    });
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("payload", &payload.to_string())
        .finish();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("v0:{at}:{body}").as_bytes());
    Request::builder()
        .method(Method::POST)
        .uri("/slack/actions")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-slack-request-timestamp", at.to_string())
        .header("x-slack-signature", format!("v0={}", data_encoding::HEXLOWER.encode(tag.as_ref())))
        .body(Body::from(body))
        .unwrap()
}
