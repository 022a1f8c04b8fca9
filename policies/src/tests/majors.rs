//! Forbids that name majors one by one, and the major that gets past them by a permit that names none.

use std::sync::Arc;

use semgate_contexts::{Context, Line, Performative, Version};

use super::versions::{ONE_AGENT, X_INT, X_TEXT, load, note};
use super::{Ask, RETAILER, one_file, permitted};
use crate::{Floors, Policies, PolicyLimits, PolicySource};

const X_TRUTH: &str = r#""x":{"type":"boolean"}"#;

/// What each message ends with.
const HINT: &str = " (a forbid with an open `resource` reaches every major: `context.line == \"…\"`; a permit that names the type says \
                    that it is meant)";

const OPEN: &str = "permit (principal, action, resource);\n";
const BOTH: &str = "forbid (principal, action, resource is demo::v1::note) when { resource.x > 1 };\n\
                    forbid (principal, action, resource is demo::v2::note) when { resource.x == \"a\" };\n";

fn two() -> Vec<Arc<Context>> {
    vec![note("demo:v1.0", X_INT, "\"x\""), note("demo:v2.0", X_TEXT, "\"x\"")]
}

fn three() -> Vec<Arc<Context>> {
    [two(), vec![note("demo:v3.0", X_TRUTH, "\"x\"")]].concat()
}

fn advice(policies: &Policies) -> Vec<String> {
    let told = policies.advice().iter().map(ToString::to_string);
    told.map(|told| told.strip_suffix(HINT).unwrap().to_owned()).collect()
}

#[track_caller]
fn told(text: &str, contexts: Vec<Arc<Context>>, expected: &[&str]) {
    let house = load(text, contexts).unwrap();
    assert_eq!(house.policies.left_out(), [], "{text}");
    assert_eq!(advice(&house.policies), expected, "{text}");
    assert_eq!(house.policies.warnings(), [], "it is advice alone: {text}");
}

const NEXT: &str = "p.cedar:3:1: policy `p.cedar#3`: each major of `note` of the line `demo` is forbidden by itself, and `demo::v3::note` \
                    will pass by `p.cedar#1` (p.cedar:1:1) once it is published";
const PAST: &str = "p.cedar:2:1: policy `p.cedar#2`: it does not reach `demo::v3::note`, which `p.cedar#1` (p.cedar:1:1) permits";

/// Each major that there was could be forbidden by its name, and the next one passed an open permit as soon as it was published, without a
/// word.
#[test]
fn a_new_major_that_would_pass_an_open_permit_is_told_before_it_comes_and_once_it_is_there() {
    let text = format!("{OPEN}{BOTH}");
    told(&text, two(), &[NEXT]);
    let live = load(&text, two()).unwrap();
    let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(&text) };
    let next = live.policies.reload(&source, &three(), &PolicyLimits::default()).unwrap();
    assert_eq!(advice(&next), [PAST]);
    assert_eq!(next.warnings(), []);
    // and so it is
    let house = load(&text, three()).unwrap();
    let ask = Ask {
        sender: RETAILER,
        action: Performative::Inform,
        urn: "demo:v3.0",
        term: "note",
        value: r#"{"x":true}"#,
        ..Ask::default()
    };
    assert_eq!(house.ask(ask), permitted(&["p.cedar#1"]));
}

#[test]
fn a_permit_that_lets_the_next_major_pass_is_told_in_each_form() {
    let group = "permit (principal in Group::\"g\", action == Action::\"INFORM\", resource) when { context.line == \"demo\" };\n";
    let entities = r#"{"agents":[{"id":"spiffe://semgate.test/agent/retailer-7","groups":["g","h"],"credentials":[]},
                                 {"id":"spiffe://semgate.test/agent/other","groups":["i"],"credentials":[]}]}"#;
    let with = |text: &str| {
        let source = PolicySource { entities: entities.into(), ..one_file(text) };
        advice(&Policies::load(&source, &two(), &PolicyLimits::default()).unwrap()).len()
    };
    for (permit, whom, count) in [
        (group, "", 1),
        (group, " == Agent::\"spiffe://semgate.test/agent/retailer-7\"", 1),
        (group, " in Group::\"h\"", 1),
        // another sender than the forbids'
        (group, " in Group::\"i\"", 0),
        (group, " == Agent::\"spiffe://semgate.test/agent/other\"", 0),
        (OPEN, " in Group::\"i\"", 1),
        (
            "permit (principal, action, resource) unless { principal in Group::\"i\" };\n",
            " in Group::\"i\"",
            0,
        ),
        (
            "permit (principal, action, resource) unless { principal in Group::\"i\" };\n",
            " in Group::\"h\"",
            1,
        ),
    ] {
        let text =
            permit.to_owned() + &BOTH.replace("forbid (principal", &format!("forbid (principal{whom}"));
        assert_eq!(with(&text), count, "{text}");
    }
}

#[test]
fn what_cannot_let_another_major_pass_or_is_meant_is_not_told() {
    let whole =
        "forbid (principal, action, resource) when { context.line == \"demo\" && context.free_text };\n";
    for text in [
        // a permit that names its types
        "permit (principal, action, resource is demo::v1::note);\npermit (principal, action, resource is demo::v2::note);\n".to_owned() + BOTH,
        // or asks for one, for majors, or for another line
        format!("permit (principal, action, resource) when {{ resource is demo::v1::note || resource is demo::v2::note }};\n{BOTH}"),
        format!("permit (principal, action, resource) when {{ context.major < 3 }};\n{BOTH}"),
        format!("permit (principal, action, resource) when {{ context.line == \"other\" }};\n{BOTH}"),
        // another action than the forbids'
        format!("permit (principal, action == Action::\"QUERY\", resource);\n{BOTH}")
            .replace("principal, action, resource is", "principal, action == Action::\"INFORM\", resource is"),
        // a forbid that reaches what comes
        format!("{OPEN}{BOTH}forbid (principal, action, resource) when {{ context.line == \"demo\" && context.locked }};\n"),
        format!("{OPEN}{BOTH}forbid (principal, action, resource) when {{ context.line == \"demo\" && context.locked && context.major >= 2 }};\n"),
        format!("{OPEN}{BOTH}forbid (principal, action, resource) when {{ context.locked }} unless {{ resource is demo::v1::note }};\n"),
        format!("{OPEN}{BOTH}{whole}"),
        // no forbid names a major
        format!("{OPEN}forbid (principal, action, resource is other::note) when {{ resource.x > 1 }};\n"),
    ] {
        let other = note("other:v1.0", X_INT, "\"x\"");
        told(&text, [two(), vec![other]].concat(), &[]);
    }
}

#[test]
fn a_forbid_of_every_line_for_another_reason_does_not_stop_the_next_major() {
    for other in [
        "forbid (principal, action, resource) when { context.locked };\n",
        "forbid (principal, action, resource) when { context.line == \"other\" };\n",
        "forbid (principal, action == Action::\"QUERY\", resource) when { context.line == \"demo\" };\n",
        "forbid (principal, action, resource) when { resource has y && resource.y > 1 };\n",
    ] {
        let other_line = note("other:v1.0", super::versions::Y_INT, "\"y\"");
        told(&format!("{OPEN}{BOTH}{other}"), [two(), vec![other_line]].concat(), &[NEXT]);
    }
}

#[test]
fn a_major_that_some_policy_names_is_not_told() {
    let named = [
        "permit (principal, action, resource is demo::v3::note);\n",
        "forbid (principal, action == Action::\"QUERY\", resource is demo::v3::note);\n",
    ];
    for more in named {
        let house = load(&format!("{OPEN}{BOTH}{more}"), three()).unwrap();
        assert!(!advice(&house.policies).iter().any(|told| told.contains("it does not reach")), "{more}");
    }
    // of which one is forbidden by itself, the others are told
    let one = format!("{OPEN}{}", BOTH.lines().next().unwrap());
    let expected = PAST.replace("demo::v3", "demo::v2");
    told(&one, two(), &[&expected]);
}

#[test]
fn a_major_below_the_floor_needs_no_forbid() {
    let line = Line::parse("demo").unwrap();
    let load = |floor| {
        let one = format!("{OPEN}{}", BOTH.lines().nth(1).unwrap());
        let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(&one) };
        let floors = Floors::from([(line.clone(), Version::new(floor, 0))]);
        advice(&Policies::load_above(&source, &two(), &floors, &PolicyLimits::default()).unwrap())
    };
    assert_eq!(load(1), [PAST.replace("demo::v3", "demo::v1")]);
    assert_eq!(load(2), [NEXT.replace(":3:1: policy `p.cedar#3`", ":2:1: policy `p.cedar#2`")]);
}

/// Majors that agree are one type, which is told apart by its version alone.
#[test]
fn majors_of_one_type_that_conditions_name_are_told_likewise() {
    let contexts = || vec![note("demo:v1.0", X_INT, "\"x\""), note("demo:v2.0", X_INT, "\"x\"")];
    let next = "p.cedar:2:1: policy `p.cedar#2`: each major of `note` of the line `demo` is forbidden by itself, and `demo::note` of v3 will \
                pass by `p.cedar#1` (p.cedar:1:1) once it is published";
    let forbid = |asked: &str| {
        format!("{OPEN}forbid (principal, action, resource is demo::note) when {{ {asked} }};\n")
    };
    told(&forbid("resource.x > 1 && (context.major == 1 || context.major == 2)"), contexts(), &[next]);
    told(&forbid("resource.x > 1 && context.major < 3"), contexts(), &[next]);
    for asked in [
        "resource.x > 1",
        "resource.x > 1 && context.major >= 1",
        "resource.x > 1 && context.major != 1",
        // which one is meant is written there
        "resource.x > 1 && context.major == 1",
    ] {
        told(&forbid(asked), contexts(), &[]);
    }
}

/// A whole line is forbidden by its majors too.
#[test]
fn majors_of_a_line_that_conditions_name_are_told_likewise() {
    let next = "p.cedar:2:1: policy `p.cedar#2`: each major of the line `demo` is forbidden by itself, and the next one will pass by `p.cedar#1` \
                (p.cedar:1:1) once it is published";
    let forbid = |asked: &str| {
        format!("{OPEN}forbid (principal, action, resource) when {{ context.locked && {asked} }};\n")
    };
    let lines = || [two(), vec![note("other:v1.0", X_INT, "\"x\"")]].concat();
    told(&forbid("context.line == \"demo\" && (context.major == 1 || context.major == 2)"), lines(), &[next]);
    told(&forbid("context.line == \"demo\" && context.major < 3"), lines(), &[next]);
    let one = |major| {
        let asked = format!("context.line == \"demo\" && context.major == {major}");
        forbid(&asked).lines().nth(1).unwrap().to_owned() + "\n"
    };
    let next_by_two = next.replace(":2:1: policy `p.cedar#2`", ":3:1: policy `p.cedar#3`");
    told(&format!("{OPEN}{}{}", one(1), one(2)), lines(), &[&next_by_two]);
    for asked in [
        "context.line == \"demo\"",
        "context.line == \"demo\" && context.major >= 1",
        "context.line == \"demo\" && context.major == 1",
        "context.major < 3",
    ] {
        told(&forbid(asked), lines(), &[]);
    }
    let also = "forbid (principal, action, resource) when { context.line == \"demo\" && context.scores.concepts > 9 };\n";
    told(&(forbid("context.line == \"demo\" && context.major < 3") + also), lines(), &[]);
}

#[test]
fn a_permit_that_has_to_be_approved_lets_nothing_pass() {
    told(&format!("@approve(\"ask\") {OPEN}{BOTH}"), two(), &[]);
}

#[test]
fn a_concept_is_told_once_and_so_many_pairs_are_held_against_each_other() {
    let mut text = OPEN.to_owned();
    for at in 1..300 {
        text.push_str(
            &BOTH.replace("resource.x", &format!("context.scores.message_bytes == {at} && resource.x")),
        );
    }
    let house = load(&text, two()).unwrap();
    assert_eq!(house.policies.advice().len(), 1);
    let source = PolicySource { entities: ONE_AGENT.into(), ..one_file(&format!("{OPEN}{BOTH}")) };
    let limits = PolicyLimits { max_shadow_pairs: 0, ..PolicyLimits::default() };
    assert_eq!(Policies::load(&source, &two(), &limits).unwrap().advice(), []);
}
