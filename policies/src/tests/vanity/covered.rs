//! Forbids near to a permit, and to each other: by patterns, lists, what is computed, `if`, and what several leave together.

use proptest::prelude::*;

use super::super::generated::cases;
use super::conditions::{OF_ANY, OF_PAYMENTS, OF_READINGS};
use super::{RESOURCES, applied, contrary, ground, is_whole, senseless, verdict, without_covered};
use cedar_policy::PolicySet;

const MORE_OF_ANY: [&str; 8] = [
    "principal.credentials.isEmpty()",
    "context.binding_version like \"2025*\"",
    "[\"0.3\", \"1.0\"].contains(context.binding_version)",
    "[\"1.0\", \"\", \"0.3\"].contains(context.binding_version)",
    "if context.locked then context.free_text else context.direction == \"reply\"",
    "context has session && context.session.expires.durationSince(context.now) > duration(\"30s\")",
    "[1, 3].contains(context.scores.concepts)",
    "[3, 2, 1].contains(context.scores.concepts)",
];

const MORE_OF_READINGS: [&str; 24] = [
    "[1, 2].contains(resource.level)",
    "[2, 1, 30].contains(resource.level)",
    "[0, 40, 49].contains(resource.percent)",
    "[40, 0].contains(resource.percent)",
    "resource.percent == 40",
    "resource.code like \"A*\"",
    "resource.code like \"A*B\"",
    "resource.code like \"AB*\"",
    "resource.code == \"AB\"",
    "[\"AB\", \"x-b\"].contains(resource.code)",
    "resource.at.durationSince(context.now) > duration(\"1h\")",
    "resource.at.durationSince(context.now) > duration(\"2h\")",
    "resource.at.durationSince(context.now).toMinutes() > 90",
    "context.now.durationSince(resource.at) < duration(\"-2h\")",
    "resource.percent * resource.level > 100",
    "resource.percent * resource.level == 80",
    "resource.at > context.now",
    "resource.at >= context.now",
    "resource.at == context.now",
    "resource.percent < resource.level",
    "resource.level <= resource.percent",
    "if resource.level > 1 then resource.percent > 40 else resource.unit == \"V\"",
    "resource has note",
    "resource has note && resource.note like \"n*\"",
];

const MORE_OF_PAYMENTS: [&str; 7] = [
    "resource.sender_id like \"ac*\"",
    "resource.sender_id like \"a*e\"",
    "[\"acme\", \"a\"].contains(resource.sender_id)",
    "[\"a\", \"b\", \"acme\"].contains(resource.sender_id)",
    "[decimal(\"100.0\"), decimal(\"0.0\")].contains(resource.amount)",
    "if resource.currency == \"EUR\" then resource.sender_id == \"a\" else context.locked",
    "resource.amount.greaterThanOrEqual(decimal(\"75.5\"))",
];

/// One question about a type.
fn atom(resource: usize) -> BoxedStrategy<String> {
    let own: Vec<&str> = match resource {
        1 => OF_READINGS.iter().chain(&MORE_OF_READINGS).chain(&MORE_OF_READINGS).copied().collect(),
        2 => OF_PAYMENTS.iter().chain(&MORE_OF_PAYMENTS).chain(&MORE_OF_PAYMENTS).copied().collect(),
        _ => MORE_OF_ANY.to_vec(),
    };
    let any = OF_ANY.iter().chain(&MORE_OF_ANY).copied().collect::<Vec<_>>();
    prop_oneof![1 => prop::sample::select(any), 3 => prop::sample::select(own)]
        .prop_map(|text| format!("({text})"))
        .boxed()
}

/// What is made of three questions.
fn made(form: usize, a: &str, b: &str, c: &str) -> String {
    match form {
        0 => a.to_owned(),
        1 => format!("!{a}"),
        2 => format!("{a} && {b}"),
        3 => format!("{a} || {b}"),
        4 => format!("if {b} then {a} else {c}"),
        5 => format!("!({a} && {b})"),
        6 => format!("{b} && !{a}"),
        7 => b.to_owned(),
        8 => format!("({a} || {c}) && {b}"),
        9 => c.to_owned(),
        _ => format!("!{b} || {c} && {a}"),
    }
}

const FORMS: usize = 11;

/// The resource, what the first policy asks for, and what others do that are near to it.
fn family() -> impl Strategy<Value = (usize, String, Vec<String>)> {
    let resource = prop::sample::select(vec![1, 1, 1, 2, 2, 3, 4]);
    resource.prop_flat_map(|resource| {
        let atoms = prop::collection::vec(atom(resource), 4);
        let others = prop::collection::vec((0..FORMS, 0..4_usize, 0..4_usize, 0..4_usize), 1..4);
        (0..FORMS, atoms, others).prop_map(move |(first, atoms, others)| {
            let made = |form, a: usize, b: usize, c: usize| made(form, &atoms[a], &atoms[b], &atoms[c]);
            let others = others.into_iter().map(|(form, a, b, c)| made(form, a, b, c)).collect();
            (resource, made(first, 0, 1, 2), others)
        })
    })
}

fn text((resource, first, others): &(usize, String, Vec<String>)) -> String {
    let scope = format!("(principal, action, {})", RESOURCES[*resource]);
    let forbids = others.iter().map(|other| format!("forbid {scope} when {{ {other} }};\n"));
    format!("permit {scope} when {{ {first} }};\n{}", forbids.collect::<String>())
}

fn covering(told: &[String]) -> Option<&String> {
    told.iter().find(|why| why.starts_with("it permits nothing"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_permit_is_called_covered_by_one_or_several_that_some_request_shows_to_pass(family in family()) {
        let text = text(&family);
        if let Some(why) = covering(&senseless(&text)) {
            let set: PolicySet = text.parse().unwrap();
            let passes = ground().asked.iter().find(|(_, asked)| applied(&set, asked) == (vec!["policy0".to_owned()], false));
            let shown = passes.map(|(asked, _)| format!("{:?} {:?} {:?}", asked.ends, asked.said, asked.bound));
            prop_assert_eq!(shown, None, "{}\n{}", text, why);
        }
    }

    #[test]
    fn leaving_out_every_forbid_that_is_near_to_others_and_called_covered_changes_no_verdict(family in family()) {
        let text = text(&family).replacen("permit", "forbid", 1);
        let text = format!("permit (principal, action, resource);\n{text}");
        if let Some((all, left)) = without_covered(&text) {
            for (asked, prepared) in &ground().asked {
                let shown = format!("{:?} {:?} {:?}", asked.ends, asked.said, asked.bound);
                prop_assert_eq!(verdict(&all, prepared), verdict(&left, prepared), "{}\n{}", text, shown);
            }
        }
    }
}

#[test]
fn a_good_deal_of_generated_permits_is_called_covered_by_one_and_by_several() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut one, mut several) = (0, 0);
    for _ in 0..600 {
        let tree = family().new_tree(&mut runner).unwrap();
        let told = senseless(&text(&proptest::strategy::ValueTree::current(&tree)));
        match covering(&told) {
            Some(why) if why.contains(" with ") => several += 1,
            Some(_) => one += 1,
            None => {}
        }
    }
    assert!(one > 60 && several > 10, "{one} {several}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16 * cases(), max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// With what is said of it: a member that nothing of the line has is a mistake behind it, and never there in front of it.
    #[test]
    fn what_is_called_vain_in_one_order_is_refused_in_the_other(
        (resource, mut atoms) in prop::sample::select(vec![1, 2, 3, 0])
            .prop_flat_map(|resource| (Just(resource), prop::collection::vec(atom(resource), 2..5))),
    ) {
        let mut told = || {
            let text = format!("permit (principal, action, {}) when {{ {} }};", RESOURCES[resource], atoms.join(" && "));
            atoms.reverse();
            (senseless(&text), text)
        };
        let (forth, back) = (told(), told());
        for (one, other) in [(&forth, &back), (&back, &forth)] {
            let vain = one.0.iter().any(|why| is_whole(why));
            prop_assert!(!vain || !other.0.is_empty(), "{}\n{:?}", other.1, one.0);
        }
    }

    /// What is looked at case by case: `||`, `!` and `if`.
    #[test]
    fn no_policy_with_alternatives_is_called_vain_that_some_request_satisfies((resource, first, others) in family()) {
        let all: Vec<String> = others.iter().chain([&first]).map(|one| format!("({one})")).collect();
        let text = format!("permit (principal, action, {}) when {{ {} }};", RESOURCES[resource], all.join(" && "));
        if senseless(&text).iter().any(|why| is_whole(why)) {
            prop_assert_eq!(contrary(&text), None, "{}", text);
        }
    }
}
