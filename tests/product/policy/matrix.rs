//! `policy matrix`: who may say what, as a text that is committed and reviewed.

use super::{change, copied, policy, rules, word};
use serde_json::Value;

#[test]
fn the_matrix_of_the_shipped_rules_is_the_one_that_is_committed() {
    let (status, shown, errors) = policy(&["matrix", word(&rules()), "--check"]);
    assert_eq!(
        status, 0,
        "write it anew with `semgate policy matrix policies/rules --snapshot policies/rules/matrix.txt`\n{shown}{errors}"
    );
}

#[test]
fn a_change_of_policy_shows_as_the_rows_that_it_changes_and_no_others() {
    let dir = copied();
    change(&dir.path().join("payment.cedar"), "decimal(\"10000.0\")", "decimal(\"20000.0\")");
    assert_eq!(policy(&["matrix", word(dir.path()), "--check"]).0, 0, "another bound is no other matrix");
    change(&dir.path().join("payment.cedar"), "  principal,\n", "  principal in Group::\"planners\",\n");
    let (status, shown, _) = policy(&["matrix", word(dir.path()), "--check"]);
    let expected = "payment::transfer
  - retailer-7, public-webapp-3, sre-bot-1: depends on resource.amount
  - treasurer-1: always
  + retailer-7, public-webapp-3, treasurer-1, sre-bot-1: always
";
    assert_eq!((status, shown.as_str()), (1, expected));
    let (status, shown, _) = policy(&["matrix", word(dir.path()), "--check", "--json"]);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((status, &report["same"]), (1, &Value::Bool(false)));
}

#[test]
fn a_permit_that_comes_to_need_an_approval_is_another_matrix() {
    let dir = copied();
    change(&dir.path().join("lines.cedar"), "@id(\"transfers\")", "@id(\"transfers\") @approve(\"sign it\")");
    let (status, shown, errors) = policy(&["matrix", word(dir.path()), "--check"]);
    assert_eq!(status, 1, "{shown}{errors}");
    assert!(shown.lines().any(|line| line == "  - treasurer-1: always"), "{shown}");
    assert!(shown.lines().any(|line| line == "  + treasurer-1: asks"), "{shown}");
}

#[test]
fn a_snapshot_that_was_written_is_the_one_that_is_checked() {
    let dir = copied();
    std::fs::remove_file(dir.path().join("matrix.txt")).unwrap();
    let file = dir.path().join("who.txt");
    assert_eq!(policy(&["matrix", word(dir.path()), "--snapshot", word(&file)]).0, 0);
    assert_eq!(policy(&["matrix", word(dir.path()), "--snapshot", word(&file), "--check"]).0, 0);
    let (status, _, errors) = policy(&["matrix", word(dir.path()), "--check"]);
    assert!(
        status == 1 && errors.contains("matrix.txt"),
        "without a snapshot there is nothing to hold it against: {errors}"
    );
}
