//! What is remembered of servers, by itself.

use super::watch::{NotAsSigned, ToolWatch};
use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

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
fn attack_a_drift_that_cannot_be_kept_is_forgotten_by_a_restart() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let (works, heard) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    watch.tell({
        let (works, heard) = (Arc::clone(&works), Arc::clone(&heard));
        move |server| {
            assert_eq!(server, "route");
            heard.fetch_add(1, Ordering::Relaxed);
            works.load(Ordering::Relaxed)
        }
    });
    let stands = |tool| watch.stands("route", &context, tool);
    watch.drifted("route", &context, "add", 0);
    assert_eq!((stands("add"), stands("sum")), (Err(NotAsSigned::Drifted), Err(NotAsSigned::Unkept)));
    watch.as_signed("route", &context, "add", 0);
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "a restart would still trust it");
    watch.changed("route");
    watch.as_signed("route", &context, "add", watch.changes("route"));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "however often");
    assert_eq!(watch.stands("another", &context, "add"), Ok(()));
    assert_eq!(heard.load(Ordering::Relaxed), 4, "it is tried again with each list");
    works.store(true, Ordering::Relaxed);
    watch.as_signed("route", &context, "add", watch.changes("route"));
    assert_eq!((stands("add"), stands("sum")), (Ok(()), Err(NotAsSigned::Changed)));
    watch.drifted("route", &context, "add", watch.changes("route"));
    assert_eq!(heard.load(Ordering::Relaxed), 5, "what is kept is kept");
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
