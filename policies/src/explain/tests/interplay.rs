//! What is told where conditions of several policies come to something together.

use super::super::ToPass;
use super::{all_of, explained};
use crate::tests::{Ask, one_file, transfer};

fn told(policies: &[&str], amount: &str) -> ToPass {
    let text = policies.join("\n").replace("SCOPE", "(principal, action, resource is payment::transfer)");
    explained(&one_file(&text), Ask { value: &transfer(amount), ..Ask::default() }).to_pass
}

#[test]
fn of_two_parts_of_a_condition_that_asks_a_human_the_one_that_another_permit_needs_is_left() {
    // the permit needs an amount of 10, so that of the two parts only the currency can be another
    let asks = r#"@id("a") @approve("sign") permit SCOPE when { resource.currency == "EUR" && resource.amount.lessThan(decimal("50.0")) };"#;
    let ten = r#"@id("t") permit SCOPE when { resource.amount == decimal("10.0") };"#;
    assert_eq!(
        told(&[asks, ten], "20"),
        all_of(&[
            "so that `p.cedar#a` does not apply (it asks a human, and nobody can be asked yet): `resource.currency` would have to be other than `EUR`",
            "so that `p.cedar#t` applies: `resource.amount` would have to be 10.0",
        ])
    );
}

#[test]
fn a_group_that_one_policy_needs_and_another_wants_left_is_no_way() {
    let in_group =
        r#"@id("p") permit (principal in Group::"planners", action, resource is payment::transfer);"#;
    let other = r#"@id("q") permit SCOPE when { resource.currency == "USD" };"#;
    let forbid = r#"@id("f") forbid SCOPE when { resource.currency == "EUR" } unless { !(principal in Group::"planners") && context.direction == "reply" };"#;
    assert_eq!(
        told(&[in_group, other, forbid], "1"),
        ToPass {
            // for the one the reply, which needs a sender outside the group, is no way; for the other it would only be more
            all: vec![
                "so that `p.cedar#f` does not apply: `resource.currency` would have to be other than `EUR`"
                    .to_owned()
            ],
            one_of: vec![
                "so that `p.cedar#p` applies: the sender would have to be in the group `planners`".to_owned(),
                "so that `p.cedar#q` applies: `resource.currency` would have to be `USD`".to_owned(),
            ],
            ..ToPass::default()
        }
    );
}

#[test]
fn an_if_is_told_by_its_branches() {
    let permit = "@id(\"p\") permit SCOPE;";
    let forbid = r#"@id("f") forbid SCOPE when { if resource.currency == "EUR" then resource.amount.greaterThan(decimal("10.0")) else context.direction == "request" };"#;
    assert_eq!(
        told(&[permit, forbid], "20"),
        all_of(&[
            "so that `p.cedar#f` does not apply: `resource.amount` would have to be at most 10.0; or `resource.currency` would have to be other than `EUR` and `context.direction` would have to be other than `request`"
        ])
    );
}

#[test]
fn what_a_way_changes_and_another_forbid_asks_too_stays_within_both() {
    let permit = r#"@id("p") permit SCOPE when { resource.amount.lessThan(decimal("100.0")) };"#;
    let forbid = r#"@id("f") forbid SCOPE when { context.direction == "reply" || resource.amount.lessThanOrEqual(decimal("1.0")) };"#;
    assert_eq!(
        told(&[permit, forbid], "500"),
        all_of(&[
            "so that `p.cedar#p` applies: `resource.amount` would have to be less than 100.0",
            "so that `p.cedar#f` still does not apply: `resource.amount` would have to stay more than 1.0",
        ])
    );
}

#[test]
fn what_cannot_be_passed_by_is_told_as_that_without_what_would_pass_it_by_alone() {
    let asks = r#"@id("a") @approve("sign") permit SCOPE unless { context.direction == "reply" && resource.amount.greaterThanOrEqual(decimal("100.0")) };"#;
    let ten = r#"@id("t") permit SCOPE when { resource.amount == decimal("10.0") };"#;
    assert_eq!(
        told(&[asks, ten], "1000"),
        all_of(&[
            "`p.cedar#a` would have to be another: nothing that would let the message pass otherwise keeps it from applying",
            "so that `p.cedar#t` applies: `resource.amount` would have to be 10.0",
        ])
    );
}

#[test]
fn bug_a_part_that_could_fail_before_one_that_is_false_was_looked_at_without_end() {
    let permit = r#"@id("p") permit SCOPE when { context.scores.message_bytes > 1000 && resource.currency == "USD" };"#;
    let forbid = r#"@id("f") forbid SCOPE when { context.scores.message_bytes * 5000 < 10000000 && resource.currency == "EUR" };"#;
    let told = told(&[permit, forbid], "1");
    let part = "`(context.scores.message_bytes * 5000) < 10000000` would have to";
    let all: Vec<&str> = told.all.iter().chain(&told.one_of).map(String::as_str).collect();
    assert!(all.iter().any(|said| said.contains("`resource.currency` would have to be `USD`")), "{told:?}");
    assert!(all.iter().any(|said| said.contains(&format!("{part} be false"))), "{told:?}");
    assert!(!told.more, "{told:?}");
}

#[test]
fn what_cannot_fail_of_what_documents_carry_is_not_told_to_be_looked_at() {
    let permit = r#"@id("p") permit SCOPE when { context.now > datetime("2030-01-01") && resource.currency == "USD" };"#;
    let forbid = r#"@id("f") forbid SCOPE when { context.now.toDate() < datetime("2035-01-01") && resource.currency == "EUR" };"#;
    assert_eq!(
        told(&[permit, forbid], "1"),
        all_of(&[
            "so that `p.cedar#f` does not apply: `resource.currency` would have to be other than `EUR`",
            "so that `p.cedar#p` applies: `context.now` would have to be more than 2030-01-01; and `resource.currency` would have to be `USD`",
        ])
    );
}

#[test]
fn what_changes_together_is_not_taken_for_what_it_was() {
    for (permit, forbid, told_too) in [
        (r#"context.binding == "a2a""#, r#"context.binding_version == "1.0""#, "context.binding_version"),
        (
            "context.locked",
            "context has session && context.session.expires > context.now.offset(duration(\"1h\"))",
            "session",
        ),
        (
            "context.major > 1",
            "context.minor == 0 && resource.amount.greaterThan(decimal(\"10.0\"))",
            "resource.amount",
        ),
        ("principal == context.receiver", "principal in Group::\"planners\"", "`planners`"),
    ] {
        let permit = format!("@id(\"p\") permit SCOPE when {{ {permit} }};");
        let forbid = format!("@id(\"f\") forbid SCOPE when {{ {forbid} }};");
        let text = [permit, forbid]
            .join("\n")
            .replace("SCOPE", "(principal, action, resource is payment::transfer)");
        let ask = Ask { urn: "payment:v1.1", value: &transfer("100"), ..Ask::default() };
        let told = explained(&one_file(&text), ask).to_pass;
        let all: Vec<&String> = told.all.iter().chain(&told.one_of).collect();
        assert!(
            all.iter().any(|said| said.contains("`p.cedar#f`") && said.contains(told_too)),
            "{text}: {told:?}"
        );
    }
}

#[test]
fn of_an_agent_that_is_named_its_entry_says_the_rest() {
    let treasurer = crate::tests::TREASURER;
    let permit = format!("@id(\"p\") permit SCOPE when {{ principal == Agent::\"{treasurer}\" }};");
    let held = r#"@id("f") forbid SCOPE when { principal.credentials.contains("high-value-authorized") } unless { principal in Group::"planners" };"#;
    let told = told(&[&permit, held], "1");
    let is = format!("so that `p.cedar#p` applies: the sender would have to be `{treasurer}`");
    assert_eq!(told, all_of(&[&is]), "who is in the group, and need not be without the credential");
}

#[test]
fn the_scope_of_what_applies_is_a_way_past_it_too() {
    let permit = r#"@id("p") permit (principal, action in [Action::"REQUEST", Action::"INFORM"], resource is payment::transfer);"#;
    let forbid = r#"@id("f") forbid (principal, action == Action::"REQUEST", resource is payment::transfer) when { resource.currency == "EUR" };"#;
    let told = told(&[permit, forbid], "1");
    let two = "so that `p.cedar#f` does not apply: `resource.currency` would have to be other than `EUR`";
    let all: Vec<&str> = told.all.iter().chain(&told.one_of).map(String::as_str).collect();
    assert!(all.iter().any(|said| said.starts_with(two)), "{told:?}");
    assert!(
        all.iter().any(|said| said.contains("the performative must not be `REQUEST`")
            && said.contains("would have to stay one of `REQUEST`, `INFORM`")),
        "{told:?}"
    );
}
