//! What is remembered of servers, by itself.

use super::watch::{Age, NotAsSigned, Server, ToolWatch};
use semgate_contexts::Digest;
use semgate_message::mcp::Version;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

const HERE: Server<'_> = Server { receiver: "route", upstream: "http://127.0.0.1:1/mcp" };
const BESIDE: Server<'_> = Server { receiver: "route", upstream: "http://127.0.0.1:2/mcp" };
const ANY_AGE: Age = Age { now: 0, most: None };

#[test]
fn a_list_that_was_asked_for_before_a_change_counts_for_nothing_after_it() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let stands = || watch.stands(HERE, &context, "add", ANY_AGE);
    assert_eq!(stands(), Ok(()));
    let before = watch.changes("route");
    watch.changed("route");
    watch.as_signed(HERE, &context, "add", (before, ANY_AGE));
    assert_eq!(stands(), Err(NotAsSigned::Changed), "the list was on its way when the tool changed");
    watch.as_signed(HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!(stands(), Ok(()));
    watch.drifted(HERE, &context, "add", watch.changes("route"));
    assert_eq!(stands(), Err(NotAsSigned::Drifted));
    watch.changed("route");
    assert_eq!(stands(), Err(NotAsSigned::Changed), "how it is described now is to be seen");
    watch.drifted(HERE, &context, "add", before);
    watch.as_signed(HERE, &context, "add", (watch.changes("route"), ANY_AGE));
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
    let stands = |tool| watch.stands(HERE, &context, tool, ANY_AGE);
    watch.drifted(HERE, &context, "add", 0);
    assert_eq!((stands("add"), stands("sum")), (Err(NotAsSigned::Drifted), Err(NotAsSigned::Unkept)));
    watch.as_signed(HERE, &context, "add", (0, ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "a restart would still trust it");
    watch.changed("route");
    watch.as_signed(HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "however often");
    assert_eq!(watch.stands(Server { receiver: "another", ..HERE }, &context, "add", ANY_AGE), Ok(()));
    assert_eq!(heard.load(Ordering::Relaxed), 4, "it is tried again with each list");
    works.store(true, Ordering::Relaxed);
    watch.as_signed(HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!((stands("add"), stands("sum")), (Ok(()), Err(NotAsSigned::Changed)));
    watch.drifted(HERE, &context, "add", watch.changes("route"));
    assert_eq!(heard.load(Ordering::Relaxed), 5, "what is kept is kept");
}

#[test]
fn attack_the_list_of_one_server_clears_what_was_seen_of_another_of_the_same_receiver() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let stands = |server, tool| watch.stands(server, &context, tool, ANY_AGE);
    watch.as_signed(BESIDE, &context, "add", (0, ANY_AGE));
    assert!(!watch.in_doubt("route"));
    watch.drifted(HERE, &context, "add", 0);
    assert!(watch.in_doubt("route"));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted));
    assert_eq!(stands(BESIDE, "add"), Err(NotAsSigned::Changed), "it lists again before it is called");
    assert_eq!(stands(BESIDE, "sum"), Ok(()));
    watch.as_signed(BESIDE, &context, "add", (0, ANY_AGE));
    assert_eq!(stands(BESIDE, "add"), Ok(()));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted), "which says nothing of the first");
    watch.drifted(HERE, &context, "add", 0);
    assert_eq!(stands(BESIDE, "add"), Ok(()), "that it is still so is no news");
    watch.changed("route");
    watch.as_signed(BESIDE, &context, "add", (1, ANY_AGE));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Changed));
    watch.drifted(HERE, &context, "add", 1);
    watch.as_signed(HERE, &context, "add", (1, ANY_AGE));
    assert_eq!((stands(HERE, "add"), stands(BESIDE, "add")), (Ok(()), Err(NotAsSigned::Changed)));
}

#[test]
fn a_list_that_is_too_old_counts_no_more_and_only_where_ages_count() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let at = |now| Age { now, most: Some(1_000) };
    let stands = |age| watch.stands(HERE, &context, "add", age);
    assert_eq!((stands(ANY_AGE), stands(at(0))), (Ok(()), Err(NotAsSigned::Old)), "it was never listed");
    watch.as_signed(HERE, &context, "add", (0, at(500)));
    assert_eq!((stands(at(1_500)), stands(at(1_501))), (Ok(()), Err(NotAsSigned::Old)));
    assert_eq!(watch.stands(BESIDE, &context, "add", at(500)), Err(NotAsSigned::Old));
    watch.as_signed(HERE, &context, "add", (0, at(1_501)));
    assert_eq!(stands(at(2_000)), Ok(()));
    watch.drifted(HERE, &context, "add", 0);
    assert_eq!(stands(at(2_000)), Err(NotAsSigned::Drifted));
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
