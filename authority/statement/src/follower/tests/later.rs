//! A reader that is configured with the roots of a later trust list, and a mirror that leaves out what was said before it.

use super::*;
use crate::root::{KeyList, RootAct, RootFault};
use crate::trust::{RootEntry, Trust};
use crate::verify_log::{LogFault, verify_log};
use semgate_certs::{ChainLimits, Issuer, RootProfile, Roots};
use std::path::Path;

/// Statements: a list, a compromised feed key, a compromised publisher, the list again, and one with two more roots of which two sign.
struct Split {
    authority: MemoryAuthority,
    newcomer: FollowerConfig,
    roots: [Issuer; 2],
    /// The feed key before, which counts no more.
    stolen: Arc<SigningIdentity>,
}

impl Split {
    fn new() -> Split {
        let mut authority = MemoryAuthority::with_library(START);
        let keys = Arc::clone(&authority.keys);
        let random = &keys.random;
        let root = |name: &str| {
            Issuer::root(&RootProfile::new(name, keys.since), KeyPair::generate(random).unwrap(), random)
                .unwrap()
        };
        let roots = [root("second"), root("third")];
        authority.publish(&MemoryAuthority::document("stolen:v1.0", "thing"));
        let publisher = authority.signer(&Line::parse("stolen").unwrap()).thumbprint();
        let list = authority.key_list();
        authority.root(RootAct::Keys(list.clone()), &[]);
        let from = authority.tree.size();
        let feed = keys.feed.thumbprint();
        let stolen = Arc::new(SigningIdentity::new(Arc::clone(&keys.feed.key), keys.feed.chain.clone()));
        let pair = KeyPair::generate(random).unwrap();
        let profile = LeafProfile::role(Usage::Feed, LineScope::All, keys.since);
        let chain = keys.contexts.leaf(&profile, pair.public(), random).unwrap();
        authority.new_feed = Some(Arc::new(SigningIdentity::new(pair, chain)));
        authority.root(RootAct::Compromised { key: feed, spki: None, from }, &[]);
        authority.root(RootAct::Compromised { key: publisher, spki: None, from: 0 }, &[]);
        authority.root(RootAct::Keys(list.clone()), &[]);
        let added = roots.iter().flat_map(|root| root.chain().certificates().to_vec());
        let new: Vec<_> = list.roots.iter().cloned().chain(added).collect();
        let issuing = list.issuing;
        let split = KeyList::new(2, new.clone(), issuing, list.log);
        authority.root(RootAct::Keys(split), &[&roots[0], &roots[1]]);
        let mut newcomer = authority.config();
        newcomer.roots = Roots::from_der(new, &ChainLimits::default()).unwrap();
        newcomer.root_threshold = 2;
        authority.now += 10;
        Split { authority, newcomer, roots, stolen }
    }

    /// The trust document with these statements of the root alone.
    fn trust_with(&self, which: &[usize]) -> Trust {
        let mut trust = self.authority.trust.clone();
        let root: Vec<RootEntry> = which.iter().map(|n| self.authority.trust.root()[*n].clone()).collect();
        trust.set_root(root);
        trust
    }

    fn lie(&mut self, which: &[usize]) {
        let document = self.trust_with(which).to_bytes().unwrap();
        self.authority.serve_instead("/v1/trust", document);
    }

    /// What an earlier version left in its memory after a mirror had told it these.
    fn kept(&self, dir: &Path, which: &[usize]) {
        std::fs::write(dir.join("trust.json"), self.trust_with(which).to_bytes().unwrap()).unwrap();
    }
}

#[test]
fn a_mirror_hides_no_compromised_key_from_a_reader_that_begins_at_a_later_list() {
    let mut split = Split::new();
    let mut honest = Follower::without_memory(split.newcomer.clone());
    split.authority.follow(&mut honest).unwrap();
    assert_eq!(standing(&honest, "stolen:v1.0", split.authority.now), Standing::Revoked);
    assert_eq!(standing(&honest, "travel:v2.1", split.authority.now), Standing::Valid);
    assert_eq!(honest.root_statements().len(), 5);
    // whoever has the feed key makes the heads of this mirror
    let mut mirror = split;
    mirror.authority.new_feed = Some(Arc::clone(&mirror.stolen));
    mirror.authority.renew();
    let mut newcomer = Follower::without_memory(mirror.newcomer.clone());
    refuses(&mut mirror.authority, &mut newcomer, FollowFault::FeedCompromised);
    for left in [&[0, 3, 4][..], &[0, 2, 3, 4], &[0, 4], &[4]] {
        mirror.lie(left);
        refuses(&mut mirror.authority, &mut newcomer, FollowFault::Root(RootFault::Number));
        let verified = verify_log(&mut mirror.authority.clone(), &mirror.newcomer, mirror.authority.now);
        assert_eq!(verified, Err(LogFault::Root(RootFault::Number)), "{left:?}");
        mirror.authority.now += 60;
        mirror.authority.renew();
    }
    assert_eq!(newcomer.view().size(), 0);
}

#[test]
fn a_gap_that_an_earlier_version_kept_is_fetched_anew_and_nothing_that_was_seen_is_forgotten() {
    for kept in [&[0, 3, 4][..], &[0, 3, 4, 3, 4], &[4]] {
        let mut split = Split::new();
        let before = split.authority.clone();
        split.authority.change(Act::Revoke, "payment:v1.0");
        let dir = tempfile::tempdir().unwrap();
        let mut follower = Follower::open(split.newcomer.clone(), dir.path(), START).unwrap();
        split.authority.follow(&mut follower).unwrap();
        drop(follower);
        split.kept(dir.path(), kept);
        std::fs::write(dir.path().join("invalid.json"), br#"{"invalid":[1]}"#).unwrap();
        let mut follower = Follower::open(split.newcomer.clone(), dir.path(), START).unwrap();
        let size = split.authority.tree.size();
        assert_eq!(follower.view().size(), size, "{kept:?}: what was accepted holds against a rollback");
        assert_eq!(standing(&follower, "travel:v2.1", START), Standing::Stale);
        assert_eq!(follower.state.floors, split.authority.replay.floors().clone());
        assert!(follower.state.invalid.contains(&1));
        let mut old = before.clone();
        old.now = split.authority.now + 10;
        old.renew();
        let offered = old.tree.size();
        assert_eq!(old.follow(&mut follower), Err(FollowFault::Rollback { had: size, offered }));
        split.authority.now += 100;
        split.authority.renew();
        split.lie(kept);
        let again = split.authority.follow(&mut follower).unwrap_err();
        assert!(matches!(again, FollowFault::Root(RootFault::Number)), "{kept:?}: {again:?}");
        split.authority.lies.clear();
        split.authority.now += 100;
        split.authority.renew();
        split.authority.follow(&mut follower).unwrap();
        let now = split.authority.now;
        assert_eq!(standing(&follower, "stolen:v1.0", now), Standing::Revoked);
        assert_eq!(standing(&follower, "payment:v1.0", now), Standing::Revoked);
        assert_eq!(standing(&follower, "travel:v2.1", now), Standing::Valid);
        // and the next statement of the root is kept in its place
        let [second, third] = &split.roots;
        let act = RootAct::LowerFloor { line: Line::parse("payment").unwrap(), min: Version::new(1, 0) };
        split.authority.root(act, &[second, third]);
        split.authority.follow(&mut follower).unwrap();
        drop(follower);
        let mut again = Follower::open(split.newcomer.clone(), dir.path(), now).unwrap();
        assert_eq!((again.reports(), again.root_statements().len()), (vec![], 6));
        assert_eq!(standing(&again, "travel:v2.1", now), Standing::Valid);
    }
}
