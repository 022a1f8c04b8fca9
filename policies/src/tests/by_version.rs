//! A message is of one version: what only other versions have is never so of it, and what one version has may be.

use std::sync::{Arc, OnceLock};

use cedar_policy::{Decision, PolicySet, Schema};
use proptest::prelude::*;
use semgate_contexts::{Context, Line, Performative, Version};

use super::generated::{Prepared, cases, prepared};
use super::versions::{ONE_AGENT, load};
use super::{Ask, House, context, one_file};
use crate::agents::Agents;
use crate::catalogue::Catalogue;
use crate::check::Texts;
use crate::parse::parse;
use crate::sense::World;
use crate::{Floors, Policies, PolicyFault, PolicyLimits, PolicySource};

/// A version of `shop` with two concepts: of orders these members and actions, of refunds the same in all of them.
fn shop(version: &str, own: &str, required: &str, takes: &str) -> Arc<Context> {
    context(&format!(
        r#"{{"context":"urn:contexts:shop:{version}","concepts":{{
            "order":{{"type":"object","properties":{{{own}}},"required":[{required}],"additionalProperties":false,
                "x-performatives":[{takes}]}},
            "refund":{{"type":"object","properties":{{"reason":{{"type":"string","enum":["late"]}}}},"required":["reason"],
                "additionalProperties":false}}}}}}"#
    ))
}

fn versions() -> Vec<Arc<Context>> {
    let old = r#""currency":{"type":"string","enum":["EUR","SGD"]},"quantity":{"type":"integer","minimum":-9,"maximum":10},
        "price":{"type":"number","multipleOf":0.01,"maximum":100},
        "code":{"type":"string","pattern":"^A[0-9]{2}$","maxLength":262144},"at":{"type":"string","format":"date"},
        "ok":{"type":"boolean","const":true},"ip":{"type":"string","format":"ipv4"},
        "tags":{"type":"array","items":{"type":"string","enum":["red"]},"minItems":1},
        "spot":{"type":"object","properties":{"unit":{"type":"string","enum":["V"]}},"required":["unit"],"additionalProperties":false},
        "rest":{"type":"object","properties":{"k":{"type":"integer"}},"additionalProperties":false}"#;
    let new = r#""currency":{"type":"string","enum":["EUR","USD"]},"quantity":{"type":"integer","minimum":20},
        "price":{"type":"number","multipleOf":0.5,"minimum":50},
        "code":{"type":"string","pattern":"^B[0-9]{2}$","maxLength":262144},"at":{"type":"string","format":"date-time"},
        "ok":{"type":"boolean","const":false},"ip":{"type":"string","format":"ipv6"},
        "tags":{"type":"array","items":{"type":"string","enum":["blue"]}},
        "spot":{"type":"object","properties":{"unit":{"type":"string","enum":["A"]}},"required":["unit"],"additionalProperties":false},
        "rest":{"type":"object","properties":{"k":{"type":"integer"},"n":{"type":"integer"}},"additionalProperties":false},
        "text":{"type":"string","x-free-text":true,"maxLength":99}"#;
    let note = r#","note":{"type":"string","enum":["a","b"]}"#;
    let all = r#""currency","quantity","price","code","at","ok","ip","tags","spot","rest""#;
    vec![
        shop("v1.0", old, all, r#""INFORM","REQUEST""#),
        shop("v1.1", &format!("{old}{note}"), all, r#""INFORM","REQUEST","PROPOSE""#),
        shop("v2.0", &format!("{new}{note}"), &format!("{all},\"note\""), r#""INFORM","QUERY""#),
    ]
}

/// What is asked of the version.
const OF_VERSIONS: [&str; 9] = [
    "context.major == 1",
    "context.major == 2",
    "context.major >= 1",
    "context.minor == 0",
    "context.minor == 1",
    "context.major != 2",
    "context.major == 1 && context.minor == 0",
    "[1, 3].contains(context.major)",
    "(context.major == 2 || context.minor == 1)",
];

/// What is asked of an order.
const OF_ORDERS: [&str; 39] = [
    "resource.currency == \"EUR\"",
    "resource.currency == \"SGD\"",
    "resource.currency == \"USD\"",
    "[\"USD\", \"SGD\"].contains(resource.currency)",
    "resource.currency like \"*S*\"",
    "resource.quantity < 15",
    "resource.quantity > 15",
    "resource.quantity == 20",
    "resource.quantity * 2 > 30",
    "resource.price.lessThan(decimal(\"50.0\"))",
    "resource.price.greaterThan(decimal(\"100.0\"))",
    "resource.price == decimal(\"50.01\")",
    "resource.code == \"A01\"",
    "resource.code == \"B01\"",
    "resource.code like \"A*\"",
    "resource.code like \"B*\"",
    "resource.at == datetime(\"2027-01-15T10:00:00Z\")",
    "resource.at.toTime() > duration(\"0h\")",
    "resource.at == datetime(\"2027-01-15\")",
    "resource.ok",
    "!resource.ok",
    "resource.ip.isIpv4()",
    "resource.ip.isIpv6()",
    "resource.ip == ip(\"::1\")",
    "resource.tags.contains(\"red\")",
    "resource.tags.contains(\"blue\")",
    "resource.tags.isEmpty()",
    "!(resource.tags.isEmpty())",
    "resource.spot.unit == \"V\"",
    "resource.spot == {unit: \"A\"}",
    "resource.rest has n",
    "resource has note",
    "!(resource has note)",
    "resource has note && resource.note == \"a\"",
    "resource has text",
    "context.binding == \"l8\" && context.free_text",
    "context.binding == \"l8\" && context.scores.text_length > 0",
    "action == Action::\"QUERY\"",
    "action in [Action::\"PROPOSE\", Action::\"REQUEST\"]",
];

/// The forms of a policy about orders, open ones too.
const FORMS: [&str; 4] = [
    "permit (principal, action, resource is shop::order) when { ALL };",
    "permit (principal, action, resource is shop::order) unless { !(ALL) };",
    "permit (principal, action, resource) when { resource is shop::order && ALL };",
    "permit (principal, action, resource) when { context.line == \"shop\" && resource has currency && ALL };",
];

/// One about two lines, of which the other has orders with less in them.
const OF_LINES: &str = "permit (principal, action, resource) when { [\"shop\", \"other\"].contains(context.line) && resource has currency && ALL };";

/// Orders of each version, with every value of what a condition asks for, each valid.
fn orders() -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let one = |currency: &str, quantity: &str, price: &str, rest: &str| {
        format!(r#"{{"currency":"{currency}","quantity":{quantity},"price":{price},{rest}}}"#)
    };
    let old = r#""code":"A01","at":"2027-01-15","ok":true,"ip":"10.0.0.1","tags":["red"],"spot":{"unit":"V"},"rest":{}"#;
    for (currency, quantity, price) in [("EUR", "10", "49.99"), ("SGD", "-4", "50.01"), ("SGD", "7", "100")] {
        all.push(("v1.0", one(currency, quantity, price, old)));
        for note in ["", ",\"note\":\"a\"", ",\"note\":\"b\""] {
            all.push(("v1.1", one(currency, quantity, price, &format!("{old}{note}"))));
        }
    }
    for (currency, quantity, price) in [("EUR", "20", "50"), ("USD", "21", "100.5"), ("USD", "20", "1000")] {
        for (at, tags, note, more) in [
            ("2027-01-15T10:00:00Z", "", "a", ""),
            ("2027-01-15T00:00:00Z", "\"blue\"", "b", ",\"text\":\"t\""),
            ("2027-01-16T10:00:00Z", "\"blue\"", "a", ",\"text\":\"\""),
        ] {
            let n = if more.is_empty() { "" } else { "\"n\":1" };
            let rest = format!(
                r#""code":"B01","at":"{at}","ok":false,"ip":"::1","tags":[{tags}],"spot":{{"unit":"A"}},"rest":{{{n}}},"note":"{note}"{more}"#
            );
            all.push(("v2.0", one(currency, quantity, price, &rest)));
        }
    }
    all
}

/// What policies are judged by, and every message that there is.
struct Ground {
    typed: (Catalogue, Schema),
    agents: Agents,
    floors: Floors,
    limits: PolicyLimits,
    asked: Vec<(String, Prepared)>,
}

fn ground() -> &'static Ground {
    static GROUND: OnceLock<Ground> = OnceLock::new();
    GROUND.get_or_init(|| {
        let other = context(
            r#"{"context":"urn:contexts:other:v2.1","concepts":{"order":{"type":"object","properties":{"currency":{"type":"string",
                "enum":["SGD"]},"note":{"type":"string"}},"required":["currency"],"additionalProperties":false,
                "x-performatives":["PROPOSE"]}}}"#,
        );
        let contexts = versions().into_iter().chain([other]).collect();
        let house = load("permit (principal, action, resource);", contexts).unwrap();
        assert_eq!(house.policies.left_out(), []);
        let catalogue = Catalogue::build(&house.contexts);
        assert!(catalogue.types.iter().any(|info| info.name == "shop::order"));
        let schema = catalogue.schema().unwrap();
        let typed = (catalogue, schema);
        let limits = PolicyLimits::default();
        let agents = Agents::read(ONE_AGENT.as_bytes(), &limits).unwrap();
        let asked = messages(&house, &typed);
        assert!(asked.len() > 40, "{}", asked.len());
        Ground { typed, agents, floors: Floors::new(), limits, asked }
    })
}

fn messages(house: &House, typed: &(Catalogue, Schema)) -> Vec<(String, Prepared)> {
    let mut all = Vec::new();
    let of_others = [r#"{"currency":"SGD"}"#, r#"{"currency":"SGD","note":"a"}"#]
        .map(|value| ("other:v2.1".to_owned(), value.to_owned()));
    let orders = orders().into_iter().map(|(version, value)| (format!("shop:{version}"), value));
    for (urn, value) in orders.chain(of_others) {
        for action in Performative::ALL {
            let term = house.context(&urn).term("order").unwrap();
            if term.side(action).is_err() {
                continue;
            }
            let ask = Ask { action, urn: &urn, term: "order", value: &value, ..Ask::default() };
            let ready = house.question(ask, |question| {
                let fits = question.shape.conform(question.value, None);
                fits.unwrap_or_else(|why| panic!("{urn} {value}: {why}"));
                prepared(typed, house.policies.agents(), question)
            });
            all.push((format!("{action} {urn} {value}"), ready));
        }
    }
    all
}

thread_local! {
    static WORLD: World<'static> = {
        let ground = ground();
        World::new(&ground.typed.0, &ground.agents, &ground.floors, &ground.limits)
    };
}

/// Whether it is refused as one that is true for no message, as loading finds it.
fn is_vain(text: &str) -> bool {
    is_told(text, |why| why.ends_with("true for no message"))
}

fn is_told(text: &str, says: impl Fn(&str) -> bool) -> bool {
    let files = [("p.cedar".to_owned(), text.to_owned())];
    let written = parse(&files, &ground().limits).unwrap();
    let texts = Texts { files: &files, written: &written };
    let says = |fault: PolicyFault| match fault {
        PolicyFault::Invalid { why, .. } => says(&why),
        _ => false,
    };
    WORLD.with(|world| texts.senseless(world)).into_iter().any(says)
}

/// A message that the policy is about.
fn shown(text: &str) -> Option<&'static str> {
    let set: PolicySet = text.parse().unwrap();
    let applies = |asked: &Prepared| asked.of(&set).diagnostics().reason().next().is_some();
    ground().asked.iter().find(|(_, asked)| applies(asked)).map(|(said, _)| said.as_str())
}

#[test]
fn what_is_asked_of_one_version_beside_what_other_versions_have_is_refused_and_nothing_else() {
    let mut vain = 0;
    for form in FORMS {
        for version in OF_VERSIONS {
            for of_order in OF_ORDERS {
                for all in [format!("{version} && {of_order}"), format!("{of_order} && {version}")] {
                    let text = form.replace("ALL", &all);
                    let is_vain = is_vain(&text);
                    assert_eq!(is_vain, shown(&text).is_none(), "{text}: {:?}", shown(&text));
                    vain += usize::from(is_vain);
                }
            }
        }
    }
    assert!(vain > 500, "{vain}");
}

#[test]
fn what_two_members_have_in_no_version_together_is_refused_and_nothing_else() {
    let mut vain = 0;
    for (n, one) in OF_ORDERS.iter().enumerate() {
        for other in &OF_ORDERS[n..] {
            let text = FORMS[n % FORMS.len()].replace("ALL", &format!("{one} && {other}"));
            let is_vain = is_vain(&text);
            assert!(!is_vain || shown(&text).is_none(), "{text}: {:?}", shown(&text));
            vain += usize::from(is_vain);
        }
    }
    assert!(vain > 200, "{vain}");
}

/// A message that passes.
fn passing(set: &PolicySet) -> Option<&'static str> {
    let passes = |asked: &Prepared| asked.of(set).decision() == Decision::Allow;
    ground().asked.iter().find(|(_, asked)| passes(asked)).map(|(said, _)| said.as_str())
}

fn is_covered(text: &str) -> bool {
    is_told(text, |why| why.starts_with("it permits nothing: "))
}

#[test]
fn a_permit_for_what_only_versions_have_that_are_forbidden_permits_nothing() {
    let mut covered = 0;
    for permit in OF_ORDERS {
        for forbid in OF_VERSIONS {
            let text = format!(
                "permit (principal, action, resource is shop::order) when {{ {permit} }};\nforbid (principal, action, resource is shop::order) when {{ {forbid} }};"
            );
            let set: PolicySet = text.parse().unwrap();
            let (shown, is_covered) = (passing(&set), is_covered(&text));
            assert_eq!(is_covered, shown.is_none(), "{text}: {shown:?}");
            covered += usize::from(is_covered);
        }
    }
    assert!(covered > 100, "{covered}");
}

#[test]
fn of_several_lines_what_any_of_them_has_in_the_version_loads() {
    let of = |condition: &str| OF_LINES.replace("ALL", condition);
    let some = [
        "context.major == 2 && resource.currency == \"SGD\"",
        "context.major == 2 && action == Action::\"PROPOSE\"",
    ];
    let none = [
        "context.minor == 1 && resource.currency == \"USD\"",
        "context.minor == 0 && action == Action::\"PROPOSE\"",
    ];
    for condition in some {
        assert!(!is_vain(&of(condition)) && shown(&of(condition)).is_some(), "{condition}");
    }
    for condition in none {
        assert!(is_vain(&of(condition)) && shown(&of(condition)).is_none(), "{condition}");
    }
}

fn condition() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![prop::sample::select(OF_VERSIONS.to_vec()), prop::sample::select(OF_ORDERS.to_vec())];
    let leaf = leaf.prop_map(|text| format!("({text})"));
    leaf.prop_recursive(3, 6, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            1 => inner.prop_map(|a| format!("(!{a})")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_policy_is_refused_that_a_message_of_some_version_satisfies(
        form in prop::sample::select([&FORMS[..], &[OF_LINES]].concat()),
        condition in condition(),
        action in prop::sample::select(vec!["action", "action == Action::\"QUERY\"", "action == Action::\"PROPOSE\""]),
    ) {
        let text = form.replace("ALL", &condition).replacen("action,", &format!("{action},"), 1);
        if is_vain(&text) {
            prop_assert_eq!(shown(&text), None, "{}", text);
        }
    }

    #[test]
    fn no_permit_is_called_covered_by_which_a_message_of_some_version_passes(
        (permit, forbid) in (condition(), condition()),
        form in prop::sample::select(FORMS.to_vec()),
        version in prop::sample::select(OF_VERSIONS.to_vec()),
    ) {
        let own = FORMS[0].replace("ALL", &permit);
        let forbids = [forbid, version.to_owned()].map(|all| form.replace("permit", "forbid").replace("ALL", &all));
        let text = format!("{own}\n{}\n{}", forbids[0], forbids[1]);
        if is_covered(&text) {
            prop_assert_eq!(passing(&text.parse().unwrap()), None, "{}", text);
        }
    }
}

#[track_caller]
fn told(policy: &str, expected: &[&str]) {
    let faults = load(policy, versions()).err().unwrap_or_default();
    assert_eq!(faults, expected, "{policy}");
}

#[test]
fn it_is_told_with_both_parts_and_the_versions_that_have_one() {
    let never = |at: &str, why: &str| {
        format!("p.cedar:{at}: policy `p.cedar#1`: its condition is true for no message ({why})")
    };
    for (condition, at, why) in [
        (
            "context.major == 2 && resource.currency == \"SGD\"",
            "1:82",
            "`context.major == 2` and `resource.currency == \"SGD\"` are never true together: `resource.currency == \"SGD\"` can be so in `v1.0`, `v1.1` only",
        ),
        (
            "resource.quantity > 15 && context.major == 1",
            "1:86",
            "`resource.quantity > 15` and `context.major == 1` are never true together: `resource.quantity > 15` can be so in `v2.0` only",
        ),
        (
            "context.minor == 0 && resource has note && context.major == 1",
            "1:103",
            "`context.minor == 0`, `resource has note`, `context.major == 1` are never true together: `resource has note` can be so in `v1.1`, `v2.0` only",
        ),
        (
            "context.major == 1 && action == Action::\"QUERY\"",
            "1:82",
            "`context.major == 1` and `action == Action::\"QUERY\"` are never true together: `action == Action::\"QUERY\"` can be so in `v2.0` only",
        ),
        (
            "resource.code like \"A*\" && resource.quantity > 15",
            "1:87",
            "`resource.code like \"A*\"` and `resource.quantity > 15` are never true together: `resource.code like \"A*\"` can be so in `v1.0`, `v1.1` only, `resource.quantity > 15` can be so in `v2.0` only",
        ),
        (
            "context.major == 1 && context.binding == \"l8\" && context.free_text",
            "1:109",
            "`context.major == 1` and `context.free_text` are never true together",
        ),
    ] {
        told(&FORMS[0].replace("ALL", condition), &[&never(at, why)]);
    }
    let query = "permit (principal, action == Action::\"QUERY\", resource is shop::order)\nwhen { ALL };";
    told(
        &query.replace("ALL", "context.major == 1"),
        &[&never("2:8", "`context.major == 1`: `QUERY` is taken in `v2.0` only")],
    );
    told(
        &query.replace("ALL", "resource.currency == \"SGD\""),
        &[&never(
            "2:8",
            "`resource.currency == \"SGD\"` can be so in `v1.0`, `v1.1` only, `QUERY` is taken in `v2.0` only",
        )],
    );
    // what contradicts itself has nothing to do with versions
    told(
        &FORMS[0].replace("ALL", "resource.currency == \"SGD\" && resource.currency == \"EUR\""),
        &[&never(
            "1:90",
            "`resource.currency == \"SGD\"` and `resource.currency == \"EUR\"` are never true together: did you mean `||`?",
        )],
    );
    told(
        &FORMS[3].replace("ALL", "context.major == 2 && resource.currency == \"SGD\""),
        &[&never(
            "1:118",
            "`context.line == \"shop\"`, `resource has currency`, `context.major == 2`, and 1 more are never true together: `resource.currency == \"SGD\"` can be so in `v1.0`, `v1.1` only",
        )],
    );
}

#[test]
fn what_a_version_to_come_may_bring_is_left_open_in_a_part() {
    for policy in [
        "forbid (principal, action, resource is shop::order) unless { context.major == 2 && resource.currency == \"SGD\" };",
        "permit (principal, action, resource is shop::order) when { resource.ok || context.major == 2 && resource has note && resource.currency == \"SGD\" };",
        "permit (principal, action, resource is shop::order) unless { context.minor == 0 && context.major == 1 && resource has note };",
        "permit (principal, action, resource is shop::order) unless { context.major == 1 && action == Action::\"QUERY\" };",
    ] {
        assert_eq!(load(policy, versions()).err(), None, "{policy}");
    }
}

#[test]
fn a_member_is_taken_out_of_the_replies_of_a_version_that_has_it() {
    let of = |condition: &str| {
        format!(
            "@redact(\"note\") permit (principal, action, resource is shop::order) when {{ context.direction == \"reply\" && {condition} }};"
        )
    };
    let load = |text: &str| load(text, versions()[..2].to_vec()).err().unwrap_or_default();
    assert_eq!(
        load(&of("context.minor == 0")),
        [
            "p.cedar:1:1: policy `p.cedar#1`: `@redact`: this permit lets replies pass only where `note` is not there (take it out of the condition, or out of `@redact`)"
        ]
    );
    for condition in ["context.minor == 1", "context.major == 1"] {
        assert_eq!(load(&of(condition)), [""; 0]);
    }
}

#[test]
fn what_only_versions_below_the_floor_have_is_told_as_below_the_floor() {
    let above = |text: &str, floor: Version| {
        let floors = Floors::from([(Line::parse("shop").unwrap(), floor)]);
        let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(text) };
        Policies::load_above(&source, &versions(), &floors, &PolicyLimits::default())
            .map(drop)
            .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let (one, two) = (Version::new(1, 1), Version::new(2, 0));
    for form in FORMS {
        for (condition, which) in [
            ("resource.currency == \"SGD\"", "`v1.0`, `v1.1`"),
            ("resource.quantity < 5", "`v1.0`, `v1.1`"),
            ("action == Action::\"PROPOSE\"", "`v1.1`"),
            ("(resource.code == \"A12\" || !(resource has note))", "`v1.0`, `v1.1`"),
        ] {
            let text = form.replace("ALL", condition);
            assert_eq!(above(&text, one), Ok(()), "{text}");
            let fault = &above(&text, two).unwrap_err()[0];
            let says = format!(
                "of `shop` it can match {which} only, and the floor lets nothing below `v2.0` through"
            );
            assert!(fault.ends_with(&says), "{text}: {fault}");
        }
        let text = form.replace("ALL", "resource.currency != \"SGD\"");
        assert_eq!(above(&text, two), Ok(()), "{text}");
    }
    let query = "permit (principal, action == Action::\"PROPOSE\", resource is shop::order);";
    assert_eq!(above(query, one), Ok(()));
    assert!(above(query, two).unwrap_err()[0].contains("it can match `v1.1` only"));
}
