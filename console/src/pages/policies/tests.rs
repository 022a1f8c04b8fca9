//! Tests of `policies`.

use super::*;
use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use semgate_policies::PolicySource;
use std::collections::BTreeSet;

fn contexts() -> Vec<Arc<Context>> {
    let read = |bytes: &[u8]| Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap();
    library::all().iter().map(|(_, bytes)| Arc::new(read(bytes))).collect()
}

fn directory(change: impl Fn(&str) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let shipped = PolicySource::shipped();
    for (name, text) in &shipped.files {
        std::fs::write(dir.path().join(name), change(text)).unwrap();
    }
    std::fs::write(dir.path().join("entities.json"), &shipped.entities).unwrap();
    dir
}

#[test]
fn cells_are_put_into_words() {
    let members = || BTreeSet::from(["amount".to_owned()]);
    assert_eq!(words(&Cell::Never), "never");
    assert_eq!(words(&Cell::Asks(BTreeSet::new())), "after a person agreed");
    assert_eq!(words(&Cell::Depends(members())), "depends on amount");
}

#[test]
fn a_set_is_analysed_once_for_each_state_and_its_faults_have_positions() {
    let (sets, contexts, floors) = (crate::sets::Sets::default(), contexts(), Floors::new());
    let good = directory(str::to_owned);
    let first = sets.of(good.path(), &contexts, &floors).unwrap();
    assert!(Arc::ptr_eq(&first, &sets.of(good.path(), &contexts, &floors).unwrap()));
    let rows = rows(matrix_of(&first).expect("the shipped set has a matrix"));
    assert!(rows.iter().any(|concept| concept.may > 0));
    let bad = directory(|text| text.replacen("permit", "permitt", 1));
    let set = sets.of(bad.path(), &contexts, &floors).unwrap();
    let faults = set.outcome.as_ref().err().expect("a fault");
    assert!(faults[0].location.contains(".cedar:"), "{:?}", faults[0]);
    assert!(set.digest != first.digest);
    assert!(differences(&first, &set).is_err(), "a set with faults has no matrix");
    assert!(differences(&first, &first).unwrap().is_empty());
}
