//! A log key that was told by hand and that no trust list names.

use super::*;
use crate::checkpoint::{LogKey, LogVerifier};
use crate::root::{Anchors, KeyList, RootAct};
use crate::testing::ORIGIN;
use crate::verify_log::{LogFault, Prover, verify_log};
use crate::view::View;

/// What a list that names these log keys has besides.
fn naming(authority: &MemoryAuthority, log: &[&LogKey]) -> RootAct {
    let list = authority.key_list();
    let log = log.iter().map(|key| key.verifier().to_string()).collect();
    RootAct::Keys(KeyList::new(list.threshold, list.roots, list.issuing, log))
}

fn another(seed: u8) -> LogKey {
    LogKey::from_seed(ORIGIN, &[seed; 32]).unwrap()
}

/// Configured with these log keys.
fn config_of(authority: &MemoryAuthority, keys: &[&LogKey]) -> FollowerConfig {
    let mut config = authority.config();
    config.log = LogVerifier::any_of(keys.iter().map(|key| key.verifier().clone()).collect()).unwrap();
    config
}

fn verified(authority: &MemoryAuthority, config: &FollowerConfig) -> Result<(), LogFault> {
    verify_log(&mut authority.clone(), config, authority.now).map(drop)
}

fn followed_by(authority: &mut MemoryAuthority, config: FollowerConfig) -> Arc<View> {
    let mut follower = Follower::without_memory(config);
    authority.follow(&mut follower).unwrap();
    follower.view()
}

/// A foreign key of the same origin passed once a trust list was in effect, since only the keys of the list count then.
#[test]
fn a_foreign_log_key_is_not_passed_over_once_there_is_a_trust_list() {
    let mut authority = MemoryAuthority::with_library(START);
    let (ours, foreign) = (authority.keys.log.clone(), another(9));
    let config = config_of(&authority, &[&foreign]);
    let before = verified(&authority, &config);
    assert!(matches!(before, Err(LogFault::Head(_))), "without a list it signed nothing: {before:?}");
    let act = naming(&authority, &[&ours]);
    authority.root(act, &[]);
    let key = foreign.verifier().to_string();
    let unlisted = LogFault::LogKeyUnlisted { key: key.clone() };
    assert_eq!(verified(&authority, &config), Err(unlisted.clone()));
    let now = authority.now;
    assert_eq!(Prover::new(&mut authority.clone(), &config, now).err(), Some(unlisted.clone()));
    let both = config_of(&authority, &[&ours, &foreign]);
    assert_eq!(verified(&authority, &both), Err(unlisted), "nor is one of several passed over");
    let right = authority.config();
    assert_eq!(verified(&authority, &right), Ok(()));
    // a follower goes on by what the root says, and tells
    let view = followed_by(&mut authority, config);
    assert_eq!(view.unlisted_log_keys(), [key]);
    assert_eq!(view.standing(&urn("payment:v1.1"), now), Standing::Valid);
    assert!(followed_by(&mut authority, right).unlisted_log_keys().is_empty());
}

#[test]
fn a_log_key_that_was_rotated_out_since_goes_on_and_one_that_the_first_list_left_out_is_told() {
    let mut authority = MemoryAuthority::with_library(START);
    let (first, second) = (authority.keys.log.clone(), Arc::new(another(8)));
    let config = config_of(&authority, &[&first]);
    let mut hasty = authority.clone();
    let act = naming(&authority, &[&first, &second]);
    authority.root(act, &[]);
    authority.new_log = Some(Arc::clone(&second));
    let act = naming(&authority, &[&second]);
    authority.root(act, &[]);
    assert_eq!(verified(&authority, &config), Ok(()));
    assert!(followed_by(&mut authority, config.clone()).unlisted_log_keys().is_empty());
    hasty.new_log = Some(Arc::clone(&second));
    let act = naming(&hasty, &[&second]);
    hasty.root(act, &[]);
    let key = first.verifier().to_string();
    assert_eq!(verified(&hasty, &config), Err(LogFault::LogKeyUnlisted { key: key.clone() }));
    assert_eq!(followed_by(&mut hasty, config).unlisted_log_keys(), [key]);
}

#[test]
fn the_id_of_a_told_key_may_be_written_in_capitals() {
    let mut authority = MemoryAuthority::with_library(START);
    let key = authority.keys.log.clone();
    let act = naming(&authority, &[&key]);
    authority.root(act, &[]);
    let text = key.verifier().to_string();
    let id = text.split('+').nth(1).unwrap();
    let mut config = authority.config();
    config.log = LogVerifier::parse(&text.replace(id, &id.to_uppercase())).unwrap();
    assert_eq!(verified(&authority, &config), Ok(()));
}

/// Whoever was told the roots of a later list begins there, and may have been told a log key from before.
#[test]
fn a_reader_that_begins_at_a_later_list_knows_the_log_keys_of_those_before() {
    let mut authority = MemoryAuthority::with_library(START);
    let (first, second) = (authority.keys.log.clone(), Arc::new(another(8)));
    let act = naming(&authority, &[&first, &second]);
    authority.root(act, &[]);
    let keys = Arc::clone(&authority.keys);
    let pair = KeyPair::generate(&keys.random).unwrap();
    let root = semgate_certs::RootProfile::new("second", keys.since);
    let root = semgate_certs::Issuer::root(&root, pair, &keys.random).unwrap();
    let list = authority.key_list();
    let log = vec![second.verifier().to_string()];
    let roots = root.chain().certificates().to_vec();
    authority.root(RootAct::Keys(KeyList::new(1, roots.clone(), list.issuing, log)), &[&root]);
    let mut config = config_of(&authority, &[&first]);
    config.roots = semgate_certs::Roots::from_der(roots, config.roots.limits()).unwrap();
    let anchors = |config: &FollowerConfig| {
        Anchors::new(&config.authority, &config.origin, &config.roots, 1, &config.log)
            .with_entries(authority.trust.root(), u64::MAX, &config.prefix)
            .unwrap()
    };
    assert_eq!(anchors(&config).unlisted_log_keys().count(), 0);
    config.log = another(9).verifier().clone();
    assert_eq!(anchors(&config).unlisted_log_keys().count(), 1);
}

/// As many keys as were demanded signed a first list that asks for fewer: from it on its own number counts, and nothing told so.
#[test]
fn a_list_that_asks_for_fewer_root_keys_than_were_demanded_counts_and_its_number_is_told() {
    let mut authority = MemoryAuthority::with_library(START);
    let keys = Arc::clone(&authority.keys);
    let pair = KeyPair::generate(&keys.random).unwrap();
    let second = semgate_certs::RootProfile::new("second", keys.since);
    let second = semgate_certs::Issuer::root(&second, pair, &keys.random).unwrap();
    let both = [keys.root.certificates(), second.chain().certificates()].concat();
    let mut config = authority.config();
    config.roots = semgate_certs::Roots::from_der(both.clone(), config.roots.limits()).unwrap();
    config.root_threshold = 2;
    let list = authority.key_list();
    authority.root(RootAct::Keys(KeyList::new(1, both, list.issuing, list.log)), &[&second]);
    let (mut served, now) = (authority.clone(), authority.now);
    assert_eq!(verify_log(&mut served, &config, now).unwrap().root_threshold, 1);
    assert_eq!(Prover::new(&mut served, &config, now).unwrap().root_threshold(), 1);
    assert_eq!(followed_by(&mut authority, config).root_threshold(), 1);
}
