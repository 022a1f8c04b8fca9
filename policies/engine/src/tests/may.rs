//! What could be permitted before it is said: list and call agree.

use semgate_contexts::Performative;

use super::*;
use crate::{Circumstances, Parties};

fn may(policies: &str, sender: &str) -> bool {
    let house = House::with(policies).unwrap();
    let context = house.context("payment:v2.0");
    let shape = context.term("transfer").unwrap().side(Performative::Request).unwrap();
    let parties = Parties { sender, receiver: WHOLESALER, binding: "mcp", direction: "request" };
    let around = Circumstances::at(0);
    house.policies.may_say(parties, Performative::Request, context, shape, around).is_ok()
}

const PERMIT: &str = r#"permit (principal in Group::"partners", action, resource is payment::transfer);"#;

#[test]
fn only_a_permit_in_scope_makes_it_possible() {
    assert!(may(PERMIT, RETAILER));
    assert!(!may(PERMIT, STRANGER));
    assert!(!may(r#"permit (principal, action, resource is travel::bookFlight);"#, RETAILER));
}

#[test]
fn a_condition_on_the_instance_counts_as_if_the_instance_were_the_right_one() {
    let small = r#"permit (principal, action, resource is payment::transfer) when { resource.amount.lessThan(decimal("5.0")) };"#;
    assert!(may(small, RETAILER));
    let large = r#"forbid (principal, action, resource is payment::transfer) when { resource.amount.greaterThan(decimal("5.0")) };"#;
    assert!(may(&format!("{PERMIT}{large}"), RETAILER));
}

#[test]
fn what_is_known_already_decides() {
    let credential = r#"permit (principal, action, resource is payment::transfer) when { principal.credentials.contains("high-value-authorized") };"#;
    assert!(may(credential, TREASURER));
    assert!(!may(credential, RETAILER));
    let receiver =
        r#"permit (principal, action, resource is payment::transfer) when { context.binding == "a2a" };"#;
    assert!(!may(receiver, RETAILER));
    for forbid in [
        r#"forbid (principal, action, resource is payment::transfer) when { context.major > 1 };"#,
        r#"forbid (principal, action, resource) when { context.binding == "mcp" };"#,
        r#"forbid (principal, action, resource) unless { principal.credentials.contains("high-value-authorized") };"#,
    ] {
        assert!(!may(&format!("{PERMIT}{forbid}"), RETAILER), "{forbid}");
    }
}
