use super::*;
use crate::follower::Answer;
use crate::listing::PAGES;
use crate::testing::{MemoryAuthority, Pages, START};
use crate::verify_log::{LogReport, Prover, verify_log};

fn verify(authority: &mut MemoryAuthority) -> Result<LogReport, LogFault> {
    let (config, now) = (authority.config(), authority.now);
    verify_log(authority, &config, now)
}

fn absent(authority: &mut MemoryAuthority, status: u16) -> LogFault {
    for path in ["/v1/contexts", "/v1/contexts/index.json"] {
        authority.lies.insert(path.to_owned(), Answer { status, etag: None, body: Vec::new() });
    }
    let path = if status == 410 { "/v1/contexts" } else { "/v1/contexts/index.json" };
    LogFault::Fetch { path: path.to_owned(), fault: FetchFault::HttpStatus(status) }
}

#[test]
fn pages_that_are_served_are_what_their_entries_publish_and_who_has_none_says_nothing_wrong() {
    let mut authority = MemoryAuthority::with_library(START);
    assert_eq!(verify(&mut authority).unwrap().pages, 0);
    authority.pages = Pages::Files;
    assert_eq!(verify(&mut authority).unwrap().pages, 1);
    let span = Span::at(0, authority.tree.size()).unwrap();
    let mut page = authority.page(span).unwrap();
    page.contexts.pop();
    authority.serve_instead(&span.path(), page.to_bytes().unwrap());
    let fault = verify(&mut authority).unwrap_err();
    assert_eq!(fault, LogFault::PageDiffers { path: span.path() });
    assert_eq!(fault.to_string(), format!("`{PAGES}{span}` differs from what its entries publish"));
}

#[test]
fn a_log_without_a_listing_holds_by_its_pages_where_its_authority_says_that_it_outgrew_it() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.pages = Pages::All;
    absent(&mut authority, 410);
    assert_eq!(verify(&mut authority).unwrap().pages, 1);
    let (config, index) =
        (authority.config(), authority.replay.published(&MemoryAuthority::urn("travel:v2.1")));
    let index = index.unwrap().index;
    let mut prover = Prover::new(&mut authority, &config, START).unwrap();
    assert_eq!(prover.index_of(&MemoryAuthority::urn("travel:v2.1")), Ok(index));
    assert_eq!(prover.index_of(&MemoryAuthority::urn("travel:v9.9")), Err(LogFault::Unpublished));
    // not if it is only not there, nor if a page is missing
    let fault = absent(&mut authority, 404);
    assert_eq!(verify(&mut authority), Err(fault));
    authority.pages = Pages::None;
    let fault = absent(&mut authority, 410);
    assert_eq!(verify(&mut authority), Err(fault.clone()));
    let mut prover = Prover::new(&mut authority, &config, START).unwrap();
    assert_eq!(prover.index_of(&MemoryAuthority::urn("travel:v2.1")), Err(fault));
}
