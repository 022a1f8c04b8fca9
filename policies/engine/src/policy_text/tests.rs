//! Tests of `policy_text`.

use super::{annotation, clauses, of, read, sequence};

#[test]
fn words_are_found_and_comments_and_annotations_are_none() {
    let text = "@id(\"x\") // permit \"x\"\npermit (principal == Agent::\"x\", action, resource)\n\
                when { resource.a == \"x\" || \"say \\\"when\\\"\" like \"*\" } unless { {when: \"x\"}.when == \"é\" };";
    let tokens = of(text);
    assert_eq!(tokens[0].text, "permit");
    assert_eq!(&text[sequence(&tokens, &["resource", ".", "a"]).unwrap()..][..12], "resource.a =");
    let resolved: Vec<&str> = clauses(&tokens).into_iter().map(|at| &text[at..at + 4]).collect();
    assert_eq!(resolved, ["when", "unle"]);
    assert!(of("permit (principal, action, resource);forbid(principal, action, resource);").len() < 12);
}

#[test]
fn bug_a_text_with_an_escape_and_an_annotation_behind_its_own_name_were_not_found() {
    let text = r#"@notice("@id(1) ä") // @id
        @id("x") permit (principal in Group::"g\u{e4}", action, resource) when { resource.a == "\x78\"" };"#;
    assert_eq!(&text[annotation(text, "id").unwrap()..][..8], "@id(\"x\")");
    assert_eq!(annotation(text, "limit"), None);
    let tokens = of(text);
    let group = sequence(&tokens, &["Group", "::", "\"gä\""]).unwrap();
    assert_eq!(&text[group..][..16], r#"Group::"g\u{e4}""#);
}

#[test]
fn a_text_is_read_as_cedar_reads_it() {
    for text in
        [r#""""#, r#""a\u{e4}b\u{1_F600}""#, r#""\x41\n\r\t\0\\\'\"""#, "\"ä\u{1d11e}\"", r#""\\n\\\\x41""#]
    {
        let policy: cedar_policy::Policy =
            format!("@text({text}) permit (principal, action, resource);").parse().unwrap();
        assert_eq!(read(text).as_deref(), policy.annotation("text"), "{text}");
    }
}
