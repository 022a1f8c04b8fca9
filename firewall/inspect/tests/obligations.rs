//! What policies ask for beyond letting a message pass: approvals, limits, members that are taken out of replies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{NOW, generation_with, inspector, library, route, say, supply_chain, view};
use semgate_inspect::{Code, Inspector};
use semgate_policies::PolicySource;

/// The shipped agents and policies, and these.
fn house(policies: &str) -> Inspector {
    let mut source = PolicySource::shipped();
    source.files.push(("own.cedar".to_owned(), policies.to_owned()));
    inspector(generation_with(view(&mut library()), &source, &[]))
}

#[test]
fn what_needs_an_approval_is_refused_as_that_and_names_the_policy_to_the_operator_alone() {
    let inspector = house(
        r#"@id("ask") @approve("the planner on duty") @notice("planners approve decisions")
        permit (principal, action, resource is supplyChain::current_decision);"#,
    );
    let refusal = say(&inspector, &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.code().status()), (Code::ApprovalRequired, 403));
    assert_eq!(refusal.hint(), "planners approve decisions");
    assert!(refusal.facts().policy_ids().contains(&"own.cedar#ask"), "{:?}", refusal.facts());
    assert!(refusal.detail().contains("own.cedar#ask") && refusal.detail().contains("the planner on duty"));
    for outside in [refusal.reason(), refusal.hint()] {
        assert!(!outside.contains("own.cedar") && !outside.contains("on duty"), "{outside}");
    }
}

#[test]
fn what_is_denied_anyway_is_not_said_to_need_an_approval() {
    let inspector = house(
        r#"@approve("somebody") permit (principal, action, resource is supplyChain::current_decision);
        @notice("not today") forbid (principal, action, resource is supplyChain::current_decision);"#,
    );
    let refusal = say(&inspector, &route("l8"), "retailer-7", supply_chain(), NOW).unwrap_err();
    assert_eq!((refusal.code(), refusal.hint()), (Code::PolicyDenied, "not today"));
}
