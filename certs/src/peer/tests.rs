use super::*;
use crate::tests::{DAY, Forged, NOW, World, dns, leaf_params, root_params, uri};
use rcgen::SanType;

const RETAILER: &str = "spiffe://semgate.test/agent/retailer-7";

fn domain(text: &str) -> TrustDomain {
    TrustDomain::parse(text).unwrap()
}

fn peers(world: &World) -> PeerRoots {
    PeerRoots::new().with(domain("semgate.test"), world.root.roots())
}

fn shown(world: &World, names: Vec<SanType>) -> Vec<CertificateDer<'static>> {
    vec![world.tls.issue(&leaf_params(Usage::Agent, names)).der, world.tls.der.clone()]
}

#[test]
fn a_peer_is_the_one_spiffe_id_of_its_certificate() {
    let world = World::new();
    let shown = shown(&world, vec![uri(RETAILER), dns("retailer-7.agents.test")]);
    let peer = peers(&world).identify(&shown, NOW).unwrap();
    assert_eq!(peer.id().as_str(), RETAILER);
    assert_eq!(peer.leaf(), &shown[0]);
    assert_eq!(peer.thumbprint(), Thumbprint::of(&shown[0]));
    assert_eq!(peer.not_after(), NOW + 29 * DAY);
}

#[test]
fn every_other_certificate_is_nobody_and_the_reason_is_told_apart() {
    let world = World::new();
    let other = World::other();
    let peers = peers(&world).with(domain("other.test"), other.root.roots());
    let not_spiffe = PeerFault::NotSpiffe(SpiffeFault::Scheme);
    for (names, fault) in [
        (vec![], PeerFault::NoSpiffeId),
        (vec![dns("retailer-7.agents.test")], PeerFault::NoSpiffeId),
        (vec![uri(RETAILER), uri("spiffe://semgate.test/agent/treasurer-1")], PeerFault::SeveralIds),
        (vec![uri(RETAILER), uri("https://semgate.test/")], PeerFault::SeveralIds),
        (vec![uri(RETAILER), uri(RETAILER)], PeerFault::SeveralIds),
        (vec![uri("https://semgate.test/agent/retailer-7")], not_spiffe),
        (vec![uri("spiffe://semgate.test/agent/../operator")], PeerFault::NotSpiffe(SpiffeFault::Path)),
        (vec![uri("spiffe://unknown.test/agent/a")], PeerFault::UnknownTrustDomain),
        // A root of one trust domain does not speak for another.
        (vec![uri("spiffe://other.test/agent/a")], PeerFault::Chain(ChainFault::UnknownIssuer)),
        (vec![uri(RETAILER), dns("*.agents.test")], PeerFault::Chain(ChainFault::Wildcard)),
    ] {
        let label = format!("{names:?}");
        assert_eq!(peers.identify(&shown(&world, names), NOW).map(|_| ()), Err(fault), "{label}");
    }
    assert_eq!(peers.identify(&[], NOW).map(|_| ()), Err(PeerFault::NoCertificate));
    let garbage = CertificateDer::from(b"\x30\x00".to_vec());
    let verdict = peers.identify(&[garbage], NOW).map(|_| ());
    assert_eq!(verdict, Err(PeerFault::Chain(ChainFault::Malformed)));
}

#[test]
fn a_client_certificate_does_not_serve_and_a_server_certificate_does_not_ask() {
    let world = World::new();
    let peers = peers(&world);
    let client = shown(&world, vec![uri(RETAILER)]);
    let server = world.tls.issue(&leaf_params(Usage::Server, vec![uri(RETAILER)]));
    let server = vec![server.der, world.tls.der.clone()];
    assert!(peers.identify_server(&server, NOW).is_ok());
    let wrong = Err(PeerFault::Chain(ChainFault::WrongUsage));
    assert_eq!(peers.identify_server(&client, NOW).map(|_| ()), wrong);
    assert_eq!(peers.identify(&server, NOW).map(|_| ()), wrong);
}

#[test]
fn a_peer_is_nobody_after_its_certificate_or_its_root_has_expired() {
    let world = World::new();
    let shown = shown(&world, vec![uri(RETAILER)]);
    let late = peers(&world).identify(&shown, NOW + 30 * DAY).map(|_| ());
    assert_eq!(late, Err(PeerFault::Chain(ChainFault::Expired)));
}

#[test]
fn no_configured_domain_identifies_nobody() {
    let world = World::new();
    let shown = shown(&world, vec![uri(RETAILER)]);
    let verdict = PeerRoots::new().identify(&shown, NOW).map(|_| ());
    assert_eq!(verdict, Err(PeerFault::UnknownTrustDomain));
}

#[test]
fn a_chain_past_the_limits_is_refused_before_it_is_read() {
    let world = World::new();
    let mut shown = shown(&world, vec![uri(RETAILER)]);
    let strangers = Forged::root(root_params()).der;
    shown.extend(std::iter::repeat_n(strangers, 3));
    let verdict = peers(&world).identify(&shown, NOW).map(|_| ());
    assert_eq!(verdict, Err(PeerFault::Chain(ChainFault::TooLong)));
    let huge = CertificateDer::from(vec![0x30; 17 * 1024]);
    let verdict = peers(&world).identify(&[huge], NOW).map(|_| ());
    assert_eq!(verdict, Err(PeerFault::Chain(ChainFault::TooLong)));
}

/// 1.2.3.4 as a usage and 1.2.3.5 as a policy.
fn marked(mut params: rcgen::CertificateParams) -> rcgen::CertificateParams {
    params.extended_key_usages.push(rcgen::ExtendedKeyUsagePurpose::Other(vec![1, 2, 3, 4]));
    let policies = vec![0x30, 7, 0x30, 5, 6, 3, 0x2a, 3, 5];
    params.custom_extensions.push(rcgen::CustomExtension::from_oid_content(&[2, 5, 29, 32], policies));
    params
}

#[test]
fn a_certificate_says_what_its_issuers_let_it_say() {
    let world = World::new();
    let params = || marked(leaf_params(Usage::Agent, vec![uri(RETAILER)]));
    let trusting = world.root.issue(&marked(crate::tests::issuing_params(crate::Family::Tls, &[])));
    let shown = vec![trusting.issue(&params()).der, trusting.der.clone()];
    let peer = peers(&world).identify(&shown, NOW).unwrap();
    assert_eq!(peer.marks(), ["eku:1.2.3.4", "policy:1.2.3.5"]);
}

#[test]
fn attack_an_issuer_hands_on_no_usage_and_no_policy_that_it_was_not_given() {
    let world = World::new();
    let shown = vec![
        world.tls.issue(&marked(leaf_params(Usage::Agent, vec![uri(RETAILER)]))).der,
        world.tls.der.clone(),
    ];
    assert_eq!(peers(&world).identify(&shown, NOW).unwrap().marks(), [""; 0]);
}

#[test]
fn usages_of_rfc_5280_and_ours_and_any_policy_are_no_marks() {
    let world = World::new();
    let numbers = |oid: &str| oid.split('.').map(|arc| arc.parse().unwrap()).collect::<Vec<u64>>();
    let showing = |mut params: rcgen::CertificateParams| {
        for oid in crate::STANDARD_USAGES.iter().skip(1).chain(&["2.999.1"]) {
            params.extended_key_usages.push(rcgen::ExtendedKeyUsagePurpose::Other(numbers(oid)));
        }
        // anyPolicy and 2.999.1
        let policies = vec![0x30, 15, 0x30, 6, 6, 4, 0x55, 29, 32, 0, 0x30, 5, 6, 3, 0x88, 0x37, 1];
        params.custom_extensions.push(rcgen::CustomExtension::from_oid_content(&[2, 5, 29, 32], policies));
        params
    };
    let trusting = world.root.issue(&showing(crate::tests::issuing_params(crate::Family::Tls, &[])));
    let leaf = trusting.issue(&showing(leaf_params(Usage::Agent, vec![uri(RETAILER)])));
    let facts = crate::read::Facts::read(&leaf.der, &crate::ChainLimits::default()).unwrap();
    let issuer = crate::read::Facts::read(&trusting.der, &crate::ChainLimits::default()).unwrap();
    assert_eq!(facts.marks.within(std::iter::once(&issuer.marks)), ["eku:2.999.1", "policy:2.999.1"]);
}
