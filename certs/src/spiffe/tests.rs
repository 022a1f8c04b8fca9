use super::*;
use proptest::prelude::*;

#[test]
fn an_id_has_a_trust_domain_and_a_path() {
    let id = SpiffeId::parse("spiffe://semgate.test/agent/retailer-7").unwrap();
    assert_eq!(id.as_str(), "spiffe://semgate.test/agent/retailer-7");
    assert_eq!(id.trust_domain().as_str(), "semgate.test");
    assert_eq!(id.path(), "/agent/retailer-7");
}

#[test]
fn every_other_spelling_is_refused_with_the_reason() {
    let long = format!("spiffe://semgate.test/{}", "a".repeat(2048));
    let domain = format!("spiffe://{}/a", "a".repeat(256));
    for (text, fault) in [
        ("", SpiffeFault::Scheme),
        ("SPIFFE://semgate.test/a", SpiffeFault::Scheme),
        ("spiffe:/semgate.test/a", SpiffeFault::Scheme),
        ("https://semgate.test/a", SpiffeFault::Scheme),
        (" spiffe://semgate.test/a", SpiffeFault::Scheme),
        ("spiffe:///a", SpiffeFault::TrustDomain),
        ("spiffe://Semgate.test/a", SpiffeFault::TrustDomain),
        ("spiffe://semgate.test:8443/a", SpiffeFault::TrustDomain),
        ("spiffe://user@semgate.test/a", SpiffeFault::TrustDomain),
        ("spiffe://semgate%2etest/a", SpiffeFault::TrustDomain),
        ("spiffe://semgate.test?x/a", SpiffeFault::TrustDomain),
        (domain.as_str(), SpiffeFault::TrustDomain),
        ("spiffe://semgate.test", SpiffeFault::Path),
        ("spiffe://semgate.test/", SpiffeFault::Path),
        ("spiffe://semgate.test/a/", SpiffeFault::Path),
        ("spiffe://semgate.test//a", SpiffeFault::Path),
        ("spiffe://semgate.test/a/../b", SpiffeFault::Path),
        ("spiffe://semgate.test/./b", SpiffeFault::Path),
        ("spiffe://semgate.test/a?b", SpiffeFault::Path),
        ("spiffe://semgate.test/a#b", SpiffeFault::Path),
        ("spiffe://semgate.test/a%2fb", SpiffeFault::Path),
        ("spiffe://semgate.test/a b", SpiffeFault::Path),
        ("spiffe://semgate.test/\u{e4}", SpiffeFault::Path),
        ("spiffe://semgate.test/a\0", SpiffeFault::Path),
        (long.as_str(), SpiffeFault::TooLong),
    ] {
        assert_eq!(SpiffeId::parse(text), Err(fault), "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_accepted_prints_as_it_was_written(text in "(spiffe://)?[a-z0-9A-Z._/%:?#@-]{0,40}") {
        if let Ok(id) = SpiffeId::parse(&text) {
            prop_assert_eq!(id.as_str(), text.as_str());
            prop_assert_eq!(format!("spiffe://{}{}", id.trust_domain(), id.path()), text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC*") {
        let _ = SpiffeId::parse(&text);
        let _ = SpiffeId::parse(&format!("spiffe://{text}"));
        let _ = TrustDomain::parse(&text);
    }
}
