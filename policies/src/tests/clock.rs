//! A policy whose time is over when it is loaded loads and is told; one whose time begins or ends later, or that others take the place of
//! once it is over, is what was meant.

use super::{House, one_file, shipped_contexts};
use crate::{Floors, Policies, PolicyLimits};

/// 2026-06-01T00:00:00Z.
const NOW: u64 = 1_780_272_000;

fn warned(text: &str, now: Option<u64>) -> Vec<String> {
    let limits = PolicyLimits { now, ..PolicyLimits::default() };
    let loaded = Policies::load_above(&one_file(text), &shipped_contexts(), &Floors::new(), &limits);
    let loaded = loaded.unwrap_or_else(|faults| panic!("{text}: {faults:?}"));
    loaded.warnings().iter().map(ToString::to_string).collect()
}

fn permit(conditions: &str) -> String {
    format!("permit (principal, action, resource is payment::transfer)\n{conditions};")
}

#[test]
fn what_was_over_when_it_was_loaded_is_told_with_its_place_and_loads() {
    let clock = " is never true, by the clock, as it stood when this was loaded)";
    for conditions in [
        "when { context.now < datetime(\"2026-06-01\") }",
        "when { context.now <= datetime(\"2025-12-31T23:59:59Z\") && resource.currency == \"EUR\" }",
        "when { datetime(\"2026-01-01\") > context.now }",
        "when { context.now == datetime(\"2026-05-31T23:59:59Z\") }",
        "when { resource.currency == \"EUR\" } unless { context.now > datetime(\"2026-01-01\") }",
    ] {
        let told = warned(&permit(conditions), Some(NOW));
        let [one] = &told[..] else { panic!("{conditions}: {told:?}") };
        assert!(one.starts_with("p.cedar:2:") && one.ends_with(clock), "{one}");
        assert!(one.contains("true for no message"), "{one}");
        assert_eq!(warned(&permit(conditions), None), [""; 0], "{conditions}: nobody read a clock");
    }
    // a forbid that holds from a time on leaves a permit nothing once it has begun
    let begun = permit("")
        + "\n@id(\"from\") forbid (principal, action, resource is payment::transfer) when { context.now >= datetime(\"2026-06-01\") };";
    let told = warned(&begun, Some(NOW));
    assert!(
        matches!(&told[..], [one] if one.contains("it permits nothing") && one.contains("`p.cedar#from`")),
        "{told:?}"
    );
    assert_eq!(warned(&begun, Some(NOW - 1)), [""; 0]);
}

#[test]
fn what_begins_or_ends_at_a_time_and_still_does_something_is_nobodys_mistake() {
    for conditions in [
        "when { context.now <= datetime(\"2026-06-01\") }",
        "when { context.now < datetime(\"2026-06-01T00:00:00.001Z\") }",
        "when { context.now > datetime(\"2020-01-01\") }",
        "when { context.now >= datetime(\"2030-01-01\") }",
        "unless { context.now < datetime(\"2026-01-01\") }",
        "when { context.now < datetime(\"2026-01-01\") || resource.currency == \"EUR\" }",
        "when { !(context.now < datetime(\"2026-01-01\")) && resource.currency == \"EUR\" }",
        "when { context.now.toTime() < duration(\"8h\") }",
        "when { context.now < datetime(\"2026-01-01\").offset(duration(\"365d\")) }",
    ] {
        assert_eq!(warned(&permit(conditions), Some(NOW)), [""; 0], "{conditions}");
    }
    // what is a mistake at any time is refused as before
    let never =
        permit("when { context.now < datetime(\"2026-01-01\") && context.now > datetime(\"2026-02-01\") }");
    let limits = PolicyLimits { now: Some(NOW), ..PolicyLimits::default() };
    let faults = Policies::load(&one_file(&never), &shipped_contexts(), &limits).unwrap_err();
    assert!(!faults[0].to_string().contains("clock"), "{faults:?}");
    assert!(House::load(&one_file(&never), shipped_contexts()).is_err());
}
