//! What a record says of its own decision.

use std::collections::BTreeSet;

use semgate_contexts::json;

use super::super::{Part, Recalled, Recorded};
use super::explainer;
use super::recalled::{kept, parties};
use crate::house::{Ask, House, one_file, shipped_contexts, transfer};
use semgate_policies::{Keep, KeepAs, Keeper, PolicySource};

/// What these policies, of which it is known that they decided, make of a record of several transfers.
fn report(source: &PolicySource, values: &[String], keep: &Keep, by_these: bool) -> Vec<Recalled> {
    let house = House::load(source, shipped_contexts()).unwrap();
    let mut keeper = Keeper::new(keep);
    for value in values {
        house.question(Ask { value, ..Ask::default() }, |question| {
            keeper.add(&house.policies, question, false, &house.policies.decide(question), None);
        });
    }
    let text = keeper.finish();
    let read = json::read(text.as_bytes(), &json::Limits::default()).unwrap();
    let recorded = Recorded { redacted: &[], by_these };
    explainer(source).recall(parties(&Ask::default()), read.as_object().unwrap(), recorded).unwrap()
}

const NOTHING: [(&str, KeepAs); 0] = [];
const AMOUNT: [(&str, KeepAs); 1] = [("payment::transfer.amount", KeepAs::Values)];

#[test]
fn a_value_that_policies_cannot_hold_is_refused_by_every_set_and_hides_no_other_instance() {
    let values = [transfer("922337203685477.6"), transfer("12000")];
    for by_these in [false, true] {
        let report = report(&PolicySource::shipped(), &values, &kept(&AMOUNT, 1 << 14), by_these);
        assert_eq!((report[0].then.as_str(), report[0].now), ("untypable", Some("untypable")));
        let note = "policies cannot represent the value at `/amount` (rule `decimal`), so none was evaluated";
        assert_eq!(report[0].explanation.note.as_deref(), Some(note));
        assert_eq!(report[1].now, Some("denied"), "the other is explained");
    }
    let unseen = report(&PolicySource::shipped(), &values, &kept(&NOTHING, 1 << 14), false);
    assert_eq!(unseen[0].now, Some("untypable"), "whether or not the value was kept");
    assert!(unseen[0].missing.is_empty() && unseen[0].explanation.policies.is_empty(), "{unseen:?}");
}

const TWO: &str = r#"@id("pay") permit (principal, action, resource is payment::transfer);
    @id("high") forbid (principal, action, resource is payment::transfer) when { resource.amount.greaterThan(decimal("10000.0")) };
    @id("eur") forbid (principal, action, resource is payment::transfer) when { resource.currency == "EUR" };
    @id("gbp") forbid (principal, action, resource is payment::transfer) when { resource.currency == "GBP" };"#;

fn decided(of: &Recalled) -> Vec<&str> {
    let decided = of.explanation.policies.iter().filter(|one| one.part == Part::Decided);
    decided.map(|one| one.id.as_str()).collect()
}

#[test]
fn what_the_same_policies_decided_is_what_the_record_says_also_of_what_was_not_kept() {
    let value = [transfer("12000")];
    let report = |by_these| report(&one_file(TWO), &value, &kept(&AMOUNT, 1 << 14), by_these).remove(0);
    let own = report(true);
    assert_eq!((own.now, decided(&own)), (Some("denied"), vec!["p.cedar#eur", "p.cedar#high"]));
    assert_eq!(own.now_by, own.then_by);
    let open = own.explanation.policies.iter().filter(|one| one.part == Part::Open).count();
    assert_eq!(open, 0, "a forbid that the record does not name did not apply");
    // of other policies nobody knows more than what was kept
    assert_eq!(decided(&report(false)), ["p.cedar#high"]);
}

#[test]
fn a_permitted_or_failed_question_of_the_same_policies_is_told_although_nothing_was_kept() {
    let permit = r#"@id("pay") permit (principal, action, resource is payment::transfer) when { resource.currency == "EUR" };"#;
    let by = "p.cedar#pay";
    for source in [&TWO.replace("EUR", "USD"), permit] {
        let report = report(&one_file(source), &[transfer("1")], &kept(&NOTHING, 1 << 14), true).remove(0);
        assert_eq!((report.now, decided(&report)), (Some("permitted"), vec![by]), "{source}");
        assert_eq!((report.missing, report.now_by), (BTreeSet::new(), BTreeSet::from([by.to_owned()])));
    }
    let overflow = r#"@id("pay") permit (principal, action, resource is payment::transfer);
        @id("over") forbid (principal, action, resource is payment::transfer) when { context.major * 4611686018427387904 > 0 };"#;
    let report = report(&one_file(overflow), &[transfer("1")], &kept(&NOTHING, 1 << 14), true).remove(0);
    assert_eq!((report.now, decided(&report)), (Some("error"), vec!["p.cedar#over"]));
}
