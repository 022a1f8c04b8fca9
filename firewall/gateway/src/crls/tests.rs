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
fn a_revoked_agent_is_refused_and_an_older_list_gives_nothing_back() {
    let (world, random) = (World::new(), SystemRandom::new());
    let dir = tempfile::tempdir().unwrap();
    let mut lists = Lists { dir: dir.path().join("crls"), store: Arc::default(), held: BTreeMap::new() };
    let id = SpiffeId::parse("spiffe://semgate.test/agent/a").unwrap();
    let profile = LeafProfile::agent(id, NOW).crl(world.places.clone());
    let key = KeyPair::generate(&random).unwrap();
    let chain = world.tls.leaf(&profile, key.public(), &random).unwrap();
    let roots = Roots::from_pem(&world.root.chain().to_pem(), &ChainLimits::default()).unwrap();
    let judged = |lists: &Lists, at: u64| {
        let roots = roots.clone().with_crls(Arc::clone(&lists.store));
        verify_chain(&chain, &roots, Usage::Agent, at).map(drop)
    };
    // nothing was fetched yet: nobody is let in
    assert_eq!(judged(&lists, NOW), Err(ChainFault::RevocationUnknown));
    assert_eq!(lists.offer(0, &world.list(1, &[]), NOW), Ok(Taken::Newer));
    assert_eq!(judged(&lists, NOW), Ok(()));
    assert_eq!(judged(&lists, NOW + 3601), Err(ChainFault::CrlExpired), "what nobody renews ends");
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    assert_eq!(lists.offer(0, &world.list(2, &[revoked]), NOW), Ok(Taken::Newer));
    assert_eq!(judged(&lists, NOW), Err(ChainFault::Revoked));
    // the next edition, signed ahead of its time, takes nothing from the one that counts
    let early =
        CrlProfile { shard: 0, number: 3, this_update: NOW + 60, next_update: NOW + 3660, revoked: &[] };
    let early = world.tls.crl(&world.places, &early, &random).unwrap();
    assert_eq!(lists.offer(0, &early, NOW), Ok(Taken::Known));
    assert_eq!(judged(&lists, NOW), Err(ChainFault::Revoked));
    // rollback, garbage, and a list of another shard or issuer
    assert_eq!(lists.offer(0, &world.list(1, &[]), NOW), Ok(Taken::Known));
    assert_eq!(lists.offer(0, b"no list", NOW), Err(CrlFault::Malformed));
    assert_eq!(lists.offer(0, &World::new().list(9, &[]), NOW), Ok(Taken::Newer), "of a ca of the same name");
    assert_eq!(judged(&lists, NOW), Err(ChainFault::CrlInvalid), "which lets nobody in");
}
