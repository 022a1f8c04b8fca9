use super::*;

#[test]
fn the_next_number_is_one_that_nobody_has() {
    let v = |text: &str| Version::parse(text).unwrap();
    let taken = BTreeSet::from(["v1.0", "v1.1", "v2.1"].map(v));
    assert_eq!(first_free_version(&taken, v("v1.1")), Some(v("v1.2")));
    assert_eq!(first_free_version(&taken, v("v1.2")), Some(v("v1.2")));
    assert_eq!(
        first_free_version(&taken, v("v2.0")),
        Some(v("v3.0")),
        "what breaks begins a major of its own"
    );
    assert_eq!(first_free_version(&BTreeSet::new(), v("v1.1")), Some(v("v1.1")));
    let last = Version::new(u32::MAX, 0);
    assert_eq!(first_free_version(&BTreeSet::from([last]), last), None, "it went on for ever");
}
