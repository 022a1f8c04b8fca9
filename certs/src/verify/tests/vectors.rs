//! The stored certificates of `docs/spec/certificates.md`, and the page itself.

use crate::tests::{DAY, Forged, NOW, World, both, dns, instant, leaf_params, line, uri};
use crate::{
    CONTEXTS_TREE, Chain, ChainFault, ChainLimits, PeerFault, Roots, SpiffeFault, Usage, VerifiedLeaf,
    verify_chain,
};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/vectors")).join(name)
}

fn verdict(name: &str, usage: Usage) -> Result<VerifiedLeaf, ChainFault> {
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let limits = ChainLimits::default();
    let roots = Roots::from_pem(&read("root.pem"), &limits).unwrap();
    verify_chain(&Chain::from_pem(&read(name), &limits).unwrap(), &roots, usage, NOW)
}

#[test]
fn the_stored_vectors_have_the_verdicts_of_the_specification() {
    let context = verdict("context.pem", Usage::Context).unwrap();
    assert_eq!(context.lines(), [line("payment"), line("acme.logistics")]);
    assert!(verdict("status.pem", Usage::Status).unwrap().allows_line(&line("payment")).is_ok());
    let agent = verdict("agent.pem", Usage::Agent).unwrap();
    assert_eq!(agent.spiffe().unwrap().as_str(), "spiffe://semgate.test/agent/retailer-7");
    for (name, fault) in [
        ("not-delegated.pem", ChainFault::NotPermittedByNameConstraints),
        ("forms-disagree.pem", ChainFault::NamesDisagree),
        ("expired.pem", ChainFault::Expired),
    ] {
        assert_eq!(verdict(name, Usage::Context).map(|_| ()), Err(fault), "{name}");
    }
}

/// Writes the vectors anew; their keys are thrown away, so this is done once and only for a change of profile.
#[test]
#[ignore = "replaces the stored vectors"]
fn write_the_vectors() {
    let world = World::new();
    let leaf =
        |issuer: &Forged, usage, names| (issuer.issue(&leaf_params(usage, names)).der, issuer.der.clone());
    let mut expired = leaf_params(Usage::Context, both("payment"));
    expired.not_before = instant(NOW - 40 * DAY);
    expired.not_after = instant(NOW - DAY);
    let expired = (world.contexts.issue(&expired).der, world.contexts.der.clone());
    let disagree = vec![dns("payment.contexts.invalid"), uri("urn:contexts:travel")];
    std::fs::create_dir_all(path("")).unwrap();
    let pem = |der: &[u8]| crate::pem::write("CERTIFICATE", der);
    std::fs::write(path("root.pem"), pem(&world.root.der)).unwrap();
    for (name, (leaf, issuer)) in [
        (
            "context.pem",
            leaf(&world.contexts, Usage::Context, [both("payment"), both("acme.logistics")].concat()),
        ),
        ("status.pem", leaf(&world.contexts, Usage::Status, vec![dns(CONTEXTS_TREE)])),
        ("agent.pem", leaf(&world.tls, Usage::Agent, vec![uri("spiffe://semgate.test/agent/retailer-7")])),
        ("not-delegated.pem", leaf(&world.acme, Usage::Context, both("payment"))),
        ("forms-disagree.pem", leaf(&world.contexts, Usage::Context, disagree)),
        ("expired.pem", expired),
    ] {
        std::fs::write(path(name), format!("{}{}", pem(&leaf), pem(&issuer))).unwrap();
    }
}

#[test]
fn the_specification_names_every_usage_and_every_reason() {
    let page = include_str!("../../../../docs/spec/certificates.md");
    for usage in Usage::ALL {
        assert!(page.contains(&format!("| `{usage}` | `{}`", usage.oid())), "{usage}");
    }
    let chain = [
        ChainFault::Expired,
        ChainFault::NotYetValid,
        ChainFault::UnknownIssuer,
        ChainFault::WrongUsage,
        ChainFault::UsageNotAlone,
        ChainFault::FamiliesMixed,
        ChainFault::NotPermittedByNameConstraints,
        ChainFault::IssuerRevoked,
        ChainFault::PathLength,
        ChainFault::WrongRole,
        ChainFault::BadSignature,
        ChainFault::UnsupportedAlgorithm,
        ChainFault::UnknownCriticalExtension,
        ChainFault::Malformed,
        ChainFault::TooLong,
        ChainFault::LifetimeTooLong,
        ChainFault::Names,
        ChainFault::NamesDisagree,
        ChainFault::Wildcard,
    ];
    let peer = [
        PeerFault::NoCertificate,
        PeerFault::NoSpiffeId,
        PeerFault::SeveralIds,
        PeerFault::NotSpiffe(SpiffeFault::Scheme),
        PeerFault::UnknownTrustDomain,
        PeerFault::OtherId,
    ];
    for fault in chain.into_iter().map(PeerFault::Chain).chain(peer) {
        assert!(page.contains(&format!("`{}`", fault.as_str())), "{}", fault.as_str());
    }
}
