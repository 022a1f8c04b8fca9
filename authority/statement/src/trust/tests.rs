use super::*;
use crate::testing::{Keys, START};

#[test]
fn a_trust_document_round_trips_and_finds_chains_by_thumbprint() {
    let keys = Keys::new(START);
    let mut trust = Trust::new("semgate.test");
    trust.insert(keys.status.chain.clone());
    trust.insert(keys.feed.chain.clone());
    let bytes = trust.to_bytes().unwrap();
    let again = Trust::read(&bytes, &ChainLimits::default()).unwrap();
    assert_eq!(again, trust);
    assert_eq!(again.chain(&keys.feed.thumbprint()), Some(&keys.feed.chain));
    assert_eq!(again.chain(&Thumbprint::of(b"x")), None);
}

#[test]
fn a_chain_under_another_name_is_refused() {
    let keys = Keys::new(START);
    let mut trust = Trust::new("semgate.test");
    trust.insert(keys.status.chain.clone());
    let text = String::from_utf8(trust.to_bytes().unwrap()).unwrap();
    let other = keys.feed.thumbprint().to_string();
    let swapped = text.replace(&keys.status.thumbprint().to_string(), &other);
    let read = |text: &str| Trust::read(text.as_bytes(), &ChainLimits::default());
    assert_eq!(read(&swapped), Err(FormatFault::Member("certificates")));
    assert_eq!(read(&text.replace("MII", "!!!")), Err(FormatFault::Member("certificates")));
    assert_eq!(read(r#"{"authority":"a b","certificates":{}}"#), Err(FormatFault::Member("authority")));
    assert_eq!(read(r#"{"authority":"a","certificates":[]}"#), Err(FormatFault::Member("certificates")));
}
