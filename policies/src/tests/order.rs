//! What a condition says of the context holds for all of it, in whatever order it is written.

use super::faults;

/// What is wrong with a forbid of this condition.
fn told(condition: &str) -> Vec<String> {
    faults(&format!(
        "permit (principal, action, resource);\nforbid (principal, action, resource)\n{condition};"
    ))
}

#[test]
fn a_line_that_is_asked_for_after_the_member_that_it_has_not() {
    for condition in [
        "when { resource has quantity && resource.quantity > 100 && context.line == \"payment\" }",
        "when { context.line == \"payment\" && resource has quantity && resource.quantity > 100 }",
        "when { resource has quantity && resource.quantity > 100 } when { context.line == \"payment\" }",
        "when { resource has quantity && resource.quantity > 100 } unless { context.line != \"payment\" }",
        "when { context.line == \"mcp\" && context.binding == \"a2a\" }",
    ] {
        let told = told(condition);
        let wrong = ["true for no message", "never", "not found"];
        assert!(
            told.len() == 1 && wrong.iter().any(|wrong| told[0].contains(wrong)),
            "{condition}: {told:?}"
        );
    }
    for condition in [
        "when { resource has quantity && resource.quantity > 100 && context.line == \"supplyChain\" }",
        "when { resource has quantity && resource.quantity > 100 } unless { context.line == \"payment\" }",
        "when { context.binding == \"a2a\" && context.line == \"payment\" }",
        "when { context.line == \"mcp\" && context.binding == \"mcp\" }",
        "when { resource has amount && context.line == \"payment\" && context.now > datetime(\"2020-01-01\") }",
    ] {
        assert_eq!(told(condition), Vec::<String>::new(), "{condition}");
    }
}
