use super::*;
use crate::entry::Entry;
use crate::replay::{Replay, ReplayFault};
use crate::statement::{SignedStatement, Statement};
use crate::testing::{Keys, MemoryAuthority, START};
use crate::trust::Trust;
use semgate_certs::{Family, IssuingProfile, KeyPair, LeafProfile, SpiffeId, Thumbprint, TrustDomain};

const GRACE: &str = "spiffe://semgate.test/grace";

struct World {
    keys: Keys,
    tls: semgate_certs::Issuer,
}

impl World {
    fn new() -> World {
        let keys = Keys::new(START - 10);
        let profile = IssuingProfile::new("test tls", Family::Tls, START - 10);
        let key = KeyPair::generate(&keys.random).unwrap();
        let tls = keys.root_key.issuing(&profile, key, &keys.random).unwrap();
        World { keys, tls }
    }

    fn person(&self, id: &str) -> SigningIdentity {
        let key = KeyPair::generate(&self.keys.random).unwrap();
        let profile = LeafProfile::agent(SpiffeId::parse(id).unwrap(), START - 10);
        let chain = self.tls.leaf(&profile, key.public(), &self.keys.random).unwrap();
        SigningIdentity::new(key, chain)
    }

    fn people(&self) -> PeerRoots {
        PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), self.keys.roots.clone())
    }

    fn sign(&self, permission: &Permission, by: &SigningIdentity) -> SignedPermission {
        SignedPermission::sign(permission, by, &Prefix::default(), &self.keys.random).unwrap()
    }
}

fn permission() -> Permission {
    Permission {
        authority: "semgate.test".to_owned(),
        urn: MemoryAuthority::urn("payment:v1.2"),
        digest: Digest::of(b"draft"),
        siblings: BTreeMap::from([(MemoryAuthority::urn("payment:v1.1"), Digest::of(b"b"))]),
        name: "Grace Hopper".to_owned(),
        reason: "nobody sends amounts above a million".to_owned(),
    }
}

fn read(permission: &Permission) -> Result<Permission, StatementFault> {
    Permission::read(&permission.to_bytes().unwrap(), &Prefix::default())
}

#[test]
fn a_permission_says_who_signed_it_and_nobody_else_can_have() {
    let world = World::new();
    let grace = world.person(GRACE);
    let signed = world.sign(&permission(), &grace);
    let again = SignedPermission::read(signed.as_str().as_bytes(), &Prefix::default()).unwrap();
    assert_eq!((again.unverified(), &again), (&permission(), &signed));
    let person = signed.verify(&world.people(), START).unwrap();
    assert_eq!(person.id().as_str(), GRACE);

    // another payload under her signature
    let mut other = permission();
    other.digest = Digest::of(b"another draft");
    let payload = |p: &Permission| semgate_certs::encoding::to_base64url(p.to_bytes().unwrap());
    let forged = signed.as_str().replace(&payload(&permission()), &payload(&other));
    let forged = SignedPermission::read(forged.as_bytes(), &Prefix::default()).unwrap();
    assert!(matches!(
        forged.verify(&world.people(), START),
        Err(PermissionFault::Jws(JwsFault::Signature(_)))
    ));
    // a trust domain without roots, a certificate that ended, a signer of contexts
    let nobody = signed.verify(&PeerRoots::new(), START);
    assert_eq!(nobody.err(), Some(PermissionFault::Person(PeerFault::UnknownTrustDomain)));
    let late = signed.verify(&world.people(), START + 400 * 86_400);
    assert!(matches!(late, Err(PermissionFault::Person(PeerFault::Chain(_)))));
    let by_role = world.sign(&permission(), &world.keys.signer(&["payment"]));
    assert!(matches!(by_role.verify(&world.people(), START), Err(PermissionFault::Person(_))));
}

#[test]
fn names_reasons_and_versions_are_bounded() {
    let changed = |change: &dyn Fn(&mut Permission)| {
        let mut other = permission();
        change(&mut other);
        read(&other)
    };
    assert_eq!(read(&permission()), Ok(permission()));
    let member = |name| Err(StatementFault::Format(FormatFault::Member(name)));
    for name in ["", "  ", "a\nb", "\u{1b}[31m"] {
        assert_eq!(changed(&|p| p.name = name.to_owned()), member("name"), "{name:?}");
    }
    assert_eq!(changed(&|p| p.name = "x".repeat(MAX_NAME_BYTES + 1)), member("name"));
    for reason in ["", "a\nb"] {
        assert_eq!(changed(&|p| p.reason = reason.to_owned()), Err(StatementFault::Reason), "{reason:?}");
    }
    assert_eq!(changed(&|p| p.reason = "x".repeat(1025)), Err(StatementFault::Reason));
    let hidden = changed(&|p| p.name = "Grace\u{202e}reppoH".to_owned()).unwrap();
    assert_eq!(hidden.check_new(), Err(StatementFault::Unseen), "read from a log, but not said anew");
    let hidden = changed(&|p| p.reason = "a\u{200b}b".to_owned()).unwrap();
    assert_eq!(hidden.check_new(), Err(StatementFault::Unseen));
    assert_eq!(permission().check_new(), Ok(()));
    assert_eq!(changed(&|p| p.siblings.clear()), member("beside"));
    for other in ["payment:v2.0", "travel:v1.0", "payment:v1.2"] {
        let urn = MemoryAuthority::urn(other);
        let wrong = changed(&|p| p.siblings.extend([(urn.clone(), Digest::of(b"x"))]));
        assert_eq!(wrong, member("beside"), "{other}");
    }
    let many = |p: &mut Permission| {
        for minor in 10..10 + MAX_COMPARED {
            p.siblings.insert(MemoryAuthority::urn(&format!("payment:v1.{minor}")), Digest::of(b"x"));
        }
    };
    assert_eq!(changed(&many), member("beside"));
}

#[test]
fn a_permission_covers_the_versions_that_it_names_with_their_digests_only() {
    let permission = permission();
    let (named, other) = (MemoryAuthority::urn("payment:v1.1"), MemoryAuthority::urn("payment:v1.0"));
    let (digest, another) = (Digest::of(b"b"), Digest::of(b"c"));
    assert_eq!(permission.unnamed_sibling([]), None);
    assert_eq!(permission.unnamed_sibling([(&named, &digest)]), None);
    assert_eq!(permission.unnamed_sibling([(&named, &another)]), Some(&named));
    assert_eq!(permission.unnamed_sibling([(&named, &digest), (&other, &digest)]), Some(&other));
}

fn publish(short: &str, digest: &[u8]) -> Statement {
    let signer = Thumbprint::of(b"signer");
    Statement::Publish { urn: MemoryAuthority::urn(short), digest: Digest::of(digest), signer }
}

#[test]
fn an_override_is_a_record_of_the_status_key_that_changes_nothing_else() {
    let world = World::new();
    let permission = world.sign(&permission(), &world.person(GRACE));
    let by = SpiffeId::parse(GRACE).unwrap();
    let statement = Statement::Override { by, permission: Box::new(permission) };
    let bytes = statement.to_bytes().unwrap();
    assert_eq!(Statement::read(&bytes, &Prefix::default()), Ok(statement.clone()));

    let mut trust = Trust::new("semgate.test");
    let signer = world.keys.signer(&["payment"]);
    [&signer, &world.keys.status].into_iter().for_each(|identity| trust.insert(identity.chain.clone()));
    let signed = SignedStatement::sign(statement.clone(), &world.keys.status, &world.keys.random).unwrap();
    assert!(signed.verify(&trust, &world.keys.roots, START).is_ok());
    let entry = Entry::new(START, signed).unwrap();
    assert_eq!(Entry::read(entry.bytes(), &Prefix::default()).unwrap().unverified(), &statement);
    let by_another = SignedStatement::sign(statement.clone(), &signer, &world.keys.random).unwrap();
    assert!(by_another.verify(&trust, &world.keys.roots, START).is_err());

    let mut replay = Replay::new();
    let fault = |replay: &Replay, statement: &Statement| replay.check(20, statement).unwrap_err();
    assert_eq!(fault(&replay, &statement), ReplayFault::OverrideUnknown);
    replay.apply_statement(10, &publish("payment:v1.1", b"another")).unwrap();
    assert_eq!(fault(&replay, &statement), ReplayFault::OverrideUnknown);
    let mut replay = Replay::new();
    replay.apply_statement(10, &publish("payment:v1.1", b"b")).unwrap();
    let before = (replay.listing(), replay.floors().clone());
    replay.apply_statement(20, &statement).unwrap();
    assert_eq!((replay.listing(), replay.floors().clone()), before);
    replay.apply_statement(30, &publish("payment:v1.2", b"draft")).unwrap();
    assert_eq!(fault(&replay, &statement), ReplayFault::LoggedBack);
    assert_eq!(replay.check(30, &statement), Err(ReplayFault::OverrideLate));
}
