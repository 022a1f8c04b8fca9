//! Tests of `suggest`.

use super::{closest, closest_agent};
use crate::agents::Agents;

#[test]
fn bug_another_agent_was_suggested_for_what_agents_names_have_in_common() {
    let id = |name: &str| format!("spiffe://semgate.test/agent/{name}");
    let entries = ["courier-5", "operator", "retailer-7"]
        .map(|name| format!(r#"{{"id":"{}","groups":[],"credentials":[]}}"#, id(name)));
    let document = format!(r#"{{"agents":[{}]}}"#, entries.join(","));
    let agents = Agents::read(document.as_bytes(), &crate::PolicyLimits::default()).unwrap();
    for (asked, near) in [
        ("retialer-7", Some("retailer-7")),
        ("Operator", Some("operator")),
        ("bank-9", None),
        ("abc", None),
        ("shop-3", None),
    ] {
        assert_eq!(closest_agent(&id(asked), &agents), near.map(id).as_deref(), "{asked}");
    }
    let elsewhere = closest_agent("spiffe://semgate.tset/agent/courier-5", &agents);
    assert_eq!(elsewhere, Some(id("courier-5").as_str()));
}

#[test]
fn near_names_are_suggested_and_far_ones_are_not() {
    assert_eq!(closest("no-fre-text", ["no-free-text", "repliers"].into_iter()), Some("no-free-text"));
    assert_eq!(closest("admins", ["no-free-text", "repliers"].into_iter()), None);
}
