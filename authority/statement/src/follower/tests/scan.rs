//! What a growing log costs a follower, from whom it has the listing, and what becomes of pages that do not say what the log says.

use super::*;
use crate::listing::{ListedContext, PAGE_ENTRIES, PAGES, Page, Span};
use crate::testing::Pages;
use std::path::Path;

/// A log of so many entries behind the library, of a line that nobody follows.
pub(super) fn long(entries: u64) -> MemoryAuthority {
    long_behind(MemoryAuthority::with_library(START), entries)
}

fn long_behind(mut authority: MemoryAuthority, entries: u64) -> MemoryAuthority {
    (authority.pages, authority.deltas, authority.batch) = (Pages::All, true, true);
    let bulk = authority.signer(&Line::parse("bulk").unwrap());
    for n in authority.tree.size()..entries {
        let (urn, digest) = (urn(&format!("bulk:v{}.0", n + 1)), Digest::of(&n.to_be_bytes()));
        authority.log(Statement::Publish { urn, digest, signer: bulk.thumbprint() }, &bulk);
    }
    authority.batch = false;
    authority.renew();
    authority
}

pub(super) fn config(authority: &MemoryAuthority) -> FollowerConfig {
    let lines = Lines::parse(&["payment", "travel", "shop"]).unwrap();
    FollowerConfig { lines, ..authority.config() }
}

/// What was asked for below the listing's paths, and the bytes of all answers, in one round.
pub(super) fn round(authority: &mut MemoryAuthority, follower: &mut Follower) -> (Vec<String>, usize) {
    authority.requests.clear();
    authority.sent = 0;
    authority.follow(follower).unwrap();
    let lists = |path: &&String| {
        path.starts_with(PAGES) || path.starts_with("/v1/contexts") && !path.contains("by-digest")
    };
    (authority.requests.iter().filter(lists).cloned().collect(), authority.sent)
}

pub(super) fn page(from: u64, to: u64) -> String {
    format!("{PAGES}{from}-{to}")
}

pub(super) fn document(short: &str) -> Vec<u8> {
    MemoryAuthority::document(short, "thing")
}

#[test]
fn a_log_that_grew_costs_the_page_of_what_is_new_however_much_is_listed() {
    let mut authority = long(5000);
    let whole = authority.replay.listing().to_bytes().unwrap().len();
    let mut follower = Follower::without_memory(config(&authority));
    let (asked, _) = round(&mut authority, &mut follower);
    assert_eq!(
        asked,
        [page(0, 1024), page(1024, 2048), page(2048, 3072), page(3072, 4096), page(4096, 5000)],
        "a newcomer reads each once"
    );
    assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Valid);
    authority.now += 10;
    authority.change(Act::Revoke, "payment:v1.0");
    let (asked, sent) = round(&mut authority, &mut follower);
    assert_eq!(asked, [page(5000, 5001)]);
    assert!(sent * 20 < whole, "{sent} bytes, of which the listing would be {whole}");
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    authority.publish(&document("shop:v1.0"));
    let (asked, _) = round(&mut authority, &mut follower);
    assert_eq!(asked, [page(5001, 5002)]);
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [""; 0], "the same log lists nothing new");
    assert_eq!(follower.reports(), vec![]);
}

#[test]
fn what_is_new_on_both_sides_of_a_page_is_two_pages() {
    let mut authority = long(PAGE_ENTRIES - 1);
    let mut follower = Follower::without_memory(config(&authority));
    assert_eq!(round(&mut authority, &mut follower).0, [page(0, 1023)]);
    authority.now += 10;
    authority.batch = true;
    for version in ["shop:v1.0", "shop:v1.1", "shop:v1.2"] {
        authority.publish(&document(version));
    }
    authority.batch = false;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [page(1023, 1024), page(1024, 1026)]);
    for version in ["shop:v1.0", "shop:v1.1", "shop:v1.2"] {
        assert_eq!(standing(&follower, version, authority.now), Standing::Valid, "{version}");
    }
}

#[test]
fn a_mirror_is_asked_for_the_last_page_and_an_earlier_version_for_the_whole_listing() {
    for (pages, first, next) in [
        (Pages::Files, vec![page(0, 1024), page(1024, 1100)], vec![page(1100, 1101), page(1024, 1101)]),
        (Pages::None, vec![page(0, 1024), "/v1/contexts".to_owned()], vec!["/v1/contexts".to_owned()]),
    ] {
        let mut authority = long(1100);
        authority.pages = pages;
        let mut follower = Follower::without_memory(config(&authority));
        assert_eq!(round(&mut authority, &mut follower).0, first, "{pages:?}");
        authority.now += 10;
        authority.publish(&document("shop:v1.0"));
        assert_eq!(round(&mut authority, &mut follower).0, next, "{pages:?}");
        assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
        // what is not there is not asked for with each head
        authority.now += 10;
        authority.publish(&document("shop:v1.1"));
        let (asked, _) = round(&mut authority, &mut follower);
        assert_eq!(
            asked,
            next[next.len() - 1..].iter().map(|path| path.replace("1101", "1102")).collect::<Vec<_>>()
        );
        // and is once more after a while
        authority.pages = Pages::All;
        authority.now += 600;
        authority.publish(&document("shop:v1.2"));
        assert_eq!(round(&mut authority, &mut follower).0[0], page(1102, 1103));
        assert_eq!(follower.reports(), vec![]);
    }
}

#[test]
fn a_log_that_outgrew_its_listing_is_followed_by_its_pages_also_after_they_were_away() {
    let mut authority = long(1100);
    authority.pages = Pages::None;
    let gone = Answer { status: 410, etag: None, body: b"{}".to_vec() };
    authority.lies.insert("/v1/contexts".to_owned(), gone);
    let mut follower = Follower::without_memory(config(&authority));
    let fault = FollowFault::HttpStatus { what: "listing", status: 410 };
    assert_eq!(authority.follow(&mut follower), Err(fault));
    authority.pages = Pages::All;
    let (asked, _) = round(&mut authority, &mut follower);
    assert_eq!(asked, [page(0, 1024), page(1024, 1100)]);
    assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Valid);
}

#[test]
fn attack_a_mirror_without_pages_keeps_no_revocation_from_anyone() {
    let mut authority = long(1100);
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.change(Act::Revoke, "payment:v1.1");
    authority.breaks = vec![PAGES.to_owned(), "/v1/contexts".to_owned()];
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::Unreachable));
    assert_eq!(standing(&follower, "payment:v1.1", authority.now), Standing::Revoked);
    assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Valid, "its head counts");
}

/// The page of a span as a lying mirror tells it.
pub(super) fn page_with(
    authority: &MemoryAuthority,
    span: Span,
    lie: impl Fn(&mut Vec<ListedContext>),
) -> Vec<u8> {
    let mut page = authority.page(span).unwrap();
    lie(&mut page.contexts);
    page.to_bytes().unwrap()
}

#[test]
fn attack_what_a_mirror_leaves_out_of_a_page_is_found_when_it_is_its_turn() {
    let mut authority = long(1100);
    let span = Span::at(0, 1100).unwrap();
    let left_out = page_with(&authority, span, |lines| lines.retain(|line| line.urn != urn("travel:v2.1")));
    authority.serve_instead(&span.path(), left_out);
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "travel:v2.1", START), Standing::NotCovered, "a mirror can withhold");
    authority.lies.clear();
    authority.now += 299;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [""; 0]);
    for asked in [page(0, 1024), page(1024, 1100), page(0, 1024)] {
        authority.now += 300;
        authority.renew();
        assert_eq!(round(&mut authority, &mut follower).0, [asked], "one page in turn");
        assert_eq!(standing(&follower, "travel:v2.1", authority.now), Standing::Valid);
    }
}

#[test]
fn attack_a_page_in_another_order_or_twice_or_of_other_entries_ends_the_round_and_nothing_else() {
    let first = Span::at(0, 1100).unwrap();
    let second = Span::at(1024, 1100).unwrap();
    let honest = long(1100);
    let index = Err(FollowFault::Listing(FormatFault::Member("index")));
    let from = Err(FollowFault::Listing(FormatFault::Member("from")));
    let long_page = vec![b' '; crate::listing::MAX_PAGE_BYTES + 1];
    for (lie, fault) in [
        (page_with(&honest, first, |lines| lines.swap(0, 1)), index.clone()),
        (page_with(&honest, first, |lines| lines.insert(0, lines[0].clone())), index.clone()),
        (page_with(&honest, first, |lines| lines[0].index = 1050), index),
        (page_with(&honest, second, |_| ()), from),
        (long_page, Err(FollowFault::TooLarge { what: "page of the listing" })),
    ] {
        let mut authority = honest.clone();
        authority.serve_instead(&first.path(), lie);
        let mut follower = Follower::without_memory(config(&authority));
        // the floor of a first head waits for its versions, so that nothing counts yet
        assert_eq!(authority.follow(&mut follower), fault);
        assert_eq!(follower.view().contexts().count(), 0);
        authority.lies.clear();
        authority.follow(&mut follower).unwrap();
        assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Valid);
    }
}

#[test]
fn attack_lines_that_the_log_does_not_have_are_refused_one_by_one_and_their_page_is_looked_at_again() {
    let mut authority = long(1100);
    let span = Span::at(0, 1100).unwrap();
    let invented = page_with(&authority, span, |lines| lines[300].urn = urn("shop:v9.0"));
    authority.serve_instead(&span.path(), invented);
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    let reports: Vec<_> = follower.reports().into_iter().map(|r| (r.urn, r.fault)).collect();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].0, Some(urn("shop:v9.0")));
    assert_eq!(standing(&follower, "shop:v9.0", START), Standing::NotCovered);
    assert_eq!(standing(&follower, "payment:v1.1", START), Standing::Valid);
    authority.lies.clear();
    authority.now += 59;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [""; 0]);
    authority.now += 1;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [page(0, 1024)], "what failed, and nothing besides");
    authority.now += 60;
    authority.renew();
    assert_eq!(round(&mut authority, &mut follower).0, [""; 0]);
}

#[test]
fn attack_pages_without_an_end_are_as_many_as_the_signed_head_has() {
    let mut authority = long(1100);
    // whatever is asked for, there is more: but nothing in a page leads on
    let mut follower = Follower::without_memory(config(&authority));
    let mut asked = 0;
    while let Step::Get(request) = follower.next(START) {
        asked += usize::from(request.path.starts_with(PAGES));
        let answer = match request.path.strip_prefix(PAGES).and_then(Span::parse) {
            Some(span) => {
                let page = Page { span, contexts: Vec::new() };
                Answer { status: 200, etag: None, body: page.to_bytes().unwrap() }
            }
            None => authority.get(&request.path, None),
        };
        if follower.answer(&request.path, answer, START).is_err() {
            break;
        }
    }
    assert_eq!(asked, 2);
    assert!(follower.reports().iter().any(|report| report.fault.as_str() == "floor_above_versions"));
}

#[test]
fn a_hint_ends_the_reading_of_pages_and_what_was_read_is_not_read_again() {
    let mut authority = long(3000);
    let mut follower = Follower::without_memory(config(&authority));
    let mut now = START;
    let mut pages = Vec::new();
    while let Step::Get(request) = follower.next(now) {
        let answer = authority.get(&request.path, request.if_none_match.as_deref());
        if request.path.starts_with(PAGES) {
            pages.push(request.path.clone());
            now += 2;
            match pages.len() {
                2 => {
                    authority.now = now;
                    authority.change(Act::Revoke, "payment:v1.1");
                    follower.hint();
                    authority.requests.clear();
                }
                3 => {
                    let head = authority.requests.iter().any(|path| path.starts_with("/v1/feed/deltas/"));
                    assert!(head, "the head comes before the next page: {:?}", authority.requests);
                    assert_eq!(standing(&follower, "payment:v1.1", now), Standing::Revoked);
                }
                _ => {}
            }
        }
        follower.answer(&request.path, answer, now).unwrap();
    }
    assert_eq!(pages, [page(0, 1024), page(1024, 2048), page(2048, 3001)]);
    assert_eq!(standing(&follower, "travel:v2.1", now), Standing::Valid);
}

/// An authority and a follower that a line was left out for, once, before more was taken from the same log; where the next page begins.
fn left_out_once(dir: &Path) -> (MemoryAuthority, Follower, u64) {
    let mut authority = long(1100);
    let mut follower = Follower::open(config(&authority), dir, START).unwrap();
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.publish(&document("shop:v1.0"));
    let new = Span::at(1100, 1101).unwrap();
    let left_out = page_with(&authority, new, |lines| lines.clear());
    authority.serve_instead(&new.path(), left_out);
    authority.follow(&mut follower).unwrap();
    authority.lies.clear();
    authority.now += 10;
    authority.change(Act::Revoke, "payment:v1.0");
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::NotCovered);
    authority.now += 10;
    authority.floor("shop", "v1.0");
    (authority, follower, 1102)
}

#[test]
fn bug_a_line_left_out_once_and_a_floor_for_it_refused_every_later_head() {
    for restarted in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let (mut authority, mut follower, next) = left_out_once(dir.path());
        if restarted {
            drop(follower);
            follower = Follower::open(config(&authority), dir.path(), authority.now).unwrap();
        }
        let (asked, _) = round(&mut authority, &mut follower);
        assert_eq!(asked, [page(next, 1103), page(0, 1024), page(1024, 1103)], "{restarted}");
        assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
        assert_eq!(follower.view().floor(&Line::parse("shop").unwrap()), Some(Version::new(1, 0)));
        assert_eq!(follower.reports(), vec![]);
        authority.now += 10;
        authority.change(Act::Revoke, "travel:v2.1");
        assert_eq!(round(&mut authority, &mut follower).0, [page(1103, 1104)], "and once is enough");
    }
}

#[test]
fn attack_a_version_of_a_floor_that_is_left_out_for_good_costs_the_whole_log_once_in_five_minutes() {
    let dir = tempfile::tempdir().unwrap();
    let (mut authority, mut follower, next) = left_out_once(dir.path());
    let second = Span::at(1024, 1103).unwrap();
    let left_out = page_with(&authority, second, |lines| lines.retain(|line| line.urn != urn("shop:v1.0")));
    // what breaks off was not in vain
    authority.breaks = vec![second.path()];
    assert_eq!(authority.follow(&mut follower), Err(FollowFault::Unreachable));
    authority.breaks.clear();
    authority.serve_instead(&second.path(), left_out);
    let refused = Err(FollowFault::FloorAboveVersions { line: Line::parse("shop").unwrap() });
    let pages = |authority: &mut MemoryAuthority| {
        let asked = std::mem::take(&mut authority.requests);
        asked.into_iter().filter(|path| path.starts_with(PAGES)).collect::<Vec<_>>()
    };
    pages(&mut authority);
    for (seconds, everything) in [(10, true), (30, false), (30, false), (239, false), (1, true), (199, false)]
    {
        authority.now += seconds;
        assert_eq!(authority.follow(&mut follower), refused);
        let asked = [page(next, 1103), page(0, 1024), second.path()];
        assert_eq!(pages(&mut authority), asked[..if everything { 3 } else { 1 }], "{seconds}");
    }
    // whatever the refused head revokes is revoked, and a mirror that tells it is believed
    assert_eq!(standing(&follower, "payment:v1.0", authority.now), Standing::Revoked);
    authority.lies.clear();
    authority.now += 101;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
}

/// An authority whose `shop` refers to what lies before it in another line, with a page between them.
fn far_apart() -> MemoryAuthority {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&document("else:v1.0"));
    authority.publish(&document("money:v1.0"));
    let mut long = long_behind(authority, 1100);
    let shop = long.referring("shop:v1.0", &[("money:v1.0", "thing")]);
    long.publish(&shop);
    long
}

#[test]
fn a_reference_to_an_earlier_page_is_looked_up_in_it() {
    let mut authority = far_apart();
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.reports(), vec![]);
    assert_eq!(standing(&follower, "shop:v1.0", START), Standing::Valid);
    // of a follower that looked through all of it before, too
    authority.now += 10;
    authority.publish(&document("late:v1.0"));
    let other = authority.referring("shop:v1.1", &[("late:v1.0", "thing")]);
    authority.follow(&mut follower).unwrap();
    authority.publish(&other);
    let (asked, _) = round(&mut authority, &mut follower);
    assert_eq!(asked, [page(1102, 1103), page(0, 1024), page(1024, 1103)]);
    assert_eq!(standing(&follower, "shop:v1.1", authority.now), Standing::Valid);
    assert_eq!(follower.reports(), vec![]);
}

#[test]
fn a_reference_into_more_than_is_looked_through_is_refused_and_the_rest_goes_on() {
    let mut authority = far_apart();
    authority.publish(&document("travel:v1.0"));
    let mut config = config(&authority);
    config.limits.max_others = 0;
    let mut follower = Follower::without_memory(config);
    authority.follow(&mut follower).unwrap();
    assert!(follower.view().context(&urn("travel:v1.0")).is_some());
    assert!(follower.view().context(&urn("shop:v1.0")).is_none());
    let faults: Vec<_> = follower.reports().into_iter().map(|report| report.fault).collect();
    let why = ReferenceFault::TooMany;
    assert_eq!(faults, [FollowFault::Reference { urn: urn("money:v1.0"), why }]);
}

#[test]
fn bug_an_authority_that_publishes_all_the_time_kept_a_reference_from_being_looked_up() {
    let mut authority = long_behind(MemoryAuthority::new(START), 1100);
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.publish(&document("money:v1.0"));
    let shop = authority.referring("shop:v1.0", &[("money:v1.0", "thing")]);
    authority.publish(&shop);
    let (mut published, mut first, mut documents) = (0, 0, 0);
    while follower.view().context(&urn("shop:v1.0")).is_none() {
        let Step::Get(request) = follower.next(authority.now) else { panic!("the load is not over") };
        let answer = authority.get(&request.path, request.if_none_match.as_deref());
        if request.path.starts_with(PAGES) || request.path.contains("by-digest") {
            authority.now += 6;
            published += 1;
            assert!(published < 40, "the load never ends");
            authority.publish(&document(&format!("late:v{published}.0")));
            follower.hint();
        }
        first += u32::from(request.path == page(0, 1024));
        documents += u32::from(request.path.contains("by-digest"));
        follower.answer(&request.path, answer, authority.now).unwrap();
    }
    assert_eq!((first, documents), (1, 2), "nothing is read twice");
    assert_eq!(follower.reports(), vec![]);
}

#[test]
fn bug_a_reference_that_stays_broken_had_the_whole_log_read_each_minute() {
    let mut authority = far_apart();
    let span = Span::at(0, 1101).unwrap();
    // its publish statement is not where the page says, so that it is refused
    let moved = page_with(&authority, span, |lines| {
        lines.remove(0);
        lines[0].index = 0;
    });
    authority.serve_instead(&span.path(), moved);
    let mut follower = Follower::without_memory(config(&authority));
    authority.follow(&mut follower).unwrap();
    let why = ReferenceFault::Unpublished;
    let fault = FollowFault::Reference { urn: urn("money:v1.0"), why };
    let mut looked_up = Vec::new();
    for minute in 1..=10 {
        authority.now += 60;
        authority.renew();
        let (asked, _) = round(&mut authority, &mut follower);
        if authority.requests.iter().any(|path| path.contains("by-digest")) {
            looked_up.push(minute);
        }
        // the page in which it failed, and in turn the second one, but not what lies behind the place where it was found
        let turn = [page(0, 1024), page(1024, 1101)];
        assert!(asked.iter().all(|path| turn.contains(path)), "{asked:?}");
        assert!(
            asked.iter().filter(|path| **path == turn[1]).count() <= usize::from(minute == 10),
            "{minute}: {asked:?}"
        );
    }
    assert_eq!(looked_up, [5, 10]);
    assert!(follower.reports().iter().any(|report| report.fault == fault));
    // one that is listed again as it is in the log is found
    authority.lies.clear();
    authority.now += 300;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert!(follower.view().context(&urn("shop:v1.0")).is_some());
}
