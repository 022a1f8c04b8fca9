use super::*;
use crate::testing::{MemoryAuthority, START};

#[test]
fn a_listing_round_trips_and_refuses_unknown_words() {
    let authority = MemoryAuthority::with_library(START);
    let listing = authority.replay.listing();
    let bytes = listing.to_bytes().unwrap();
    assert_eq!(Listing::read(&bytes, &Prefix::default()), Ok(listing));
    let text = String::from_utf8(bytes).unwrap();
    let read = |text: &str| Listing::read(text.as_bytes(), &Prefix::default());
    assert_eq!(read(&text.replace("valid", "fine")), Err(FormatFault::Member("status")));
    assert_eq!(read(&text.replace("sha-256", "sha256")), Err(FormatFault::Member("digest")));
    assert_eq!(read(&text.replace("\"index\":0", "\"index\":-1")), Err(FormatFault::Member("index")));
    assert_eq!(read("{}"), Err(FormatFault::Member("contexts")));
    let other = Prefix::parse("urn:other").unwrap();
    assert_eq!(Listing::read(text.as_bytes(), &other), Err(FormatFault::Member("urn")));
}
