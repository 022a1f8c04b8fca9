//! Tests of `spots`.

use super::{at, member};

#[test]
fn a_member_stands_where_its_name_begins_and_an_item_where_it_begins() {
    let text = "{\n  \"é\\\"\": [1, {\"a\": \"x,]}\"}],\n\t\"b\" : {\"c\\u0064\": [true,-1.5e3 ]} }";
    let spots = |pointer: &str| {
        let location = at("f", text.as_bytes(), pointer);
        (location.line, location.column)
    };
    assert_eq!(spots(""), (1, 1));
    assert_eq!(spots("/é\""), (2, 3));
    assert_eq!(spots("/é\"/1"), (2, 14));
    assert_eq!(spots("/é\"/1/a"), (2, 15));
    assert_eq!(spots("/b"), (3, 2));
    assert_eq!(spots("/b/cd"), (3, 20));
    assert_eq!(spots("/b/cd/1"), (3, 26));
    // what is missing is missing from what is there
    assert_eq!(spots("/b/nothing/0"), (3, 2));
    assert_eq!(spots("/é\"/1/b"), (2, 14));
}

#[test]
fn a_name_that_is_not_plain_is_not_repeated() {
    assert_eq!(member("/a/0", "Disabled"), "/a/0/Disabled");
    for name in ["", "a b", "a/b", "\u{202e}", &"x".repeat(65)] {
        assert_eq!(member("/a/0", name), "/a/0");
    }
}
