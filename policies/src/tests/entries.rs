//! A policy about one agent that asks for a credential which its entry does not give.

use super::{House, loads, refused, shipped_contexts};
use crate::{Policies, PolicyLimits, PolicySource};

const RETAILER: &str = "Agent::\"spiffe://semgate.test/agent/retailer-7\"";
const TREASURER: &str = "Agent::\"spiffe://semgate.test/agent/treasurer-1\"";
const HIGH: &str = "\"high-value-authorized\"";

fn permit(who: &str, condition: &str) -> String {
    format!("permit (principal{who}, action, resource is payment::transfer)\nwhen {{ {condition} }};")
}

#[test]
fn bug_a_permit_for_one_agent_with_a_credential_that_its_entry_lacks_loaded() {
    let why = |at: &str, part: &str| {
        format!(
            "p.cedar:{at}: policy `p.cedar#1`: its condition is true for no message ({part}: `entities.json` gives \
             `spiffe://semgate.test/agent/retailer-7` no credential)"
        )
    };
    let has = format!("principal.credentials.contains({HIGH})");
    refused(&permit(&format!(" == {RETAILER}"), &has), &[&why("2:8", &format!("`{has}`"))]);
    let all = format!("principal.credentials.containsAll([{HIGH}, \"token:hr:b\"])");
    refused(&permit(&format!(" == {RETAILER}"), &all), &[&why("2:8", &format!("`{all}`"))]);
    for (who, condition) in [
        ("", format!("principal == {RETAILER} && {has}")),
        ("", format!("context.receiver == {RETAILER} && context.receiver.credentials.contains({HIGH})")),
        ("", format!("{RETAILER}.credentials.contains({HIGH})")),
    ] {
        let told = super::faults(&permit(who, &condition));
        assert!(
            matches!(&told[..], [one] if one.contains("true for no message (`")),
            "{condition}: {told:?}"
        );
    }
}

#[test]
fn a_credential_that_the_agent_has_or_may_show_or_that_is_not_needed_is_nobodys_mistake() {
    let has = format!("principal.credentials.contains({HIGH})");
    for (who, condition) in [
        (format!(" == {TREASURER}"), has.clone()),
        (format!(" == {RETAILER}"), "principal.credentials.contains(\"token:hr:b\")".to_owned()),
        (format!(" == {RETAILER}"), "principal.credentials.contains(\"cert:policy:1.1\")".to_owned()),
        (
            format!(" == {RETAILER}"),
            format!("principal.credentials.containsAny([{HIGH}, \"cert:policy:1.1\"])"),
        ),
        (format!(" == {RETAILER}"), format!("{has} || resource.amount.lessThan(decimal(\"9.0\"))")),
        (format!(" == {RETAILER}"), format!("!{has}")),
        (format!(" == {RETAILER}"), format!("context.receiver.credentials.contains({HIGH})")),
        // who is in a group may be another tomorrow
        (" in Group::\"partners\"".to_owned(), has.clone()),
        (String::new(), has),
    ] {
        loads(&permit(&who, &condition));
    }
}

/// `entities.json` with this list of credentials at its top.
fn declaring(text: &str) -> PolicySource {
    let source = super::one_file(text);
    let entities = String::from_utf8(source.entities.clone()).unwrap();
    let with = entities.replacen(
        "\"groups\"",
        "\"credentials\": [\"high-value-authorized\", \"of-tomorrow\"], \"groups\"",
        1,
    );
    PolicySource { entities: with.into(), ..source }
}

#[test]
fn a_credential_that_is_declared_and_that_nobody_has_yet_may_be_asked_of_one_agent() {
    let asks =
        |name: &str| permit(&format!(" == {RETAILER}"), &format!("principal.credentials.contains({name})"));
    let told = House::load(&declaring(&asks("\"of-tomorrow\"")), shipped_contexts()).err();
    assert_eq!(told, None);
    assert!(House::load(&declaring(&asks(HIGH)), shipped_contexts()).is_err(), "another agent has it");
}

#[test]
fn an_agent_that_loses_a_credential_keeps_no_set_out() {
    let text = permit(&format!(" == {TREASURER}"), &format!("principal.credentials.contains({HIGH})"))
        + &permit(" in Group::\"partners\"", &format!("principal.credentials.contains({HIGH})"));
    let source = super::one_file(&text);
    let limits = PolicyLimits::default();
    let live = Policies::load(&source, &shipped_contexts(), &limits).unwrap();
    let entities = String::from_utf8(source.entities.clone()).unwrap();
    // another has it now
    let moved = entities.replacen("\"credentials\": []", "\"credentials\": [\"high-value-authorized\"]", 1);
    let (first, rest) = moved.split_once("treasurer-1\",\n      \"alias\"").unwrap();
    let rest = rest.replacen("[\"high-value-authorized\"]", "[]", 1);
    let without = format!("{first}treasurer-1\",\n      \"alias\"{rest}");
    let next = PolicySource { entities: without.into(), ..source };
    let told = live.reload(&next, &shipped_contexts(), &limits).unwrap();
    let told: Vec<String> = told.warnings().iter().map(ToString::to_string).collect();
    assert!(matches!(&told[..], [one] if one.contains("`p.cedar#1`") && one.contains("gives")), "{told:?}");
    assert!(Policies::load(&next, &shipped_contexts(), &limits).is_err(), "as a new one it is refused");
}
