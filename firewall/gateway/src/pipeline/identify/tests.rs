//! A configured sender never expires, and the upstream agent gets its configured name. A sender with a certificate expires with it.

use super::*;
use crate::config::Limits;
use crate::control::crls::tests::{NOW, World};
use semgate_certs::{CrlStore, Crls, Revoked, Roots, TrustDomain};

#[test]
fn a_configured_sender_shows_no_certificate() {
    let identity = configured("spiffe://semgate.test/agent/retailer-7").unwrap();
    assert_eq!(identity.peer(u64::MAX).unwrap().id(), "spiffe://semgate.test/agent/retailer-7");
    assert_eq!(identity.sender(), "spiffe://semgate.test/agent/retailer-7");
    assert!(identity.client_cert().is_none());
    assert!(configured("a\nb").is_err());
}

fn configured(id: &str) -> Result<Identity, PeerFault> {
    let accounts = Accounts::new(&Limits::default());
    Identity::configured(accounts.of(&id.into(), AT).unwrap())
}

fn certified(live: &Arc<ArcSwap<Materials>>, shown: &[CertificateDer<'_>]) -> Identity {
    Identity::certified(live, shown, &Accounts::new(&Limits::default()), AT).unwrap()
}

/// The moment of every connection.
const AT: Now = Now { unix: NOW, monotonic_ms: 0 };

fn materials(roots: Roots) -> Materials {
    let domain = TrustDomain::parse("semgate.test").unwrap();
    Materials {
        signers: Default::default(),
        peers: Arc::new(PeerRoots::new().with(domain, roots)),
        server: None,
        people: None,
        upstreams: Default::default(),
        endpoints: Default::default(),
        card_keys: Default::default(),
        files: Default::default(),
        issuers: Arc::new(TokenIssuers::default()),
        own: Vec::new(),
    }
}

/// The code and the detail of a refusal.
fn refused(identity: &Identity, at: u64) -> (Code, String) {
    let refusal = identity.peer(at).unwrap_err();
    (refusal.code(), refusal.detail().to_owned())
}

#[test]
fn a_certificate_that_ends_ends_a_long_connection() {
    let world = World::new();
    let live = Arc::new(ArcSwap::from_pointee(materials(world.roots())));
    let chain = world.agent();
    let end = chain.leaf_validity(&Default::default()).unwrap().1;
    let identity = certified(&live, chain.certificates());
    assert!(identity.peer(end).is_ok());
    assert_eq!(refused(&identity, end + 1), (Code::SenderMismatch, "expired".to_owned()));
}

#[test]
fn a_certificate_that_is_taken_back_ends_a_connection_that_is_open() {
    let (world, store) = (World::new(), Arc::new(CrlStore::default()));
    let show = |number, revoked: &[Revoked]| {
        store.replace(Crls::from_der(&[world.list(number, revoked)]).unwrap());
    };
    show(1, &[]);
    let live = Arc::new(ArcSwap::from_pointee(materials(world.roots().with_crls(Arc::clone(&store)))));
    let chain = world.agent();
    let identity = certified(&live, chain.certificates());
    assert!(identity.peer(NOW).is_ok());
    // its list ends an hour after it was signed, and nobody signed a later one
    assert!(identity.peer(NOW + 3599).is_ok());
    assert_eq!(refused(&identity, NOW + 3600), (Code::SenderMismatch, "crl_expired".to_owned()));
    assert!(identity.peer(NOW).is_err(), "what was refused stays refused under the same lists");
    show(2, &[]);
    assert!(identity.peer(NOW).is_ok());
    show(3, &[Revoked::of(&chain.certificates()[0], NOW).unwrap()]);
    assert_eq!(refused(&identity, NOW), (Code::SenderMismatch, "revoked".to_owned()));
}

#[test]
fn roots_that_are_taken_away_end_a_connection_that_is_open() {
    let world = World::new();
    let live = Arc::new(ArcSwap::from_pointee(materials(world.roots())));
    let chain = world.agent();
    let identity = certified(&live, chain.certificates());
    live.store(Arc::new(materials(world.roots())));
    assert!(identity.peer(NOW).is_ok(), "the same roots, read again");
    // others of the same name
    live.store(Arc::new(materials(World::new().roots())));
    assert_eq!(refused(&identity, NOW), (Code::SenderMismatch, "bad_signature".to_owned()));
}
