//! What is told of a message that a human would have to approve, whom nobody can ask yet.

use super::super::{Part, ToPass};
use super::{all_of, explained};
use crate::tests::{Ask, one_file, transfer};

const SCOPE: &str = "(principal, action, resource is payment::transfer)";

fn told(policies: &[&str], amount: &str) -> ToPass {
    let text: Vec<String> = policies.iter().map(|policy| policy.replace("SCOPE", SCOPE)).collect();
    explained(&one_file(&text.join("\n")), Ask { value: &transfer(amount), ..Ask::default() }).to_pass
}

const ASKS: &str = r#"@id("a") @approve("sign") permit SCOPE;"#;
const LARGE: &str =
    r#"@id("large") @approve("sign") permit SCOPE when { resource.amount.greaterThan(decimal("100.0")) };"#;
const ALL: &str = r#"@id("all") permit SCOPE;"#;
const USD: &str = r#"@id("usd") permit SCOPE when { resource.currency == "USD" };"#;
const NO_EUR: &str = r#"@id("eur") forbid SCOPE when { resource.currency == "EUR" };"#;

const ASKS_WHATEVER: &str = "`p.cedar#a` asks a human whatever the message is, and would have to be another";
const NOT_LARGE: &str = "so that `p.cedar#large` does not apply (it asks a human, and nobody can be asked yet): \
    `resource.amount` would have to be at most 100.0";
const NOT_EUR: &str =
    "so that `p.cedar#eur` does not apply: `resource.currency` would have to be other than `EUR`";
const NONE_NEAR: &str = "a permit for it would have to be written: none is near";
const USD_APPLIES: &str = "so that `p.cedar#usd` applies: `resource.currency` would have to be `USD`";

#[test]
fn what_waits_for_an_approval_is_told_what_would_have_to_change() {
    assert_eq!(told(&[ASKS], "1"), all_of(&[ASKS_WHATEVER, NONE_NEAR]));
    assert_eq!(told(&[ASKS, USD], "1"), all_of(&[ASKS_WHATEVER, USD_APPLIES]));
    assert_eq!(told(&[LARGE, ALL], "500"), all_of(&[NOT_LARGE]));
    assert_eq!(told(&[LARGE, USD], "500"), all_of(&[NOT_LARGE, USD_APPLIES]));
    assert_eq!(told(&[LARGE, ALL], "5"), ToPass::default(), "it passes");
    let both = LARGE.replace("\"large\"", "\"too\"");
    let neither = NOT_LARGE.replace("`p.cedar#large` does not", "`p.cedar#large` and `p.cedar#too` do not");
    assert_eq!(told(&[LARGE, &both, ALL], "500"), all_of(&[&neither]));
    let only = r#"@id("r") @approve("sign") permit (principal, action == Action::"REQUEST", resource is payment::transfer);"#;
    let other = "so that `p.cedar#r` does not apply (it asks a human, and nobody can be asked yet): the performative must not be `REQUEST`";
    assert_eq!(told(&[only, USD], "1"), all_of(&[other, USD_APPLIES]));
}

#[test]
fn a_permit_that_asks_a_human_is_no_way_for_what_was_denied() {
    assert_eq!(told(&[LARGE, USD], "5"), all_of(&[USD_APPLIES]));
    let alone = "so that `p.cedar#large` applies: `resource.amount` would have to be more than 100.0; but it asks a human, and nobody can be \
        asked yet: it would have to be without `@approve`";
    assert_eq!(told(&[LARGE], "5"), all_of(&[alone]), "the only one near");
    // beside a forbid the approval is needed all the same
    assert_eq!(told(&[LARGE, ALL, NO_EUR], "500"), all_of(&[NOT_EUR, NOT_LARGE]));
    assert_eq!(told(&[ASKS, NO_EUR], "1"), all_of(&[ASKS_WHATEVER, NOT_EUR, NONE_NEAR]));
    assert_eq!(told(&[LARGE, ALL, NO_EUR], "5"), all_of(&[NOT_EUR]));
}

#[test]
fn what_a_permit_would_begin_to_ask_is_told_with_the_way_to_it() {
    let from = r#"@id("from") permit SCOPE when { resource.amount.greaterThan(decimal("10.0")) };"#;
    assert_eq!(
        told(&[LARGE, from], "5"),
        all_of(&[
            "so that `p.cedar#from` applies: `resource.amount` would have to be more than 10.0",
            "so that `p.cedar#large` still does not apply: `resource.amount` would have to stay at most 100.0"
        ])
    );
    assert_eq!(
        told(&[LARGE, from], "500"),
        all_of(&[
            NOT_LARGE,
            "so that `p.cedar#from` still applies: `resource.amount` would have to stay more than 10.0"
        ])
    );
    let usd = r#"@id("ask") @approve("sign") permit SCOPE when { resource.currency == "USD" };"#;
    assert_eq!(
        told(&[usd, USD], "5"),
        all_of(&[&format!(
            "{USD_APPLIES}; but `p.cedar#ask` would then ask a human, and would have to be another"
        )])
    );
}

#[test]
fn a_forbid_of_those_whom_a_sender_would_have_to_be_among_is_told_with_the_way_to_it() {
    let planners = "(principal in Group::\"planners\", action, resource is payment::transfer)";
    let permit = format!("@id(\"p\") permit {planners};");
    let way = "so that `p.cedar#p` applies: the sender would have to be in the group `planners`";
    assert_eq!(told(&[&permit], "1"), all_of(&[way]));
    let forbid = format!("@id(\"f\") forbid {planners} when {{ resource.currency == \"EUR\" }};");
    assert_eq!(
        told(&[&permit, &forbid], "1"),
        all_of(&[
            way,
            "so that `p.cedar#f` still does not apply: `resource.currency` would have to be other than `EUR`"
        ])
    );
}

#[test]
fn what_only_limits_or_redacts_passes_and_needs_nothing() {
    let limited = r#"@limit("1/day") permit SCOPE;"#;
    assert_eq!(told(&[limited], "1"), ToPass::default());
    let text = format!("{} {}", ASKS.replace("SCOPE", SCOPE), limited.replace("SCOPE", SCOPE));
    let told = explained(&one_file(&text), Ask { value: &transfer("1"), ..Ask::default() });
    assert!(told.policies.iter().all(|one| one.part == Part::Decided), "both are what decided: {told:?}");
    assert_eq!(told.to_pass, all_of(&[ASKS_WHATEVER]));
}
