use super::*;

#[test]
fn features_have_one_text() {
    let both = Features::sorted(["a", "b/1"]).unwrap();
    assert_eq!(both.iter().collect::<Vec<_>>(), ["a", "b/1"]);
    assert_eq!(Features::sorted(["b", "a"]), Err(FeaturesFault::Order));
    assert_eq!(Features::sorted(["a", "a"]), Err(FeaturesFault::Order));
    for bad in ["", " ", "a b", "-a", "\u{e9}", &"x".repeat(65)] {
        assert_eq!(Features::sorted([bad]), Err(FeaturesFault::Name), "{bad:?}");
    }
    let many: Vec<String> = (0..33).map(|n| format!("f{n:02}")).collect();
    assert_eq!(Features::sorted(many.iter().map(String::as_str)), Err(FeaturesFault::TooMany));
}

#[test]
fn what_both_have_is_a_set_again() {
    let (a, b) = (Features::sorted(["a", "b", "c"]).unwrap(), Features::sorted(["b", "c", "d"]).unwrap());
    assert_eq!(a.common(&b), Features::sorted(["b", "c"]).unwrap());
    assert_eq!(a.missing_from(&b), Some("a"));
    assert_eq!(a.common(&b).missing_from(&a), None);
}
