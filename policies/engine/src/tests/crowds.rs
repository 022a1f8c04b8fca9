//! Many lines that a policy about every type cannot be typed beside: whose documents go, and when the policy itself is the mistake.

use super::one_file;
use super::versions::{ONE_AGENT, X_TEXT, Y_INT, crowd, load, note};
use crate::{Policies, PolicyLimits, PolicySource};

#[test]
fn attack_documents_of_many_lines_never_keep_a_policy_about_every_type_from_loading() {
    let policies = "permit (principal, action, resource) when { resource has x && resource.x > 1 };";
    let mut contexts = crowd(5);
    // two versions of each line fit, and the third does not
    for n in 0..60 {
        contexts.extend([
            note(&format!("bad{n:02}:v1.0"), Y_INT, ""),
            note(&format!("bad{n:02}:v2.0"), X_TEXT, ""),
        ]);
    }
    // and one line has more of them than are sought through
    contexts.extend((0..40).map(|minor| note(&format!("flood:v1.{minor}"), X_TEXT, "")));
    let few = PolicyLimits { max_left_out_tries: 4, ..PolicyLimits::default() };
    let source = PolicySource { files: one_file(policies).files, entities: ONE_AGENT.into(), limits: None };
    let loaded = Policies::load(&source, &contexts, &few).unwrap_or_else(|faults| panic!("{faults:?}"));
    let looks = PolicyLimits { max_line_looks: 60, ..few.clone() };
    assert!(Policies::load(&source, &contexts, &looks).is_err(), "the work is bounded");
    let out: Vec<String> = loaded.left_out().iter().map(|left| left.urn.short().to_string()).collect();
    assert_eq!(out.len(), 100, "{out:?}");
    assert!(out.iter().all(|urn| urn.starts_with("flood:") || urn.ends_with(":v2.0")), "{out:?}");
    assert!(
        loaded.left_out()[0].to_string().contains("it would make a policy invalid"),
        "{:?}",
        loaded.left_out()[0]
    );
}

/// The second was said to be left out for what is wrong with the first.
#[test]
fn each_of_two_contexts_that_one_policy_leaves_out_is_told_with_its_own_reason() {
    let amount = |urn: &str, schema: &str| note(urn, &format!(r#""amount":{schema}"#), r#""amount""#);
    let contexts = vec![
        amount("acme.cash:v1.0", r#"{"type":"number"}"#),
        amount("acme.fine:v1.0", r#"{"type":"number","multipleOf":0.01}"#),
        amount("acme.money:v1.0", r#"{"type":"string","maxLength":9}"#),
    ];
    let policies = "permit (principal, action, resource);\n\
                    forbid (principal, action, resource) when { resource has amount && resource.amount.greaterThan(decimal(\"1.0\")) };";
    let house = load(policies, contexts).unwrap();
    let left = house.policies.left_out();
    let report: Vec<String> = left.iter().map(ToString::to_string).collect();
    assert_eq!(report.len(), 2, "{report:?}");
    assert!(
        report[0].starts_with("`urn:contexts:acme.cash:v1.0` is left out: it would make a policy invalid: ")
            && report[0].contains("`amount` of `acme::cash::note` is not visible to policies"),
        "{report:?}"
    );
    assert!(
        report[1].starts_with("`urn:contexts:acme.money:v1.0` is left out: it would make a policy invalid: ")
            && report[1].contains("String")
            && !report[1].contains("acme::cash"),
        "{report:?}"
    );
}

#[test]
fn a_policy_that_asks_every_type_for_a_member_is_itself_the_mistake_and_takes_no_document_away() {
    let (limits, house) =
        (PolicyLimits::default(), load("permit (principal, action, resource);", crowd(20)).unwrap());
    for (policies, expected) in [
        // what has no members is asked for one
        (
            "permit (principal, action, resource) when { resource.y > 1 };",
            "attribute `y` on entity type `l0::note` not found",
        ),
        // every line that has it would have to go
        (
            "permit (principal, action, resource) when { resource has x && resource.x == \"a\" };",
            "not compatible",
        ),
    ] {
        let source =
            PolicySource { files: one_file(policies).files, entities: ONE_AGENT.into(), limits: None };
        let faults = Policies::load(&source, &crowd(20), &limits).unwrap_err();
        assert!(faults.iter().any(|fault| fault.to_string().contains(expected)), "{faults:?}");
        let faults = house.policies.reload(&source, &crowd(20), &limits).unwrap_err();
        assert!(!faults.iter().any(|fault| fault.to_string().contains("is live")), "{faults:?}");
    }
}

#[test]
fn what_is_live_is_never_left_out_for_a_new_policy_of_many_lines_and_the_first_is_named() {
    let limits = PolicyLimits::default();
    let mut contexts = crowd(3);
    contexts.extend((0..20).map(|n| note(&format!("bad{n}:v1.0"), X_TEXT, "")));
    let live = load("permit (principal, action, resource);", contexts.clone()).unwrap().policies;
    let of =
        |text: &str| PolicySource { files: one_file(text).files, entities: ONE_AGENT.into(), limits: None };
    let open = of("permit (principal, action, resource) when { resource has x && resource.x > 1 };");
    let faults = live.reload(&open, &contexts, &limits).unwrap_err();
    let [one] = &faults[..] else { panic!("{faults:?}") };
    let (location, report) = (
        one.to_string(),
        "(this comes from `urn:contexts:bad0:v1.0`, which is live and which no policy displaces: write `resource is …` in the scope)",
    );
    assert!(location.starts_with("p.cedar:1:") && location.ends_with(report), "{location}");
    // as it says; and a start, at which nothing is live, leaves them out
    let named = of(
        "permit (principal, action, resource is bad0::note) when { resource has x && resource.x == \"a\" };\n\
                    permit (principal, action, resource is l0::note) when { resource has x && resource.x > 1 };",
    );
    let named = live.reload(&named, &contexts, &limits);
    assert_eq!(
        named.map(|policies| policies.left_out().len()).map_err(|faults| faults[0].to_string()),
        Ok(0)
    );
    let started = Policies::load(&open, &contexts, &limits).unwrap();
    assert_eq!(started.left_out().len(), 20);
}
