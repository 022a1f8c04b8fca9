use super::*;
use crate::tests::{Forged, NOW, World, both, issuing_params, leaf_params};
use crate::{CONTEXTS_TREE, Usage, verify_chain};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};

/// A leaf below an issuing certificate, and that one below another.
struct Deep {
    world: World,
    above: Forged,
    issuing: Forged,
    leaf: Forged,
}

impl Deep {
    fn new() -> Deep {
        let world = World::new();
        let mut params = issuing_params(Family::Contexts, &[CONTEXTS_TREE]);
        params.distinguished_name.push(DnType::CommonName, "Above");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        let above = world.root.issue(&params);
        let issuing = above.issue(&issuing());
        let leaf = issuing.issue(&leaf_params(Usage::Context, both("payment")));
        Deep { world, above, issuing, leaf }
    }

    /// What is said of the leaf by these certificates after its own, by which it verifies.
    fn signer(&self, others: &[&Forged]) -> Vec<KeyId> {
        let all = [&self.leaf].into_iter().chain(others.iter().copied());
        let chain = Chain::from_der(all.map(|one| one.der.clone()).collect(), &ChainLimits::default());
        let chain = chain.unwrap();
        let leaf = verify_chain(&chain, &self.world.root.roots(), Usage::Context, NOW).unwrap();
        assert_eq!(leaf.signer_id(), &chain.signer_id(), "as by the path that verifies");
        chain.signer_id().keys().to_vec()
    }

    fn keys(&self) -> Vec<KeyId> {
        [&self.leaf, &self.issuing, &self.above].map(key).to_vec()
    }
}

fn issuing() -> CertificateParams {
    issuing_params(Family::Contexts, &[CONTEXTS_TREE])
}

fn key(of: &Forged) -> KeyId {
    key_of(&of.der).unwrap()
}

#[test]
fn attack_a_decoy_of_the_name_of_an_issuer_hides_it_in_no_place() {
    let deep = Deep::new();
    let decoy = World::other().root.issue(&issuing());
    assert_eq!(deep.signer(&[&deep.issuing, &deep.above]), deep.keys());
    assert_eq!(deep.signer(&[&decoy, &deep.issuing, &deep.above]), deep.keys());
    assert_eq!(deep.signer(&[&deep.issuing, &decoy, &deep.above]), deep.keys());
    assert_eq!(deep.signer(&[&deep.above, &deep.issuing, &decoy]), deep.keys());
}

#[test]
fn attack_certificates_in_another_order_hide_no_key() {
    let deep = Deep::new();
    assert_eq!(deep.signer(&[&deep.above, &deep.issuing]), deep.keys());
    assert_eq!(deep.signer(&[&deep.above, &deep.issuing, &deep.issuing]), deep.keys());
}

#[test]
fn attack_a_decoy_with_the_key_of_another_speaks_against_nobody() {
    let deep = Deep::new();
    let named = deep.issuing.issue(&leaf_params(Usage::Context, both("travel")));
    let stolen = || KeyPair::from_pem(&named.key.serialize_pem()).unwrap();
    let decoy = World::other().root.issue_for(&issuing(), stolen());
    assert_eq!(key(&decoy), key(&named));
    assert_eq!(deep.signer(&[&decoy, &deep.issuing, &deep.above]), deep.keys());
    // nor as the issuer of an issuer
    let mut params = issuing();
    params.distinguished_name.push(DnType::CommonName, "Above");
    let decoy = World::other().root.issue_for(&params, stolen());
    assert_eq!(deep.signer(&[&decoy, &deep.above, &deep.issuing]), deep.keys());
}

#[test]
fn the_root_stands_apart_also_where_a_chain_holds_it() {
    let deep = Deep::new();
    assert_eq!(deep.signer(&[&deep.issuing, &deep.above, &deep.world.root]), deep.keys());
}
