//! Tests of `names`.

use super::{namespace, type_name};
use semgate_contexts::Line;

#[test]
fn lines_become_namespaces() {
    for (line, expected) in [
        ("payment", "payment"),
        ("acme.logistics", "acme::logistics"),
        ("acme.if-then.3d", "acme::if_then::_3d"),
        ("in.Action.like", "in_::Action_::like_"),
    ] {
        assert_eq!(namespace(&Line::parse(line).unwrap()), expected);
    }
}

#[test]
fn words_that_mean_something_to_cedar_get_an_underscore() {
    for (shape, expected) in
        [("transfer", "transfer"), ("in", "in_"), ("Agent", "Agent_"), ("String", "String_")]
    {
        assert_eq!(type_name(shape), expected);
    }
}
