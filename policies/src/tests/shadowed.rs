//! Permits and forbids that forbids cover, where that is proven, and the nearest ones that still do something.

use super::{House, idle_today, loads, one_file, refused, shipped_contexts};
use crate::{Policies, PolicyLimits, PolicySource};

const SCOPE: &str =
    "principal in Group::\"partners\", action == Action::\"REQUEST\", resource is payment::transfer";

fn pair(permit: &str, forbid: &str) -> String {
    format!(
        "@id(\"no\") forbid (principal, action, resource is payment::transfer)\n{forbid};\n@id(\"yes\") permit ({SCOPE})\n{permit};"
    )
}

const COVERED: &str = "p.cedar:3:1: policy `p.cedar#yes`: it permits nothing: `p.cedar#no` forbids all of it (whenever this permit applies, so does what forbids)";

#[track_caller]
fn covered(permit: &str, forbid: &str) {
    refused(&pair(permit, forbid), &[COVERED]);
}

#[test]
fn a_forbid_whose_condition_the_permit_says_too_covers_it_however_it_is_written() {
    let like = "resource.sender_id like \"acme*\"";
    covered(&format!("when {{ {like} }}"), &format!("when {{ {like} }}"));
    covered(&format!("when {{ context.locked && {like} }}"), &format!("when {{ {like} }}"));
    covered(
        &format!("when {{ context.locked }} when {{ {like} }}"),
        &format!("when {{ {like} && context.locked }}"),
    );
    covered(&format!("unless {{ {like} }}"), &format!("when {{ !({like}) }}"));
    covered(&format!("when {{ !({like}) }}"), &format!("unless {{ {like} }}"));
    covered(&format!("when {{ {like} }}"), &format!("when {{ {like} || context.locked }}"));
    covered(
        "when { resource.sender_id == resource.receiver_id }",
        "when { resource.receiver_id == resource.sender_id }",
    );
    covered(
        "when { resource.sender_id != resource.receiver_id }",
        "unless { resource.receiver_id == resource.sender_id }",
    );
    covered(
        "unless { principal.credentials.contains(\"high-value-authorized\") }",
        "when { !principal.credentials.contains(\"high-value-authorized\") }",
    );
    // and each of these permits something
    for (permit, forbid) in [
        (format!("when {{ {like} }}"), format!("when {{ {like} && context.locked }}")),
        (format!("when {{ {like} || context.locked }}"), format!("when {{ {like} }}")),
        (format!("unless {{ {like} }}"), format!("when {{ {like} }}")),
        ("when { context.locked }".to_owned(), "unless { context.locked }".to_owned()),
        ("".to_owned(), "unless { principal.credentials.contains(\"high-value-authorized\") }".to_owned()),
    ] {
        loads(&pair(&permit, &forbid));
    }
}

#[test]
fn a_forbid_of_a_wider_range_covers_what_lies_in_it() {
    let above = |number: &str| format!("when {{ resource.amount.greaterThan(decimal(\"{number}\")) }}");
    let below = |number: &str| format!("when {{ resource.amount.lessThanOrEqual(decimal(\"{number}\")) }}");
    covered(&above("100.0"), &above("50.0"));
    covered(&above("100.0"), &above("100.0"));
    covered(&below("100.0"), &below("100.0"));
    covered(&above("100.0"), "unless { resource.amount.lessThanOrEqual(decimal(\"50.0\")) }");
    loads(&pair(&above("50.0"), &above("100.0")));
    loads(&pair(&above("50.0"), &below("100.0")));
    let now = |day: &str| format!("when {{ context.now < datetime(\"{day}\") }}");
    covered(&now("2030-01-01"), &now("2031-01-01"));
    loads(&pair(&now("2031-01-01"), &now("2030-01-01")));
    covered("when { context.scores.concepts > 3 }", "when { context.scores.concepts >= 3 }");
    loads(&pair("when { context.scores.concepts >= 3 }", "when { context.scores.concepts > 3 }"));
    covered(
        "when { resource.currency == \"EUR\" }",
        "when { [\"EUR\", \"USD\"].contains(resource.currency) }",
    );
    covered(
        "when { [\"EUR\", \"USD\"].contains(resource.currency) }",
        "when { resource.currency != \"GBP\" }",
    );
    loads(&pair(
        "when { [\"EUR\", \"USD\"].contains(resource.currency) }",
        "when { resource.currency == \"EUR\" }",
    ));
}

#[test]
fn a_forbid_of_a_group_covers_a_group_within_it() {
    let text = |forbidden: &str, permitted: &str| {
        format!(
            "@id(\"no\") forbid (principal in Group::\"{forbidden}\", action, resource);\n\
             @id(\"yes\") permit (principal in Group::\"{permitted}\", action, resource is payment::transfer);\n\
             @id(\"more\") permit (principal in Group::\"repliers\", action, resource);"
        )
    };
    // every planner is a partner, and one partner is no planner
    idle_today(
        &text("partners", "planners"),
        &[
            "p.cedar:2:1: policy `p.cedar#yes`: it permits nothing: `p.cedar#no` forbids all of it without a condition",
        ],
    );
    loads(&text("planners", "partners"));
    idle_today(
        &pair("when { principal in Group::\"planners\" }", "when { principal in Group::\"partners\" }"),
        &[COVERED],
    );
    loads(&pair(
        "when { principal in Group::\"planners\" }",
        "when { principal in Group::\"no-free-text\" }",
    ));
    // of a group that is empty today nothing is known
    let entities = String::from_utf8(PolicySource::shipped().entities).unwrap();
    let entities = entities.replacen("\"groups\": [", "\"groups\": [\"guests\", ", 1);
    for (forbidden, permitted) in [("guests", "planners"), ("planners", "guests")] {
        let source =
            PolicySource { entities: entities.clone().into(), ..one_file(&text(forbidden, permitted)) };
        assert_eq!(House::load(&source, shipped_contexts()).map(drop), Ok(()));
    }
}

#[test]
fn forbids_for_different_actions_cover_together_and_what_is_silenced_on_purpose_loads() {
    let text = "@id(\"a\") forbid (principal, action == Action::\"REQUEST\", resource) when { context.locked };\n\
                @id(\"b\") forbid (principal, action == Action::\"QUERY\", resource);\n\
                @id(\"yes\") permit (principal, action in [Action::\"REQUEST\", Action::\"QUERY\"], resource is payment::transfer)\n\
                when { context.locked };";
    refused(
        text,
        &[
            "p.cedar:3:1: policy `p.cedar#yes`: it permits nothing: `p.cedar#b` with `p.cedar#a` forbids all of it (whenever this permit applies, so does what forbids)",
        ],
    );
    loads(&text.replace("when { context.locked };\n@id(\"b\")", "when { context.free_text };\n@id(\"b\")"));
    loads(&pair("when { context.locked }", "when { true }"));
    loads(&pair("when { context.locked }", "when { context.locked || true }"));
}

/// A permit, so that the set can load, and two forbids.
fn two(wide: &str, narrow: &str) -> String {
    format!("permit (principal, action, resource);\n@id(\"wide\") {wide};\n@id(\"narrow\") {narrow};")
}

const NOTHING: &str = "p.cedar:3:1: policy `p.cedar#narrow`: it forbids nothing of its own: `p.cedar#wide` (p.cedar:2:1) forbids all of it";

#[track_caller]
fn idle(wide: &str, narrow: &str) {
    let plain = !wide.contains("when") && !wide.contains("unless");
    let rest = match plain {
        true => " without a condition (remove it)",
        false => " (whenever this forbid applies, so does what forbids all of it: remove it)",
    };
    refused(&two(wide, narrow), &[&format!("{NOTHING}{rest}")]);
}

#[test]
fn a_forbid_within_a_wider_one_is_told_with_the_place_of_that_and_to_be_removed() {
    let wide = "forbid (principal in Group::\"partners\", action, resource is payment::transfer)";
    let narrow = "forbid (principal in Group::\"partners\", action == Action::\"REQUEST\", resource is payment::transfer)";
    idle(wide, narrow);
    idle(wide, wide);
    idle(
        "forbid (principal, action, resource is payment::transfer)",
        &format!("{narrow} when {{ context.locked }}"),
    );
    idle("forbid (principal in Group::\"partners\", action, resource)", narrow);
    let above = |number: &str| format!("when {{ resource.amount.greaterThan(decimal(\"{number}\")) }}");
    idle(&format!("{wide} {}", above("50.0")), &format!("{narrow} {}", above("100.0")));
    idle(
        &format!("{wide} when {{ context.locked }}"),
        &format!("{narrow} when {{ context.locked && context.free_text }}"),
    );
    idle(&format!("{wide} unless {{ context.locked }}"), &format!("{wide} when {{ !context.locked }}"));
    idle(
        "forbid (principal, action, resource) when { resource is payment::transfer && context.locked }",
        &format!("{narrow} when {{ context.locked }}"),
    );
    // what its type takes today is no wider scope
    refused(
        &two(
            "forbid (principal, action == Action::\"QUERY\", resource is a2a::GetTask)",
            "forbid (principal, action, resource is a2a::GetTask)",
        ),
        &[
            "p.cedar:2:1: policy `p.cedar#wide`: it forbids nothing of its own: `p.cedar#narrow` (p.cedar:3:1) forbids all of it without a condition (remove it)",
        ],
    );
    // what is wider comes second
    let text =
        format!("permit (principal, action, resource);\n@id(\"narrow\") {narrow};\n@id(\"wide\") {wide};");
    refused(
        &text,
        &[
            "p.cedar:2:1: policy `p.cedar#narrow`: it forbids nothing of its own: `p.cedar#wide` (p.cedar:3:1) forbids all of it without a condition (remove it)",
        ],
    );
}

#[test]
fn a_forbid_that_could_do_something_beside_a_wider_one_loads() {
    let scope =
        "principal in Group::\"partners\", action == Action::\"REQUEST\", resource is payment::transfer";
    let plain = format!("forbid ({scope})");
    let wide = "forbid (principal in Group::\"partners\", action, resource is payment::transfer)".to_owned();
    for (wide, narrow) in [
        // it tells something that the other does not
        (wide.clone(), format!("@notice(\"ask the bank\") {plain}")),
        (format!("@notice(\"no\") {plain}"), format!("@notice(\"ask the bank\") {plain}")),
        // what is written out is meant as it stands, and a stop of everything is one
        (format!("{plain} when {{ true }}"), plain.clone()),
        (wide, format!("{plain} when {{ true }}")),
        (
            "forbid (principal in Group::\"partners\", action, resource) when { true }".to_owned(),
            plain.clone(),
        ),
        // it refuses where it cannot be evaluated, which is wider than where it applies
        (
            format!("{plain} when {{ context.locked }}"),
            format!("{plain} when {{ context.major * 9223372036854775807 > 7 && context.locked }}"),
        ),
        // who is in a group, and what a version brings, may be otherwise tomorrow
        (
            "forbid (principal in Group::\"partners\", action, resource is payment::transfer)".to_owned(),
            "forbid (principal in Group::\"planners\", action, resource is payment::transfer)".to_owned(),
        ),
        (
            format!(
                "{plain} when {{ [\"EUR\", \"USD\", \"GBP\", \"CHF\", \"JPY\"].contains(resource.currency) }}"
            ),
            format!("{plain} when {{ resource.currency != \"EUR\" }}"),
        ),
        // and the plainly different
        (format!("{plain} when {{ context.locked }}"), format!("{plain} when {{ context.free_text }}")),
        ("forbid (principal, action, resource is travel::bookFlight)".to_owned(), plain.clone()),
    ] {
        loads(&two(&wide, &narrow));
    }
}

#[test]
fn of_forbids_that_say_the_same_the_first_stays_and_a_notice_is_kept() {
    let plain = "forbid (principal, action, resource is payment::transfer)";
    let of = |nth: usize, by: &str| {
        format!(
            "p.cedar:{nth}:1: policy `p.cedar#{}`: it forbids nothing of its own: {by} forbids all of it without a condition (remove it)",
            nth
        )
    };
    let permit = "permit (principal, action, resource);\n";
    let first = "`p.cedar#2` (p.cedar:2:1)";
    refused(&format!("{permit}{plain};\n{plain};\n{plain};"), &[&of(3, first), &of(4, first)]);
    let text = format!("{permit}{plain};\n@notice(\"a\") {plain};\n@notice(\"a\") {plain};");
    let noticed = "`p.cedar#3` (p.cedar:3:1)";
    refused(&text, &[&of(2, noticed), &of(4, noticed)]);
    let parts = "forbid (principal, action == Action::\"QUERY\", resource is payment::transfer);\n\
                 forbid (principal, action == Action::\"REQUEST\", resource is payment::transfer);\n\
                 forbid (principal, action in [Action::\"QUERY\", Action::\"REQUEST\"], resource is payment::transfer);";
    refused(&format!("{permit}{parts}"), &[&of(4, &format!("{first} with `p.cedar#3` (p.cedar:3:1)"))]);
}

#[test]
fn a_set_that_was_live_goes_on_when_a_wider_forbid_comes_and_is_told() {
    let load = |text: &str| Policies::load(&one_file(text), &shipped_contexts(), &PolicyLimits::default());
    let narrow = "permit (principal, action, resource);\n@id(\"narrow\") forbid (principal, action, resource is payment::transfer) when { context.locked };";
    let wider = format!("{narrow}\nforbid (principal, action, resource is payment::transfer);");
    let live = load(narrow).unwrap();
    assert!(load(&wider).is_err());
    let next = live.reload(&one_file(&wider), &shipped_contexts(), &PolicyLimits::default()).unwrap();
    let told: Vec<String> = next.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "p.cedar:2:1: policy `p.cedar#narrow`: it forbids nothing of its own: `p.cedar#3` (p.cedar:3:1) forbids all of it without a condition (remove it)"
        ]
    );
}

#[test]
fn ten_thousand_forbids_of_one_type_are_held_against_each_other_in_bounded_time() {
    let mut text = "permit (principal, action, resource);\n".to_owned();
    for n in 0..9_990 {
        text.push_str(&format!("forbid (principal, action, resource is payment::transfer) when {{ resource.sender_id == \"a{n}\" && context.locked }};\n"));
    }
    let files = (0..2).map(|half| {
        let lines: Vec<&str> = text.lines().collect();
        let (first, last) = lines.split_at(5_000);
        (format!("p{half}.cedar"), if half == 0 { first.join("\n") } else { last.join("\n") })
    });
    let source = PolicySource { files: files.collect(), ..PolicySource::shipped() };
    let begun = std::time::Instant::now();
    assert!(Policies::load(&source, &shipped_contexts(), &PolicyLimits::default()).is_ok());
    // a minute in a debug build alone, and several beside other tests; each pair by itself would be fifty million looks, which take hours
    assert!(begun.elapsed().as_secs() < 1_200, "{:?}", begun.elapsed());
}

/// Only a forbid without a condition, or one that the permit's own condition leads to, was held against it.
#[test]
fn bug_a_forbid_that_is_true_of_every_message_covered_a_permit_that_loaded() {
    let amount = "resource.amount.greaterThanOrEqual(decimal(\"0.0\"))";
    covered("", &format!("when {{ {amount} }}"));
    covered("when { resource.currency == \"EUR\" }", &format!("when {{ {amount} }}"));
    covered("when { resource.currency == \"EUR\" }", &format!("when {{ context.locked || {amount} }}"));
    // of every type; the amount is there in each version of this one
    let open = format!(
        "@id(\"no\") forbid (principal, action, resource)\nwhen {{ resource has amount && resource is payment::transfer && {amount} }};\n@id(\"yes\") permit ({SCOPE})\nwhen {{ resource.currency == \"EUR\" }};"
    );
    refused(&open, &[COVERED]);
    for (permit, forbid) in [
        ("", "when { resource.amount.greaterThan(decimal(\"0.0\")) }"),
        (
            "when { resource.currency == \"EUR\" }",
            "when { resource.amount.greaterThanOrEqual(decimal(\"0.01\")) }",
        ),
        // written out, it is meant
        ("when { resource.currency == \"EUR\" }", "when { true }"),
    ] {
        loads(&pair(permit, forbid));
    }
}
