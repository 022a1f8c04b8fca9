//! What no route of a configuration carries is told as advice: a set may be for several gateways.

use std::collections::BTreeSet;

use super::{RETAILER, WHOLESALER, alone, shipped_contexts};
use crate::{Floors, Policies, PolicyLimits, Route};

const NO_BINDING: &str = "no route has a binding, or a version of one, by which this comes";
const NOBODY: &str = "no route leads to anybody who receives this, or replies it";

fn route(receiver: &str, binding: &'static str, versions: &[&str]) -> Route {
    let versions = versions.iter().map(|version| (*version).to_owned()).collect::<BTreeSet<_>>();
    Route { receiver: receiver.to_owned(), binding, versions }
}

/// What is told of one policy where these are the routes.
fn told(policy: &str, routes: Vec<Route>) -> Vec<String> {
    let limits = PolicyLimits { routes: Some(routes), ..PolicyLimits::default() };
    let policies =
        Policies::load_above(&alone(policy), &shipped_contexts(), &Floors::new(), &limits).expect(policy);
    assert_eq!(policies.warnings(), []);
    policies.advice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_policy_about_no_message_on_the_routes_is_told() {
    let routes = || vec![route(WHOLESALER, "a2a", &["1.0"]), route(WHOLESALER, "l8", &[])];
    let payment =
        |when: &str| format!("permit (principal, action, resource is payment::transfer)\nwhen {{ {when} }};");
    let open = |when: &str| format!("permit (principal, action, resource)\nwhen {{ {when} }};");
    let to = |who: &str| format!("context.receiver == Agent::\"{who}\"");
    for (policy, why) in [
        (payment(&to(RETAILER)), NOBODY),
        (payment(&format!("{} && context.direction == \"request\"", to(RETAILER))), NOBODY),
        (payment("context.binding_version == \"0.3\""), NO_BINDING),
        (payment(&format!("context.binding == \"a2a\" && {}", to(RETAILER))), NOBODY),
        (open("context.binding == \"mcp\""), NO_BINDING),
        (format!("permit (principal == Agent::\"{RETAILER}\", action, resource is a2a::AgentCard);"), NOBODY),
        (
            format!(
                "permit (principal == Agent::\"{RETAILER}\", action, resource) when {{ context.direction == \"reply\" }};"
            ),
            NOBODY,
        ),
    ] {
        // whom a reply goes to may be anybody
        let reply = policy.contains(&to(RETAILER)) && !policy.contains("\"request\"");
        let found = told(&policy, routes());
        if reply {
            assert_eq!(found, Vec::<String>::new(), "{policy}");
            continue;
        }
        assert_eq!(found.len(), 1, "{policy}: {found:?}");
        let told = format!("it is about no message on the routes of the configuration: {why}");
        assert!(found[0].ends_with(&told) && found[0].starts_with("p.cedar:"), "{policy}: {found:?}");
    }
}

#[test]
fn what_some_route_carries_is_not_told() {
    let routes = || vec![route(WHOLESALER, "a2a", &["1.0"]), route(RETAILER, "l8", &[])];
    let open = |when: &str| format!("permit (principal, action, resource)\nwhen {{ {when} }};");
    for policy in [
        "permit (principal, action, resource);".to_owned(),
        open(&format!("context.receiver == Agent::\"{WHOLESALER}\" && context.binding == \"a2a\"")),
        open(&format!("context.receiver == Agent::\"{RETAILER}\" && context.binding_version == \"\"")),
        open("context.receiver in Group::\"repliers\""),
        open("context.receiver.trust_domain == \"semgate.test\""),
        open("context.direction == \"reply\" && context.binding == \"l8\""),
        open("context.binding_version == \"1.0\""),
        open("context.binding != \"mcp\""),
        // one set for several gateways has the methods of protocols that one of them does not speak
        "permit (principal, action, resource is mcp::ListTools);".to_owned(),
        format!("permit (principal == Agent::\"{WHOLESALER}\", action, resource is mcp::ListTools_results);"),
        format!(
            "permit (principal == Agent::\"{RETAILER}\", action, resource) when {{ context.direction == \"reply\" }};"
        ),
        format!("permit (principal == Agent::\"{WHOLESALER}\", action, resource is a2a::AgentCard);"),
    ] {
        assert_eq!(told(&policy, routes()), Vec::<String>::new(), "{policy}");
    }
    // each by itself some route has, and none both
    let both = open(&format!(
        "context.direction == \"request\" && context.receiver == Agent::\"{RETAILER}\" && context.binding == \"a2a\""
    ));
    let found = told(&both, routes());
    let why = "no route to anybody who receives this, or replies it, has a binding by which it comes";
    assert!(found.len() == 1 && found[0].ends_with(why), "{found:?}");
    // of a receiver without an entry nothing is known
    assert_eq!(
        told(
            &open("context.receiver.trust_domain == \"semgate.test\""),
            vec![route("spiffe://semgate.test/agent/new", "l8", &[])]
        ),
        Vec::<String>::new()
    );
}

/// Each policy was held against each route without a bound.
#[test]
fn many_policies_beside_many_routes_are_looked_at_as_often_as_the_limit_says() {
    let text: String = (0..20)
        .map(|n| format!("permit (principal, action, resource) when {{ context.binding == \"mcp\" && context.scores.concepts == {} }};\n", n + 1))
        .collect();
    let routes: Vec<Route> =
        (0..50).map(|n| route(&format!("spiffe://semgate.test/agent/r{n}"), "l8", &[])).collect();
    let told = |looks: usize| {
        let limits =
            PolicyLimits { routes: Some(routes.clone()), max_route_looks: looks, ..PolicyLimits::default() };
        let policies =
            Policies::load_above(&alone(&text), &shipped_contexts(), &Floors::new(), &limits).unwrap();
        policies.advice().len()
    };
    assert_eq!((told(0), told(usize::MAX)), (0, 20));
    let some = told(1_000);
    assert!((1..20).contains(&some), "{some}");
}

/// A set that guards against other domains was refused by a gateway that meets one alone.
#[test]
fn a_guard_by_a_domain_that_is_met_loads_where_nobody_of_another_one_is() {
    let load = |policy: &str| {
        let domains = BTreeSet::from(["semgate.test".to_owned()]);
        let limits = PolicyLimits { trust_domains: Some(domains), ..PolicyLimits::default() };
        let text = format!("permit (principal, action, resource);\n{policy};");
        let loaded = Policies::load_above(&alone(&text), &shipped_contexts(), &Floors::new(), &limits);
        loaded.map(|policies| policies.warnings().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let scope = "(principal, action, resource)";
    for guard in [
        "unless { principal.trust_domain == \"semgate.test\" }",
        "unless { principal.trust_domain == context.receiver.trust_domain }",
        "when { principal.trust_domain != \"semgate.test\" }",
        "when { !(principal.trust_domain == \"semgate.test\") && context.locked }",
        "when { !(principal.trust_domain like \"*.test\") }",
        "when { ![\"semgate.test\"].contains(principal.trust_domain) }",
        "when { principal.trust_domain != context.receiver.trust_domain }",
        "unless { [\"semgate.test\"].contains(context.receiver.trust_domain) }",
    ] {
        assert_eq!(load(&format!("forbid {scope} {guard}")).unwrap(), Vec::<String>::new(), "{guard}");
    }
    let permit = format!("permit {scope} unless {{ context.receiver.trust_domain != \"semgate.test\" }}");
    assert_eq!(load(&permit).unwrap(), Vec::<String>::new());
    for foreign in ["== \"elsewhere.test\"", "!= \"elsewhere.test\""] {
        let faults =
            load(&format!("forbid {scope} when {{ principal.trust_domain {foreign} }}")).unwrap_err();
        let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(
            told.len() == 1 && told[0].contains("`principal.trust_domain` is never `\"elsewhere.test\"`"),
            "{told:?}"
        );
    }
}
