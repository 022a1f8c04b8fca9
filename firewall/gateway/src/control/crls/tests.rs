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
    let takes = |lists: &mut Lists, list: &[u8]| lists.offer(list, NOW).map(CrlOutcome::is_newer);
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
    assert_eq!(takes(&mut again, &world.list(1, &[])), Ok(false));
    assert_eq!(judged(&again), Err(ChainFault::Revoked));
    // other roots: nothing of it counts, until the roots are those again
    assert!(again.set_issuers(Some(World::new().roots()), "", NOW));
    assert_eq!(again.store.current().len(), 0);
    assert_eq!(judged(&again), Err(ChainFault::RevocationUnknown));
    again.set_issuers(Some(world.roots()), &world.tls.chain().to_pem(), NOW);
    assert_eq!(takes(&mut again, &world.list(1, &[])), Ok(false));
    assert_eq!(judged(&again), Err(ChainFault::Revoked));
}

#[test]
fn a_start_by_a_clock_that_is_wrong_or_without_issuers_forgets_no_list_and_no_older_one_lets_the_revoked_in()
{
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (roots, pem, chain) = (world.roots(), world.tls.chain().to_pem(), world.agent());
    let start = |at| {
        let mut lists = Lists::new(dir.path().to_owned(), roots.clone(), CrlLimits::default());
        lists.restore(at);
        lists
    };
    let judged = |lists: &Lists, at| {
        let roots = roots.clone().with_crls(Arc::clone(&lists.store));
        verify_chain(&chain, &roots, Usage::Agent, at).map(drop)
    };
    let (first, revoked) = (world.list(1, &[]), Revoked::of(&chain.certificates()[0], NOW).unwrap());
    let mut lists = start(NOW);
    lists.set_issuers(None, &pem, NOW);
    assert!(lists.offer(&first, NOW).unwrap().is_newer());
    assert!(lists.offer(&world.list(2, &[revoked]), NOW).unwrap().is_newer());
    let names = || {
        let mut names: Vec<_> = dir.path().read_dir().unwrap().flatten().map(|one| one.file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    // behind the list, before its issuer was made, and long after it ended; the last start finds no issuers that it can read
    let years = 100 * 365 * 86_400;
    for at in [NOW - 5, NOW - 1_000, 0, NOW + years, NOW] {
        if at == NOW {
            std::fs::write(dir.path().join(ISSUERS), [0xff]).unwrap();
        }
        let mut wrong = start(at);
        assert_eq!(names(), before, "at {at}");
        wrong.set_issuers(None, &pem, at);
        assert!(!wrong.offer(&first, at).is_ok_and(CrlOutcome::is_newer), "at {at}");
        assert_eq!(names(), before, "at {at}");
        if at == NOW - 5 {
            assert_eq!(judged(&wrong, at), Err(ChainFault::RevocationUnknown), "the list begins later");
        }
        // the clock is set right, in this run or by the next start
        for mut right in [wrong, start(NOW)] {
            right.set_issuers(Some(roots.clone()), &pem, NOW);
            assert_eq!(right.offer(&first, NOW), Ok(CrlOutcome::Known), "after {at}");
            assert_eq!(judged(&right, NOW), Err(ChainFault::Revoked), "after {at}");
        }
    }
}

#[test]
fn lists_that_do_not_count_go_for_want_of_room_the_oldest_first() {
    let (world, other, dir) = (World::new(), World::new(), tempfile::tempdir().unwrap());
    let limits = CrlLimits { lists: 2, ..CrlLimits::default() };
    let mut lists = Lists::new(dir.path().to_owned(), world.roots(), limits);
    let written = |name: &str, ago: u64| {
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        file.set_modified(SystemTime::now() - std::time::Duration::from_secs(ago)).unwrap();
    };
    written("a.crl", 50);
    written("b.crl", 90);
    lists.restore(NOW);
    lists.set_issuers(None, &world.tls.chain().to_pem(), NOW);
    lists.offer(&world.list(1, &[]), NOW).unwrap();
    lists.set_issuers(None, &format!("{}{}", world.tls.chain().to_pem(), other.tls.chain().to_pem()), NOW);
    lists.recall(NOW);
    let there = |name: &str| dir.path().join(name).exists();
    assert!(there("a.crl") && !there("b.crl"));
    assert_eq!(lists.files().len(), 2);
}

#[test]
fn attack_a_list_that_the_disk_does_not_take_leaves_no_outdated_one_for_the_next_start() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let (roots, pem, chain) = (world.roots(), world.tls.chain().to_pem(), world.agent());
    let start = || {
        let mut lists = Lists::new(dir.path().to_owned(), roots.clone(), CrlLimits::default());
        lists.restore(NOW);
        lists
    };
    let judged = |lists: &Lists| {
        let roots = roots.clone().with_crls(Arc::clone(&lists.store));
        verify_chain(&chain, &roots, Usage::Agent, NOW).map(drop)
    };
    let mut lists = start();
    lists.set_issuers(None, &pem, NOW);
    assert!(lists.offer(&world.list(1, &[]), NOW).unwrap().is_newer());
    let file = lists.files().remove(0);
    std::fs::create_dir(file.with_extension(format!("{}.new", file.extension().unwrap().to_str().unwrap())))
        .unwrap();
    let revoked = Revoked::of(&chain.certificates()[0], NOW).unwrap();
    assert!(lists.offer(&world.list(2, &[revoked]), NOW).unwrap().is_newer());
    assert_eq!(judged(&lists), Err(ChainFault::Revoked), "it applies at once");
    assert!(!file.exists());
    assert_eq!(judged(&start()), Err(ChainFault::RevocationUnknown), "nobody is let in by the outdated one");
}
