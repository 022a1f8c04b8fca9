//! Permits that forbids with a condition cover, where that is proven, and the nearest ones that still permit something.

use super::{House, idle_today, loads, one_file, refused, shipped_contexts};
use crate::PolicySource;

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
    covered(
        &format!("when {{ !({like}) }}"),
        &format!("unless {{ {like} || !context.locked && context.locked || {like} }}")
            .replace(" || !context.locked && context.locked", ""),
    );
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
