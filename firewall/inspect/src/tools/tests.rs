//! What is remembered of servers, by itself.

use super::watch::{NotAsSigned, ToolWatch};
use semgate_contexts::Digest;
use semgate_message::mcp::Version;

#[test]
fn a_list_that_was_asked_for_before_a_change_counts_for_nothing_after_it() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let stands = || watch.stands("route", &context, "add");
    assert_eq!(stands(), Ok(()));
    let before = watch.changes("route");
    watch.changed("route");
    watch.as_signed("route", &context, "add", before);
    assert_eq!(stands(), Err(NotAsSigned::Changed), "the list was on its way when the tool changed");
    watch.as_signed("route", &context, "add", watch.changes("route"));
    assert_eq!(stands(), Ok(()));
    watch.drifted("route", &context, "add", watch.changes("route"));
    assert_eq!(stands(), Err(NotAsSigned::Drifted));
    watch.changed("route");
    assert_eq!(stands(), Err(NotAsSigned::Changed), "how it is described now is to be seen");
    watch.drifted("route", &context, "add", before);
    watch.as_signed("route", &context, "add", watch.changes("route"));
    assert_eq!(stands(), Ok(()), "a drift from before the change counts no longer");
    assert_eq!(watch.changes("another"), 0);
}

#[test]
fn a_server_speaks_what_it_named_last_and_everything_before_it_was_asked() {
    let watch = ToolWatch::default();
    assert_eq!(watch.spoken("route"), Version::ALL);
    watch.speaks("route", vec![Version::V2026_07_28]);
    watch.speaks("route", Vec::new());
    assert_eq!(watch.spoken("route"), [Version::V2026_07_28]);
    assert_eq!(watch.spoken("another"), Version::ALL);
}
