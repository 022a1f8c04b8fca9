//! Tests of `nesting`.

use super::*;
use crate::PolicyLimits;

fn policy(condition: &str) -> String {
    format!("permit (principal, action, resource) when {{ {condition} }};")
}

#[test]
fn what_is_wide_is_not_deep() {
    let limit = PolicyLimits::default().max_nesting;
    let texts: Vec<String> = (0..5_000).map(|n| format!("decimal(\"{n}.0\")")).collect();
    assert_eq!(beyond(&policy(&format!("[{}].contains(resource.amount)", texts.join(", "))), limit), None);
    let terms: Vec<String> =
        (0..300).map(|n| format!("(resource.a.b == \"{n}\" && context has session)")).collect();
    assert_eq!(beyond(&policy(&terms.join(" || ")), limit), None);
    assert_eq!(beyond(&policy("true").repeat(9_000), limit), None);
    let quoted = format!("resource.a == \"{}\" // {}\n", "((((||||".repeat(500), "((((".repeat(500));
    assert_eq!(beyond(&policy(&quoted), limit), None);
}

#[test]
fn what_is_deep_is_found_where_it_becomes_so() {
    let limit = PolicyLimits::default().max_nesting;
    let nested = |open: &str, close: &str, n: usize| format!("{}1 == 1{}", open.repeat(n), close.repeat(n));
    for condition in [
        "1 < 2 || ".repeat(limit + 1) + "1 < 2",
        "1 < 2 && ".repeat(limit + 1) + "1 < 2",
        "1 + ".repeat(limit + 1) + "1 == 2",
        "1 - ".repeat(limit + 1) + "1 == 2",
        "1 * ".repeat(limit + 1) + "1 == 2",
        "!".repeat(limit + 1) + "context.locked",
        "resource".to_owned() + &".a".repeat(limit + 1) + " == 1",
        "resource".to_owned() + &"[\"a\"]".repeat(limit + 1) + " == 1",
        "if 1 == 1 then 1 == 1 else ".repeat(limit + 1) + "1 == 1",
        nested("(", ")", limit),
        nested("[", "]", limit),
        nested("{a: ", "}", limit),
        "1 < 2 || (".repeat(limit) + "1 < 2" + &")".repeat(limit),
    ] {
        assert!(beyond(&policy(&condition), limit).is_some(), "{}", condition.get(..40).unwrap_or_default());
    }
}
