//! Tests of `counts`.

use super::*;
use crate::system::ring_random;
use semgate_certs::KeyPair;
use semgate_statement::tuf::{self, Roles};

#[test]
fn a_key_that_left_the_root_counts_for_the_next_root_alone_and_a_strangers_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let random = ring_random();
    let [old, new, online, stranger] =
        std::array::from_fn(|_| KeyPair::generate(&random).unwrap().public().clone());
    let root = |key: &PublicKey, version| {
        let roles = Roles { root: vec![key.clone()], threshold: 1, online: online.clone() };
        Metadata::draft(tuf::root(&roles, version, 2_000_000_000).unwrap())
    };
    let targets = Metadata::draft(tuf::targets(&[], 1, 2_000_000_000).unwrap());
    let of = |key: &PublicKey, draft: &Metadata, name: &str| Counts::of(key, draft, &at(name)).unwrap();
    // carried away from the repository
    assert_eq!(of(&old, &root(&old, 1), "alone/root.json"), Counts::Yes);
    assert_eq!(of(&stranger, &root(&old, 1), "alone/root.json"), Counts::No, "nothing is before the first");
    assert_eq!(of(&old, &root(&new, 2), "alone/root.json"), Counts::Unknown);
    assert_eq!(of(&old, &targets, "alone/targets.json"), Counts::Unknown);
    // beside the draft of a root
    std::fs::write(at("carried/root.json"), root(&new, 2).to_bytes()).unwrap();
    assert_eq!(of(&new, &targets, "carried/targets.json"), Counts::Yes);
    assert_eq!(of(&old, &targets, "carried/targets.json"), Counts::No);
    assert_eq!(of(&online, &targets, "carried/targets.json"), Counts::No, "it signs other roles");
    let warning = Counts::No.warning("targets").unwrap();
    assert!(warning.contains("it left the trust list") && warning.contains("does not count"), "{warning}");
    assert_eq!(Counts::Yes.warning("root"), None);
}
