//! Policies that are made, or generated, to be hard to load: each ends within its bounds, and is refused by name.

use super::{faults, loads};

fn of(condition: &str) -> String {
    format!("permit (principal, action, resource is payment::transfer) when {{ {condition} }};")
}

#[test]
fn attack_a_policy_of_two_hundred_thousand_terms_ends_the_process_that_reads_it() {
    for condition in [
        "1 < 2 || ".repeat(100_000) + "1 < 2",
        "(".repeat(100_000) + "1 < 2" + &")".repeat(100_000),
        "!".repeat(100_000) + "context.locked",
    ] {
        let resolved = faults(&of(&condition));
        assert_eq!(resolved.len(), 1, "{resolved:?}");
        assert!(resolved[0].contains("it nests deeper than 500"), "{resolved:?}");
    }
}

#[test]
fn a_policy_may_nest_as_deep_as_it_says() {
    let nested = |n: usize| of(&("(".repeat(n) + "context.locked" + &")".repeat(n)));
    loads(&nested(50));
    let row: Vec<String> = (0..150).map(|n| format!("resource.sender_id == \"{n}\"")).collect();
    loads(&of(&row.join(" || ")));
}
