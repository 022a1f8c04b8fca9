use super::*;
use crate::tests::{DAY, NOW, line};
use crate::{BACKDATE, Family, Issuer, IssuingProfile, KeyPair, RootProfile};
use ring::rand::SystemRandom;

fn issuer(family: Family) -> Issuer {
    let (random, from) = (SystemRandom::new(), NOW - DAY);
    let key = || KeyPair::generate(&random).unwrap();
    let root = Issuer::root(&RootProfile::new("Root", from), key(), &random).unwrap();
    root.issuing(&IssuingProfile::new("Issuing", family, from), key(), &random).unwrap()
}

fn leaf(profile: &LeafProfile) -> Chain {
    let random = SystemRandom::new();
    let by = issuer(profile.usage.family());
    by.leaf(profile, KeyPair::generate(&random).unwrap().public(), &random).unwrap()
}

fn read(chain: &Chain) -> CertificateSummary {
    CertificateSummary::read(chain.leaf()).unwrap()
}

fn gateway() -> LeafProfile {
    let id = SpiffeId::parse("spiffe://semgate.test/gateway").unwrap();
    let addresses = vec!["10.0.0.7".parse().unwrap(), "::1".parse().unwrap()];
    LeafProfile::server(Some(id), vec!["gateway.test".to_owned()], addresses, NOW).also_client()
}

/// The members of a summary that a renewal must keep.
fn kept(one: &CertificateSummary) -> String {
    let lifetime = one.not_after - one.not_before;
    format!(
        "{} {:?} {:?} {:?} {:?} {lifetime} {:?}",
        one.subject, one.usages, one.hosts, one.uris, one.addresses, one.crl
    )
}

#[test]
fn a_renewed_leaf_of_every_usage_has_the_same_names_usages_and_lifetime() {
    let id = || SpiffeId::parse("spiffe://semgate.test/agent/a").unwrap();
    let lists = CrlShards::new("https://lists.test/crl", 16).unwrap();
    let named = LeafProfile { name: "My gateway".to_owned(), ..gateway().crl(lists) };
    let trees = LineScope::Trees(vec![line("acme"), line("payment")]);
    for profile in [
        named,
        LeafProfile::server(None, vec!["a.test".to_owned()], Vec::new(), NOW),
        LeafProfile::agent(id(), NOW).lifetime(7 * DAY),
        LeafProfile::policy(id(), NOW),
        LeafProfile::context(vec![line("acme.logistics"), line("payment")], NOW),
        LeafProfile::role(Usage::Feed, LineScope::All, NOW),
        LeafProfile::role(Usage::Status, trees, NOW),
    ] {
        let old = read(&leaf(&profile));
        let renewed = old.renewed(&Prefix::default(), NOW + DAY).unwrap();
        let new = read(&leaf(&renewed));
        assert_eq!(kept(&new), kept(&old));
        assert_eq!(new.not_before, NOW + DAY);
        assert_ne!(new.thumbprint, old.thumbprint);
    }
    let issuing = CertificateSummary::read(issuer(Family::Tls).chain().leaf()).unwrap();
    assert_eq!(issuing.renewed(&Prefix::default(), NOW).unwrap_err(), ChainFault::WrongRole);
}

#[test]
fn an_own_certificate_is_refused_by_its_times_its_usage_and_its_names() {
    let chain = leaf(&gateway());
    let both = [Usage::Server, Usage::Agent];
    let at = |address: &str| [address.parse().unwrap()];
    let check = |usages: &[Usage], address: &str, now| {
        check_own(&chain, usages, &at(address), now).map(|all| all.len())
    };
    assert_eq!(check(&both, "10.0.0.7", NOW), Ok(2));
    assert!(matches!(check(&both, "10.0.0.7", NOW + 40 * DAY), Err(OwnFault::Expired(_, 10))));
    assert!(matches!(check(&both, "10.0.0.7", NOW - 1), Err(OwnFault::NotYetValid(_))));
    let server = leaf(&LeafProfile::server(None, Vec::new(), at("10.0.0.7").to_vec(), NOW));
    let check =
        |usages: &[Usage], address: &str| check_own(&server, usages, &at(address), NOW).map(|all| all.len());
    assert_eq!(check(&both, "10.0.0.7"), Err(OwnFault::Usage(Usage::Agent)));
    assert_eq!(check(&[Usage::Server], "10.0.0.8"), Err(OwnFault::Address("10.0.0.8".parse().unwrap())));
    assert_eq!(check(&[Usage::Server], "::ffff:10.0.0.7"), Ok(2), "one address in two spellings");
    assert_eq!(check(&[Usage::Server], "0.0.0.0"), Ok(2), "an unspecified address takes any name");
    let local = read(&leaf(&LeafProfile::server(None, vec!["localhost".to_owned()], Vec::new(), NOW)));
    assert!(local.names_address("127.0.0.1".parse().unwrap()));
    assert!(!local.names_address("10.0.0.7".parse().unwrap()), "`localhost` leads to loopback alone");
}

#[test]
fn a_certificate_ends_soon_in_the_last_third_of_its_life_and_at_most_30_days_before() {
    let of = |days: u64| read(&leaf(&gateway().lifetime(days * DAY)));
    assert!(!of(30).ends_soon(NOW + 20 * DAY));
    assert!(of(30).ends_soon(NOW + 20 * DAY + 1));
    assert!(!of(90).ends_soon(NOW + 60 * DAY));
    assert!(of(90).ends_soon(NOW + 60 * DAY + 1));
    let issuing = CertificateSummary::read(issuer(Family::Tls).chain().leaf()).unwrap();
    assert!(
        !issuing.ends_soon(issuing.not_after - 30 * DAY - BACKDATE),
        "five years would give twenty months"
    );
    assert!(issuing.ends_soon(issuing.not_after - 30 * DAY + 1));
}
