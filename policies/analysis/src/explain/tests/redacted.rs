//! A candidate that takes other members out of a reply than were taken out of it then.

use std::collections::BTreeSet;

use semgate_contexts::{Performative, json};

use super::super::{Recalled, Recorded};
use super::explainer;
use super::recalled::{kept, parties};
use crate::house::{Ask, House, RETAILER, WHOLESALER, one_file, shipped_contexts};
use semgate_policies::{Keep, KeepAs, Keeper, PolicySource};

const PLAIN: &str = "@id(\"plain\") permit (principal, action, resource is travel::bookFlight_results) when { context.direction == \"reply\" };\n";
const REDACTS: &str = "@id(\"redacts\") @redact(\"booking_reference\") permit (principal, action, resource is travel::bookFlight_results) \
    when { context.direction == \"reply\" };\n";

fn booked(value: &str) -> Ask<'_> {
    Ask {
        sender: WHOLESALER,
        receiver: RETAILER,
        action: Performative::Inform,
        urn: "travel:v2.1",
        term: "bookFlight",
        value,
        direction: "reply",
        ..Ask::default()
    }
}

/// What a candidate makes of a booking that passed under the plain policy, or without these members under the other.
fn replayed(candidate: &str, value: &str, keep: &Keep, redacted: &[&str]) -> Recalled {
    let ask = booked(value);
    let house = House::load(&one_file(PLAIN), shipped_contexts()).unwrap();
    let text = house.question(ask, |question| {
        let mut keeper = Keeper::new(keep);
        keeper.add(&house.policies, question, false, &house.policies.decide(question), None);
        keeper.finish()
    });
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let source: PolicySource = one_file(candidate);
    let recorded = Recorded { redacted, by_these: false };
    let report = explainer(&source).recall(parties(&ask), read.as_object().unwrap(), recorded);
    report.unwrap().remove(0)
}

const WHOLE: &str = r#"{"status":"confirmed","booking_reference":"SECRET7"}"#;
const CUT: &str = r#"{"status":"confirmed"}"#;
const MEMBER: &str = "travel::bookFlight_results.booking_reference";
const REFERENCE: &str = "bookFlight.booking_reference";

fn named(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_candidate_that_begins_to_redact_a_member_is_seen_whatever_was_kept_of_it() {
    for keep in [Keep::everything(), kept(&[], 1 << 14), kept(&[(MEMBER, KeepAs::Digests)], 1 << 14)] {
        let report = replayed(REDACTS, WHOLE, &keep, &[]);
        assert_eq!((report.now, &report.then_redacted), (Some("permitted"), &named(&[])));
        assert_eq!(report.now_redacted, named(&[REFERENCE]));
        // what is not there is not taken out
        assert_eq!(replayed(REDACTS, CUT, &keep, &[]).now_redacted, named(&[]));
    }
}

#[test]
fn a_candidate_that_stops_redacting_a_member_is_seen_although_the_record_is_of_the_reply_without_it() {
    let report = replayed(PLAIN, CUT, &kept(&[], 1 << 14), &[REFERENCE]);
    assert_eq!((report.now, &report.then_redacted), (Some("permitted"), &named(&[REFERENCE])));
    assert_eq!(report.now_redacted, named(&[]));
    let report = replayed(REDACTS, CUT, &kept(&[], 1 << 14), &[REFERENCE]);
    assert_eq!(
        (report.now, &report.now_redacted),
        (Some("permitted"), &named(&[REFERENCE])),
        "the same as then"
    );
}

#[test]
fn what_was_taken_out_of_a_reply_is_not_known_to_a_candidate_that_reads_it() {
    let reads = "forbid (principal, action, resource is travel::bookFlight_results) \
        when { resource has booking_reference && resource.booking_reference == \"SECRET7\" };\n";
    let report = replayed(&format!("{PLAIN}{reads}"), CUT, &Keep::everything(), &[REFERENCE]);
    assert_eq!((report.now, report.missing), (None, named(&["resource.booking_reference"])));
    // one that takes it out first, then reads it, would have denied before it came to that
    let report = replayed(&format!("{REDACTS}{reads}"), CUT, &Keep::everything(), &[REFERENCE]);
    assert_eq!(report.now, None);
    assert_eq!(replayed(&format!("{PLAIN}{reads}"), CUT, &Keep::everything(), &[]).now, Some("permitted"));
}

#[test]
fn what_is_left_of_a_reply_is_asked_again_as_a_gateway_does() {
    let wants = "forbid (principal, action, resource is travel::bookFlight_results) \
        when { context.direction == \"reply\" } unless { resource has booking_reference };\n";
    let report = replayed(&format!("{REDACTS}{wants}"), CUT, &Keep::everything(), &[REFERENCE]);
    assert_eq!(
        report.now, None,
        "whether the agent wrote it is not for a condition to guess: {:?}",
        report.missing
    );
    for value in [CUT, WHOLE] {
        let report = replayed(&format!("{REDACTS}{wants}"), value, &Keep::everything(), &[]);
        assert_eq!((report.now, report.now_redacted), (Some("denied"), named(&[])), "{value}");
    }
}

#[test]
fn a_permit_that_may_apply_and_would_take_something_out_leaves_the_decision_open() {
    let some = "@redact(\"booking_reference\") permit (principal, action, resource is travel::bookFlight_results) \
        when { context.direction == \"reply\" && resource.status == \"confirmed\" };\n";
    let report = replayed(&format!("{PLAIN}{some}"), WHOLE, &kept(&[], 1 << 14), &[]);
    assert_eq!((report.now, report.missing), (None, named(&["resource.status"])));
    let status = kept(&[("travel::bookFlight_results.status", KeepAs::Values)], 1 << 14);
    let report = replayed(&format!("{PLAIN}{some}"), WHOLE, &status, &[]);
    assert_eq!((report.now, report.now_redacted), (Some("permitted"), named(&[REFERENCE])));
}

#[test]
fn of_two_instances_of_one_concept_each_is_told_what_was_taken_out_of_it_alone() {
    let house = House::load(&one_file(PLAIN), shipped_contexts()).unwrap();
    let (keep, gone) = (Keep::everything(), named(&["booking_reference"]));
    let mut keeper = Keeper::new(&keep);
    let nothing = BTreeSet::new();
    for cut in [&gone, &nothing] {
        house.question(booked(CUT), |question| {
            keeper.add(&house.policies, question, false, &house.policies.decide(question), Some(cut));
        });
    }
    let text = keeper.finish();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    for (candidate, now) in [(PLAIN, &[][..]), (REDACTS, &[REFERENCE])] {
        let explainer = explainer(&one_file(candidate));
        let recorded = Recorded { redacted: &[REFERENCE], by_these: false };
        let report = explainer.recall(parties(&booked(CUT)), read.as_object().unwrap(), recorded).unwrap();
        assert_eq!((&report[0].then_redacted, &report[0].now_redacted), (&named(&[REFERENCE]), &named(now)));
        assert_eq!((&report[1].then_redacted, &report[1].now_redacted), (&nothing, &nothing), "{text}");
        assert_eq!([report[0].now, report[1].now], [Some("permitted"); 2]);
    }
}
