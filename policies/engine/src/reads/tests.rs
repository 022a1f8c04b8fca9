use super::Reads;

fn reads(condition: &str) -> Reads {
    let text = format!("permit (principal, action, resource) when {{ {condition} }};");
    Reads::of(&crate::parse::clauses(&text.parse().unwrap()).unwrap())
}

fn names(set: &std::collections::BTreeSet<String>) -> Vec<&str> {
    set.iter().map(String::as_str).collect()
}

#[test]
fn a_scope_reads_nothing_of_the_instance() {
    let text =
        r#"permit (principal == Agent::"a", action == Action::"INFORM", resource is payment::transfer);"#;
    assert_eq!(Reads::of(&crate::parse::clauses(&text.parse().unwrap()).unwrap()), Reads::default());
}

#[test]
fn the_type_of_the_instance_is_not_a_read() {
    assert!(reads("resource is payment::transfer").resource.none());
}

#[test]
fn attributes_are_found_by_name_wherever_they_stand() {
    let resolved = reads(
        r#"if resource has memo && resource.memo like "*x*" then [resource.a] == [1] else {b: resource.b.c} has b"#,
    );
    assert!(!resolved.resource.all);
    assert_eq!(names(&resolved.resource.names), ["a", "b", "memo"]);
}

#[test]
fn an_instance_used_whole_reads_everything() {
    for condition in [
        r#"resource == payment::transfer::"x""#,
        r#"resource in Group::"g""#,
        r#"resource is payment::transfer in Group::"g""#,
        "[resource].contains(resource)",
        "(if true then resource else resource).amount == 1",
        "principal == resource",
    ] {
        assert!(reads(condition).resource.all, "{condition}");
    }
}

#[test]
fn context_members_are_told_apart() {
    let resolved = reads(r#"context.free_text || context.major > 1 && context has receiver"#);
    assert_eq!(names(&resolved.context.names), ["free_text", "major", "receiver"]);
    assert!(!resolved.context.all && resolved.resource.none());
    assert!(reads("context == {}").context.all);
}

#[test]
fn agents_named_in_a_condition_are_found() {
    let resolved = reads(r#"Agent::"spiffe://d/a" in Group::"g" && principal.credentials.contains("c")"#);
    assert_eq!(names(&resolved.agents), ["spiffe://d/a"]);
    assert!(resolved.resource.none() && resolved.context.none());
}

#[test]
fn scores_are_told_apart() {
    let of = |condition: &str| reads(condition);
    let one =
        of("context.scores.injection >= 75 && context.scores has unusual && context.scores.unusual > 9");
    assert_eq!(names(&one.scores.names), ["injection", "unusual"]);
    assert_eq!(names(&one.context.names), ["scores"]);
    assert!(!one.scores.all && of("context.major > 1").scores.none());
    assert_eq!(names(&of("context has scores.unusual").scores.names), ["unusual"]);
    for whole in ["context.scores == context.scores", "context == context", "[context.scores].isEmpty()"] {
        assert!(of(whole).scores.all, "{whole}");
    }
}
