//! Validation beside parts of the schema says of each policy what validation beside the whole says.

use std::collections::BTreeSet;

use cedar_policy::{PolicySet, ValidationMode, Validator};

use super::shipped_contexts;
use crate::catalogue::Catalogue;
use crate::check::{Texts, policy_in};
use crate::parse::{Written, parse};
use crate::{PolicyFault, PolicyLimits};

const SCOPES: [&str; 9] = [
    "permit (principal, action, resource)",
    "forbid (principal in Group::\"partners\", action == Action::\"QUERY\", resource)",
    "permit (principal, action == Action::\"INFORM\", resource is payment::transfer)",
    "forbid (principal, action, resource is supplyChain::current_decision)",
    "permit (principal, action == Action::\"SUBSCRIBE\", resource is supplyChain::current_decision)",
    "permit (principal, action, resource is payment::transfr)",
    "permit (principal is Group, action, resource is payment::transfer)",
    "permit (principal, action == Action::\"SHOUT\", resource)",
    "permit (principal, action in [Action::\"PUBLISH\", Action::\"REFUSE\"], resource is snl::HELLO)",
];

const CONDITIONS: [&str; 18] = [
    "",
    "when { resource has amount && resource.amount.greaterThan(decimal(\"1.0\")) }",
    "when { resource.amount.greaterThan(decimal(\"1.0\")) }",
    "when { resource has amount && resource.amount > 1 }",
    "when { resource has quantity && resource.quantity > 1 }",
    "when { resource has quantity && resource.quantity == \"1\" }",
    "when { resource has nothing_of_that_name }",
    "when { resource is payment::transfer && resource.amount.lessThan(decimal(\"1.0\")) }",
    "when { resource is payment::transfr }",
    "when { resource is supplyChain::current_decision || context.free_text }",
    "when { resource == principal }",
    "when { resource in Group::\"partners\" }",
    "when { [resource].contains(resource) }",
    "when { context.major == \"1\" }",
    "when { principal in Group::\"planners\" || action == Action::\"INFORM\" }",
    "when { if resource has parameter then resource.parameter like \"d*\" else resource is snl::HELLO }",
    "when { resource has item_id && resource has amount }",
    "when { resource == payment::transfer::\"x\" }",
];

fn invalid(faults: &[PolicyFault]) -> BTreeSet<&str> {
    faults.iter().filter_map(policy_in).collect()
}

#[test]
fn parts_of_the_schema_find_the_same_policies_invalid_as_the_whole() {
    let mut text = String::new();
    for (s, scope) in SCOPES.iter().enumerate() {
        for (c, condition) in CONDITIONS.iter().enumerate() {
            text.push_str(&format!("@id(\"{s}-{c}\") {scope} {condition};\n"));
        }
    }
    let files = [("p.cedar".to_owned(), text)];
    let written = parse(&files, &PolicyLimits::default()).unwrap();
    let texts = Texts { files: &files, written: &written };
    let catalogue = Catalogue::build(&shipped_contexts());
    let validator = Validator::new(catalogue.schema().unwrap());
    let beside_all = |written: &Written| {
        let set = PolicySet::from_policies([written.policy.clone()]).unwrap();
        texts.validated(written, &validator.validate(&set, ValidationMode::Strict), &catalogue)
    };
    let whole: Vec<PolicyFault> = written.iter().flat_map(beside_all).collect();
    let all: Vec<&Written> = written.iter().collect();
    let parts = texts.validate_all(&all, &catalogue).unwrap();
    assert_eq!(invalid(&parts), invalid(&whole));
    assert!(whole.len() > 60 && invalid(&whole).len() < written.len(), "both kinds are there");
    // One at a time, so that each is said in the words of the whole.
    for one in &written {
        let own = texts.validate_all(&[one], &catalogue).unwrap();
        let own: BTreeSet<String> = own.iter().map(ToString::to_string).collect();
        let same = whole.iter().filter(|fault| policy_in(fault) == Some(&*one.id));
        assert!(own == same.map(ToString::to_string).collect(), "{}", one.id);
    }
}
