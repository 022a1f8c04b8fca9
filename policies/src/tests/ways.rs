//! A method or a card of MCP and A2A comes one way, or in one version: what a condition asks of it otherwise is never so.

use super::faults;

fn told(resource: &str, condition: &str) -> Vec<String> {
    faults(&format!("permit (principal, action, resource{resource})\n{condition};"))
}

#[test]
fn bug_the_direction_and_the_version_of_a_method_were_not_judged() {
    for (concept, condition, expected) in [
        (
            "mcp::Initialize",
            "when { context.binding_version == \"2026-07-28\" }",
            "`context.binding_version` is never `\"2026-07-28\"` (did you mean `\"2025-06-18\"`?)",
        ),
        (
            "mcp::ListTools",
            "when { context.direction == \"reply\" }",
            "`context.direction` is never `\"reply\"` (it is one of `\"request\"`)",
        ),
        (
            "a2a::AgentCard",
            "unless { context.direction != \"request\" }",
            "`context.direction` is never `\"request\"` (it is one of `\"reply\"`)",
        ),
        ("a2a::GetTask", "when { context.direction != \"request\" }", "its condition is true for no message"),
        ("mcp::Elicit", "unless { context.direction == \"reply\" }", "its condition is true for no message"),
        (
            "mcp::Discover",
            "unless { context.binding_version like \"2026*\" }",
            "its condition is true for no message",
        ),
        (
            "mcp::Progress",
            "when { context.direction == \"request\" && context.binding_version != \"2025-11-25\" && context.binding_version != \"2025-06-18\" }",
            "its condition is true for no message",
        ),
        (
            "mcp::Progress",
            "when { context.binding_version == \"2026-07-28\" && context.locked && context.direction == \"request\" }",
            "`context.direction` is never `\"request\"`",
        ),
        (
            "a2a::ListTasks",
            "when { context.locked || context.binding_version like \"0*\" }",
            "true for no message that comes to it",
        ),
    ] {
        for (resource, condition) in [
            (format!(" is {concept}"), condition.to_owned()),
            (String::new(), format!("when {{ resource is {concept} }} {condition}")),
        ] {
            let found = told(&resource, &condition);
            assert!(
                found.len() == 1
                    && (found[0].contains(expected) || found[0].contains(" are true for no message")),
                "{concept} {condition}: {found:?}"
            );
        }
    }
}

#[test]
fn what_comes_both_ways_or_in_each_version_loads() {
    for (concept, condition) in [
        (
            "mcp::Progress",
            "when { context.direction == \"reply\" && context.binding_version == \"2026-07-28\" }",
        ),
        (
            "mcp::Progress",
            "when { context.binding_version == \"2025-11-25\" && context.direction == \"request\" }",
        ),
        ("mcp::Listen", "when { context.binding_version == \"2025-11-25\" }"),
        ("mcp::Ping", "when { context.direction == \"reply\" }"),
        ("mcp::Elicit", "when { context.binding_version == \"2026-07-28\" }"),
        ("mcp::Elicit_results", "when { context.direction == \"request\" }"),
        (
            "mcp::text",
            "when { context.direction == \"request\" && context.binding_version == \"2026-07-28\" }",
        ),
        ("a2a::GetTask", "when { context.binding_version == \"0.3\" }"),
        ("a2a::text", "when { context.direction == \"reply\" }"),
        ("mcp::CallTool_results", "when { context.direction == \"reply\" }"),
    ] {
        assert_eq!(told(&format!(" is {concept}"), condition), [""; 0], "{concept} {condition}");
    }
    // another concept of the line may
    for condition in [
        "when { context.line == \"mcp\" && context.direction == \"reply\" && context.binding_version == \"2025-11-25\" }",
        "when { context.line == \"a2a\" && context.direction == \"reply\" }",
        "when { (resource is mcp::ListTools || resource is mcp::ListTools_results) && context.direction == \"reply\" }",
    ] {
        let found = told("", condition);
        assert!(found.iter().all(|fault| fault.contains("that comes to it")), "{condition}: {found:?}");
    }
}
