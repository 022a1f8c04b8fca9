use super::*;
use crate::tests::{DAY, NOW, line};
use crate::{
    Chain, ChainFault, ChainLimits, CrlProfile, CrlStore, Crls, KeyPair, Roots, Thumbprint, verify_chain,
};
use ring::rand::SystemRandom;
use semgate_contexts::Line;
use std::sync::Arc;
use x509_parser::prelude::*;

fn random() -> SystemRandom {
    SystemRandom::new()
}

fn key() -> KeyPair {
    KeyPair::generate(&random()).unwrap()
}

fn root() -> Issuer {
    Issuer::root(&RootProfile::new("Semgate test root", NOW - DAY), key(), &random()).unwrap()
}

fn roots(root: &Issuer) -> Roots {
    Roots::from_pem(&root.chain().to_pem(), &ChainLimits::default()).unwrap()
}

fn issuing(root: &Issuer, family: Family, lines: LineScope) -> Issuer {
    let profile = IssuingProfile::new("Semgate test issuing", family, NOW - DAY).lines(lines);
    root.issuing(&profile, key(), &random()).unwrap()
}

fn id() -> SpiffeId {
    SpiffeId::parse("spiffe://semgate.test/agent/retailer-7").unwrap()
}

#[test]
fn a_root_is_by_its_profile() {
    let root = root();
    let (_, certificate) = parse_x509_certificate(root.chain().leaf()).unwrap();
    let usage = certificate.key_usage().unwrap().unwrap();
    assert!(usage.critical && usage.value.key_cert_sign() && usage.value.crl_sign());
    assert!(!usage.value.digital_signature());
    let basic = certificate.basic_constraints().unwrap().unwrap();
    assert!(basic.critical && basic.value.ca && basic.value.path_len_constraint.is_none());
    assert!(certificate.extended_key_usage().unwrap().is_none());
    assert!(certificate.name_constraints().unwrap().is_none());
    let life = certificate.validity().not_after.timestamp() - certificate.validity().not_before.timestamp();
    assert_eq!(life, 3652 * 86_400);
}

#[test]
fn an_issuing_certificate_is_by_its_profile() {
    let root = root();
    let issuing = issuing(&root, Family::Contexts, LineScope::Trees(vec![line("acme"), line("payment")]));
    let (_, certificate) = parse_x509_certificate(issuing.chain().leaf()).unwrap();
    let basic = certificate.basic_constraints().unwrap().unwrap();
    assert_eq!(basic.value.path_len_constraint, Some(0));
    let constraints = certificate.name_constraints().unwrap().unwrap();
    assert!(constraints.critical);
    let permitted = constraints.value.permitted_subtrees.as_ref().unwrap();
    let trees: Vec<String> = permitted.iter().map(|tree| tree.base.to_string()).collect();
    assert_eq!(trees, ["DNSName(acme.contexts.invalid)", "DNSName(payment.contexts.invalid)"]);
    assert_eq!(certificate.extended_key_usage().unwrap().unwrap().value.other.len(), 5);
}

#[test]
fn leaves_carry_key_identifiers_a_critical_ca_false_and_serials_of_their_own() {
    let root = root();
    let issuing = issuing(&root, Family::Contexts, LineScope::All);
    let profile = LeafProfile::context(vec![line("payment")], NOW);
    let one = issuing.leaf(&profile, key().public(), &random()).unwrap();
    let two = issuing.leaf(&profile, key().public(), &random()).unwrap();
    let (_, one) = parse_x509_certificate(one.leaf()).unwrap();
    let (_, two) = parse_x509_certificate(two.leaf()).unwrap();
    assert_ne!(one.raw_serial(), two.raw_serial());
    assert_eq!(one.raw_serial().len(), 16);
    let basic = one.basic_constraints().unwrap().unwrap();
    assert!(basic.critical && !basic.value.ca);
    let has = |wanted: x509_parser::der_parser::Oid<'_>| {
        one.extensions().iter().any(|extension| extension.oid == wanted)
    };
    assert!(has(oid_registry::OID_X509_EXT_SUBJECT_KEY_IDENTIFIER));
    assert!(has(oid_registry::OID_X509_EXT_AUTHORITY_KEY_IDENTIFIER));
    assert_eq!(one.extended_key_usage().unwrap().unwrap().value.other.len(), 1);
}

#[test]
fn a_leaf_of_every_usage_verifies_for_that_usage_and_for_no_other() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::All);
    let tls = issuing(&root, Family::Tls, LineScope::All);
    let roots = roots(&root);
    for usage in Usage::ALL {
        let profile = match usage {
            Usage::Context => LeafProfile::context(vec![line("payment")], NOW),
            Usage::Status | Usage::Feed | Usage::Log => LeafProfile::role(usage, LineScope::All, NOW),
            Usage::Policy => LeafProfile::policy(id(), NOW),
            Usage::Server => LeafProfile::server(Some(id()), vec!["localhost".into()], Vec::new(), NOW),
            Usage::Agent => LeafProfile::agent(id(), NOW),
        };
        let issuer = if usage.family() == Family::Contexts { &contexts } else { &tls };
        let subject = key();
        let chain = issuer.leaf(&profile, subject.public(), &random()).unwrap();
        assert_eq!(chain.certificates().len(), 2, "leaf and issuing, no root");
        for asked in Usage::ALL {
            let verdict = verify_chain(&chain, &roots, asked, NOW + DAY);
            match verdict {
                Ok(leaf) => {
                    assert_eq!(asked, usage);
                    assert_eq!(leaf.public_key(), subject.public());
                    assert_eq!(leaf.thumbprint(), chain.thumbprint());
                    assert_eq!((leaf.not_before(), leaf.not_after()), (NOW, NOW + 30 * DAY));
                }
                Err(fault) => {
                    assert_ne!(asked, usage, "{fault}");
                    assert_eq!(fault, ChainFault::WrongUsage, "{usage} asked for {asked}");
                }
            }
        }
    }
}

#[test]
fn a_gateway_is_server_and_client_at_once() {
    let root = root();
    let tls = issuing(&root, Family::Tls, LineScope::All);
    let profile =
        LeafProfile::server(Some(id()), Vec::new(), vec!["127.0.0.1".parse().unwrap()], NOW).also_client();
    let chain = tls.leaf(&profile, key().public(), &random()).unwrap();
    for usage in [Usage::Server, Usage::Agent] {
        let leaf = verify_chain(&chain, &roots(&root), usage, NOW).unwrap();
        assert_eq!(leaf.spiffe().unwrap(), id());
    }
}

#[test]
fn a_context_leaf_speaks_for_just_its_lines_and_a_role_leaf_for_its_trees() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::All);
    let roots = roots(&root);
    let verified = |profile: &LeafProfile| {
        let chain = contexts.leaf(profile, key().public(), &random()).unwrap();
        verify_chain(&chain, &roots, profile.usage, NOW).unwrap()
    };
    let leaf = verified(&LeafProfile::context(vec![line("acme"), line("supplyChain")], NOW));
    assert_eq!(leaf.allows_line(&line("acme")).unwrap().line(), &line("acme"));
    assert_eq!(leaf.allows_line(&line("acme")).unwrap().signer(), leaf.thumbprint());
    for other in ["acme.logistics", "supplychain", "SupplyChain", "payment"] {
        assert!(leaf.allows_line(&line(other)).is_err(), "{other}");
    }
    let leaf = verified(&LeafProfile::role(Usage::Status, LineScope::Trees(vec![line("acme")]), NOW));
    for (text, allowed) in [("acme", true), ("acme.logistics", true), ("ACME.x", true), ("notacme", false)] {
        assert_eq!(leaf.allows_line(&line(text)).is_ok(), allowed, "{text}");
    }
    let leaf = verified(&LeafProfile::role(Usage::Feed, LineScope::All, NOW));
    assert!(leaf.allows_line(&line("anything.at.all")).is_ok());
}

#[test]
fn profiles_that_break_a_rule_are_refused_before_anything_is_signed() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::Trees(vec![line("acme")]));
    let tls = issuing(&root, Family::Tls, LineScope::All);
    let lines = |texts: &[&str]| texts.iter().map(|text| line(text)).collect::<Vec<Line>>();
    let acme = || LeafProfile::context(lines(&["acme"]), NOW);
    let host = |host: &str| LeafProfile::server(None, vec![host.to_owned()], Vec::new(), NOW);
    let mut anonymous = LeafProfile::agent(id(), NOW);
    anonymous.names = LeafNames::Endpoint { id: None, hosts: vec!["a.test".into()], addresses: Vec::new() };
    let mut confused = acme();
    confused.names = LeafNames::Scope(LineScope::All);
    let mut early = acme();
    early.not_before = NOW - 2 * DAY;
    for (issuer, profile, fault) in [
        (&contexts, LeafProfile::context(lines(&["payment"]), NOW), IssueFault::NotDelegated),
        (&contexts, LeafProfile::context(lines(&["acme", "payment"]), NOW), IssueFault::NotDelegated),
        (&contexts, LeafProfile::role(Usage::Status, LineScope::All, NOW), IssueFault::NotDelegated),
        (&contexts, LeafProfile::agent(id(), NOW), IssueFault::NotDelegated),
        (&tls, acme(), IssueFault::NotDelegated),
        (&root, acme(), IssueFault::NotDelegated),
        (&contexts, LeafProfile::context(Vec::new(), NOW), IssueFault::NamesMissing),
        (&contexts, LeafProfile::context(lines(&["acme.a", "acme.A"]), NOW), IssueFault::RepeatedLine),
        (&contexts, confused, IssueFault::NamesOfAnotherUsage),
        (&contexts, acme().lifetime(90 * DAY + 1), IssueFault::LifetimeTooLong),
        (&contexts, acme().lifetime(0), IssueFault::Times),
        (&contexts, early, IssueFault::Times),
        (&contexts, LeafProfile::context(lines(&["acme"]), NOW + 1820 * DAY), IssueFault::LifetimeTooLong),
        (&contexts, LeafProfile::context(lines(&["acme"]), u64::MAX), IssueFault::Times),
        (&tls, LeafProfile::server(None, Vec::new(), Vec::new(), NOW), IssueFault::NamesMissing),
        (&tls, anonymous, IssueFault::NamesMissing),
        (&tls, host("*.semgate.test"), IssueFault::Name(NameFault::Wildcard)),
        (&tls, host("not a host"), IssueFault::Name(NameFault::NotAHost)),
        (&tls, host("payment.contexts.invalid"), IssueFault::Name(NameFault::NotAHost)),
    ] {
        let verdict = issuer.leaf(&profile, key().public(), &random());
        assert_eq!(verdict.map(|_| ()), Err(fault), "{profile:?}");
    }
}

#[test]
fn issuing_certificates_come_from_roots_only_and_never_outlive_them() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::All);
    let profile = IssuingProfile::new("below", Family::Contexts, NOW);
    let below = contexts.issuing(&profile, key(), &random());
    assert_eq!(below.map(|_| ()), Err(IssueFault::NotAnIssuer));
    let mut profile = IssuingProfile::new("late", Family::Contexts, NOW + 3000 * DAY);
    let late = root.issuing(&profile, key(), &random());
    assert_eq!(late.map(|_| ()), Err(IssueFault::LifetimeTooLong));
    profile = IssuingProfile::new("none", Family::Contexts, NOW).lines(LineScope::Trees(Vec::new()));
    assert_eq!(root.issuing(&profile, key(), &random()).map(|_| ()), Err(IssueFault::NamesMissing));
    profile = IssuingProfile::new("tls", Family::Tls, NOW).lines(LineScope::Trees(vec![line("acme")]));
    assert_eq!(root.issuing(&profile, key(), &random()).map(|_| ()), Err(IssueFault::NamesOfAnotherUsage));
    let mut long = RootProfile::new("long", NOW);
    long.lifetime = 4000 * DAY;
    assert_eq!(Issuer::root(&long, key(), &random()).map(|_| ()), Err(IssueFault::LifetimeTooLong));
}

#[test]
fn an_issuer_comes_back_from_its_files_and_not_with_another_key() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::All);
    let limits = ChainLimits::default();
    let stored = Chain::from_pem(&contexts.chain().to_pem(), &limits).unwrap();
    let kept = KeyPair::from_pem(&contexts.key().pem().unwrap(), &random()).unwrap();
    let again = Issuer::from_parts(stored.clone(), kept).unwrap();
    let profile = LeafProfile::context(vec![line("payment")], NOW);
    let chain = again.leaf(&profile, key().public(), &random()).unwrap();
    assert!(verify_chain(&chain, &roots(&root), Usage::Context, NOW).is_ok());
    assert_eq!(Issuer::from_parts(stored, key()).map(|_| ()), Err(IssueFault::NotAnIssuer));
    let subject = key();
    let leaf = contexts.leaf(&profile, subject.public(), &random()).unwrap();
    assert_eq!(Issuer::from_parts(leaf, subject).map(|_| ()), Err(IssueFault::NotAnIssuer));
}

#[test]
fn a_stored_issuing_chain_that_holds_the_root_too_gives_leaf_chains_without_it() {
    let root = root();
    let contexts = issuing(&root, Family::Contexts, LineScope::All);
    let both = [contexts.chain().to_pem(), root.chain().to_pem()].concat();
    let stored = Chain::from_pem(&both, &ChainLimits::default()).unwrap();
    let kept = KeyPair::from_pem(&contexts.key().pem().unwrap(), &random()).unwrap();
    let again = Issuer::from_parts(stored, kept).unwrap();
    let profile = LeafProfile::context(vec![line("payment")], NOW);
    let chain = again.leaf(&profile, key().public(), &random()).unwrap();
    assert_eq!(chain.certificates().len(), 2);
}

#[test]
fn attack_a_certificate_has_a_twin_that_verifies_as_well_and_is_known_as_one_with_it() {
    let root = root();
    let issuing = issuing(&root, Family::Contexts, LineScope::All);
    // r and s of every length and sign come up
    for _ in 0..40 {
        let profile = LeafProfile::role(Usage::Feed, LineScope::All, NOW);
        let chain = issuing.leaf(&profile, key().public(), &random()).unwrap();
        let twin = chain.with_mirrored_signature().unwrap();
        assert_ne!(chain.thumbprint(), twin.thumbprint());
        assert_eq!(twin.with_mirrored_signature().unwrap(), chain);
        let mut seen: Vec<Vec<Thumbprint>> = Vec::new();
        for chain in [&chain, &twin] {
            let leaf = verify_chain(chain, &roots(&root), Usage::Feed, NOW).unwrap();
            assert_eq!(leaf.thumbprint(), chain.thumbprint());
            let mut both = leaf.signer_id().certificates().to_vec();
            assert_eq!(leaf.signer_id(), &chain.signer_id());
            both.sort();
            seen.push(both);
        }
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0].len(), 2);
    }
}

#[test]
fn a_list_of_another_number_of_shards_speaks_for_no_certificate() {
    let root = root();
    let tls = issuing(&root, Family::Tls, LineScope::All);
    let places = |shards| CrlShards::new("https://authority.test/crl", shards).unwrap();
    let profile = LeafProfile::agent(id(), NOW).crl(places(16));
    let chain = tls.leaf(&profile, key().public(), &random()).unwrap();
    let judged = |shards| {
        let list = |shard| {
            let profile =
                CrlProfile { shard, number: 1, this_update: NOW, next_update: NOW + 3600, revoked: &[] };
            tls.crl(&places(shards), &profile, &random()).unwrap()
        };
        let lists: Vec<_> = (0..shards).map(list).collect();
        let crls = Arc::new(CrlStore::new(Crls::from_der(&lists).unwrap()));
        verify_chain(&chain, &roots(&root).with_crls(crls), Usage::Agent, NOW).map(drop)
    };
    assert_eq!(judged(16), Ok(()));
    for shards in [1, 4, 8, 32] {
        assert_eq!(judged(shards), Err(ChainFault::RevocationUnknown), "{shards}");
    }
}
