use super::*;
use crate::testing::{MemoryAuthority, START};
use semgate_contexts::{ContextUrn, Digest};

#[test]
fn spans_end_with_their_page_or_the_log_and_have_one_spelling() {
    assert_eq!(Span::at(0, 5), Some(Span { from: 0, to: 5 }));
    assert_eq!(Span::at(5, 5), None);
    assert_eq!(Span::at(1023, 5000), Some(Span { from: 1023, to: 1024 }));
    assert_eq!(Span::at(1024, 5000), Some(Span { from: 1024, to: 2048 }));
    assert_eq!(Span::at(u64::MAX, u64::MAX), None);
    let pages: Vec<String> = Span::pages(2049).map(|span| span.to_string()).collect();
    assert_eq!(pages, ["0-1024", "1024-2048", "2048-2049"]);
    assert_eq!(Span::pages(0).count(), 0);
    assert_eq!(Span::pages(1024).count(), 1);
    for good in ["0-1", "7-1031", "1024-2048"] {
        assert_eq!(Span::parse(good).unwrap().to_string(), good);
    }
    for bad in
        ["", "5", "-5", "5-5", "6-5", "0-1025", "00-1", "0-01", "+0-1", "0-1-2", "0-99999999999999999999"]
    {
        assert_eq!(Span::parse(bad), None, "{bad}");
    }
}

#[test]
fn a_page_is_what_its_entries_publish_and_is_read_for_its_own_span_alone() {
    let authority = MemoryAuthority::with_library(START);
    let size = authority.tree.size();
    let span = Span::at(0, size).unwrap();
    let prefix = Prefix::default();
    let page = authority.page(span).unwrap();
    let listing = authority.replay.listing().contexts;
    assert_eq!(page.contexts, listing, "nothing of the library is revoked");
    let bytes = page.to_bytes().unwrap();
    assert_eq!(Page::read(&bytes, span, &prefix), Ok(page.clone()));
    let shorter = Span { from: 0, to: size - 1 };
    assert_eq!(Page::read(&bytes, shorter, &prefix), Err(FormatFault::Member("to")));
    let later = Span { from: 1, to: size };
    assert_eq!(Page::read(&bytes, later, &prefix), Err(FormatFault::Member("from")));
    let refused = |contexts: Vec<ListedContext>| {
        let bytes = Page { span, contexts }.to_bytes().unwrap();
        assert_eq!(Page::read(&bytes, span, &prefix), Err(FormatFault::Member("index")));
    };
    let [one, two, ..] = &listing[..] else { panic!("the library has more") };
    refused(vec![two.clone(), one.clone()]);
    refused(vec![one.clone(), one.clone()]);
    refused(vec![ListedContext { index: size, ..one.clone() }]);
    let text = String::from_utf8(bytes).unwrap();
    let more = text.replacen("{\"digest\"", "{\"status\":\"valid\",\"digest\"", 1);
    assert_eq!(Page::read(more.as_bytes(), span, &prefix), Err(FormatFault::UnknownMember));
}

#[test]
fn the_longest_page_is_within_its_bound() {
    let prefix = Prefix::parse(&format!("urn:{}", "p".repeat(27))).unwrap();
    let label = "l".repeat(58);
    let line = [label.as_str(); 4].join(".");
    let from = (1 << 53) - 1 - PAGE_ENTRIES;
    let contexts = (0..PAGE_ENTRIES).map(|n| ListedContext {
        urn: ContextUrn::parse(
            &format!("{}:{line}:v4294967295.{}", prefix.as_str(), 4_294_967_295 - n),
            &prefix,
        )
        .unwrap(),
        digest: Digest::of(&n.to_be_bytes()),
        index: from + n,
        status: Status::Valid,
    });
    let page = Page { span: Span { from, to: from + PAGE_ENTRIES }, contexts: contexts.collect() };
    let bytes = page.to_bytes().unwrap();
    assert!((PAGE_ENTRIES as usize * 300..MAX_PAGE_BYTES).contains(&bytes.len()), "{}", bytes.len());
    assert_eq!(Page::read(&bytes, page.span, &prefix), Ok(page));
}
