//! Messages that need a person, through the running gateway (F1-08 to F1-13, F1-23 to F1-25).

mod attacks;
mod crashes;
mod rules;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::gateway::{Gateway, Scripted};
use crate::support::people::Person;
use crate::support::policies::records;
use crate::support::{Answer, Up, wait_for};

/// A running house whose policies ask people about payments over 500.
struct House {
    up: Up,
    behind: Scripted,
    gateway: Gateway,
}

impl House {
    /// With these words beside `@approve`; a caller is not held.
    fn asking(words: &str) -> Self {
        Self::with(words, "hold_seconds = 0\n")
    }

    /// With more settings of `[approvals]`.
    fn with(words: &str, settings: &str) -> Self {
        let up = Up::start();
        write_policy(&up, words);
        let config = up.path("/firewall_config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text.replace("[approvals]\n", &format!("[approvals]\n{settings}"))).unwrap();
        let behind = Scripted::saying(reply());
        let gateway = Gateway::before(&up, behind.address, "");
        Self { up, behind, gateway }
    }

    fn person(&self, name: &'static str) -> Person<'_> {
        Person::at(&self.up, name, self.gateway.people)
    }

    fn bob(&self) -> Person<'_> {
        self.person("bob.sre")
    }

    fn pay(&self, amount: &str) -> Answer {
        self.gateway.post(&payment("m-1", amount))
    }

    /// Pays, and asserts the refusal.
    fn refused(&self, amount: &str, code: &str) {
        let answer = self.pay(amount);
        assert_eq!(answer.code(), code, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// Rewrites a person's card.
    fn card(&self, name: &str, change: impl FnOnce(&mut Value)) {
        let path = self.up.dir.join("humans").join(format!("{name}.json"));
        let mut card: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        change(&mut card);
        std::fs::write(&path, card.to_string()).unwrap();
    }

    /// Waits until the gateway asks these policies.
    fn policies(&self, words: &str) {
        write_policy(&self.up, words);
        let digest = crate::support::policies::digest_of(&self.up.path("/policies"));
        wait_for("the new policies", || {
            crate::support::policies::shown_live(&self.gateway).contains(&digest).then_some(())
        });
    }
}

fn write_policy(up: &Up, words: &str) {
    let text = format!(
        "@id(\"large\") @approve(\"the treasurer signs these\") {words} permit (principal in Group::\"partners\", \
         action == Action::\"REQUEST\", resource is payment::transfer) when {{ resource.amount.greaterThan(decimal(\"500.0\")) }};\n"
    );
    write(&up.path("/policies").join("large.cedar"), &text);
}

fn write(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

/// A payment of `retailer-7` with this spelling of the amount.
fn payment(id: &str, amount: &str) -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"{id}","performative":"REQUEST","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:payment:v1.1","content":{{"concept_type":"transfer","sender_id":"a","receiver_id":"b","amount":{amount},"currency":"USD"}}}}"#
    )
}

/// The agent agrees.
fn reply() -> String {
    let content = json!({"concept_type": "transfer", "sender_id": "a", "receiver_id": "b", "amount": 1, "currency": "USD"});
    json!({"protocol": "L8/1.0", "message_id": "r-1", "performative": "AGREE", "sender_id": "wholesaler-1",
        "receiver_id": "retailer-7", "context": "urn:contexts:payment:v1.1", "content": content})
    .to_string()
}

/// The approved message passes, once.
fn passes_once(house: &House, amount: &str) {
    let before = house.behind.received();
    assert_eq!(house.pay(amount).status, 200);
    assert_eq!(house.behind.received(), before + 1);
}

#[test]
fn a_payment_waits_for_a_person_and_then_passes_once() {
    let house = House::asking("");
    let pending = house.pay("900");
    assert_eq!((pending.status, pending.code().as_str()), (202, "approval_pending"));
    assert!(pending.header("retry-after").is_some());
    assert_eq!(house.behind.received(), 0);
    let hold = house.bob().asked();
    assert_eq!(hold["action"]["instances"][0]["value"]["amount"], json!(900));
    assert_eq!(hold["demands"][0]["question"], "the treasurer signs these");
    let decided = house.bob().decide("approve", &hold).json();
    assert_eq!(
        (&decided["state"], &decided["decisions"][0]["human_id"]),
        (&json!("APPROVED"), &json!("human://bob.sre"))
    );
    passes_once(&house, "900");
    let verdicts = |digest: &Value| -> Vec<String> {
        let all = records(&house.gateway);
        let same = all.iter().filter(|line| line["approval"] == *digest);
        same.map(|line| line["verdict"].as_str().unwrap().to_owned()).collect()
    };
    let recorded = wait_for("the records of the action", || {
        let recorded = verdicts(&hold["digest"]);
        (recorded.len() >= 4).then_some(recorded)
    });
    for verdict in ["asked", "refused", "approved", "allowed"] {
        assert!(recorded.iter().any(|one| one == verdict), "{verdict} in {recorded:?}");
    }
}

#[test]
fn a_caller_that_is_held_gets_the_agents_reply_as_soon_as_the_person_agrees() {
    let house = House::with("", "hold_seconds = 20\n");
    std::thread::scope(|scope| {
        let held = scope.spawn(|| house.pay("900"));
        let hold = house.bob().asked();
        std::thread::sleep(Duration::from_millis(200));
        assert!(!held.is_finished());
        house.bob().decide("approve", &hold);
        assert_eq!(held.join().unwrap().status, 200);
    });
    assert_eq!(house.behind.received(), 1);
}

#[test]
fn a_message_that_needs_nobody_asks_nobody() {
    let house = House::asking("");
    assert_eq!(house.pay("100").status, 200);
    assert!(house.bob().list("all").is_empty());
}

#[test]
fn the_command_line_lists_shows_and_approves() {
    let up = Up::start();
    write_policy(&up, "");
    let digest = crate::support::policies::digest_of(&up.path("/policies"));
    let admin = up.text("/admin_url").to_owned();
    wait_for("the policies", || {
        let metrics = crate::support::plain_get(&format!("{admin}/metrics"));
        String::from_utf8_lossy(&metrics.body).contains(&digest).then_some(())
    });
    let url = up.text("/gateway/l8").to_owned();
    std::thread::scope(|scope| {
        let held = scope.spawn(|| up.post("retailer-7", &url, &[], payment("m-1", "900").as_bytes()));
        let run = |words: &[&str]| {
            let output = up.semgate(&[&["--json", "approvals"], words].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            serde_json::from_slice::<Value>(&output.stdout).unwrap()
        };
        let hold = wait_for("the request", || run(&["list"])["approvals"].get(0).cloned());
        let id = hold["id"].as_str().unwrap();
        assert_eq!(run(&["show", id])["digest"], hold["digest"]);
        // the held caller may use the approval before the command has its answer
        let state = run(&["approve", id])["state"].clone();
        assert!(state == "APPROVED" || state == "USED", "{state}");
        // a caller whose time was up before the decision passes when it asks again
        let mut answer = held.join().unwrap();
        if answer.status == 202 || answer.status == 403 {
            answer = up.post("retailer-7", &url, &[], payment("m-2", "900").as_bytes());
        }
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    });
}
