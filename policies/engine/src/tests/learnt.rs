//! F0-31: what two agents settled between themselves passes only by a policy that names it.

use super::{House, RETAILER, WHOLESALER, context, denied, one_file, permitted, shipped_contexts};
use crate::{Circumstances, Question, Verdict};
use semgate_contexts::Performative;
use semgate_contexts::json::{self, Json};

const NAMED: &str = r#"@id("mood") permit(principal, action, resource is learnt::my_mood);"#;
const ALL: &str = r#"@id("all") permit(principal, action, resource);"#;

fn ask(policies: &str, value: &str) -> Verdict {
    let house = House::with(policies).unwrap();
    let settled = context(
        r#"{"context":"urn:contexts:learnt:v1.0","concepts":{"my_mood":{"type":"object","required":["value"],
            "properties":{"value":{"type":"string","x-code-list":"options"}}}},"codes":{"options":["happy","sad"]}}"#,
    );
    let text = format!(r#"{{"value":"{value}"}}"#);
    let Json::Object(object) = json::read(text.as_bytes(), &json::Limits::default()).unwrap() else {
        panic!()
    };
    let shape = settled.term("my_mood").unwrap().side(Performative::Inform).unwrap();
    let question = Question {
        sender: RETAILER,
        receiver: WHOLESALER,
        action: Performative::Inform,
        context: &settled,
        shape,
        value: &object,
        without: None,
        binding: "l8",
        direction: "request",
        circumstances: Circumstances::at(0),
    };
    house.policies.decide_learnt(&question)
}

#[test]
fn a_permit_that_names_it_lets_it_pass_and_sees_its_value() {
    assert_eq!(ask(NAMED, "happy"), permitted(&["p.cedar#mood"]));
    let sad = NAMED.replace(";", " when { resource.value != \"sad\" };");
    assert_eq!(ask(&sad, "happy"), permitted(&["p.cedar#mood"]));
    assert_eq!(ask(&sad, "sad"), denied(&[], &[]));
}

#[test]
fn attack_a_permit_of_everything_does_not_let_it_pass() {
    assert_eq!(ask(ALL, "happy"), denied(&[], &[]));
    let other = format!("{ALL} permit(principal, action, resource is learnt::other);");
    assert_eq!(ask(&other, "happy"), denied(&[], &[]));
    // neither does one that names it in a condition only
    let condition =
        format!("{NAMED} {ALL}").replace("resource is learnt::my_mood", "resource is learnt::other");
    assert_eq!(ask(&condition, "happy"), denied(&[], &[]));
}

/// It was said to come with an authority, or with a file of its context, of which there is neither.
#[test]
fn a_forbid_of_one_that_no_permit_names_is_told_to_need_a_permit() {
    let forbid =
        "forbid (principal, action, resource is learnt::my_mood) when { resource.value == \"furious\" };";
    super::refused(
        &format!("{ALL}\n{forbid}"),
        &[
            "p.cedar:2:40: no permit names a type of `learnt`: a learnt term exists only when the scope of a permit names it; no authority and no `--context` adds it",
        ],
    );
    super::loads(&format!("{NAMED}\n{forbid}"));
}

#[test]
fn a_forbid_of_everything_holds_for_it_too() {
    let forbid = format!(
        "{NAMED} @id(\"no\") forbid(principal, action, resource) when {{ context.direction == \"request\" }};"
    );
    assert_eq!(ask(&forbid, "happy"), denied(&["p.cedar#no"], &[]));
}

#[test]
fn attack_a_published_line_of_that_name_is_left_out() {
    let published = context(
        r#"{"context":"urn:contexts:learnt:v1.0","concepts":{"my_mood":{"type":"object","properties":{"x":{"type":"integer"}}}}}"#,
    );
    let below = context(
        r#"{"context":"urn:contexts:learnt.more:v1.0","concepts":{"a":{"type":"object","properties":{"x":{"type":"integer"}}}}}"#,
    );
    let contexts = [shipped_contexts(), vec![published, below]].concat();
    let house = House::load(&one_file(NAMED), contexts).unwrap();
    let left: Vec<_> = house.policies.left_out().iter().map(|left| left.urn.short()).collect();
    assert_eq!(left, ["learnt:v1.0", "learnt.more:v1.0"]);
}

#[test]
fn only_what_a_policy_names_can_be_learnt_and_it_opens_no_line() {
    let house = House::with(NAMED).unwrap();
    assert!(house.policies.names_learnt("my_mood").is_ok());
    assert!(house.policies.names_learnt("your_mood").is_err());
    let line = semgate_contexts::Line::parse("learnt").unwrap();
    assert!(house.policies.may_use_line(RETAILER, &line).is_err());
}
