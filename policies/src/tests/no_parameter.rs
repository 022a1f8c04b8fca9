//! F0-26: a policy about questions on a parameter that no context has loads, since a version may bring it, and is told.

use super::House;

fn told(scope: &str, condition: &str) -> Vec<String> {
    let policy = format!("permit (principal, action, {scope})\nwhen {{ {condition} }};");
    let house = House::with(&policy).unwrap();
    house.policies.advice().iter().map(ToString::to_string).collect()
}

#[test]
fn a_question_about_a_parameter_that_no_context_has_is_told() {
    let asks = "resource is snl::ambiguous_parameter";
    for (scope, condition, name) in [
        (asks, r#"resource.parameter == "dest_cod""#, "dest_cod"),
        (asks, r#""dest_cod" != resource.parameter"#, "dest_cod"),
        (asks, r#"["dest_code", "dest_cod"].contains(resource.parameter)"#, "dest_cod"),
        (asks, r#"context.locked || !(resource.parameter == "dest_cod")"#, "dest_cod"),
        (
            "resource",
            r#"principal in Group::"planners" && resource is snl::ambiguous_parameter && resource.parameter == "dest_cod""#,
            "dest_cod",
        ),
        (
            "resource",
            r#"resource is snl::ambiguous_parameter && resource.parameter == "dest_cod""#,
            "dest_cod",
        ),
    ] {
        let found = told(scope, condition);
        assert_eq!(found.len(), 1, "{condition}: {found:?}");
        let at = 8 + condition.find(&format!("\"{name}\"")).unwrap();
        assert_eq!(
            found[0],
            format!(
                "p.cedar:2:{at}: policy `p.cedar#1`: no known context has a parameter `{name}`, so that such a message is refused \
                 before policies are asked (did you mean `dest_code`?)"
            ),
        );
    }
}

#[test]
fn parameters_that_some_context_has_and_other_members_of_that_name_are_not_told() {
    let asks = "resource is snl::ambiguous_parameter";
    for (scope, condition) in [
        (asks, r#"resource.parameter == "dest_code""#),
        (asks, r#"["dest_code", "quantity"].contains(resource.parameter)"#),
        (asks, r#"resource.parameter like "dest_cod*""#),
        // a name that nobody signed may be settled so (F0-31)
        ("resource is snl::parameter_options", r#"resource.parameter == "urgency""#),
        ("resource", r#"resource has parameter && resource.parameter == "dest_cod""#),
        (
            "resource",
            r#"!(resource is snl::ambiguous_parameter) && resource has parameter && resource.parameter == "dest_cod""#,
        ),
    ] {
        let found = told(scope, condition);
        assert!(found.is_empty(), "{condition}: {found:?}");
    }
}
