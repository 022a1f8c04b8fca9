//! Policies that fit the schema and could do nothing are refused when they are loaded.

use std::sync::Arc;

use semgate_contexts::{Context, Line, Version};

use super::{House, context, idle_today, loads, one_file, plainly, refused, shipped_contexts};
use crate::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};

#[test]
fn an_action_that_the_concept_never_takes_is_named_with_those_that_it_takes() {
    refused(
        "permit (principal, action == Action::\"INFORM\", resource is travel::bookFlight);",
        &[
            "p.cedar:1:30: policy `p.cedar#1`: `travel::bookFlight` never takes `INFORM` (it takes `REQUEST`, `PROPOSE`, \
           `COUNTER_PROPOSE`, `QUERY`, `SUBSCRIBE`)",
        ],
    );
    // One of several that does nothing is a mistake as well.
    refused(
        "permit (principal,\n  action in [Action::\"REQUEST\", Action::\"AGREE\"],\n  resource is travel::bookFlight);",
        &[
            "p.cedar:2:33: policy `p.cedar#1`: `travel::bookFlight` never takes `AGREE` (it takes `REQUEST`, `PROPOSE`, \
           `COUNTER_PROPOSE`, `QUERY`, `SUBSCRIBE`)",
        ],
    );
}

/// One line with a concept of numbers.
fn numbers(condition: &str) -> Vec<String> {
    let document = context(
        r#"{"context":"urn:contexts:grid:v1.0","concepts":{"reading":{"type":"object","properties":{
            "level":{"type":"integer","enum":[1,2,30]},"percent":{"type":"integer","minimum":0,"maximum":100},
            "past":{"type":"integer","exclusiveMinimum":100,"maximum":200},"volts":{"type":"number","minimum":0.5,"maximum":240,"multipleOf":0.01},
            "unit":{"type":"string","enum":["V","A"]},"side":{"type":"string","enum":["left","right"]}},
           "required":["level","percent","past","volts","unit","side"],"additionalProperties":false}}}"#,
    );
    let text = format!("permit (principal, action, resource is grid::reading)\nwhen {{ {condition} }};");
    let loaded = Policies::load(&one_file(&text), &[document], &PolicyLimits::default());
    loaded.map_or_else(|faults| faults.iter().map(ToString::to_string).collect(), |_| Vec::new())
}

#[test]
fn a_number_that_the_schema_never_lets_be_is_named() {
    for (condition, expected) in [
        (
            "resource.level == 3",
            "p.cedar:2:8: policy `p.cedar#1`: `resource.level` is never `3` (it is one of `1`, `2`, `30`)",
        ),
        (
            "resource.level != 3",
            "p.cedar:2:8: policy `p.cedar#1`: `resource.level` is never `3` (it is one of `1`, `2`, `30`)",
        ),
        (
            "[1, 4].contains(resource.level)",
            "p.cedar:2:24: policy `p.cedar#1`: `resource.level` is never `4` (it is one of `1`, `2`, `30`)",
        ),
        (
            "resource.percent == -1",
            "p.cedar:2:8: policy `p.cedar#1`: `resource.percent` is never `-1` (it is from `0` to `100`)",
        ),
        (
            "resource.volts == decimal(\"240.5\")",
            "p.cedar:2:8: policy `p.cedar#1`: `resource.volts` is never `240.5` (it is a multiple of `0.01` from `0.5` to `240.0`)",
        ),
        ("resource.percent > 100", "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"),
        ("resource.percent < 0", "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"),
        ("resource.past <= 100", "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"),
        (
            "resource.volts.lessThan(decimal(\"0.5\"))",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
        (
            "resource.percent == resource.past",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
        (
            "resource.percent > resource.past",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
        (
            "resource.unit == resource.side",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
        (
            "resource.percent != resource.percent",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
        (
            "resource.volts.greaterThan(resource.volts)",
            "p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message",
        ),
    ] {
        assert_eq!(plainly(numbers(condition), &[expected]), [expected], "{condition}");
    }
    for condition in [
        "resource.level == 30",
        "resource.level > 2",
        "resource.percent >= 100",
        "resource.percent <= 0",
        "resource.percent + 1 > 100",
        "resource.past > 199",
        "resource.volts.lessThanOrEqual(decimal(\"0.5\"))",
        "resource.volts == decimal(\"240.0\")",
        "resource.level == resource.percent",
        "resource.percent < resource.past",
    ] {
        assert_eq!(numbers(condition), [""; 0], "{condition}");
    }
}

#[test]
fn a_text_that_a_code_list_or_an_enum_does_not_have_is_named() {
    let when = |condition: &str| {
        format!("permit (principal, action, resource is payment::transfer)\nwhen {{ {condition} }};")
    };
    refused(
        &when("resource.currency == \"EURO\""),
        &[
            "p.cedar:2:29: policy `p.cedar#1`: `resource.currency` is never `\"EURO\"` (did you mean `\"EUR\"`?)",
        ],
    );
    refused(
        &when("resource.currency != \"EUR\" && [\"USD\", \"eur\"].contains(resource.currency)"),
        &[
            "p.cedar:2:46: policy `p.cedar#1`: `resource.currency` is never `\"eur\"` (did you mean `\"EUR\"`?)",
        ],
    );
    loads(&when("[\"USD\", \"EUR\"].contains(resource.currency)"));
    refused(
        &when("resource.currency like \"eu*\""),
        &["p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"],
    );
    loads(&when("resource.currency like \"E*\""));
    // Where the resource is open, other types may have it.
    loads(
        "permit (principal, action, resource) when { resource is payment::transfer && resource.currency == \"EUR\" };",
    );
    refused(
        "permit (principal, action, resource) when { resource is payment::transfer && resource.currency == \"EURO\" };",
        &[
            "p.cedar:1:99: policy `p.cedar#1`: `resource.currency` is never `\"EURO\"` (did you mean `\"EUR\"`?)",
        ],
    );
    refused(
        &when("context.direction == \"response\""),
        &[
            "p.cedar:2:29: policy `p.cedar#1`: `context.direction` is never `\"response\"` (it is one of `\"reply\"`, `\"request\"`)",
        ],
    );
}

#[test]
fn an_enum_is_what_any_loaded_version_has() {
    let version = |number: &str, values: &str| -> Arc<Context> {
        context(&format!(
            r#"{{"context":"urn:contexts:t:{number}","concepts":{{"note":{{"type":"object","properties":{{
               "level":{{{values}}},"tags":{{"type":"array","items":{{"type":"string","enum":["a","b"]}}}}}}}}}}}}"#
        ))
    };
    let low = version("v1.0", r#""enum":["low"]"#);
    let high = version("v1.1", r#""enum":["low","high"]"#);
    let any = version("v1.2", r#""type":"string","maxLength":9"#);
    let load = |condition: &str, contexts: &[&Arc<Context>]| {
        let text = format!(
            "permit (principal, action, resource is t::note) when {{ resource has level && resource has tags && {condition} }};"
        );
        let contexts: Vec<_> = contexts.iter().map(|context| Arc::clone(context)).collect();
        House::load(&one_file(&text), contexts).map(drop).map_err(|faults| faults.join("\n"))
    };
    assert_eq!(load("resource.level == \"high\"", &[&low, &high]), Ok(()));
    let fault = load("resource.level == \"high\"", &[&low]).unwrap_err();
    assert!(fault.ends_with("`resource.level` is never `\"high\"` (it is one of `\"low\"`)"), "{fault}");
    assert_eq!(load("resource.level == \"other\"", &[&low, &any]), Ok(()));
    assert_eq!(load("resource.tags.containsAny([\"a\", \"b\"])", &[&low]), Ok(()));
    let fault = load("resource.tags.containsAny([\"a\", \"c\"])", &[&low]).unwrap_err();
    assert!(fault.contains("`resource.tags` is never `\"c\"`"), "{fault}");
}

#[test]
fn a_credential_that_nobody_has_is_named() {
    let unless = |name: &str| {
        format!(
            "forbid (principal, action, resource is payment::transfer)\nunless {{ principal.credentials.contains(\"{name}\") }};"
        )
    };
    refused(
        &unless("high-value-autorized"),
        &[
            "p.cedar:2:41: policy `p.cedar#1`: nobody has the credential `high-value-autorized` (did you mean \
           `\"high-value-authorized\"`?)",
        ],
    );
    refused(
        &unless("auditor"),
        &[
            "p.cedar:2:41: policy `p.cedar#1`: nobody has the credential `auditor` (a credential is there once an agent has it, or \
           the list `credentials` names it)",
        ],
    );
    // What certificates and tokens show is not known before it is shown.
    for shown in
        ["cert:eku:1.2.3", "cert:policy:2.999.1", "cert:eku:1.39", "token:hr:treasury", "token:hr:a:b"]
    {
        loads(&unless(shown));
    }
    // but not what can be no name of theirs
    for never in [
        "cert:1.2.3",
        "cert:eku:treasury",
        "cert:ekus:1.2.3",
        "cert:policy:1.02",
        "cert:eku:3.1.2",
        "cert:eku:1.40.1",
        "cert:policy:0.40",
        "cert:eku:1",
        "cert:eku:1.340282366920938463463374607431768211456",
        "token:treasury",
        "token::x",
    ] {
        let fault = format!(
            "p.cedar:2:41: policy `p.cedar#1`: nobody has the credential `{never}` (what agents show is named `cert:eku:OID`, \
             `cert:policy:OID` or `token:ISSUER:NAME`)"
        );
        refused(&unless(never), &[&fault]);
    }
    for never in ["cert:eku:1.3.6.1.5.5.7.3.2", "cert:policy:2.5.29.32.0"] {
        let fault = format!(
            "p.cedar:2:41: policy `p.cedar#1`: nobody has the credential `{never}` (usages of RFC 5280 and of Semgate, and anyPolicy, \
             are never credentials)"
        );
        refused(&unless(never), &[&fault]);
    }
    let entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    let declared = entities.replacen(
        "\"groups\"",
        "\"credentials\": [\"auditor\", \"high-value-authorized\"],\n  \"groups\"",
        1,
    );
    let source = |entities: &str| PolicySource { entities: entities.into(), ..one_file(&unless("auditor")) };
    assert!(House::load(&source(&declared), shipped_contexts()).is_ok());
    let undeclared = declared.replace("\"auditor\", \"high-value-authorized\"", "\"auditor\"");
    let faults = House::load(&source(&undeclared), shipped_contexts()).err().unwrap();
    assert_eq!(
        faults[0],
        "entities.json:21:23: at `/agents/2/credentials/0`: credential `high-value-authorized` is not in the list `credentials`"
    );
}

#[test]
fn a_permit_that_a_forbid_covers_is_named_with_the_forbid() {
    let forbid = |scope: &str| format!("@id(\"no\") forbid ({scope});\n");
    let permit = "@id(\"yes\") permit (principal in Group::\"partners\", action == Action::\"REQUEST\", resource is payment::transfer);";
    let fault = "p.cedar:2:1: policy `p.cedar#yes`: it permits nothing: `p.cedar#no` forbids all of it without a condition";
    for wider in [
        "principal is Agent, action, resource",
        "principal in Group::\"partners\", action, resource is payment::transfer",
        "principal, action in [Action::\"REQUEST\", Action::\"INFORM\"], resource is payment::transfer",
    ] {
        refused(&format!("{}{permit}", forbid(wider)), &[fault]);
    }
    for narrower in [
        "principal in Group::\"planners\", action, resource",
        "principal == Agent::\"spiffe://semgate.test/agent/retailer-7\", action, resource",
        "principal, action == Action::\"INFORM\", resource",
        "principal, action, resource is snl::HELLO",
    ] {
        loads(&format!("{}{permit}", forbid(narrower)));
    }
    let conditional = forbid("principal, action, resource").replace(");", ") when { context.free_text };");
    loads(&format!("{conditional}{permit}"));
    // Agents are what their groups are, and several forbids cover together.
    let agent = permit.replace(
        "principal in Group::\"partners\"",
        "principal == Agent::\"spiffe://semgate.test/agent/courier-5\"",
    );
    idle_today(&format!("{}{agent}", forbid("principal in Group::\"planners\", action, resource")), &[fault]);
    let two = "@id(\"a\") forbid (principal, action == Action::\"REQUEST\", resource);\n\
               @id(\"b\") forbid (principal, action == Action::\"QUERY\", resource);\n";
    let both =
        permit.replace("action == Action::\"REQUEST\"", "action in [Action::\"REQUEST\", Action::\"QUERY\"]");
    refused(
        &format!("{two}{both}"),
        &[
            "p.cedar:3:1: policy `p.cedar#yes`: it permits nothing: `p.cedar#a` with `p.cedar#b` forbids all of it without a condition",
        ],
    );
    loads(&format!("{two}{}", permit.replace("action == Action::\"REQUEST\"", "action")));
}

fn floors(version: Version) -> Floors {
    Floors::from([(Line::parse("payment").unwrap(), version)])
}

const OLD: &str = "permit (principal, action, resource is payment::transfer)\nwhen { context.major < 2 && !context.free_text };";

#[test]
fn a_version_that_no_floor_lets_through_is_refused() {
    let load = |text: &str, version: Version| {
        Policies::load_above(&one_file(text), &shipped_contexts(), &floors(version), &PolicyLimits::default())
            .map(drop)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    loads(OLD);
    assert_eq!(load(OLD, Version::new(1, 1)), Ok(()));
    let expected = "p.cedar:2:8: policy `p.cedar#1`: of `payment` it can match `v1.0`, `v1.1` only, and the floor lets nothing below \
                    `v2.0` through";
    assert_eq!(load(OLD, Version::new(2, 0)), Err(expected.to_owned()));
    let or = OLD.replace("context.major < 2 &&", "context.major < 2 ||");
    assert_eq!(load(&or, Version::new(2, 0)), Ok(()));
    // The same where the resource is open, and the condition says which line and version.
    for condition in [
        "context.line == \"payment\" && context.major == 1",
        "resource is payment::transfer && context.major == 1",
    ] {
        let open = format!("permit (principal, action, resource)\nwhen {{ {condition} }};");
        let fault = load(&open, Version::new(2, 0)).unwrap_err();
        let says =
            "of `payment` it can match `v1.0`, `v1.1` only, and the floor lets nothing below `v2.0` through";
        assert!(fault.starts_with("p.cedar:2:") && fault.ends_with(says), "{fault}");
        assert_eq!(load(&open, Version::new(1, 1)), Ok(()));
        assert_eq!(load(&open.replace("major == 1", "major >= 1"), Version::new(2, 0)), Ok(()));
    }
    // No loaded version at all is as asked, whatever the floor.
    refused(
        &OLD.replace("context.major < 2", "context.major > 2"),
        &["p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"],
    );
    refused(
        &OLD.replace("context.major < 2", "context.major == 2 && context.minor == 1"),
        &["p.cedar:2:1: policy `p.cedar#1`: its condition is true for no message"],
    );
}

#[test]
fn a_floor_that_rises_takes_no_live_policy_down() {
    let (contexts, limits) = (shipped_contexts(), PolicyLimits::default());
    let (low, high) = (floors(Version::new(1, 0)), floors(Version::new(2, 0)));
    let live = Policies::load_above(&one_file(OLD), &contexts, &low, &limits).unwrap();
    assert_eq!(live.warnings(), []);
    let next = live.reload_above(&one_file(OLD), &contexts, &high, &limits).unwrap();
    assert!(matches!(next.warnings(), [PolicyFault::BelowFloor { .. }]), "{:?}", next.warnings());
    // Another policy, or new agents, may come beside it; one that is new itself is refused.
    let more = format!("{OLD}\npermit (principal in Group::\"partners\", action, resource is snl::HELLO);");
    let after = next.reload_above(&one_file(&more), &contexts, &high, &limits).unwrap();
    assert_eq!(after.warnings().len(), 1);
    let new = format!("{OLD}\n{}", OLD.replacen("principal", "principal is Agent", 1));
    let faults = after.reload_above(&one_file(&new), &contexts, &high, &limits).unwrap_err();
    assert!(
        matches!(&faults[..], [PolicyFault::BelowFloor { policy, .. }] if policy == "p.cedar#2"),
        "{faults:?}"
    );
}

#[test]
fn a_member_that_is_not_visible_is_no_member_that_is_absent() {
    // `has` would be false for an instance that has it, and the forbid would be evaded.
    let text = "forbid (principal, action, resource is supplyChain::local_observation)\nwhen { resource has confidence_score };";
    refused(
        text,
        &[
            "p.cedar:2:21: policy `p.cedar#1`: `confidence_score` of `supplyChain::local_observation` is not visible to policies (a \
           number needs a `multipleOf` that is a multiple of 0.0001, and any other member one type)",
        ],
    );
}

#[test]
fn an_open_policy_leaves_out_the_context_whose_member_it_would_not_see() {
    let hiding = context(
        r#"{"context":"urn:contexts:t:v1.0","concepts":{"note":{"type":"object","properties":{"amount":{"type":"number"}}}}}"#,
    );
    let text = "forbid (principal, action, resource) when { resource has amount && resource.amount.greaterThan(decimal(\"1.0\")) };";
    let mut contexts = shipped_contexts();
    contexts.push(hiding);
    let house = House::load(&one_file(text), contexts).unwrap();
    let left: Vec<String> = house.policies.left_out().iter().map(|left| left.urn.to_string()).collect();
    assert_eq!(left, ["urn:contexts:t:v1.0"]);
}
