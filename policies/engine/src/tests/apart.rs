//! Policies that are parsed one by one are those of the file.

use proptest::prelude::*;

use cedar_policy::{Policy, PolicyId, PolicySet};

use crate::PolicySource;
use crate::parse::{Alone, each_of, one_by_one};

/// What a policy says, and what Cedar makes of it.
type Said = (String, serde_json::Value);

fn stated(resolved: &[Alone]) -> Vec<Said> {
    resolved.iter().map(|one| (one.text.clone(), one.policy.to_json().unwrap())).collect()
}

/// What Cedar says of the file as a whole, where it is a row of policies and nothing else.
fn judge(text: &str) -> Option<Vec<Said>> {
    let set: PolicySet = text.parse().ok()?;
    let (count, templates) = (set.num_of_policies(), set.templates().count());
    let policy = |at: usize| set.policy(&PolicyId::new(format!("policy{at}"))).unwrap();
    let one = |policy: &Policy| (policy.to_cedar().unwrap(), policy.to_json().unwrap());
    (count > 0 && templates == 0).then(|| (0..count).map(|at| one(policy(at))).collect())
}

#[test]
fn the_shipped_files_are_parsed_one_by_one() {
    for (name, text) in PolicySource::shipped().files {
        let resolved = one_by_one(&text).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(
            resolved.iter().map(|one| one.position).collect::<Vec<_>>(),
            (1..=resolved.len()).collect::<Vec<_>>()
        );
        assert_eq!(Some(stated(&resolved)), judge(&text), "{name}");
    }
}

#[test]
fn bug_a_policy_had_the_place_of_a_comment_before_it_that_says_the_same() {
    let policy = "permit (principal, action, resource);";
    let resolved = each_of("p.cedar", &format!("// {policy}\n{policy}"), 64).unwrap();
    assert_eq!(resolved.iter().map(|one| one.start).collect::<Vec<_>>(), [policy.len() + 4]);
}

#[test]
fn bug_a_template_had_the_place_of_a_comment_before_it_that_says_the_same() {
    let template = "permit (principal == ?principal, action, resource);";
    let faults = each_of("p.cedar", &format!("// {template}\n  {template}"), 64).err().unwrap();
    assert!(faults.len() == 1 && faults[0].to_string().starts_with("p.cedar:2:3: a template"), "{faults:?}");
}

#[test]
fn what_is_no_row_of_policies_is_refused() {
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
        let resolved = one_by_one(&text);
        prop_assert_eq!(resolved.as_deref().map(stated), judge(&text), "{}", text);
        let all = each_of("p.cedar", &text, 64);
        prop_assert_eq!(all.is_ok(), resolved.is_some(), "{}", text);
        prop_assert!(all.is_ok() || all.is_err_and(|faults| !faults.is_empty()), "{}", text);
        for one in resolved.into_iter().flatten() {
            prop_assert!(text[one.start..].starts_with(&one.text), "{}", text);
        }
    }
}
