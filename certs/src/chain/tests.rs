use super::*;
use crate::Family;
use crate::tests::{Forged, World, both, fuzz_cases, issuing_params, leaf_params, root_params};
use crate::{SpiffeFault, Usage, verify_chain};
use proptest::prelude::*;
use rcgen::{IsCa, KeyUsagePurpose};

fn limits() -> ChainLimits {
    ChainLimits::default()
}

fn chain(world: &World) -> Chain {
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, both("payment")));
    Chain::from_der(vec![leaf.der, world.contexts.der.clone()], &limits()).unwrap()
}

#[test]
fn a_chain_comes_back_from_pem_and_from_x5c_as_it_was() {
    let chain = chain(&World::new());
    assert_eq!(Chain::from_pem(&chain.to_pem(), &limits()).unwrap(), chain);
    let x5c = chain.to_x5c();
    assert_eq!(Chain::from_x5c(x5c.iter().map(String::as_str), &limits()).unwrap(), chain);
    let with_words = format!("leaf:\n{}\nthe end\n", chain.to_pem().replace('\n', "\r\n"));
    assert_eq!(Chain::from_pem(&with_words, &limits()).unwrap(), chain);
}

#[test]
fn a_thumbprint_has_one_text() {
    let print = Thumbprint::of(b"abc");
    assert_eq!(print.to_string(), "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    assert_eq!(Thumbprint::parse(&print.to_string()), Some(print));
    for text in
        ["", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0"]
    {
        assert_eq!(Thumbprint::parse(text), None, "{text}");
    }
    // The last character of 43 carries two bits that must be zero.
    assert_eq!(Thumbprint::parse("ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa1"), None);
}

#[test]
fn chains_past_a_limit_or_of_other_things_are_refused_with_the_reason() {
    let world = World::new();
    let pem = chain(&world).to_pem();
    let key = crate::pem::write("PRIVATE KEY", b"x");
    let unknown = crate::pem::write("X509 CRL OR SO", b"x");
    let huge = crate::pem::write("CERTIFICATE", &vec![0; 17 * 1024]);
    for (text, fault) in [
        (String::new(), PemFault::Empty),
        ("no pem here".to_owned(), PemFault::Empty),
        (pem.repeat(3), PemFault::TooMany),
        (format!("{pem}{key}"), PemFault::OtherSection),
        (format!("{unknown}{pem}"), PemFault::OtherSection),
        (pem.replace("-----END CERTIFICATE-----", ""), PemFault::Malformed),
        (pem.replacen("MII", "M!I", 1), PemFault::Malformed),
        (huge, PemFault::TooLarge),
        (" ".repeat(256 * 1024 + 1), PemFault::TooLarge),
    ] {
        assert_eq!(Chain::from_pem(&text, &limits()).map(|_| ()), Err(fault));
    }
}

#[test]
fn x5c_members_that_are_not_padded_standard_base64_are_refused() {
    let world = World::new();
    let member = chain(&world).to_x5c().remove(0);
    let spaced = format!("{member} ");
    let urlish = member.replace('/', "_").replace('+', "-");
    let long = "A".repeat(40_000);
    for (text, fault) in [
        (spaced.as_str(), PemFault::Malformed),
        (urlish.as_str(), PemFault::Malformed),
        (long.as_str(), PemFault::TooLarge),
    ] {
        assert_eq!(Chain::from_x5c([text], &limits()).map(|_| ()), Err(fault));
    }
    assert_eq!(Chain::from_x5c([], &limits()).map(|_| ()), Err(PemFault::Empty));
    assert_eq!(Chain::from_x5c(vec!["AAAA"; 5], &limits()).map(|_| ()), Err(PemFault::TooMany));
}

#[test]
fn only_a_ca_that_may_sign_certificates_serves_as_a_root() {
    let world = World::new();
    let leaf = world.contexts.issue(&leaf_params(Usage::Context, both("payment"))).der;
    let mut params = root_params();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let no_sign = Forged::root(params).der;
    let mut params = root_params();
    params.is_ca = IsCa::ExplicitNoCa;
    let no_ca = Forged::root(params).der;
    let no_certificate = CertificateDer::from(b"\x30\x03abc".to_vec());
    for (bad, fault) in [
        (leaf, ChainFault::WrongRole),
        (no_sign, ChainFault::WrongRole),
        (no_ca, ChainFault::WrongRole),
        (no_certificate, ChainFault::Malformed),
    ] {
        assert_eq!(Roots::from_der(vec![bad], &limits()).map(|_| ()), Err(PemFault::BadRoot(fault)));
    }
    assert_eq!(Roots::from_der(Vec::new(), &limits()).map(|_| ()), Err(PemFault::Empty));
    let many = vec![world.root.der.clone(); 65];
    assert_eq!(Roots::from_der(many, &limits()).map(|_| ()), Err(PemFault::TooMany));
    let two = format!(
        "{}{}",
        crate::pem::write("CERTIFICATE", &world.root.der),
        crate::pem::write("CERTIFICATE", &Forged::root(root_params()).der)
    );
    assert!(Roots::from_pem(&two, &limits()).is_ok());
}

#[test]
fn errors_are_one_lower_case_line() {
    let texts = [
        PemFault::BadRoot(ChainFault::UnknownCriticalExtension).to_string(),
        crate::ChainFault::Expired.to_string(),
        crate::PeerFault::NotSpiffe(SpiffeFault::Path).to_string(),
        crate::IssueFault::NotDelegated.to_string(),
        crate::tls::TlsFault::Identity.to_string(),
    ];
    for text in texts {
        assert_eq!(text, text.to_lowercase());
        assert!(!text.ends_with('.') && !text.contains('\n'), "{text}");
    }
}

fn mutated() -> impl Strategy<Value = (Vec<(prop::sample::Index, u8)>, prop::sample::Index, bool)> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4);
    (edits, any::<prop::sample::Index>(), any::<bool>())
}

proptest! {
    #![proptest_config(fuzz_cases())]

    #[test]
    fn fuzz_random_bytes_never_make_the_readers_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..600), text in "\\PC*"
    ) {
        let world = ROOT.with(|world| world.root.roots());
        let der = CertificateDer::from(bytes.clone());
        let _ = Roots::from_der(vec![der.clone()], &limits());
        let _ = Chain::from_pem(&text, &limits());
        let _ = Chain::from_x5c([text.as_str()], &limits());
        let _ = Thumbprint::parse(&text);
        let chain = Chain::from_der(vec![der], &limits()).unwrap();
        prop_assert!(verify_chain(&chain, &world, Usage::Context, crate::tests::NOW).is_err());
    }

    #[test]
    fn fuzz_a_leaf_with_any_byte_changed_is_refused_and_never_panics((edits, cut, truncate) in mutated()) {
        ROOT.with(|world| {
            let chain = chain(world);
            let mut leaf = chain.leaf().to_vec();
            for (at, value) in edits {
                let at = at.index(leaf.len());
                leaf[at] = value;
            }
            if truncate {
                leaf.truncate(cut.index(leaf.len()));
            }
            if leaf != chain.leaf() {
                let forged = vec![CertificateDer::from(leaf), world.contexts.der.clone()];
                let forged = Chain::from_der(forged, &limits()).unwrap();
                let roots = world.root.roots();
                let verdict = verify_chain(&forged, &roots, Usage::Context, crate::tests::NOW);
                assert!(verdict.is_err());
            }
        });
    }

    #[test]
    fn fuzz_an_issuing_certificate_with_any_byte_changed_is_refused_and_never_panics((edits, cut, truncate) in mutated()) {
        ROOT.with(|world| {
            let chain = chain(world);
            let mut issuing = world.contexts.der.to_vec();
            for (at, value) in edits {
                let at = at.index(issuing.len());
                issuing[at] = value;
            }
            if truncate {
                issuing.truncate(cut.index(issuing.len()));
            }
            if issuing != world.contexts.der.as_ref() {
                let forged = vec![CertificateDer::from(chain.leaf().to_vec()), CertificateDer::from(issuing)];
                let forged = Chain::from_der(forged, &limits()).unwrap();
                let roots = world.root.roots();
                let verdict = verify_chain(&forged, &roots, Usage::Context, crate::tests::NOW);
                assert!(verdict.is_err());
            }
        });
    }
}

thread_local! {
    static ROOT: World = World::new();
}

#[test]
fn an_issuing_certificate_can_be_trusted_as_a_root_of_its_own() {
    let world = World::new();
    let issuing = world.root.issue(&issuing_params(Family::Contexts, &["acme.contexts.invalid"]));
    let leaf = issuing.issue(&leaf_params(Usage::Context, both("payment")));
    let chain = Chain::from_der(vec![leaf.der], &limits()).unwrap();
    // The constraints of a root count as those of any issuer.
    let verdict = verify_chain(&chain, &issuing.roots(), Usage::Context, crate::tests::NOW);
    assert_eq!(verdict.map(|_| ()), Err(crate::ChainFault::NotPermittedByNameConstraints));
}
