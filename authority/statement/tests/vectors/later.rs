//! Vectors of the statements that the first ones do not have: a trust list, a recognition and its withdrawal, a lowered floor, an override.
//! A log of its own in `vectors/later/`, drawn anew with `SEMGATE_WRITE_VECTORS=1`. No private key is among them.

use super::*;
use semgate_certs::{PeerRoots, SpiffeId, TrustDomain};
use semgate_statement::testing::{MemoryAuthority, START as NOW};
use semgate_statement::{Anchors, Permission, RootAct, RootEntry, SignedPermission};

const UNTIL: u64 = NOW + 30 * 86_400;
const GRACE: &str = "spiffe://semgate.test/grace";

fn later(name: &str) -> String {
    format!("later/{name}")
}

/// Two contexts and a floor, then what this page is about.
fn write() {
    std::fs::create_dir_all(path("later")).unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(path(&later(name)), bytes).unwrap();
    let mut ours = MemoryAuthority::new(NOW);
    let theirs = MemoryAuthority::named("theirs.test", "theirs.test/log", NOW);
    for name in ["payment-v1.0", "payment-v1.1"] {
        ours.publish(&document(name));
        ours.now += 10;
    }
    ours.floor("payment", "v1.1");
    ours.now += 10;
    ours.recognise(ours.recognition(&theirs, &[("goods", Some("v1.1"))], UNTIL));
    ours.now += 10;
    ours.root(RootAct::LowerFloor { line: Line::parse("payment").unwrap(), min: Version::new(1, 0) }, &[]);
    ours.now += 10;
    ours.withdraw("theirs.test");
    ours.now += 10;
    let keys = std::sync::Arc::clone(&ours.keys);
    let profile = IssuingProfile::new("test tls", Family::Tls, keys.since);
    let tls =
        keys.root_key.issuing(&profile, KeyPair::generate(&keys.random).unwrap(), &keys.random).unwrap();
    let key = KeyPair::generate(&keys.random).unwrap();
    let profile = LeafProfile::agent(SpiffeId::parse(GRACE).unwrap(), keys.since);
    let chain = tls.leaf(&profile, key.public(), &keys.random).unwrap();
    let grace = SigningIdentity::new(key, chain);
    let beside = |short: &str| (urn(short), ours.replay.published(&urn(short)).unwrap().digest);
    let permission = Permission {
        authority: AUTHORITY.to_owned(),
        urn: urn("payment:v1.2"),
        digest: Digest::of(b"the document that is permitted"),
        siblings: [beside("payment:v1.0"), beside("payment:v1.1")].into(),
        name: "Grace Hopper".to_owned(),
        reason: "nobody sends amounts above a million".to_owned(),
    };
    let permission = SignedPermission::sign(&permission, &grace, &Prefix::default(), &keys.random).unwrap();
    let by = SpiffeId::parse(GRACE).unwrap();
    ours.log(Statement::Override { by, permission: Box::new(permission) }, &keys.status);
    put("root.pem", keys.root.to_pem().as_bytes());
    put("log.vkey", format!("{}\n", keys.log.verifier()).as_bytes());
    for (n, entry) in ours.entries.iter().enumerate() {
        put(&format!("entry-{n}.json"), entry);
    }
    put("trust.json", &ours.trust.to_bytes().unwrap());
    put("listing.json", &ours.replay.listing().to_bytes().unwrap());
    put("floors.json", &ours.floors);
    put("shard-0.bin", &ours.replay.statuses().shards()[0].bytes);
    put("checkpoint", ours.head.checkpoint.as_bytes());
    put("head.jws.json", &ours.signed_head);
}

#[test]
fn the_later_vectors_hold_byte_for_byte() {
    if std::env::var_os("SEMGATE_WRITE_VECTORS").is_some() {
        write();
    }
    let roots = Roots::from_pem(&text(&later("root.pem")), &ChainLimits::default()).unwrap();
    let log = LogVerifier::parse(&text(&later("log.vkey"))).unwrap();
    let trust = Trust::read(&bytes(&later("trust.json")), &ChainLimits::default()).unwrap();
    let mut anchors = Anchors::new(AUTHORITY, ORIGIN, &roots, 1, &log);
    let (mut replay, mut tree, mut root) = (Replay::new(), Tree::new(), Vec::new());
    trust.chains().for_each(|(_, chain)| replay.introduce(chain));
    let kinds = ["publish", "publish", "floor", "key", "recognise", "lower_floor", "withdraw", "override"];
    for (n, kind) in (0u64..).zip(kinds) {
        let stored = bytes(&later(&format!("entry-{n}.json")));
        let entry = Entry::read(&stored, &Prefix::default()).unwrap();
        assert_eq!(entry.unverified().kind(), kind, "entry {n}");
        let again = Entry::new(entry.logged_at(), entry.signed().clone()).unwrap();
        assert_eq!(again.bytes(), stored, "entry {n}");
        match entry.unverified() {
            Statement::Root(_) => {
                anchors.accept(n, &entry).unwrap();
                root.push(RootEntry::of(n, &entry));
            }
            Statement::Override { by, permission } => {
                entry.verify(&trust, anchors.roots()).unwrap();
                assert_eq!(by.as_str(), GRACE);
                let domain = TrustDomain::parse(AUTHORITY).unwrap();
                let people = PeerRoots::new().with(domain, roots.clone());
                assert_eq!(permission.verify(&people, entry.logged_at()).unwrap().id().as_str(), GRACE);
            }
            _ => drop(entry.verify(&trust, anchors.roots()).unwrap()),
        }
        replay.apply(&entry).unwrap();
        tree.append(&[stored]).unwrap();
    }
    assert_eq!(trust.root(), root);
    assert_eq!(trust.to_bytes().unwrap(), bytes(&later("trust.json")));
    let recognised = anchors.recognised().next().unwrap();
    assert_eq!((recognised.index, recognised.recognition.recognised.as_str()), (4, "theirs.test"));
    assert_eq!(replay.statuses().get(4), Some(Status::Invalid), "withdrawn");
    assert_eq!(replay.statuses().shards()[0].bytes[..], bytes(&later("shard-0.bin"))[..]);
    assert_eq!(replay.floors_document(AUTHORITY).to_bytes().unwrap(), bytes(&later("floors.json")));
    assert_eq!(replay.floors()[&Line::parse("payment").unwrap()], Version::new(1, 0), "lowered");
    assert_eq!(replay.listing().to_bytes().unwrap(), bytes(&later("listing.json")));
    let checkpoint = Checkpoint::verify(&bytes(&later("checkpoint")), &log, ORIGIN).unwrap();
    assert_eq!((checkpoint.size, checkpoint.root), (tree.size(), tree.root()));
    let rules =
        HeadRules { roots: anchors.roots(), authority: AUTHORITY, origin: ORIGIN, log: anchors.log() };
    let head = VerifiedHead::verify(&bytes(&later("head.jws.json")), &rules, NOW + 60).unwrap();
    assert_eq!((head.head().seq, head.head().root_statements), (8, 3));
}
