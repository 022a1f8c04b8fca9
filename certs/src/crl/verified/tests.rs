use super::*;
use crate::{
    ChainFault, ChainLimits, CrlProfile, CrlShards, CrlStore, Family, Issuer, IssuingProfile, KeyPair,
    LeafProfile, Revoked, RootProfile, SpiffeId, Usage, verify_chain,
};
use ring::rand::SystemRandom;

const NOW: u64 = 1_800_000_000;

fn key() -> KeyPair {
    KeyPair::generate(&SystemRandom::new()).unwrap()
}

fn root() -> Issuer {
    Issuer::root(&RootProfile::new("root", NOW - 10), key(), &SystemRandom::new()).unwrap()
}

fn issuing(root: &Issuer) -> Issuer {
    let profile = IssuingProfile::new("tls", Family::Tls, NOW - 10);
    root.issuing(&profile, key(), &SystemRandom::new()).unwrap()
}

fn places() -> CrlShards {
    CrlShards::new("https://authority.test/v1/crl", 1).unwrap()
}

fn leaf(by: &Issuer) -> crate::Chain {
    let id = SpiffeId::parse("spiffe://semgate.test/agent/a").unwrap();
    let profile = LeafProfile::agent(id, NOW).crl(places());
    by.leaf(&profile, key().public(), &SystemRandom::new()).unwrap()
}

fn list(by: &Issuer, number: u64, revoked: &[Revoked]) -> Vec<u8> {
    let profile = CrlProfile { shard: 0, number, this_update: NOW, next_update: NOW + 3600, revoked };
    by.crl(&places(), &profile, &SystemRandom::new()).unwrap()
}

fn roots(root: &Issuer) -> Roots {
    Roots::from_pem(&root.chain().to_pem(), &ChainLimits::default()).unwrap()
}

fn verified_crls(root: &Issuer, issuers: &[&Issuer]) -> VerifiedCrls {
    let mut crls = VerifiedCrls::new(CrlLimits::default());
    show(&mut crls, root, issuers);
    crls
}

fn show(crls: &mut VerifiedCrls, root: &Issuer, issuers: &[&Issuer]) {
    let shown: String = issuers.iter().map(|one| one.chain().to_pem()).collect();
    crls.set_issuers(&roots(root), &shown, NOW);
}

fn takes(crls: &mut VerifiedCrls, list: &[u8], at: u64) -> Result<bool, CrlFault> {
    crls.offer(list, at).map(CrlOutcome::is_newer)
}

fn issuers(crls: &VerifiedCrls) -> usize {
    crls.issuers().matches("BEGIN").count()
}

fn judged(crls: &VerifiedCrls, root: &Issuer, chain: &crate::Chain, at: u64) -> Result<(), ChainFault> {
    let roots = roots(root).with_crls(Arc::new(CrlStore::new(crls.crls())));
    verify_chain(chain, &roots, Usage::Agent, at).map(drop)
}

#[test]
fn who_answers_once_with_a_forged_list_of_the_highest_number_keeps_nobody_out_and_pins_nothing() {
    let root = root();
    let tls = issuing(&root);
    let (mut crls, chain) = (verified_crls(&root, &[&tls]), leaf(&tls));
    assert_eq!(judged(&crls, &root, &chain, NOW), Err(ChainFault::RevocationUnknown), "nothing was had yet");
    // a ca of the same names, made by somebody else, before and after a good list is held
    let forged =
        list(&issuing(&self::root()), u64::MAX, &[Revoked::of(&chain.certificates()[0], NOW).unwrap()]);
    assert_eq!(crls.offer(&forged, NOW), Err(CrlFault::Signature));
    assert_eq!(takes(&mut crls, &list(&tls, 1, &[]), NOW), Ok(true));
    assert_eq!(crls.offer(&forged, NOW), Err(CrlFault::Signature));
    assert_eq!(judged(&crls, &root, &chain, NOW), Ok(()));
    // a good one with one bit changed
    let mut changed = list(&tls, 7, &[]);
    *changed.last_mut().unwrap() ^= 1;
    assert!(matches!(crls.offer(&changed, NOW), Err(CrlFault::Signature | CrlFault::Malformed)));
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    assert_eq!(takes(&mut crls, &list(&tls, 2, &[revoked]), NOW), Ok(true), "the next edition is taken");
    assert_eq!(judged(&crls, &root, &chain, NOW), Err(ChainFault::Revoked));
    assert_eq!(crls.offer(&list(&tls, 1, &[]), NOW), Ok(CrlOutcome::Known), "and none before it");
    assert_eq!(judged(&crls, &root, &chain, NOW), Err(ChainFault::Revoked));
    assert_eq!(judged(&crls, &root, &chain, NOW + 3601), Err(ChainFault::CrlExpired));
}

#[test]
fn a_new_issuing_certificate_of_the_same_name_speaks_beside_the_old_one_for_its_own_leaves() {
    let root = root();
    let (old, new) = (issuing(&root), issuing(&root));
    let (by_old, by_new) = (leaf(&old), leaf(&new));
    let mut crls = verified_crls(&root, &[&old]);
    let taken_back = Revoked::of(&by_old.certificates()[0], NOW).unwrap();
    assert_eq!(takes(&mut crls, &list(&old, 100, &[taken_back]), NOW), Ok(true));
    let fresh = list(&new, 1, &[]);
    assert_eq!(crls.offer(&fresh, NOW), Err(CrlFault::Signature), "nobody showed its certificate yet");
    show(&mut crls, &root, &[&new]);
    assert_eq!(takes(&mut crls, &fresh, NOW), Ok(true), "the old one's number is not its own");
    assert_eq!(crls.crls().len(), 2);
    assert_eq!(judged(&crls, &root, &by_old, NOW), Err(ChainFault::Revoked));
    assert_eq!(judged(&crls, &root, &by_new, NOW), Ok(()));
    // who brings both certificates along is judged by the one that signed
    let both = [by_old.certificates(), &by_new.certificates()[1..]].concat();
    let both = crate::Chain::from_der(both, &ChainLimits::default()).unwrap();
    assert_eq!(judged(&crls, &root, &both, NOW), Err(ChainFault::Revoked));
}

#[test]
fn only_certificates_that_a_root_certified_as_issuers_sign_lists() {
    let (root, stranger) = (root(), self::root());
    let (tls, foreign) = (issuing(&root), issuing(&stranger));
    let mut crls = verified_crls(&root, &[&foreign, &stranger]);
    assert_eq!(issuers(&crls), 0);
    assert_eq!(crls.offer(&list(&tls, 1, &[]), NOW), Err(CrlFault::Issuer));
    let leaf = leaf(&tls);
    let alone = crate::Chain::from_der(leaf.certificates()[..1].to_vec(), &ChainLimits::default()).unwrap();
    crls.set_issuers(&roots(&root), &alone.to_pem(), NOW);
    assert_eq!(issuers(&crls), 0, "a leaf is no issuer, nor is one certified by what nobody showed");
    crls.set_issuers(&roots(&root), &leaf.to_pem(), NOW);
    assert_eq!(issuers(&crls), 1);
    assert_eq!(takes(&mut crls, &list(&tls, 1, &[]), NOW), Ok(true));
    // what was known stays known, until its root goes
    crls.set_issuers(&roots(&root), "", NOW);
    assert_eq!((crls.crls().len(), crls.dropped()), (1, 0));
    crls.set_issuers(&roots(&stranger), "", NOW);
    assert_eq!((crls.crls().len(), crls.dropped()), (0, 1));
    crls.set_issuers(&roots(&root), &tls.chain().to_pem(), NOW + 100 * 365 * 86_400);
    assert_eq!(issuers(&crls), 0, "nor is one that has expired");
}

#[test]
fn lists_that_have_expired_give_way_and_past_the_limits_nothing_is_taken() {
    let root = root();
    let (first, second) = (issuing(&root), issuing(&root));
    let mut crls = VerifiedCrls::new(CrlLimits { lists: 1, ..CrlLimits::default() });
    show(&mut crls, &root, &[&first, &second]);
    assert_eq!(takes(&mut crls, &list(&first, 1, &[]), NOW), Ok(true));
    assert_eq!(crls.offer(&list(&second, 1, &[]), NOW), Err(CrlFault::Full));
    assert_eq!(takes(&mut crls, &list(&first, 2, &[]), NOW), Ok(true), "in its own place");
    assert_eq!(takes(&mut crls, &list(&second, 1, &[]), NOW + 3601), Ok(true));
    assert_eq!((crls.crls().len(), crls.dropped()), (1, 1));
    let mut small = VerifiedCrls::new(CrlLimits { bytes: 100, ..CrlLimits::default() });
    show(&mut small, &root, &[&first]);
    assert_eq!(small.offer(&list(&first, 1, &[]), NOW), Err(CrlFault::Full));
    let early =
        CrlProfile { shard: 0, number: 9, this_update: NOW + 60, next_update: NOW + 90, revoked: &[] };
    let early = first.crl(&places(), &early, &SystemRandom::new()).unwrap();
    assert_eq!(crls.offer(&early, NOW), Ok(CrlOutcome::Early));
}

#[test]
fn a_list_that_was_kept_is_kept_by_a_clock_that_is_behind_and_no_older_one_takes_its_place() {
    let root = root();
    let tls = issuing(&root);
    let chain = leaf(&tls);
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    let newest = list(&tls, 2, &[revoked]);
    // before the list began, and before its issuer did
    for at in [NOW - 5, 0] {
        let mut crls = VerifiedCrls::new(CrlLimits::default());
        assert!(crls.set_issuers(&roots(&root), &tls.chain().to_pem(), at), "a key that may sign");
        assert!(!crls.set_issuers(&roots(&root), &tls.chain().to_pem(), at), "the same");
        assert_eq!(crls.offer(&newest, at), Ok(CrlOutcome::Early), "at {at}");
        assert!(crls.recall(&newest, at).unwrap().is_newer(), "at {at}");
        assert_eq!(crls.recall(&list(&tls, 1, &[]), at), Ok(CrlOutcome::Known), "at {at}");
        assert_eq!(crls.offer(&list(&tls, 1, &[]), NOW), Ok(CrlOutcome::Known), "at {at}");
        assert_eq!(judged(&crls, &root, &chain, NOW), Err(ChainFault::Revoked), "at {at}");
    }
}

/// Issuers elsewhere sign one list for all that they issued (RFC 5280 §5, without an issuing distribution point).
#[test]
fn a_list_of_the_whole_issuer_speaks_for_all_its_leaves_and_has_editions_of_its_own() {
    let root = root();
    let tls = issuing(&root);
    let (mut crls, chain) = (verified_crls(&root, &[&tls]), leaf(&tls));
    let unsharded = |number: u64, revoked: &[Revoked]| {
        let instant = |at| crate::issue::instant(Some(at)).unwrap();
        let entry = |one: &Revoked| rcgen::RevokedCertParams {
            serial_number: rcgen::SerialNumber::from_slice(&one.serial),
            revocation_time: instant(one.at),
            reason_code: None,
            invalidity_date: None,
        };
        let params = rcgen::CertificateRevocationListParams {
            this_update: instant(NOW),
            next_update: instant(NOW + 3600),
            crl_number: rcgen::SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect(),
            key_identifier_method: rcgen::KeyIdMethod::Sha256,
        };
        tls.sign_crl(&params, &SystemRandom::new()).unwrap()
    };
    assert_eq!(takes(&mut crls, &unsharded(5, &[]), NOW), Ok(true));
    assert_eq!(judged(&crls, &root, &chain, NOW), Ok(()), "without a shard");
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    assert_eq!(
        takes(&mut crls, &unsharded(4, std::slice::from_ref(&revoked)), NOW),
        Ok(false),
        "an older edition"
    );
    assert_eq!(takes(&mut crls, &list(&tls, 1, &[]), NOW), Ok(true), "a shard counts its own editions");
    assert_eq!(judged(&crls, &root, &chain, NOW), Ok(()));
    assert_eq!(crls.crls().len(), 2);
    // neither of the two speaks against the other's revocation
    let mut other = self::verified_crls(&root, &[&tls]);
    assert_eq!(takes(&mut other, &unsharded(5, &[]), NOW), Ok(true));
    assert_eq!(takes(&mut other, &list(&tls, 2, std::slice::from_ref(&revoked)), NOW), Ok(true));
    assert_eq!(judged(&other, &root, &chain, NOW), Err(ChainFault::Revoked), "on its shard");
    assert_eq!(takes(&mut crls, &unsharded(6, &[revoked]), NOW), Ok(true));
    assert_eq!(judged(&crls, &root, &chain, NOW), Err(ChainFault::Revoked), "on the list of all");
    assert_eq!(judged(&crls, &root, &chain, NOW + 3600), Err(ChainFault::CrlExpired));
}
