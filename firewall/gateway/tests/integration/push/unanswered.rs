//! A push configuration whose answer did not pass: the agent may have it, and it is about the task that the request named.

use super::common::agent::answer;
use super::{CONTEXT, Decree, EXTENSION, Scene, message, notify, scene, update};
use serde_json::{Value, json};

/// What agents answer to a request that they may have done.
fn unread() -> Vec<(&'static str, Vec<u8>)> {
    let result = |said: Value| json!({"jsonrpc": "2.0", "id": 7, "result": said}).to_string();
    let ok =
        |media: &str, body: &str| answer("200 OK", &format!("Content-Type: {media}\r\n"), body.as_bytes());
    vec![
        ("no json", ok("application/json", "zzz")),
        ("a page", ok("text/plain", "done")),
        ("nothing", answer("204 No Content", "", b"")),
        ("nothing yet", answer("202 Accepted", "", b"")),
        ("an empty body", answer("200 OK", "", b"")),
        ("a cut", Vec::new()),
        ("null", ok("application/json", &result(Value::Null))),
        ("a wrong member", ok("application/json", &result(json!({"taskId": "t-2", "words": 1})))),
        (
            "another task",
            ok("application/json", &result(json!({"taskId": "t-9", "id": "c", "url": "http://x.test/"}))),
        ),
    ]
}

fn says_text(task: &str) -> String {
    let mut said = update(task, 1);
    said["statusUpdate"]["status"]["message"]["parts"] = json!([{"text": "words"}]);
    said.to_string()
}

impl Scene {
    /// A configuration of task `t-2` on the route that admits text, whose answer is in the place of the agent's; returns its address.
    fn unanswered(&self, method: &str, instead: &[u8]) -> String {
        *self.memory.1.lock().unwrap() = Some(instead.to_vec());
        let url = self.target();
        let set = match method {
            "CreateTaskPushNotificationConfig" => json!({"taskId": "t-2", "url": url}),
            _ => json!({"taskId": "t-2", "pushNotificationConfig": {"url": url}}),
        };
        let answer = self.asked_on("beside", method, &set);
        assert!(!answer.body.contains("\"result\""), "{answer:?}");
        *self.memory.1.lock().unwrap() = None;
        self.memory.lane()
    }

    fn begun_beside(&self, task: &str) {
        let begun = self.call_on("beside", "SendMessage", &message(task));
        assert_eq!(begun["result"]["task"]["id"], task, "{begun}");
    }
}

const BOTH: [&str; 2] = ["CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"];

#[test]
fn attack_the_first_notification_after_an_unread_answer_passed_while_its_context_was_suspended() {
    let mut scene = scene();
    scene.begun_beside("t-2");
    let all: Vec<_> = unread()
        .into_iter()
        .flat_map(|(what, bytes)| BOTH.map(|method| (what, method, scene.unanswered(method, &bytes))))
        .collect();
    let (_, _, lane) = &all[0];
    scene.gateway.stop().unwrap();
    scene.comes_back(Decree::Suspend, "beside", lane, "admit = [\"text\"]\nversions = [\"1.0\", \"0.3\"]");
    for (what, method, lane) in &all {
        let refused = notify(lane, &says_text("t-2"));
        assert_eq!(refused.problem(), (403, "context_suspended".to_owned()), "{what}, {method}: {refused:?}");
    }
    assert!(scene.receiver.seen().is_empty());
}

#[test]
fn attack_the_first_notification_after_an_unread_answer_was_about_any_task() {
    let scene = scene();
    scene.begun_beside("t-2");
    scene.begun_beside("t-3");
    for (what, bytes) in unread() {
        for method in BOTH {
            let lane = scene.unanswered(method, &bytes);
            for task in ["t-3", "t-nobodys"] {
                for said in [says_text(task), update(task, 5).to_string()] {
                    let refused = notify(&lane, &said);
                    assert_eq!(
                        refused.problem(),
                        (404, "not_found".to_owned()),
                        "{what}, {method}: {refused:?}"
                    );
                }
            }
        }
    }
    assert!(scene.receiver.seen().is_empty());
}

#[test]
fn the_first_notification_after_an_unread_answer_was_not_judged_by_the_context_of_its_task() {
    let scene = scene();
    scene.begun_beside("t-2");
    let mut named = update("t-2", 5);
    named["statusUpdate"]["status"]["message"]["metadata"] = json!({EXTENSION: {"context": CONTEXT}});
    let mut delivered = 0;
    for (what, bytes) in unread() {
        for method in BOTH {
            for said in [update("t-2", 5), named.clone()] {
                let taken = notify(&scene.unanswered(method, &bytes), &said.to_string());
                assert_eq!(taken.status, 204, "{what}, {method}: {taken:?}");
                delivered += 1;
            }
        }
    }
    assert_eq!(scene.receiver.seen().len(), delivered);
}
