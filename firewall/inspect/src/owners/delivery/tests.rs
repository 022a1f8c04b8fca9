use super::*;

#[test]
fn no_two_push_configurations_have_one_name() {
    assert_eq!(named("t-1", "c-1"), "t-1/c-1");
    assert_eq!(named("a/b", "c"), "a~1b/c");
    assert_ne!(named("a/b", "c"), named("a", "b/c"));
    assert_ne!(named("a~1b", "c"), named("a/b", "c"));
}
