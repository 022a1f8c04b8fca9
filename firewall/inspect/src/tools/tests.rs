//! What is remembered of servers, by itself.

use super::lists::Page;
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

/// A list of one page that is asked for after so many changes has the tool as it was signed.
fn lists(
    watch: &ToolWatch,
    server: Server<'_>,
    context: &Digest,
    tool: &str,
    (asked_after, age): (u64, Age),
) {
    let (caller, version) = ("caller", Version::V2026_07_28);
    let page = Page { server, context, caller, version, cursor: None, next: None, asked_after, age };
    watch.listed(&page, &[], &[tool]);
}

#[test]
fn a_list_that_was_asked_for_before_a_change_counts_for_nothing_after_it() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let stands = || watch.stands(HERE, &context, "add", ANY_AGE);
    assert_eq!(stands(), Ok(()));
    let before = watch.changes("route");
    watch.changed("route");
    lists(&watch, HERE, &context, "add", (before, ANY_AGE));
    assert_eq!(stands(), Err(NotAsSigned::Changed), "the list was on its way when the tool changed");
    lists(&watch, HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!(stands(), Ok(()));
    watch.drifted(HERE, &context, "add", watch.changes("route"));
    assert_eq!(stands(), Err(NotAsSigned::Drifted));
    watch.changed("route");
    assert_eq!(stands(), Err(NotAsSigned::Changed), "how it is described now is to be seen");
    watch.drifted(HERE, &context, "add", before);
    lists(&watch, HERE, &context, "add", (watch.changes("route"), ANY_AGE));
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
    lists(&watch, HERE, &context, "add", (0, ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "a restart would still trust it");
    watch.changed("route");
    lists(&watch, HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "however often");
    assert_eq!(watch.stands(Server { receiver: "another", ..HERE }, &context, "add", ANY_AGE), Ok(()));
    assert_eq!(heard.load(Ordering::Relaxed), 4, "it is tried again with each list");
    works.store(true, Ordering::Relaxed);
    lists(&watch, HERE, &context, "add", (watch.changes("route"), ANY_AGE));
    assert_eq!((stands("add"), stands("sum")), (Ok(()), Err(NotAsSigned::Changed)));
    watch.drifted(HERE, &context, "add", watch.changes("route"));
    assert_eq!(heard.load(Ordering::Relaxed), 5, "what is kept is kept");
}

#[test]
fn attack_the_list_of_one_server_clears_what_was_seen_of_another_of_the_same_receiver() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let stands = |server, tool| watch.stands(server, &context, tool, ANY_AGE);
    lists(&watch, BESIDE, &context, "add", (0, ANY_AGE));
    assert!(!watch.in_doubt("route"));
    watch.drifted(HERE, &context, "add", 0);
    assert!(watch.in_doubt("route"));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted));
    assert_eq!(stands(BESIDE, "add"), Err(NotAsSigned::Changed), "it lists again before it is called");
    assert_eq!(stands(BESIDE, "sum"), Ok(()));
    lists(&watch, BESIDE, &context, "add", (0, ANY_AGE));
    assert_eq!(stands(BESIDE, "add"), Ok(()));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted), "which says nothing of the first");
    watch.drifted(HERE, &context, "add", 0);
    assert_eq!(stands(BESIDE, "add"), Ok(()), "that it is still so is no news");
    watch.changed("route");
    lists(&watch, BESIDE, &context, "add", (1, ANY_AGE));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Changed));
    watch.drifted(HERE, &context, "add", 1);
    lists(&watch, HERE, &context, "add", (1, ANY_AGE));
    assert_eq!((stands(HERE, "add"), stands(BESIDE, "add")), (Ok(()), Err(NotAsSigned::Changed)));
}

#[test]
fn a_list_that_is_too_old_counts_no_more_and_only_where_ages_count() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let at = |now| Age { now, most: Some(1_000) };
    let stands = |age| watch.stands(HERE, &context, "add", age);
    assert_eq!((stands(ANY_AGE), stands(at(0))), (Ok(()), Err(NotAsSigned::Old)), "it was never listed");
    lists(&watch, HERE, &context, "add", (0, at(500)));
    assert_eq!((stands(at(1_500)), stands(at(1_501))), (Ok(()), Err(NotAsSigned::Old)));
    assert_eq!(watch.stands(BESIDE, &context, "add", at(500)), Err(NotAsSigned::Old));
    lists(&watch, HERE, &context, "add", (0, at(1_501)));
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

#[test]
fn what_a_list_says_counts_when_all_of_it_was_read_and_a_drift_on_any_page_of_it_at_once() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let first = Page {
        server: HERE,
        context: &context,
        caller: "one",
        version: Version::V2026_07_28,
        cursor: None,
        next: Some("2"),
        asked_after: 0,
        age: ANY_AGE,
    };
    let last = Page { cursor: Some("2"), next: None, ..first };
    let stands = || watch.stands(HERE, &context, "add", ANY_AGE);
    let drifted = Err(NotAsSigned::Drifted);
    watch.listed(&first, &["add"], &[]);
    watch.listed(&last, &[], &["add"]);
    assert_eq!(stands(), drifted, "another page of the same list says otherwise");
    watch.listed(&first, &[], &["add"]);
    assert_eq!(stands(), drifted, "the list goes on");
    watch.listed(&last, &["add"], &[]);
    assert_eq!(stands(), drifted);
    watch.listed(&first, &[], &["add"]);
    for strange in [
        Page { caller: "another", ..last },
        Page { cursor: Some("3"), ..last },
        Page { version: Version::V2025_11_25, ..last },
        Page { server: BESIDE, ..last },
        Page { context: &Digest::of(b"another"), ..last },
    ] {
        watch.listed(&strange, &[], &["add"]);
        assert_eq!(stands(), drifted, "{strange:?} does not end the list that was begun");
    }
    watch.listed(&last, &[], &[]);
    assert_eq!(stands(), Ok(()));
    watch.listed(&first, &[], &["add"]);
    watch.listed(&Page { caller: "another", next: None, ..first }, &["add"], &[]);
    watch.listed(&last, &[], &[]);
    assert_eq!(stands(), drifted, "it drifted in another list since this one was begun");
    watch.listed(&first, &[], &[]);
    watch.listed(&last, &[], &["add"]);
    assert_eq!(stands(), Ok(()), "on whatever page it stands");
    watch.listed(&first, &[], &["add"]);
    watch.changed("route");
    watch.listed(&Page { asked_after: 1, ..last }, &[], &[]);
    assert_eq!(
        stands(),
        Err(NotAsSigned::Changed),
        "a list that was begun before a change counts for nothing after it"
    );
}
