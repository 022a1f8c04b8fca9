use super::is_of;

#[test]
fn what_is_below_a_resource_or_written_otherwise_is_of_it_and_nothing_else_is() {
    for (asked, given) in [
        ("file:///a", "file:///a"),
        ("file:///a", "file:///a/b/c.txt"),
        ("file:///a/", "file:///a/b"),
        ("https://Example.com", "https://example.com/"),
        ("file:///a b/ä", "file:///a%20b/%C3%A4"),
        ("file:///a%7eb", "file:///a~b"),
        ("note:1", "note:1"),
        ("db://t?q=1", "db://t?q=1"),
    ] {
        assert!(is_of(asked, given), "{asked} {given}");
    }
    for (asked, given) in [
        ("file:///a", "file:///secret"),
        ("file:///a", "file:///ab"),
        ("file:///a", "file:///a/../secret"),
        ("file:///a", "file:///a/%2e%2E/secret"),
        ("file:///a", "file:///a/..\\secret"),
        ("file:///a", "file:///a%2Fb"),
        ("file:///a%2Fb", "file:///a/b"),
        ("file:///a", "file:///A"),
        ("file:///a/b", "file:///a"),
        ("file:///a", "file:///a?x"),
        ("note:1", "NOTE:1x"),
        ("file:///a", "https://evil.test/a"),
    ] {
        assert!(!is_of(asked, given), "{asked} {given}");
    }
}
