use super::*;
use ring::rand::SystemRandom;
use semgate_certs::{
    Chain, ChainFault, ChainLimits, CrlProfile, CrlShards, Family, Issuer, IssuingProfile, KeyPair,
    LeafProfile, Revoked, RootProfile, SpiffeId, Usage, verify_chain,
};

pub(crate) const NOW: u64 = 1_800_000_000;

/// An issuer of agents, and where its one list is.
pub(crate) struct World {
    pub(crate) root: Issuer,
    pub(crate) tls: Issuer,
    pub(crate) places: CrlShards,
}

impl World {
    pub(crate) fn new() -> World {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new("root", NOW - 10), key(), &random).unwrap();
        let tls = root.issuing(&IssuingProfile::new("tls", Family::Tls, NOW - 10), key(), &random).unwrap();
        World { root, tls, places: CrlShards::new("https://authority.test/v1/crl", 1).unwrap() }
    }

    pub(crate) fn list(&self, number: u64, revoked: &[Revoked]) -> Vec<u8> {
        let profile = CrlProfile { shard: 0, number, this_update: NOW, next_update: NOW + 3600, revoked };
        self.tls.crl(&self.places, &profile, &SystemRandom::new()).unwrap()
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots::from_pem(&self.root.chain().to_pem(), &ChainLimits::default()).unwrap()
    }

    /// An agent whose certificate names the list.
    pub(crate) fn agent(&self) -> Chain {
        let id = SpiffeId::parse("spiffe://semgate.test/agent/a").unwrap();
        let profile = LeafProfile::agent(id, NOW).crl(self.places.clone());
        let key = KeyPair::generate(&SystemRandom::new()).unwrap();
        self.tls.leaf(&profile, key.public(), &SystemRandom::new()).unwrap()
    }
}

#[test]
fn a_revoked_agent_is_refused_also_after_a_restart_and_a_forged_or_older_list_changes_nothing() {
    let world = World::new();
    let dir = tempfile::tempdir().unwrap();
    let roots = world.roots();
    let start = || {
        let mut lists = Lists::new(dir.path().join("crls"), roots.clone(), CrlLimits::default());
        lists.restore(NOW);
        lists
    };
    let chain = world.agent();
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
    assert!(again.set_issuers(Some(World::new().roots()), "", NOW));
    assert_eq!(again.store.now().len(), 0);
    assert_eq!(std::fs::read_dir(&dir).unwrap().flatten().count(), 1, "the empty file of issuers");
}
