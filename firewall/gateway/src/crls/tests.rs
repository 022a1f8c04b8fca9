use super::*;
use ring::rand::SystemRandom;
use semgate_certs::{
    ChainFault, ChainLimits, CrlProfile, CrlShards, Family, Issuer, IssuingProfile, KeyPair, LeafProfile,
    Revoked, RootProfile, SpiffeId, Usage, verify_chain,
};

const NOW: u64 = 1_800_000_000;

struct World {
    root: Issuer,
    tls: Issuer,
    places: CrlShards,
}

impl World {
    fn new() -> World {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new("root", NOW - 10), key(), &random).unwrap();
        let tls = root.issuing(&IssuingProfile::new("tls", Family::Tls, NOW - 10), key(), &random).unwrap();
        World { root, tls, places: CrlShards::new("https://authority.test/v1/crl", 1).unwrap() }
    }

    fn list(&self, number: u64, revoked: &[Revoked]) -> Vec<u8> {
        let profile = CrlProfile { shard: 0, number, this_update: NOW, next_update: NOW + 3600, revoked };
        self.tls.crl(&self.places, &profile, &SystemRandom::new()).unwrap()
    }
}

#[test]
fn a_revoked_agent_is_refused_also_after_a_restart_and_a_forged_or_older_list_changes_nothing() {
    let (world, random) = (World::new(), SystemRandom::new());
    let dir = tempfile::tempdir().unwrap();
    let roots = Roots::from_pem(&world.root.chain().to_pem(), &ChainLimits::default()).unwrap();
    let start = || {
        let mut lists = Lists::new(dir.path().join("crls"), roots.clone(), CrlLimits::default());
        lists.restore(NOW);
        lists
    };
    let id = SpiffeId::parse("spiffe://semgate.test/agent/a").unwrap();
    let profile = LeafProfile::agent(id, NOW).crl(world.places.clone());
    let key = KeyPair::generate(&random).unwrap();
    let chain = world.tls.leaf(&profile, key.public(), &random).unwrap();
    let judged = |lists: &Lists| {
        let roots = roots.clone().with_crls(Arc::clone(&lists.store));
        verify_chain(&chain, &roots, Usage::Agent, NOW).map(drop)
    };
    let takes = |lists: &mut Lists, list: &[u8]| lists.offer(list, NOW).map(CrlTaken::is_newer);
    let mut lists = start();
    assert_eq!(takes(&mut lists, &world.list(1, &[])), Err(CrlFault::Issuer), "its issuer is not known yet");
    assert!(!lists.set_issuers(None, &world.tls.chain().to_pem(), NOW));
    // a list by another ca of the same names
    assert_eq!(takes(&mut lists, &World::new().list(u64::MAX, &[])), Err(CrlFault::Signature));
    assert_eq!(judged(&lists), Err(ChainFault::RevocationUnknown));
    assert_eq!(takes(&mut lists, &world.list(1, &[])), Ok(true));
    assert_eq!(judged(&lists), Ok(()));
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    assert_eq!(takes(&mut lists, &world.list(2, &[revoked])), Ok(true));
    assert_eq!(judged(&lists), Err(ChainFault::Revoked));
    // what somebody put beside the lists says nothing at the next start
    let dir = dir.path().join("crls");
    std::fs::write(dir.join("0.crl"), World::new().list(u64::MAX, &[])).unwrap();
    let mut again = start();
    assert_eq!(judged(&again), Err(ChainFault::Revoked));
    assert!(!dir.join("0.crl").exists());
    assert_eq!(takes(&mut again, &world.list(1, &[])), Ok(false));
    assert_eq!(judged(&again), Err(ChainFault::Revoked));
    // other roots: nothing of it counts, and nothing of it stays
    let others = Roots::from_pem(&World::new().root.chain().to_pem(), &ChainLimits::default()).unwrap();
    assert!(again.set_issuers(Some(others), "", NOW));
    assert_eq!(again.store.now().len(), 0);
    assert_eq!(std::fs::read_dir(&dir).unwrap().flatten().count(), 1, "the empty file of issuers");
}
