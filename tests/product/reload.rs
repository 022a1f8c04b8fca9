//! Which policies are live, through the running binary: swaps of links under traffic, broken and vanished sets, SIGHUP.

use crate::support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::gateway::Scripted;
use support::policies::{
    REPLY, digest_of, gateway, message, metrics, permit, records, replies, revision, shown_live, status, turn,
};
use support::{SEMGATE, Up, plain_get, wait_for};

fn decision() -> Value {
    json!({"d": {"concept": "current_decision", "item_id": "beer", "quantity": 120}})
}

fn observation() -> Value {
    json!({"o": {"concept": "local_observation", "observed_fact_text": "rain", "confidence_score": 0.5}})
}

fn both() -> Value {
    let mut both = decision();
    both["o"] = observation()["o"].clone();
    both
}

/// Two revisions: the one lets decisions pass, the other observations. A mixture of their files would let both pass in one message.
#[test]
fn two_hundred_swaps_under_traffic_never_mix_two_revisions() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let a = revision(&up, "a", &[("00.cedar", permit("a", "current_decision")), replies()]);
    std::fs::write(a.join("zz.cedar"), permit("a", "decision_contingency")).unwrap();
    let b = revision(&up, "b", &[("zz.cedar", permit("b", "local_observation")), replies()]);
    std::fs::write(b.join("00.cedar"), permit("b", "decision_contingency")).unwrap();
    let digests = BTreeMap::from([(digest_of(&a), "a"), (digest_of(&b), "b")]);
    let link = up.dir.join("current");
    turn(&link, &a);
    // three talkers without a pause say more than one agent may
    let limits = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\npolicy_poll = \"10ms\"\npolicy_settle = \"10ms\"\n";
    let gateway = Arc::new(gateway(&up, &behind, limits));

    let end = Arc::new(AtomicBool::new(false));
    let talkers: Vec<_> = [decision(), observation(), both()]
        .into_iter()
        .map(|content| {
            let (gateway, end, body) = (Arc::clone(&gateway), Arc::clone(&end), message(&content));
            std::thread::spawn(move || {
                let mut answers = BTreeMap::<u16, usize>::new();
                while !end.load(Ordering::Relaxed) {
                    *answers.entry(gateway.post(&body).status).or_default() += 1;
                }
                answers
            })
        })
        .collect();
    for n in 0..200 {
        turn(&link, if n % 2 == 0 { &b } else { &a });
        // now and then long enough that a revision goes live
        std::thread::sleep(Duration::from_millis(if n % 20 < 2 { 400 } else { 7 }));
    }
    end.store(true, Ordering::Relaxed);
    let answers: Vec<_> = talkers.into_iter().map(|talker| talker.join().unwrap()).collect();
    for alone in &answers[..2] {
        assert!(alone[&200] > 0 && alone[&403] > 0, "both revisions were live: {answers:?}");
    }
    assert_eq!(answers[2].keys().collect::<Vec<_>>(), [&403], "no revision lets both pass: {answers:?}");

    let mut live = BTreeSet::new();
    for record in wait_for("the records", || Some(records(&gateway)).filter(|all| all.len() > 100)) {
        let letter = digests[record["policy_digest"].as_str().unwrap()];
        live.insert(letter);
        for policy in record["policies"].as_array().unwrap() {
            let policy = policy.as_str().unwrap();
            let of = policy.rsplit_once('#').unwrap().1;
            assert!(of == letter || policy.starts_with("replies.cedar"), "{record}");
        }
    }
    assert_eq!(live.len(), 2);
    assert_eq!(
        wait_for("the last revision", || Some(shown_live(&gateway)).filter(|it| *it == [digest_of(&a)]))
            .len(),
        1
    );
}

#[test]
fn a_rejected_set_is_told_and_never_shows_as_live_and_a_good_one_clears_it() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let good = revision(&up, "good", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let broken = revision(&up, "broken", &[("a.cedar", permit("a", "current_desision"))]);
    let empty = revision(&up, "empty", &[]);
    let cut = revision(&up, "cut", &[("a.cedar", permit("a", "current_decision")), replies()]);
    // a full disk, or a save that was killed: what the file forbade would be gone in silence
    std::fs::write(cut.join("no-beer.cedar"), "").unwrap();
    let better = revision(&up, "better", &[("a.cedar", permit("b", "current_decision")), replies()]);
    let link = up.dir.join("current");
    turn(&link, &good);
    let limits = "[limits]\npolicy_poll = \"20ms\"\npolicy_settle = \"10ms\"\n";
    let gateway = gateway(&up, &behind, limits);
    let digest = digest_of(&good);
    assert_eq!(status(&gateway)["policies"]["digest"], digest);
    assert_eq!(gateway.post(&message(&decision())).status, 200);

    type Break<'a> = Box<dyn Fn() + 'a>;
    let cases: [(&str, Break<'_>, Option<String>, &str); 5] = [
        ("a wrong name", Box::new(|| turn(&link, &broken)), Some(digest_of(&broken)), "current_desision"),
        ("no policy", Box::new(|| turn(&link, &empty)), Some(digest_of(&empty)), "no policy"),
        (
            "a file without a policy",
            Box::new(|| turn(&link, &cut)),
            Some(digest_of(&cut)),
            "`no-beer.cedar` holds no policy: ",
        ),
        ("a directory that is gone", Box::new(|| turn(&link, &up.dir.join("nowhere"))), None, "No such file"),
        (
            "no agents",
            Box::new(|| {
                let half = revision(&up, "half", &[("a.cedar", permit("a", "current_decision"))]);
                std::fs::remove_file(half.join("entities.json")).unwrap();
                turn(&link, &half);
            }),
            None,
            "entities.json",
        ),
    ];
    // contexts that came one by one may have kept the first set waiting
    let rejected_so_far = || {
        let text = metrics(&gateway);
        let line =
            text.lines().find(|line| line.starts_with("semgate_policy_loads_total{outcome=\"rejected\"}"));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
    };
    let mut rejections = rejected_so_far();
    for (what, make, rejected, said) in cases {
        make();
        let told = wait_for(what, || {
            let told = status(&gateway)["policies"].clone();
            (told["current"] == false && told["faults"].to_string().contains(said)).then_some(told)
        });
        assert_eq!(told["digest"], digest, "{what}: the last good one stays: {told}");
        assert_eq!(told["rejected"].as_str().map(str::to_owned), rejected, "{what}: {told}");
        assert_eq!(shown_live(&gateway), std::slice::from_ref(&digest), "{what}");
        assert_eq!(gateway.post(&message(&decision())).status, 200, "{what}");
        let ready = plain_get(&format!("http://{}/readyz", gateway.admin)).status;
        assert_eq!(ready, 200, "{what}: what is live serves, so no balancer takes the gateway away");
        rejections += 1;
        // looked at many times meanwhile, tried and told once
        std::thread::sleep(Duration::from_millis(200));
        let text = metrics(&gateway);
        assert!(text.contains("semgate_policy_set_current 0"), "{what}: {text}");
        assert_eq!(rejected_so_far(), rejections, "{what}");
        let still = status(&gateway)["policies"]["faults"].to_string();
        assert!(still.contains(said), "{what}: still told: {still}");
    }
    turn(&link, &better);
    let told = wait_for("the later good set", || {
        let told = status(&gateway)["policies"].clone();
        (told["current"] == true).then_some(told)
    });
    assert_eq!(told["digest"], digest_of(&better));
    assert_eq!((&told["rejected"], &told["faults"]), (&Value::Null, &json!([])), "{told}");
    assert_eq!(shown_live(&gateway), [digest_of(&better)], "the old label is gone");
    assert!(metrics(&gateway).contains("semgate_policy_set_current 1"));
    assert_eq!(gateway.post(&message(&decision())).status, 200);
    let last = wait_for("the last record", || {
        records(&gateway).pop().filter(|record| record["policy_digest"] == digest_of(&better))
    });
    assert_eq!(last["verdict"], "allowed");
}

#[test]
fn sighup_reads_at_once_what_would_be_looked_at_in_an_hour() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let set = revision(&up, "set", &[("a.cedar", permit("a", "current_decision")), replies()]);
    turn(&up.dir.join("current"), &set);
    let gateway = gateway(&up, &behind, "[limits]\npolicy_poll = \"1h\"\n");
    assert_eq!(gateway.post(&message(&observation())).status, 403);
    std::fs::write(set.join("a.cedar"), permit("a", "local_observation")).unwrap();
    Command::new("kill").args(["-HUP", &gateway.child.id().to_string()]).status().unwrap();
    let live = || (shown_live(&gateway) == [digest_of(&set)]).then_some(());
    wait_for("the set that was written before the signal", live);
    assert_eq!(gateway.post(&message(&observation())).status, 200);
    assert_eq!(gateway.post(&message(&decision())).status, 403);
}

#[test]
fn bug_what_was_live_was_shown_as_current_while_another_set_was_loaded() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let link = up.dir.join("current");
    turn(&link, &a);
    let gateway = gateway(&up, &behind, "[limits]\npolicy_poll = \"10ms\"\npolicy_settle = \"10ms\"\n");
    let told = || status(&gateway)["policies"].clone();
    let shown = || {
        let text = metrics(&gateway);
        let of = |name: &str| {
            let line = text.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        (of("semgate_policy_set_current"), of("semgate_policy_looked"))
    };
    let before = wait_for("the set to be current beside all contexts", || {
        Some(told()).filter(|told| told["current"] == true && told["loading"].is_null())
    });
    assert!(before["looked"].is_u64(), "{before}");
    // so many that the load is seen, and the metrics within it
    let seen = [1_500, 3_000, 6_000].into_iter().find_map(|count| {
        let items = (0..count).map(|at| {
            format!("forbid (principal, action, resource is supplyChain::current_decision) when {{ resource.item_id == \"i{at}\" }};\n")
        });
        let many = ("many.cedar", items.collect::<String>());
        let b = revision(&up, &format!("b{count}"), &[("a.cedar", permit("a", "current_decision")), replies(), many]);
        let (digest, live) = (digest_of(&b), told()["digest"].clone());
        turn(&link, &b);
        let mut seen = None;
        wait_for("the set", || {
            let (told, shown, still) = (told(), shown(), told());
            if told["loading"] == digest.as_str() && still["loading"] == digest.as_str() {
                assert_eq!((&told["current"], &told["digest"]), (&json!(false), &live), "{told}");
                assert_eq!(shown.0, 0.0, "{told}");
                assert_eq!((&json!(shown.1 as u64), &still["looked"]), (&told["looked"], &told["looked"]), "the look has not ended");
                seen = Some(shown.1);
            }
            (still["current"] == true && still["digest"] == digest.as_str()).then_some(())
        });
        assert_eq!(told()["loading"], Value::Null);
        seen
    });
    let looked = seen.expect("no load was seen");
    wait_for("the looks after it", || (shown() > (1.0, looked)).then_some(()));
}

#[test]
fn of_very_many_faults_the_first_are_told_and_how_many_more_there_are() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let wrong: String = (0..259).map(|at| permit(&format!("w{at}"), "current_desision")).collect();
    let b = revision(&up, "b", &[("a.cedar", wrong), replies()]);
    let link = up.dir.join("current");
    turn(&link, &a);
    let limits = "[limits]\npolicy_poll = \"10ms\"\npolicy_settle = \"10ms\"\n";
    let gateway = gateway(&up, &behind, limits);
    turn(&link, &b);
    let faults = wait_for("the faults", || {
        Some(status(&gateway)["policies"]["faults"].clone()).filter(|faults| *faults != json!([]))
    });
    let faults = faults.as_array().unwrap();
    assert_eq!(faults.len(), 257, "{faults:?}");
    assert_eq!(faults[256], "3 more (`semgate policy check` shows all)");
    wait_for("the log", || gateway.log().contains("3 more (`semgate policy check` shows all)").then_some(()));
    assert!(!gateway.log().contains("#w256"), "{}", gateway.log());
}

/// What somebody saves file by file is no set before it is whole; and what the start found wrong is told like every other fault.
#[test]
fn attack_a_directory_that_is_still_being_written_goes_live_half() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let a = revision(&up, "a", &[("a.cedar", permit("a", "current_decision")), replies()]);
    let link = up.dir.join("current");
    turn(&link, &a);
    let limits = "[limits]\npolicy_poll = \"10ms\"\npolicy_settle = \"200ms\"\n";
    let mut gateway = gateway(&up, &behind, limits);
    let whole = digest_of(&a);
    assert_eq!(shown_live(&gateway), std::slice::from_ref(&whole));
    // written without a pause: nothing of it may count meanwhile
    let began = std::time::Instant::now();
    let (mut step, mut restless) = (0, false);
    while began.elapsed() < Duration::from_secs(3) {
        step += 1;
        std::fs::write(a.join("b.cedar"), format!("// step {step}\n{}", permit("b", "local_observation")))
            .unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(shown_live(&gateway), std::slice::from_ref(&whole), "step {step}");
        // an instant at which the file is empty is another fault
        let faults = status(&gateway)["policies"]["faults"].to_string();
        restless |= faults.contains("was never unchanged for 200 ms");
    }
    assert!(restless, "{}", status(&gateway)["policies"]);
    let last = digest_of(&a);
    wait_for("the whole set", || (shown_live(&gateway) == [last.clone()]).then_some(()));
    assert_eq!(status(&gateway)["policies"]["faults"], json!([]));
    std::fs::write(a.join("b.cedar"), permit("b", "local_obsevation")).unwrap();
    wait_for("the fault", || gateway.log().contains("the last good ones stay live").then_some(()));
    Command::new("kill").args(["-TERM", &gateway.child.id().to_string()]).status().unwrap();
    gateway.child.wait().unwrap();
    gateway.start_again();
    let told = "none are live: nothing passes";
    wait_for("the log of the start", || gateway.log().contains(told).then_some(()));
    assert!(gateway.log().contains("local_obsevation"), "{}", gateway.log());
    assert!(metrics(&gateway).contains("semgate_policy_loads_total{outcome=\"rejected\"} 1"));
}

#[test]
fn fault_a_directory_that_moved_and_then_was_as_before_stayed_rejected_for_good() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let (name, text) = ("a.cedar", permit("a", "current_decision"));
    let a = revision(&up, "a", &[(name, text.clone()), replies()]);
    turn(&up.dir.join("current"), &a);
    let gateway = gateway(&up, &behind, "[limits]\npolicy_poll = \"10ms\"\npolicy_settle = \"100ms\"\n");
    let policies = || status(&gateway)["policies"].clone();
    wait_for("that it moves is told", || {
        std::fs::write(a.join(name), &text).unwrap();
        policies()["faults"].to_string().contains("was never unchanged for 100 ms").then_some(())
    });
    assert_eq!(policies()["current"], false);
    wait_for("the same set is good again", || (policies()["current"] == true).then_some(()));
    assert_eq!((&policies()["faults"], shown_live(&gateway)), (&json!([]), vec![digest_of(&a)]));
}

/// A set that takes somebody's rights away goes live with a warning.
#[test]
fn attack_whoever_deletes_an_entry_or_takes_the_last_of_a_credential_keeps_a_right_while_the_gateway_runs() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let courier = "spiffe://semgate.test/agent/courier-5";
    let held = format!(
        "@id(\"high\") permit (principal, action, resource is payment::transfer) when {{ principal.credentials.contains(\"high-value-authorized\") }};\n\
         @id(\"courier\") permit (principal == Agent::\"{courier}\", action, resource is payment::transfer);\n"
    );
    let files = [("a.cedar", permit("a", "current_decision")), ("held.cedar", held), replies()];
    let set = revision(&up, "set", &files);
    turn(&up.dir.join("current"), &set);
    let gateway = gateway(&up, &behind, "[limits]\npolicy_poll = \"20ms\"\npolicy_settle = \"10ms\"\n");
    assert_eq!(gateway.post(&message(&decision())).status, 200);
    let entities = std::fs::read(set.join("entities.json")).unwrap();
    let mut fewer: Value = serde_json::from_slice(&entities).unwrap();
    let agents = fewer["agents"].as_array_mut().unwrap();
    agents.retain(|agent| agent["id"] != courier);
    agents.iter_mut().for_each(|agent| agent["credentials"] = json!([]));
    std::fs::write(set.join("entities.json"), fewer.to_string()).unwrap();
    wait_for("the set without them", || (shown_live(&gateway) == [digest_of(&set)]).then_some(()));
    let warned = |gateway: &support::gateway::Gateway| status(gateway)["policies"]["warnings"].to_string();
    let gone = |warnings: &str| {
        warnings.contains("high-value-authorized")
            && warnings.contains(&format!("`Agent::\\\"{courier}\\\"` is not in entities.json"))
    };
    assert!(gone(&warned(&gateway)), "{}", warned(&gateway));
    assert_eq!(gateway.post(&message(&decision())).status, 200);
    let strict = Command::new(SEMGATE).args(["policy", "check"]).arg(&set).output().unwrap();
    assert!(!strict.status.success(), "a start and `policy check` are strict");
}
