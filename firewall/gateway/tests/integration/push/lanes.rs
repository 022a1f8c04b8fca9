//! Every route has a lane of its own, and its rules hold for what leaves there and for what is told of configurations.

use super::common::agent::{Act, Agent};
use super::{Scene, message, notify, scene, scene_of, update};
use serde_json::{Value, json};
use std::time::Duration;

/// An address of the first, on the lane of the second.
fn elsewhere(address: &str, lane: &str) -> String {
    let path = address.rsplit_once('/').unwrap().1;
    format!("{}/{path}", lane.rsplit_once('/').unwrap().0)
}

fn says_text(task: &str) -> Value {
    let mut said = update(task, 1);
    said["statusUpdate"]["status"]["message"]["parts"] = json!([{"text": "words that one route admits"}]);
    said
}

impl Scene {
    /// A configuration of a task that was begun on the other route; returns its address.
    pub(super) fn configured_beside(&self) -> String {
        let begun = self.call_on("beside", "SendMessage", &message("t-2"));
        assert_eq!(begun["result"]["task"]["id"], "t-2", "{begun}");
        let set = json!({"taskId": "t-2", "url": self.target()});
        let set = self.call_on("beside", "CreateTaskPushNotificationConfig", &set);
        assert_eq!(set["result"]["taskId"], "t-2", "{set}");
        self.memory.lane()
    }
}

#[test]
fn attack_a_notification_that_its_own_lane_refuses_leaves_by_that_of_another_route_to_the_same_agent() {
    let scene = scene();
    let (own, beside) = (scene.configured(), scene.configured_beside());
    let says = |url: &str, told: &Value| notify(url, &told.to_string());
    let refused = says(&own, &says_text("t-1"));
    assert_eq!(refused.problem(), (422, "content_uninspectable".to_owned()), "{refused:?}");
    assert_eq!(says(&beside, &says_text("t-2")).status, 204);
    for told in [says_text("t-1"), update("t-1", 5)] {
        let refused = says(&elsewhere(&own, &beside), &told);
        assert_eq!(refused.problem(), (404, "not_found".to_owned()), "{refused:?}");
    }
    assert_eq!(says(&elsewhere(&beside, &own), &update("t-2", 5)).problem().1, "not_found");
    assert_eq!(says(&own, &update("t-1", 5)).status, 204);
    assert_eq!(scene.receiver.seen().len(), 2);
}

#[test]
fn an_answer_about_a_configuration_was_counted_twice_against_the_limit_of_a_policy() {
    let limited = r#"
@id("asks") permit (principal in Group::"partners", action, resource);
@id("rest") permit (principal in Group::"repliers", action, resource)
when { context.direction == "reply" && !(resource is a2a::TaskPushNotificationConfig) };
@id("few") @limit("2/day") permit (principal in Group::"repliers", action, resource is a2a::TaskPushNotificationConfig);
"#;
    let scene = scene_of(limited, 1, Agent::start(|_| Act::Wait(Duration::ZERO)), ("", "2s"));
    scene.begin("t-1");
    let set = json!({"taskId": "t-1", "url": "http://127.0.0.1:1/in/x"});
    for _ in 0..2 {
        let answer = scene.call("CreateTaskPushNotificationConfig", &set);
        assert!(answer.get("error").is_none(), "{answer}");
    }
    let refused = scene.call("CreateTaskPushNotificationConfig", &set);
    let problem = &refused["error"]["data"][0];
    assert_eq!((&problem["code"], &problem["cause"]), (&"reply_refused".into(), &"rate_limited".into()));
}
