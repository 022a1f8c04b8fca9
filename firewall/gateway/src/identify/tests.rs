//! A configured sender never ends; what it is called is what the agent behind is told.

use super::*;

#[test]
fn a_configured_sender_shows_no_certificate() {
    let identity = Identity::configured("spiffe://semgate.test/agent/retailer-7").unwrap();
    assert_eq!(identity.peer(u64::MAX).unwrap().id(), "spiffe://semgate.test/agent/retailer-7");
    assert_eq!(identity.sender(), "spiffe://semgate.test/agent/retailer-7");
    assert!(identity.client_cert().is_none());
    assert!(Identity::configured("a\nb").is_err());
}

#[test]
fn a_certificate_that_ends_ends_a_long_connection() {
    let mut identity = Identity::configured("spiffe://semgate.test/agent/retailer-7").unwrap();
    identity.not_after = Some(100);
    assert!(identity.peer(100).is_ok());
    assert_eq!(identity.peer(101).unwrap_err().code(), Code::SenderMismatch);
}
