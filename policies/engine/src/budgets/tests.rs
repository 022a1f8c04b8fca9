//! `limits.json`: what it may say, and what is refused of it with its place.

use semgate_contexts::Performative;

use super::Spoken;
use crate::{Policies, PolicyFault, PolicyLimits, PolicySource, RateKey};

const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";
const COURIER: &str = "spiffe://semgate.test/agent/courier-5";

fn load(limits: &str) -> Result<Policies, Vec<PolicyFault>> {
    let source = PolicySource { limits: Some(limits.as_bytes().to_vec()), ..PolicySource::shipped() };
    Policies::load(&source, &crate::tests::shipped_contexts(), &PolicyLimits::default())
}

fn refused(limits: &str, expected: &str) {
    let faults: Vec<String> = match load(limits) {
        Ok(_) => panic!("loaded: {limits}"),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    };
    assert!(faults.iter().any(|fault| fault.contains(expected)), "`{expected}` is not in {faults:#?}");
}

fn spoken(line: &'static str, concept: &'static str, performative: Performative) -> Spoken<'static> {
    Spoken { line, concept, performative }
}

#[test]
fn the_cost_that_says_most_about_a_message_is_its_cost() {
    let policies = load(
        r#"{"costs": [
            {"performative": "QUERY", "cost": 0},
            {"line": "payment", "cost": 2},
            {"line": "payment", "concept": "transfer", "cost": 5},
            {"line": "payment", "concept": "transfer", "performative": "QUERY", "cost": 3}
        ], "budgets": [{"name": "all", "limit": "100/minute"}]}"#,
    )
    .unwrap();
    let cost = |line, concept, performative| policies.budgets().cost(&spoken(line, concept, performative));
    assert_eq!(cost("supplyChain", "current_decision", Performative::Inform), 1);
    assert_eq!(cost("supplyChain", "current_decision", Performative::Query), 0);
    assert_eq!(cost("payment", "other", Performative::Query), 2, "a line says more than a performative");
    assert_eq!(cost("payment", "transfer", Performative::Request), 5);
    assert_eq!(cost("payment", "transfer", Performative::Query), 3);
}

#[test]
fn a_budget_is_for_whom_it_names_and_pays_for_what_it_names() {
    let policies = load(
        r#"{"budgets": [
            {"name": "all", "limit": "100/minute"},
            {"name": "partners", "limit": "10/minute burst 5", "per": "pair, concept", "groups": ["partners"],
             "of": [{"line": "payment"}, {"line": "travel", "concept": "bookFlight"}]},
            {"name": "one", "limit": "1/day", "agents": ["spiffe://semgate.test/agent/courier-5"]}
        ]}"#,
    )
    .unwrap();
    let names =
        |id: &str| policies.budgets_of(id).iter().map(|budget| budget.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(RETAILER), ["all", "partners"]);
    assert!(names(COURIER).contains(&"one".to_owned()) && names(COURIER).contains(&"all".to_owned()));
    assert_eq!(names("spiffe://semgate.test/agent/nobody-knows"), ["all"]);
    let partners = &policies.budgets_of(RETAILER)[1];
    assert_eq!(partners.key, RateKey { receiver: true, concept: true, line: false });
    assert!(partners.pays(&spoken("payment", "transfer", Performative::Inform)));
    assert!(partners.pays(&spoken("travel", "bookFlight", Performative::Request)));
    assert!(!partners.pays(&spoken("supplyChain", "current_decision", Performative::Inform)));
}

#[test]
fn without_the_file_nobody_has_a_budget() {
    let policies =
        Policies::load(&PolicySource::shipped(), &crate::tests::shipped_contexts(), &PolicyLimits::default())
            .unwrap();
    assert!(policies.budgets_of(RETAILER).is_empty());
}

#[test]
fn what_is_wrong_with_the_file_is_told_with_its_place() {
    let budget = r#""budgets": [{"name": "all", "limit": "10/minute"}]"#;
    for (limits, expected) in [
        ("[]", "limits.json:1:1: not an object"),
        ("{}", "limits.json:1:1: at `/budgets`: no budget"),
        (
            r#"{"budget": []}"#,
            "limits.json:1:2: at `/budget`: a member that is not one of `costs`, `budgets` (did you mean `budgets`?)",
        ),
        (r#"{"budgets": [{"name": "a b", "limit": "1/day"}]}"#, "at `/budgets/0/name`: a name is 1 to 64"),
        (r#"{"budgets": [{"name": "ambiguity", "limit": "1/day"}]}"#, "another limit has this name"),
        (r#"{"budgets": [{"name": "policy-1", "limit": "1/day"}]}"#, "another limit has this name"),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/days"}]}"#,
            "limits.json:1:28: at `/budgets/0/limit`: `second`, `minute`",
        ),
        (r#"{"budgets": [{"name": "a"}]}"#, "at `/budgets/0/limit`: a limit is written as"),
        (r#"{"budgets": [{"name": "a", "limit": "1/day", "per": "agents"}]}"#, "did you mean `agent`?"),
        (r#"{"budgets": [{"name": "a", "limit": "1/day", "pers": "agent"}]}"#, "did you mean `per`?"),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day"}, {"name": "a", "limit": "2/day"}]}"#,
            "at `/budgets/1/name`: a second",
        ),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "groups": ["partner"]}]}"#,
            "(did you mean `partners`?)",
        ),
        (r#"{"budgets": [{"name": "a", "limit": "1/day", "groups": []}]}"#, "applies to no agent"),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "agents": ["retailer-7"]}]}"#,
            "did you mean `spiffe://semgate.test/agent/retailer-7`?",
        ),
        (r#"{"budgets": [{"name": "a", "limit": "1/day", "of": []}]}"#, "names no message"),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "of": [{}]}]}"#,
            "at `/budgets/0/of/0`: names no `line`",
        ),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "of": [{"concept": "transfer"}]}]}"#,
            "a `concept` needs its `line`",
        ),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "of": [{"line": "payments"}]}]}"#,
            "limits.json:1:53: at `/budgets/0/of/0`: no context has the line `payments` (did you mean `payment`?)",
        ),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "of": [{"line": "payment", "concept": "transfers"}]}]}"#,
            "no context has the concept `transfers` of the line `payment` (did you mean `transfer`?)",
        ),
        (
            r#"{"budgets": [{"name": "a", "limit": "1/day", "of": [{"line": "snl", "concept": "ambiguous_parameter", "performative": "INFORM"}]}]}"#,
            "at `/budgets/0/of/0`: no context has `INFORM` for the concept `ambiguous_parameter` of the line `snl` (it takes `REQUEST`, `QUERY`)",
        ),
    ] {
        refused(limits, expected);
    }
    for (costs, expected) in [
        (r#"[{"cost": 2}]"#, "at `/costs/0`: names no `line`"),
        (r#"[{"line": "payment", "cost": -1}]"#, "at `/costs/0/cost`: not an integer"),
        (r#"[{"line": "payment", "cost": 1.5}]"#, "not an integer"),
        (r#"[{"line": "payment"}]"#, "not an integer"),
        (r#"[{"performative": "ASK", "cost": 1}]"#, "at `/costs/0/performative`: no performative"),
        (
            r#"[{"line": "payment", "cost": 1}, {"line": "payment", "cost": 2}]"#,
            "at `/costs/1`: the same messages a second time",
        ),
        (
            r#"[{"line": "payment", "cost": 11}]"#,
            "at `/budgets/0/limit`: `all` holds 10 and can never pay for a message that costs 11",
        ),
        (r#"[{"line": "paiment", "cost": 1}]"#, "did you mean `payment`?"),
    ] {
        refused(&format!(r#"{{"costs": {costs}, {budget}}}"#), expected);
    }
}

#[test]
fn a_budget_need_not_pay_what_other_messages_of_the_line_cost() {
    let costs = r#""costs": [{"line": "payment", "cost": 20}, {"line": "payment", "concept": "transfer", "cost": 5}]"#;
    let budgets = |limit: &str| {
        format!(
            r#"{{{costs}, "budgets": [{{"name": "a", "limit": "{limit}", "of": [{{"line": "payment", "concept": "transfer"}}]}}]}}"#
        )
    };
    load(&budgets("10/hour")).unwrap();
    refused(
        &budgets("4/hour"),
        "at `/budgets/0/limit`: `a` holds 4 and can never pay for a message that costs 5",
    );
}

#[test]
fn the_file_is_part_of_what_is_live() {
    let plain =
        Policies::load(&PolicySource::shipped(), &crate::tests::shipped_contexts(), &PolicyLimits::default())
            .unwrap();
    let one = load(r#"{"budgets": [{"name": "all", "limit": "10/minute"}]}"#).unwrap();
    let other = load(r#"{"budgets": [{"name": "all", "limit": "11/minute"}]}"#).unwrap();
    assert_ne!(plain.digest(), one.digest());
    assert_ne!(one.digest(), other.digest());
}

#[test]
fn what_stands_twice_in_a_budget_is_refused() {
    let of = |of: &str| format!(r#"{{"budgets": [{{"name": "a", "limit": "10/minute", {of}}}]}}"#);
    refused(
        &of(r#""of": [{"line": "payment"}, {"line": "travel"}, {"line": "payment"}]"#),
        "at `/budgets/0/of/2`: the same messages a second time",
    );
    refused(
        &of(r#""groups": ["partners", "partners"]"#),
        "at `/budgets/0/groups/1`: the same name a second time",
    );
    let courier = format!("\"{COURIER}\"");
    refused(
        &of(&format!("\"agents\": [{courier}, {courier}]")),
        "at `/budgets/0/agents/1`: the same name a second time",
    );
    load(&of(
        r#""of": [{"line": "travel"}, {"line": "payment", "concept": "transfer"}], "groups": ["partners"]"#,
    ))
    .unwrap();
}
