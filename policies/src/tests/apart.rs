//! Policies that are parsed one by one are those of the file.

use proptest::prelude::*;

use crate::PolicySource;
use crate::parse::{Alone, each_of, one_by_one, together};

/// What each says, and what Cedar makes of it.
fn said(found: &[Alone]) -> Vec<(usize, String, serde_json::Value)> {
    let one = |one: &Alone| (one.position, one.text.clone(), one.policy.to_json().unwrap());
    found.iter().map(one).collect()
}

#[test]
fn the_shipped_files_are_parsed_one_by_one() {
    for (name, text) in PolicySource::shipped().files {
        let found = one_by_one(&text).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(said(&found), said(&together(&name, &text).unwrap()), "{name}");
    }
}

#[test]
fn bug_a_policy_had_the_place_of_a_comment_before_it_that_says_the_same() {
    let policy = "permit (principal, action, resource);";
    let found = each_of("p.cedar", &format!("// {policy}\n{policy}"), 64).unwrap();
    assert_eq!(found.iter().map(|one| one.start).collect::<Vec<_>>(), [policy.len() + 4]);
}

#[test]
fn what_is_no_row_of_policies_is_parsed_as_a_whole() {
    for text in [
        "",
        "// permit (principal, action, resource);",
        "permit (principal, action, resource)",
        "permit (principal, action, resource); ;",
        "permit (principal == ?principal, action, resource);",
        "permit (principal, action, resource); permit (principal, action, resource",
        "permit (principal, action, resource) when { \"; };",
    ] {
        assert!(one_by_one(text).is_none(), "{text}");
        assert!(each_of("p.cedar", text, 64).is_err(), "{text}");
    }
    let several = "@id(\"a;b\") permit (principal, action, resource); // ; \n\nforbid (principal, action, resource)\n                   when { [\"//\", \";\\\";\"].contains(context.line) };// permit";
    assert_eq!(one_by_one(several).unwrap().len(), 2);
}

/// What a text is made of that could be cut in two places.
const PARTS: [&str; 24] = [
    "permit (principal, action, resource);",
    "forbid (principal, action, resource) when { context.locked };",
    "permit (principal, action, resource) when { context.line == \"",
    "forbid (principal, action, resource) unless { ",
    "permit (principal, action, resource) when { resource has a",
    " };",
    "\"",
    "\\",
    "\\\"",
    "//",
    "// ;",
    "/",
    "\n",
    "\r\n",
    " ",
    ";",
    "(",
    ")",
    "{",
    "}",
    "@id(\"x\")",
    "@notice(\";//\")",
    "ä",
    "/*",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn fuzz_policies_parsed_one_by_one_are_those_of_the_file(parts in proptest::collection::vec(0..PARTS.len(), 1..12)) {
        let text: String = parts.into_iter().map(|at| PARTS[at]).collect();
        if let Some(found) = one_by_one(&text) {
            let whole = together("p.cedar", &text);
            prop_assert!(whole.is_ok(), "only one by one: {text}");
            prop_assert!(found.iter().all(|one| text[one.start..].starts_with(&one.text)), "{text}");
            prop_assert_eq!(said(&found), said(&whole.unwrap_or_default()));
        } else if let Ok(whole) = together("p.cedar", &text) {
            prop_assert!(false, "{} only as a whole: {text}", whole.len());
        }
    }
}
