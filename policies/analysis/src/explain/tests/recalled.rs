//! What records keep of a question, asked again.

use std::collections::BTreeSet;

use semgate_contexts::{Performative, json};

use super::super::{Explainer, Recalled, Recorded};
use super::{CONTINGENCY, explainer, many_forms};
use crate::house::{
    Ask, COURIER, House, RETAILER, STRANGER, TREASURER, WHOLESALER, one_file, shipped_contexts, transfer,
};
use semgate_policies::{
    Circumstances, Keep, KeepAs, Keeper, Parties, PolicySource, Scores, TextScores, TextWants,
};

pub(super) fn parties<'a>(ask: &Ask<'a>) -> Parties<'a> {
    Parties { sender: ask.sender, receiver: ask.receiver, binding: "l8", direction: ask.direction }
}

/// The question as a record keeps it, and what these policies make of that.
pub(super) fn recalled(
    source: &PolicySource,
    ask: Ask<'_>,
    keep: &Keep,
) -> (String, Result<Vec<Recalled>, String>) {
    let house = House::load(source, shipped_contexts()).unwrap();
    again(&house, &explainer(source), ask, keep)
}

pub(super) fn again(
    house: &House,
    explainer: &Explainer,
    ask: Ask<'_>,
    keep: &Keep,
) -> (String, Result<Vec<Recalled>, String>) {
    let kept = house.question(ask, |question| {
        let mut keeper = Keeper::new(keep);
        keeper.add(&house.policies, question, false, &house.policies.decide(question), None);
        keeper.finish()
    });
    let read = json::read(kept.as_bytes(), &json::Limits::default()).unwrap();
    let recalled = explainer.recall(parties(&ask), read.as_object().unwrap(), Recorded::default());
    (kept, recalled)
}

pub(super) fn kept(fields: &[(&str, KeepAs)], max_bytes: usize) -> Keep {
    Keep::new(fields.iter().map(|(name, keep)| ((*name).to_owned(), *keep)).collect(), max_bytes)
}

#[test]
fn a_question_of_which_everything_was_kept_is_decided_again_as_it_was() {
    let values = [transfer("1"), transfer("12000"), transfer("10000.0001")];
    for source in [PolicySource::shipped(), many_forms()] {
        let (house, explainer) = (House::load(&source, shipped_contexts()).unwrap(), explainer(&source));
        for sender in [RETAILER, TREASURER, COURIER, WHOLESALER, STRANGER] {
            for (urn, term, value) in [
                ("payment:v1.1", "transfer", values[0].as_str()),
                ("payment:v2.0", "transfer", values[1].as_str()),
                ("payment:v2.0", "transfer", values[2].as_str()),
                ("supplyChain:v1.0", "decision_contingency", CONTINGENCY),
            ] {
                for (action, direction) in [
                    (Performative::Request, "request"),
                    (Performative::Agree, "reply"),
                    (Performative::Propose, "request"),
                ] {
                    let ask = Ask { sender, action, urn, term, value, direction, ..Ask::default() };
                    let (text, recalled) = again(&house, &explainer, ask, &Keep::everything());
                    let one = &recalled.unwrap()[0];
                    let why = format!("{sender} {action} {term} {direction}: {text}");
                    assert_eq!(one.now, Some(one.then.as_str()), "{why}");
                    if one.then == "permitted" || one.then == "denied" {
                        assert_eq!(one.now_by, one.then_by, "{why}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_was_not_kept_is_asked_of_nobody_and_named_only_where_it_decides() {
    let value = transfer("12000");
    let nothing = kept(&[], 1 << 14);
    let ask = Ask { value: &value, ..Ask::default() };
    let (text, report) = recalled(&PolicySource::shipped(), ask, &nothing);
    assert!(!text.contains("12000") && !text.contains("EUR"), "{text}");
    let report = report.unwrap().remove(0);
    assert_eq!((report.now, report.then.as_str()), (None, "denied"));
    assert_eq!(report.missing, BTreeSet::from(["resource.amount".to_owned()]));
    let (_, report) = recalled(&PolicySource::shipped(), Ask { sender: TREASURER, ..ask }, &nothing);
    assert_eq!(report.unwrap()[0].now, Some("permitted"), "who holds the credential may pay any amount");
    let amount = kept(&[("payment::transfer.amount", KeepAs::Values)], 1 << 14);
    let (text, report) = recalled(&PolicySource::shipped(), ask, &amount);
    assert!(text.contains("\"values\":{\"amount\":12000}") && !text.contains("EUR"), "{text}");
    assert_eq!(report.unwrap()[0].now, Some("denied"));
}

#[test]
fn a_digest_tells_equal_values_and_no_value() {
    let digests = kept(&[("payment::transfer.amount", KeepAs::Digests)], 1 << 14);
    let value = transfer("12000");
    let (text, report) =
        recalled(&PolicySource::shipped(), Ask { value: &value, ..Ask::default() }, &digests);
    let digest = semgate_contexts::Digest::of(b"12000").to_string();
    assert!(text.contains(&digest) && !text.contains(":12000"), "{text}");
    assert_eq!(report.unwrap()[0].now, None);
}

#[test]
fn a_digest_decides_whether_a_text_is_the_one_that_a_policy_names() {
    let keep = kept(
        &[("payment::transfer.amount", KeepAs::Values), ("payment::transfer.currency", KeepAs::Digests)],
        1 << 14,
    );
    let value = transfer("1");
    let ask = Ask { value: &value, ..Ask::default() };
    for (condition, now) in [
        (r#"resource.currency == "EUR""#, Some("denied")),
        (r#"resource.currency == "USD""#, Some("permitted")),
        (r#"resource.currency != "EUR""#, Some("permitted")),
        (r#"["USD", "GBP"].contains(resource.currency)"#, Some("permitted")),
        (r#"["USD", "EUR"].contains(resource.currency)"#, Some("denied")),
        (r#"resource has currency && resource.currency == "EUR""#, Some("denied")),
        // a digest says nothing of a part of a text
        (r#"resource.currency like "E*""#, None),
    ] {
        let mut source = PolicySource::shipped();
        let forbid =
            format!("forbid (principal, action, resource is payment::transfer) when {{ {condition} }};");
        source.files.push(("more.cedar".to_owned(), forbid));
        let (text, report) = recalled(&source, ask, &keep);
        assert!(!text.contains("EUR"), "{text}");
        assert_eq!(report.unwrap()[0].now, now, "{condition}");
    }
}

#[test]
fn a_digest_of_a_number_decides_only_that_it_is_the_one_that_a_policy_names() {
    let keep = kept(&[("supplyChain::current_decision.quantity", KeepAs::Digests)], 1 << 14);
    let value = r#"{"item_id":"beer","quantity":120}"#;
    let ask = Ask {
        action: Performative::Inform,
        urn: "supplyChain:v1.0",
        term: "current_decision",
        value,
        ..Ask::default()
    };
    for (quantity, now) in [(120, Some("denied")), (121, None)] {
        let mut source = PolicySource::shipped();
        let forbid = format!(
            "forbid (principal, action, resource is supplyChain::current_decision) when {{ resource.quantity == {quantity} }};"
        );
        source.files.push(("more.cedar".to_owned(), forbid));
        let (_, report) = recalled(&source, ask, &keep);
        assert_eq!(report.unwrap()[0].now, now, "{quantity}");
    }
}

#[test]
fn of_a_message_past_the_limit_its_size_alone_is_kept() {
    let value = transfer("12000");
    let small = kept(&[("payment::transfer.amount", KeepAs::Values)], 256);
    let (text, report) = recalled(&PolicySource::shipped(), Ask { value: &value, ..Ask::default() }, &small);
    assert!(text.starts_with("{\"too_large\":") && text.len() < 40, "{text}");
    assert_eq!(report.unwrap_err(), "its questions were too large for the record");
}

/// A contingency of which this was measured.
fn measured(scores: Scores) -> Ask<'static> {
    let usual = Ask::default();
    Ask {
        action: Performative::Inform,
        urn: "supplyChain:v1.0",
        term: "decision_contingency",
        value: CONTINGENCY,
        around: Circumstances { scores, ..usual.around },
        ..usual
    }
}

#[test]
fn of_what_was_measured_only_the_length_of_text_that_was_not_kept_is_not_known() {
    let nothing = kept(&[], 1 << 14);
    let ask = measured(Scores { concepts: 2, message_bytes: 640, ..Scores::default() });
    let report = |condition: &str| {
        let permit = "permit (principal, action, resource is supplyChain::decision_contingency)";
        let source = one_file(&format!("{permit} when {{ {condition} }};"));
        recalled(&source, ask, &nothing).1.unwrap().remove(0)
    };
    for (condition, now) in [
        ("context.scores.concepts == 2", Some("permitted")),
        ("context.scores.concepts > 2", Some("denied")),
        ("context.scores.message_bytes == 640", Some("permitted")),
        ("context.scores.text_length > 0", None),
    ] {
        let report = report(condition);
        assert_eq!(report.now, now, "{condition}: {:?}", report.missing);
    }
    assert_eq!(
        report("context.scores.text_length > 0").missing,
        BTreeSet::from(["context.scores.text_length".to_owned()])
    );
}

#[test]
fn attack_an_error_of_a_policy_hides_behind_a_length_that_was_not_kept() {
    let overflow = "permit (principal, action, resource is supplyChain::decision_contingency);\n\
        forbid (principal, action, resource is supplyChain::decision_contingency)\n\
        when { context.scores.concepts * 4611686018427387904 == 3 };";
    let ask = measured(Scores { concepts: 2, ..Scores::default() });
    let report = recalled(&one_file(overflow), ask, &kept(&[], 1 << 14)).1.unwrap().remove(0);
    assert_eq!((report.then.as_str(), report.now), ("error", Some("error")), "{:?}", report.missing);
}

#[test]
fn scores_of_text_are_known_from_the_record_as_far_as_they_were_made() {
    let nothing = kept(&[], 1 << 14);
    let text = TextScores {
        made: TextWants { injection: true, unusual: true, ..TextWants::NONE },
        injection: 80,
        ..TextScores::NONE
    };
    let ask = measured(Scores { concepts: 1, message_bytes: 640, text, ..Scores::default() });
    let report = |condition: &str| {
        let permit = "permit (principal, action, resource is supplyChain::decision_contingency)";
        let source = one_file(&format!("{permit} when {{ {condition} }};"));
        let (kept, report) = recalled(&source, ask, &nothing);
        assert!(kept.contains(r#""text":{"injection":80,"unusual":null}"#), "{kept}");
        report.unwrap().remove(0)
    };
    for (condition, now) in [
        ("context.scores.injection >= 75", Some("permitted")),
        ("context.scores.injection >= 90", Some("denied")),
        ("context.scores has unusual && context.scores.unusual > 9", Some("denied")),
        ("context.scores.markers == 0", None),
    ] {
        let report = report(condition);
        assert_eq!(report.now, now, "{condition}: {:?}", report.missing);
    }
}
