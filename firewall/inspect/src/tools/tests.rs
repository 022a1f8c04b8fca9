//! What is remembered of servers, by itself.

use super::drift::{Age, ListedTool, NotAsSigned, Server, ToolWatch};
use super::lists::Page;
use semgate_contexts::Digest;
use semgate_protocol::mcp::Revision;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

const HERE: Server<'_> = Server { receiver: "route", upstream: "http://127.0.0.1:1/mcp" };
const BESIDE: Server<'_> = Server { receiver: "route", upstream: "http://127.0.0.1:2/mcp" };
const ANY_AGE: Age = Age { now: 0, most: None };
/// What is signed, and the forms in which servers describe it.
const SIGNED: &[&str] = &["good", "good-too"];
const OLDER: &[&str] = &["older"];
const GOOD: Option<&str> = Some("good");
const BENT: Option<&str> = Some("bent");

/// A page has the tool so, read under a context that signs it so.
fn has(watch: &ToolWatch, page: &Page<'_>, (tool, form): (&str, Option<&str>), signed: &[&str]) {
    watch.listed(page, &[ListedTool { tool, form: form.map(Box::from), signed: Some(signed) }]);
}

/// The first page of a list that is asked for after so many changes, and the last.
fn page<'p>(server: Server<'p>, context: &'p Digest, (asked_after, age): (u64, Age)) -> Page<'p> {
    let (caller, version) = ("caller", Revision::V2026_07_28);
    Page { server, context, caller, version, cursor: None, next: None, asked_after, age }
}

/// A list of one page.
fn lists(watch: &ToolWatch, server: Server<'_>, tool: (&str, Option<&str>), when: (u64, Age)) {
    has(watch, &page(server, &Digest::of(b"signed"), when), tool, SIGNED);
}

fn stands(watch: &ToolWatch, server: Server<'_>, tool: &str, age: Age) -> Result<(), NotAsSigned> {
    watch.stands(server, tool, SIGNED, age, || false)
}

#[test]
fn a_list_that_was_asked_for_before_a_change_counts_for_nothing_after_it() {
    let watch = ToolWatch::default();
    let stands = || stands(&watch, HERE, "add", ANY_AGE);
    assert_eq!(stands(), Ok(()));
    let before = watch.changes("route");
    watch.changed("route");
    lists(&watch, HERE, ("add", GOOD), (before, ANY_AGE));
    assert_eq!(stands(), Err(NotAsSigned::Changed), "the list was on its way when the tool changed");
    lists(&watch, HERE, ("add", GOOD), (watch.changes("route"), ANY_AGE));
    assert_eq!(stands(), Ok(()));
    lists(&watch, HERE, ("add", BENT), (watch.changes("route"), ANY_AGE));
    assert_eq!(stands(), Err(NotAsSigned::Drifted));
    watch.changed("route");
    assert_eq!(stands(), Err(NotAsSigned::Changed), "how it is described now is to be seen");
    lists(&watch, HERE, ("add", BENT), (before, ANY_AGE));
    lists(&watch, HERE, ("add", GOOD), (watch.changes("route"), ANY_AGE));
    assert_eq!(stands(), Ok(()), "a drift from before the change counts no longer");
    lists(&watch, HERE, ("add", BENT), (before, ANY_AGE));
    assert_eq!(stands(), Err(NotAsSigned::Changed), "but that it is to be listed again");
    assert_eq!(watch.changes("another"), 0);
}

#[test]
fn attack_a_drift_that_cannot_be_kept_is_forgotten_by_a_restart() {
    let watch = ToolWatch::default();
    let (works, heard) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    watch.tell({
        let (works, heard) = (Arc::clone(&works), Arc::clone(&heard));
        move |server| {
            assert_eq!(server, "route");
            heard.fetch_add(1, Ordering::Relaxed);
            works.load(Ordering::Relaxed)
        }
    });
    let stands = |tool| stands(&watch, HERE, tool, ANY_AGE);
    lists(&watch, HERE, ("add", BENT), (0, ANY_AGE));
    assert_eq!((stands("add"), stands("sum")), (Err(NotAsSigned::Drifted), Err(NotAsSigned::Unkept)));
    lists(&watch, HERE, ("add", GOOD), (0, ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "a restart would still trust it");
    watch.changed("route");
    lists(&watch, HERE, ("add", GOOD), (watch.changes("route"), ANY_AGE));
    assert_eq!(stands("add"), Err(NotAsSigned::Unkept), "however often");
    let another = Server { receiver: "another", ..HERE };
    assert_eq!(super::tests::stands(&watch, another, "add", ANY_AGE), Ok(()));
    assert_eq!(heard.load(Ordering::Relaxed), 4, "it is tried again with each list");
    works.store(true, Ordering::Relaxed);
    lists(&watch, HERE, ("add", GOOD), (watch.changes("route"), ANY_AGE));
    assert_eq!((stands("add"), stands("sum")), (Ok(()), Err(NotAsSigned::Changed)));
    lists(&watch, HERE, ("add", BENT), (watch.changes("route"), ANY_AGE));
    assert_eq!(heard.load(Ordering::Relaxed), 5, "what is kept is kept");
}

#[test]
fn attack_the_list_of_one_server_clears_what_was_seen_of_another_of_the_same_receiver() {
    let watch = ToolWatch::default();
    let stands = |server, tool| stands(&watch, server, tool, ANY_AGE);
    lists(&watch, BESIDE, ("add", GOOD), (0, ANY_AGE));
    assert!(!watch.in_doubt("route"));
    lists(&watch, HERE, ("add", BENT), (0, ANY_AGE));
    assert!(watch.in_doubt("route"));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted));
    assert_eq!(stands(BESIDE, "add"), Err(NotAsSigned::Changed), "it lists again before it is called");
    assert_eq!(stands(BESIDE, "sum"), Ok(()));
    lists(&watch, BESIDE, ("add", GOOD), (0, ANY_AGE));
    assert_eq!(stands(BESIDE, "add"), Ok(()));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Drifted), "which says nothing of the first");
    lists(&watch, HERE, ("add", BENT), (0, ANY_AGE));
    assert_eq!(stands(BESIDE, "add"), Ok(()), "that it is still so is no news");
    watch.changed("route");
    lists(&watch, BESIDE, ("add", GOOD), (1, ANY_AGE));
    assert_eq!(stands(HERE, "add"), Err(NotAsSigned::Changed));
    lists(&watch, HERE, ("add", BENT), (1, ANY_AGE));
    lists(&watch, HERE, ("add", GOOD), (1, ANY_AGE));
    assert_eq!((stands(HERE, "add"), stands(BESIDE, "add")), (Ok(()), Err(NotAsSigned::Changed)));
}

#[test]
fn a_list_that_is_too_old_counts_no_more_and_only_where_ages_count() {
    let watch = ToolWatch::default();
    let at = |now| Age { now, most: Some(1_000) };
    let stands = |server, age| stands(&watch, server, "add", age);
    assert_eq!((stands(HERE, ANY_AGE), stands(HERE, at(0))), (Ok(()), Err(NotAsSigned::Old)), "never listed");
    lists(&watch, HERE, ("add", GOOD), (0, at(500)));
    assert_eq!((stands(HERE, at(1_500)), stands(HERE, at(1_501))), (Ok(()), Err(NotAsSigned::Old)));
    assert_eq!(stands(BESIDE, at(500)), Err(NotAsSigned::Old));
    lists(&watch, HERE, ("add", GOOD), (0, at(1_501)));
    assert_eq!(stands(HERE, at(2_000)), Ok(()));
    lists(&watch, HERE, ("add", BENT), (0, at(2_000)));
    assert_eq!(stands(HERE, at(2_000)), Err(NotAsSigned::Drifted));
}

#[test]
fn a_server_speaks_what_it_named_last_and_everything_before_it_was_asked() {
    let watch = ToolWatch::default();
    assert_eq!(watch.spoken("route"), Revision::ALL);
    watch.speaks("route", vec![Revision::V2026_07_28]);
    watch.speaks("route", Vec::new());
    assert_eq!(watch.spoken("route"), [Revision::V2026_07_28]);
    assert_eq!(watch.spoken("another"), Revision::ALL);
}

#[test]
fn what_a_list_says_counts_when_all_of_it_was_read_and_a_drift_on_any_page_of_it_at_once() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"signed"));
    let first = Page { next: Some("2"), ..page(HERE, &context, (0, ANY_AGE)) };
    let last = Page { cursor: Some("2"), next: None, ..first };
    let stands = || stands(&watch, HERE, "add", ANY_AGE);
    let bent = |page: &Page<'_>| has(&watch, page, ("add", BENT), SIGNED);
    let good = |page: &Page<'_>| has(&watch, page, ("add", GOOD), SIGNED);
    let drifted = Err(NotAsSigned::Drifted);
    bent(&first);
    good(&last);
    assert_eq!(stands(), drifted, "another page of the same list says otherwise");
    good(&first);
    assert_eq!(stands(), drifted, "the list goes on");
    bent(&last);
    assert_eq!(stands(), drifted);
    good(&first);
    for strange in [
        Page { caller: "another", ..last },
        Page { cursor: Some("3"), ..last },
        Page { version: Revision::V2025_11_25, ..last },
        Page { server: BESIDE, ..last },
        Page { context: &Digest::of(b"another"), ..last },
    ] {
        good(&strange);
        assert_eq!(stands(), drifted, "{strange:?} does not end the list that was begun");
    }
    watch.listed(&last, &[]);
    assert_eq!(stands(), Ok(()));
    good(&first);
    bent(&Page { caller: "another", next: None, ..first });
    watch.listed(&last, &[]);
    assert_eq!(stands(), drifted, "it drifted in another list since this one was begun");
    watch.listed(&first, &[]);
    good(&last);
    assert_eq!(stands(), Ok(()), "on whatever page it stands");
    good(&first);
    watch.changed("route");
    watch.listed(&Page { asked_after: 1, ..last }, &[]);
    let changed = Err(NotAsSigned::Changed);
    assert_eq!(stands(), changed, "a list that was begun before a change counts for nothing after it");
}

#[test]
fn attack_a_drift_under_one_context_is_none_under_another() {
    let (watch, context) = (ToolWatch::default(), Digest::of(b"older"));
    let under = |signed, apart| watch.stands(HERE, "add", signed, ANY_AGE, || apart);
    assert_eq!((under(SIGNED, false), under(OLDER, true)), (Ok(()), Err(NotAsSigned::Unseen)));
    let older = page(HERE, &context, (0, ANY_AGE));
    has(&watch, &older, ("add", GOOD), OLDER);
    assert_eq!((under(SIGNED, true), under(OLDER, true)), (Ok(()), Err(NotAsSigned::Drifted)));
    has(&watch, &older, ("add", BENT), OLDER);
    let drifted = Err(NotAsSigned::Drifted);
    assert_eq!((under(SIGNED, true), under(OLDER, true)), (drifted, drifted), "it is neither");
    // a list under a context that does not name the tool shows it too
    watch.listed(&older, &[ListedTool { tool: "add", form: Some("older".into()), signed: None }]);
    assert_eq!((under(SIGNED, true), under(OLDER, true)), (drifted, Ok(())), "what the server is counts");
    // every form is remembered, however many, until a whole list has one
    let begun = Page { next: Some("2"), ..older };
    for n in 0..20 {
        has(&watch, &begun, ("add", Some(&format!("bent-{n}"))), OLDER);
    }
    has(&watch, &begun, ("add", Some("older")), OLDER);
    assert_eq!(under(OLDER, true), drifted);
    watch.listed(&Page { cursor: Some("2"), next: None, ..begun }, &[]);
    assert_eq!(under(OLDER, true), Ok(()));
}

#[test]
fn a_tool_that_each_version_of_the_protocol_has_in_its_own_form_is_one_tool() {
    let watch = ToolWatch::default();
    for form in [GOOD, Some("good-too"), GOOD] {
        lists(&watch, HERE, ("add", form), (0, ANY_AGE));
        assert_eq!(stands(&watch, HERE, "add", ANY_AGE), Ok(()));
        assert!(!watch.in_doubt("route"));
    }
}
