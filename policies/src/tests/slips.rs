//! Policies that do not parse by a slip of the hand or of another language: each is told with what was meant, and where. The broken
//! policies and all that is said of them stand in `tests/policy/mistakes/slips.txt`.

use std::path::Path;

use proptest::prelude::*;

use super::{House, alone, shipped_contexts};

/// Name and policy of each.
fn slips(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.strip_prefix("=== ").unwrap_or(text).split("\n=== ");
    blocks.filter_map(|block| block.split_once("\n--- told")?.0.split_once('\n')).collect()
}

#[test]
fn bug_what_did_not_parse_was_told_in_words_of_the_parser_alone() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/policy/mistakes/slips.txt");
    let expected = std::fs::read_to_string(path).unwrap();
    let mut told = String::new();
    for (name, policy) in slips(&expected) {
        let faults = House::load(&alone(policy), shipped_contexts()).err().unwrap_or_default();
        assert!(!faults.is_empty(), "{name}: nothing is said of it");
        told.push_str(&format!("=== {name}\n{policy}\n--- told\n{}\n", faults.join("\n")));
    }
    assert_eq!(told, expected, "what is said of slips has changed; it is now:\n{told}");
}

#[test]
fn bug_a_file_that_ends_behind_is_was_looked_at_for_ever() {
    let whole = "@id(\"a\") permit (principal is Agent, action == Action::\"REQUEST\", resource is payment::transfer)\n\
                 when { resource.memo like x-y.z && principal in Group::a-b && context.line == supply-chain };";
    for end in 1..whole.len() {
        let text = &whole[..end];
        assert!(!crate::slips::told(text).is_empty(), "nothing is said of {text}");
    }
    let told = House::load(&alone("permit (principal, action, resource is"), shipped_contexts()).err();
    assert!(told.is_some_and(|told| told[0].starts_with("p.cedar:1:")), "it is told with its place");
}

#[test]
fn bug_a_word_of_the_language_was_told_as_the_name_of_somebody() {
    for scope in ["principal in true", "principal == principal", "principal in Group", "principal == Agent"] {
        let text = format!("permit ({scope}, action, resource);");
        let told = House::load(&alone(&text), shipped_contexts()).err().unwrap_or_default();
        assert!(
            !told.is_empty() && !told.iter().any(|one| one.contains("did you mean")),
            "{scope}: {told:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A word more, less or doubled anywhere in a policy: what is said has a place in the file, and nothing is said of what parses.
    #[test]
    fn fuzz_whatever_is_wrong_is_told_within_the_file(at in 0..400_usize, put in 0..PUT.len(), gone in 0..3_usize) {
        let text = include_str!("../../rules/payment.cedar");
        let mut broken: Vec<char> = text[text.find("@id").unwrap()..].chars().collect();
        let at = at.min(broken.len());
        let end = (at + gone).min(broken.len());
        broken.splice(at..end, PUT[put].chars());
        let broken: String = broken.into_iter().collect();
        let told = crate::slips::told(&broken);
        prop_assert_eq!(told.is_empty(), broken.parse::<cedar_policy::PolicySet>().is_ok());
        for (place, why) in told {
            prop_assert!(broken.is_char_boundary(place), "{place}: {why}");
        }
    }
}

/// What is put into policies.
const PUT: [&str; 40] = [
    "",
    "=",
    "'",
    "#",
    "\"",
    "“",
    "and ",
    "not ",
    "(",
    ")",
    "{",
    "}",
    ";",
    ",",
    "[",
    "]",
    "/*",
    "--",
    " if ",
    "null",
    "permit",
    "（",
    "с",
    "@",
    " IN ",
    " LIKE ",
    " isnt ",
    "isn't ",
    " implies ",
    " elif ",
    " where ",
    " between ",
    "..",
    " > = ",
    "exists(",
    ".has(",
    " not in ",
    " -> ",
    "$",
    " when { ",
];

#[test]
fn bug_a_word_that_only_what_was_meant_has_was_told_as_one_of_the_file() {
    for text in ["permit (principal, action, resource is\n", "permit (principal, action ==\n"] {
        let told = crate::slips::told(text);
        assert!(told.len() > 1, "{text}: {told:?}");
        assert!(told.iter().all(|(_, why)| !why.contains("token `)`")), "{text}: {told:?}");
    }
}

#[test]
fn bug_each_of_thousands_of_slips_was_looked_at() {
    // each look goes over the whole file: without a bound this takes minutes
    let slip = "permit (principal, action, resource is payment::transfer) when { context.locked = true };\n";
    let unknown = "permit (principal, action, resource is payment::transfer) when { foo() };\n";
    for line in [slip, unknown] {
        let told = crate::slips::told(&line.repeat(1000));
        let (more, _) = told.last().unwrap().1.split_once(" more that do not parse from here on").unwrap();
        assert_eq!(more.parse::<usize>().unwrap() + told.len() - 1, 1000, "{line}");
        assert!(told.len() <= 16 + 256 + 1, "{line}: {}", told.len());
        let hints = told.iter().filter(|(_, why)| why.ends_with(')')).count();
        assert_eq!(hints, 16, "{line}");
    }
}
