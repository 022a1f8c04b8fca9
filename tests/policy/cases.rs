//! `policy test`: cases as files, played through the stages of the gateway.

use super::{change, copied, policy, rules, word};
use serde_json::{Value, json};

#[test]
fn the_shipped_cases_pass_and_every_shipped_policy_decides_one() {
    let cases = rules().join("cases");
    let (status, shown, errors) = policy(&["test", word(&cases), "--require-coverage"]);
    assert_eq!(status, 0, "{shown}{errors}");
    assert!(shown.contains(" 0 failed; "), "{shown}");
}

#[test]
fn a_case_that_comes_out_otherwise_is_named_with_what_was_expected_and_what_came() {
    let dir = copied();
    change(&dir.path().join("payment.cedar"), "10000.0", "20000.0");
    let cases = dir.path().join("cases");
    let (status, shown, _) = policy(&["test", word(&cases)]);
    assert_eq!(status, 1, "{shown}");
    let line = "payment.json: case 4 `12000 does not`: expected denied by payment.cedar#high-value, got permitted by lines.cedar#transfers";
    assert!(shown.lines().any(|shown| shown == line), "{shown}");
    let (status, shown, _) = policy(&["test", word(&cases), "--json"]);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(status, 1);
    assert_eq!(report["failures"][0]["expected"], "denied by payment.cedar#high-value", "{report}");
}

#[test]
fn the_right_verdict_by_another_policy_is_a_failure() {
    let dir = copied();
    change(&dir.path().join("lines.cedar"), r#"@id("transfers")"#, r#"@id("renamed")"#);
    let (status, shown, _) = policy(&["test", word(&dir.path().join("cases"))]);
    assert_eq!(status, 1);
    assert!(
        shown.contains("expected permitted by lines.cedar#transfers, got permitted by lines.cedar#renamed"),
        "{shown}"
    );
}

#[test]
fn a_policy_that_no_case_decides_is_listed_and_fails_where_that_is_asked() {
    let dir = copied();
    let extra = "@id(\"extra\") permit(principal in Group::\"planners\", action == Action::\"QUERY\", resource is travel::bookFlight);\n";
    std::fs::write(dir.path().join("zz.cedar"), extra).unwrap();
    let cases = dir.path().join("cases");
    let (status, shown, _) = policy(&["test", word(&cases)]);
    assert_eq!((status, shown.contains("no case decides by: zz.cedar#extra")), (0, true), "{shown}");
    assert_eq!(policy(&["test", word(&cases), "--require-coverage"]).0, 1);
}

#[test]
fn a_case_with_a_member_that_there_is_not_or_twice_or_without_a_subject_is_refused() {
    let whole = json!({"shows": "x", "sender": "retailer-7", "receiver": "wholesaler-1", "expect": "denied",
        "context": "payment:v1.1", "concept": "transfer", "performative": "REQUEST", "content": {}});
    let with = |name: &str, value: Value| {
        let mut case = whole.clone();
        case[name] = value;
        case.to_string()
    };
    let mut bare = whole.clone();
    bare.as_object_mut().unwrap().remove("content");
    for (case, why) in [
        (with("polices", json!([])), "unknown field `polices`"),
        (whole.to_string().replacen('{', r#"{"shows":"y","#, 1), "duplicate field `shows`"),
        (bare.to_string(), "a case has `message`"),
        (with("message", json!({})), "not both"),
        (with("expect", json!("forbidden")), "`expect` is none of"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("one.json"), format!("[{case}]")).unwrap();
        let (status, _, errors) = policy(&["test", word(dir.path()), "--policies", word(&rules())]);
        assert_eq!(status, 1, "{case}");
        assert!(errors.contains(why) && errors.contains("one.json"), "{errors}");
    }
    let empty = tempfile::tempdir().unwrap();
    let (status, _, errors) = policy(&["test", word(empty.path()), "--policies", word(&rules())]);
    assert!(status == 1 && errors.contains("holds no case"), "{errors}");
}

#[test]
fn a_message_is_judged_as_it_is_sent_duplicate_members_included() {
    let dir = tempfile::tempdir().unwrap();
    let message = r#"{"protocol":"L8/1.0","message_id":"m","performative":"REQUEST","sender_id":"retailer-7","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:payment:v1.1","content":{}}"#;
    std::fs::write(dir.path().join("sent.txt"), message).unwrap();
    let case = |subject: &str| {
        format!(
            r#"{{"shows":"twice","sender":"retailer-7","receiver":"wholesaler-1",{subject},"expect":"duplicate_key","policies":[]}}"#
        )
    };
    let cases = [case(r#""message_file":"sent.txt""#), case(&format!(r#""message":{message}"#))];
    std::fs::write(dir.path().join("one.json"), format!("[{}]", cases.join(","))).unwrap();
    let (status, shown, errors) = policy(&["test", word(dir.path()), "--policies", word(&rules())]);
    assert_eq!(status, 0, "{shown}{errors}");
}

#[test]
fn a_directory_of_cases_below_the_policies_changes_nothing_of_what_is_loaded() {
    let dir = copied();
    let digest = |json: &str| serde_json::from_str::<Value>(json).unwrap()["digest"].clone();
    let with = policy(&["check", word(dir.path()), "--json"]);
    std::fs::remove_dir_all(dir.path().join("cases")).unwrap();
    let without = policy(&["check", word(dir.path()), "--json"]);
    assert_eq!((with.0, digest(&with.1)), (0, digest(&without.1)));
}
