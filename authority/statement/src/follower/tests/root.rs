//! What the root says, as followers take it.

use super::*;
use crate::checkpoint::{CheckpointFault, LogKey};
use crate::context::sign_context;
use crate::listing::ListedContext;
use crate::root::{KeyList, RootAct, RootFault};
use crate::testing::ORIGIN;
use crate::trust::RootEntry;
use crate::verify_log::{LogFault, verify_log};
use ring::rand::SystemRandom;
use semgate_certs::{
    CertificateDer, Chain, ChainLimits, Family, Issuer, IssuingProfile, RootProfile, Roots, Suspect,
    SuspectFault, Thumbprint,
};

fn document(short: &str) -> Vec<u8> {
    MemoryAuthority::document(short, "thing")
}

fn signer_of(authority: &mut MemoryAuthority, line: &str) -> Thumbprint {
    authority.signer(&Line::parse(line).unwrap()).thumbprint()
}

fn new_log() -> Arc<LogKey> {
    Arc::new(LogKey::generate(ORIGIN, &SystemRandom::new()).unwrap())
}

/// A trust list that names this log key too.
fn with_log(authority: &MemoryAuthority, key: &LogKey) -> KeyList {
    let list = authority.key_list();
    let log = [list.log.clone(), vec![key.verifier().to_string()]].concat();
    KeyList::new(list.threshold, list.roots, list.issuing, log)
}

#[test]
fn what_a_compromised_key_published_from_an_index_on_is_revoked_and_what_it_published_before_is_not() {
    let (mut authority, mut follower) = followed();
    authority.publish(&document("shop:v1.0"));
    let from = authority.publish(&document("shop:v1.1"));
    authority.publish(&document("other:v1.0"));
    authority.follow(&mut follower).unwrap();
    let key = signer_of(&mut authority, "shop");
    authority.root(RootAct::Compromised { key, spki: None, from }, &[]);
    authority.follow(&mut follower).unwrap();
    let standings = ["shop:v1.0", "shop:v1.1", "other:v1.0"].map(|s| standing(&follower, s, authority.now));
    assert_eq!(standings, [Standing::Valid, Standing::Revoked, Standing::Valid]);
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
    // whoever holds the key goes on, and has the feed and log keys too
    let index = authority.publish(&document("shop:v1.2"));
    let digest = *MemoryAuthority::context(&document("shop:v1.2")).digest();
    let mut listing = authority.replay.listing();
    listing.contexts.push(ListedContext { urn: urn("shop:v1.2"), digest, index, status: Status::Valid });
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.2", authority.now), Standing::Revoked);
    let held = verify_log(&mut authority.clone(), &authority.config(), authority.now);
    authority.lies.clear();
    assert!(matches!(held, Err(LogFault::Replay { fault: crate::ReplayFault::SignerCompromised, .. })));
}

#[test]
fn a_head_by_a_compromised_feed_key_is_refused_and_one_by_the_next_is_taken() {
    let (mut authority, mut follower) = followed();
    let before = follower.view().size();
    let key = authority.keys.feed.thumbprint();
    authority.root(RootAct::Compromised { key, spki: None, from: 0 }, &[]);
    refuses(&mut authority, &mut follower, FollowFault::FeedCompromised);
    // the same certificate under its other signature has another thumbprint
    let feed = &authority.keys.feed;
    let twin =
        Arc::new(SigningIdentity::new(Arc::clone(&feed.key), feed.chain.with_mirrored_signature().unwrap()));
    authority.new_feed = Some(twin);
    authority.now += 1;
    authority.renew();
    refuses(&mut authority, &mut follower, FollowFault::FeedCompromised);
    let profile = LeafProfile::role(Usage::Feed, LineScope::All, authority.keys.since);
    let pair = KeyPair::generate(&authority.keys.random).unwrap();
    let chain = authority.keys.contexts.leaf(&profile, pair.public(), &authority.keys.random).unwrap();
    authority.new_feed = Some(Arc::new(SigningIdentity::new(pair, chain)));
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().size(), before + 1);
    assert_eq!(standing(&follower, "payment:v1.1", authority.now), Standing::Valid);
    authority.new_feed = None;
    authority.now += 10;
    authority.renew();
    refuses(&mut authority, &mut follower, FollowFault::FeedCompromised);
}

/// The same key with a new certificate of the same issuer.
fn certified_anew(
    authority: &MemoryAuthority,
    identity: &SigningIdentity,
    profile: &LeafProfile,
) -> Arc<SigningIdentity> {
    let keys = &authority.keys;
    let chain = keys.contexts.leaf(profile, identity.key.public(), &keys.random).unwrap();
    assert_ne!(chain.thumbprint(), identity.thumbprint());
    Arc::new(SigningIdentity::new(Arc::clone(&identity.key), chain))
}

/// Says that the key of this certificate is compromised.
fn suspected(der: &CertificateDer<'_>, from: u64) -> RootAct {
    let suspect = Suspect::of(der, &ChainLimits::default()).unwrap();
    RootAct::Compromised { key: suspect.certificate, spki: Some(suspect.key), from }
}

#[test]
fn attack_a_compromised_key_certified_anew_speaks_for_nothing() {
    let (mut authority, mut follower) = followed();
    authority.publish(&document("shop:v1.0"));
    let line = Line::parse("shop").unwrap();
    let stolen = authority.signer(&line);
    // before it is known, its thief has it certified anew, and publishes below the new certificate
    let profile = LeafProfile::context(vec![line], authority.keys.since);
    let anew = certified_anew(&authority, &stolen, &profile);
    let context = MemoryAuthority::context(&document("shop:v1.1"));
    let from = authority.publish_by(&context, &anew, &anew);
    authority.publish(&document("other:v1.0"));
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.1", authority.now), Standing::Valid);
    authority.root(suspected(&stolen.chain.certificates()[0], from), &[]);
    authority.follow(&mut follower).unwrap();
    let standings = ["shop:v1.0", "shop:v1.1", "other:v1.0"].map(|s| standing(&follower, s, authority.now));
    assert_eq!(standings, [Standing::Valid, Standing::Revoked, Standing::Valid]);
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
    // a third certificate, which nobody had seen when the root spoke
    let third = certified_anew(&authority, &stolen, &profile);
    let context = MemoryAuthority::context(&document("shop:v1.2"));
    let statement = Statement::Publish {
        urn: context.urn().clone(),
        digest: *context.digest(),
        signer: third.thumbprint(),
    };
    authority.replay.introduce(&third.chain);
    let now = authority.now;
    let refused = authority.replay.check_by(now, &statement, Some(third.thumbprint()));
    assert_eq!(refused, Err(crate::ReplayFault::SignerCompromised));
    let index = authority.publish_by(&context, &third, &third);
    let mut listing = authority.replay.listing();
    let digest = *context.digest();
    listing.contexts.push(ListedContext { urn: urn("shop:v1.2"), digest, index, status: Status::Valid });
    authority.serve_instead("/v1/contexts", listing.to_bytes().unwrap());
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.2", authority.now), Standing::Revoked);
    let held = verify_log(&mut authority.clone(), &authority.config(), authority.now);
    assert!(matches!(held, Err(LogFault::Replay { fault: crate::ReplayFault::SignerCompromised, .. })));
}

#[test]
fn attack_a_compromised_feed_key_certified_anew_signs_no_head() {
    let (mut authority, mut follower) = followed();
    let keys = Arc::clone(&authority.keys);
    authority.root(suspected(&keys.feed.chain.certificates()[0], 0), &[]);
    let profile = LeafProfile::role(Usage::Feed, LineScope::All, keys.since);
    authority.new_feed = Some(certified_anew(&authority, &keys.feed, &profile));
    authority.now += 1;
    authority.renew();
    refuses(&mut authority, &mut follower, FollowFault::FeedCompromised);
    let held = verify_log(&mut authority.clone(), &authority.config(), authority.now);
    assert!(matches!(held, Err(LogFault::FeedCompromised)), "{held:?}");
}

#[test]
fn a_compromised_issuing_key_takes_along_what_those_signed_whom_it_certified() {
    let (mut authority, mut follower) = followed();
    let random = SystemRandom::new();
    // feed and log statements go on below another issuing certificate
    let keys = Arc::clone(&authority.keys);
    let profile = IssuingProfile::new("other", Family::Contexts, keys.since);
    let pair = KeyPair::generate(&random).unwrap();
    let other = keys.root_key.issuing(&profile, pair, &random).unwrap();
    let pair = KeyPair::generate(&random).unwrap();
    let profile = LeafProfile::role(Usage::Feed, LineScope::All, keys.since);
    let chain = other.leaf(&profile, pair.public(), &random).unwrap();
    authority.new_feed = Some(Arc::new(SigningIdentity::new(pair, chain)));
    authority.publish(&document("shop:v1.0"));
    let from = authority.publish(&document("shop:v1.1"));
    authority.follow(&mut follower).unwrap();
    authority.root(suspected(&keys.contexts.chain().certificates()[0], from), &[]);
    authority.follow(&mut follower).unwrap();
    let standings = ["shop:v1.0", "shop:v1.1", "payment:v1.1"].map(|s| standing(&follower, s, authority.now));
    assert_eq!(standings, [Standing::Valid, Standing::Revoked, Standing::Valid]);
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
    // a signer that it certifies from now on signs nothing that counts
    let line = Line::parse("new").unwrap();
    let signer = keys.signer(&["new"]);
    assert_eq!(keys.signer(&["new"]).chain.certificates().len(), signer.chain.certificates().len());
    authority.replay.introduce(&signer.chain);
    let statement = Statement::Publish {
        urn: urn("new:v1.0"),
        digest: Digest::of(line.as_str().as_bytes()),
        signer: signer.thumbprint(),
    };
    let refused = authority.replay.check_by(authority.now, &statement, Some(signer.thumbprint()));
    assert_eq!(refused, Err(crate::ReplayFault::SignerCompromised));
}

/// A certificate of this key under the name of the authority's issuing one, by a root "Z" that nobody trusts.
fn decoy(authority: &MemoryAuthority, key: KeyPair) -> CertificateDer<'static> {
    let (since, random) = (authority.keys.since, &authority.keys.random);
    let root = KeyPair::generate(random).unwrap();
    let root = Issuer::root(&RootProfile::new("Z", since), root, random).unwrap();
    let profile = IssuingProfile::new("test contexts", Family::Contexts, since);
    root.issuing(&profile, key, random).unwrap().chain().certificates()[0].clone()
}

/// The signer with these certificates between its own and that of its issuer.
fn with_strays(signer: &SigningIdentity, strays: Vec<CertificateDer<'static>>) -> SigningIdentity {
    let mut chain = signer.chain.certificates().to_vec();
    chain.splice(1..1, strays);
    let chain = Chain::from_der(chain, &ChainLimits::default()).unwrap();
    SigningIdentity::new(Arc::clone(&signer.key), chain)
}

#[test]
fn attack_a_stray_certificate_before_the_compromised_issuing_one_hides_nothing() {
    let (mut authority, mut follower) = followed();
    let keys = Arc::clone(&authority.keys);
    let random = &keys.random;
    // the feed goes on below another issuing certificate
    let profile = IssuingProfile::new("other", Family::Contexts, keys.since);
    let other = keys.root_key.issuing(&profile, KeyPair::generate(random).unwrap(), random).unwrap();
    let pair = KeyPair::generate(random).unwrap();
    let profile = LeafProfile::role(Usage::Feed, LineScope::All, keys.since);
    let chain = other.leaf(&profile, pair.public(), random).unwrap();
    authority.new_feed = Some(Arc::new(SigningIdentity::new(pair, chain)));
    authority.publish(&document("shop:v1.0"));
    let stray = decoy(&authority, KeyPair::generate(random).unwrap());
    let thief = with_strays(&keys.signer(&["shop"]), vec![stray]);
    let context = authority.pretend(&document("shop:v1.1"));
    let from = authority.publish_by(&context, &thief, &thief);
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.1", authority.now), Standing::Valid);
    let before = authority.replay.statuses().get(from);
    authority.root(suspected(&keys.contexts.chain().certificates()[0], from), &[]);
    let after = authority.replay.statuses().get(from);
    assert_eq!((before, after), (Some(Status::Valid), Some(Status::Invalid)), "for whoever replays the log");
    authority.follow(&mut follower).unwrap();
    let standings = ["shop:v1.0", "shop:v1.1"].map(|s| standing(&follower, s, authority.now));
    assert_eq!(standings, [Standing::Valid, Standing::Revoked]);
    let known = follower.state.known.get(&urn("shop:v1.1")).unwrap();
    let issuing = Suspect::key_of(&keys.contexts.chain().certificates()[0]).unwrap();
    assert!(known.keys.contains(&issuing), "the follower draws the conclusion by itself");
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
}

#[test]
fn attack_a_mirror_that_adds_a_compromised_key_to_a_chain_revokes_nothing() {
    let (mut authority, mut follower) = followed();
    let keys = Arc::clone(&authority.keys);
    let random = &keys.random;
    let stolen = authority.signer(&Line::parse("other").unwrap());
    authority.publish(&document("other:v1.0"));
    authority.publish(&document("shop:v1.0"));
    authority.publish(&document("shop:v1.1"));
    authority.root(suspected(&stolen.chain.certificates()[0], 0), &[]);
    let pair = || KeyPair::from_pem(&stolen.key.pem().unwrap(), random).unwrap();
    let signer = authority.signer(&Line::parse("shop").unwrap());
    // the key under the issuer's name, which certified nothing
    let stray = decoy(&authority, pair());
    let strays = with_strays(&signer, vec![stray]);
    let context = MemoryAuthority::context(&document("shop:v1.0"));
    authority.documents.insert(*context.digest(), sign_context(&context, &strays, random).unwrap());
    authority.trust.insert(strays.chain.clone());
    // and one by which a mirror that has the key certifies the true issuer: no root stands above it
    let issuing = &keys.contexts.chain().certificates()[0];
    let thief = Issuer::root(&RootProfile::new("K", keys.since), pair(), random).unwrap();
    let lines = [Line::parse("shop").unwrap()];
    let above = thief.cross(issuing, &lines, keys.since + 86_400, random).unwrap();
    let strays = with_strays(&signer, vec![above, thief.chain().certificates()[0].clone()]);
    let context = MemoryAuthority::context(&document("shop:v1.1"));
    authority.documents.insert(*context.digest(), sign_context(&context, &strays, random).unwrap());
    authority.follow(&mut follower).unwrap();
    let standings = ["other:v1.0", "shop:v1.0", "shop:v1.1"].map(|s| standing(&follower, s, authority.now));
    assert_eq!(standings, [Standing::Revoked, Standing::Valid, Standing::Valid]);
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
}

#[test]
fn a_root_and_a_certificate_for_connections_are_no_suspects() {
    let authority = MemoryAuthority::new(START);
    let (keys, random) = (&authority.keys, SystemRandom::new());
    let of = |issuer: &Issuer| Suspect::of(&issuer.chain().certificates()[0], &ChainLimits::default());
    assert_eq!(of(&keys.root_key), Err(SuspectFault::Root));
    let pair = KeyPair::generate(&random).unwrap();
    let profile = IssuingProfile::new("tls", Family::Tls, keys.since);
    let tls = keys.root_key.issuing(&profile, pair, &random).unwrap();
    assert_eq!(of(&tls), Err(SuspectFault::Tls));
    assert!(of(&keys.contexts).is_ok());
}

#[test]
fn a_floor_falls_where_the_root_says_so_and_nowhere_else() {
    let (mut authority, mut follower) = followed();
    let line = Line::parse("payment").unwrap();
    let min = Version::parse("v1.0").unwrap();
    authority.root(RootAct::LowerFloor { line: line.clone(), min }, &[]);
    authority.follow(&mut follower).unwrap();
    assert_eq!(follower.view().floor(&line), Some(min));
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
    // raised again, the old word of the root lowers nothing
    authority.floor("payment", "v2.0");
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.publish(&document("more:v1.0"));
    authority.floors = crate::FloorsDocument {
        authority: crate::testing::AUTHORITY.to_owned(),
        floors: [(line.clone(), min)].into(),
    }
    .to_bytes()
    .unwrap();
    authority.head.floors = crate::sha256::sha256(&authority.floors);
    authority.sign_head();
    refuses(&mut authority, &mut follower, FollowFault::FloorLowered { line });
}

#[test]
fn the_log_changes_its_key_without_a_head_that_does_not_verify() {
    let (mut authority, mut online) = followed();
    let mut offline = authority.follower();
    let key = new_log();
    let list = with_log(&authority, &key);
    authority.root(RootAct::Keys(list.clone()), &[]);
    authority.follow(&mut online).unwrap();
    authority.new_log = Some(Arc::clone(&key));
    authority.publish(&document("after:v1.0"));
    // one that saw the list, one that did not, and one that comes new with the old key
    let mut newcomer = Follower::without_memory(authority.config());
    for follower in [&mut online, &mut offline, &mut newcomer] {
        authority.follow(follower).unwrap();
        assert_eq!(follower.reports(), vec![]);
        assert_eq!(standing(follower, "after:v1.0", authority.now), Standing::Valid);
    }
    assert!(verify_log(&mut authority.clone(), &authority.config(), authority.now).is_ok());
    let only_new = KeyList::new(1, list.roots, list.issuing, vec![key.verifier().to_string()]);
    authority.now += 10;
    authority.root(RootAct::Keys(only_new), &[]);
    authority.follow(&mut online).unwrap();
    authority.new_log = None;
    authority.now += 10;
    authority.renew();
    let fault = FollowFault::Head(HeadFault::Checkpoint(CheckpointFault::Signature));
    refuses(&mut authority, &mut online, fault);
}

#[test]
fn a_log_key_that_the_root_never_named_is_refused() {
    let (mut authority, mut follower) = followed();
    authority.new_log = Some(new_log());
    authority.renew();
    let fault = FollowFault::Head(HeadFault::Checkpoint(CheckpointFault::Signature));
    refuses(&mut authority, &mut follower, fault);
}

#[test]
fn statements_of_the_root_are_neither_withdrawn_nor_held_back_nor_made_up() {
    let (mut authority, mut follower) = followed();
    let key = new_log();
    let act = RootAct::Keys(with_log(&authority, &key));
    // in the trust document and not in the log
    let made_up = authority.signed_by_root(act.clone(), &[]);
    let entry = crate::Entry::new(authority.now, made_up).unwrap();
    let mut lie = authority.clone();
    lie.publish(&document("x:v1.0"));
    lie.trust.set_root(vec![RootEntry::of(lie.tree.size() - 1, &entry)]);
    lie.head.root_statements = 1;
    lie.sign_head();
    refuses(&mut lie, &mut follower, FollowFault::NotInLog);
    // counted by the head and held back
    authority.root(act, &[]);
    let mut lie = authority.clone();
    lie.trust.set_root(Vec::new());
    refuses(&mut lie, &mut follower, FollowFault::RootMissing { named: 1, known: 0 });
    authority.now += 60;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    // withdrawn
    let mut lie = authority.clone();
    lie.now += 60;
    lie.publish(&document("x:v1.0"));
    lie.head.root_statements = 0;
    lie.sign_head();
    refuses(&mut lie, &mut follower, FollowFault::RootWithdrawn { had: 1, offered: 0 });
}

#[test]
fn one_key_of_a_split_root_makes_no_issuing_certificate_that_counts() {
    let mut authority = MemoryAuthority::with_library(START);
    let random = SystemRandom::new();
    let second = Issuer::root(
        &RootProfile::new("second", authority.keys.since),
        KeyPair::generate(&random).unwrap(),
        &random,
    )
    .unwrap();
    let both = [authority.keys.root.certificates(), second.chain().certificates()].concat();
    let mut config = authority.config();
    config.roots = Roots::from_der(both.clone(), &ChainLimits::default()).unwrap();
    config.root_threshold = 2;
    let mut follower = Follower::without_memory(config.clone());
    let unlisted = |fault| FollowFault::Head(HeadFault::Jws(JwsFault::Chain(fault)));
    refuses(&mut authority, &mut follower, unlisted(ChainFault::IssuerNotListed));
    let list = authority.key_list();
    let list = KeyList::new(2, both, list.issuing, list.log);
    let mut alone = authority.clone();
    alone.root(RootAct::Keys(list.clone()), &[]);
    refuses(&mut alone, &mut follower, FollowFault::Root(RootFault::Threshold { signed: 1, needed: 2 }));
    authority.now += 60;
    authority.root(RootAct::Keys(list), &[&second]);
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "payment:v1.1", authority.now), Standing::Valid);
    // whoever has one root key signs an issuing certificate and a feed key below it
    let keys = Arc::clone(&authority.keys);
    let profile = IssuingProfile::new("rogue", Family::Contexts, keys.since);
    let rogue = keys.root_key.issuing(&profile, KeyPair::generate(&random).unwrap(), &random).unwrap();
    let pair = KeyPair::generate(&random).unwrap();
    let leaf = LeafProfile::role(Usage::Feed, LineScope::All, keys.since);
    let chain = rogue.leaf(&leaf, pair.public(), &random).unwrap();
    authority.new_feed = Some(Arc::new(SigningIdentity::new(pair, chain)));
    authority.now += 60;
    authority.renew();
    refuses(&mut authority, &mut follower, unlisted(ChainFault::IssuerNotListed));
}

#[test]
fn what_stands_below_an_issuing_certificate_that_leaves_the_list_is_untrusted() {
    let (mut authority, _) = followed();
    let keys = Arc::clone(&authority.keys);
    let random = SystemRandom::new();
    let profile = IssuingProfile::new("second", Family::Contexts, keys.since);
    let second = keys.root_key.issuing(&profile, KeyPair::generate(&random).unwrap(), &random).unwrap();
    let list = authority.key_list();
    let issuing = [list.issuing.clone(), vec![second.chain().thumbprint()]].concat();
    let both = KeyList::new(1, list.roots.clone(), issuing, list.log.clone());
    authority.root(RootAct::Keys(both), &[]);
    let line = Line::parse("leased").unwrap();
    let pair = KeyPair::generate(&random).unwrap();
    let chain = second.leaf(&LeafProfile::context(vec![line], keys.since), pair.public(), &random).unwrap();
    let signer = SigningIdentity::new(pair, chain);
    let context = MemoryAuthority::context(&document("leased:v1.0"));
    authority.publish_by(&context, &signer, &signer);
    let mut follower = authority.follower();
    assert_eq!(standing(&follower, "leased:v1.0", authority.now), Standing::Valid);
    assert!(follower.view().context(&urn("leased:v1.0")).is_some());
    authority.now += 10;
    authority.root(RootAct::Keys(list), &[]);
    authority.follow(&mut follower).unwrap();
    assert!(follower.view().context(&urn("leased:v1.0")).is_none(), "untrusted");
    assert!(follower.view().loaded(&urn("leased:v1.0")).unwrap().fault.is_some());
    assert!(follower.view().context(&urn("payment:v1.1")).is_some(), "the rest goes on");
}

#[test]
fn what_the_root_said_is_remembered_and_judged_again_at_the_start() {
    let mut authority = MemoryAuthority::with_library(START);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    let key = new_log();
    let list = with_log(&authority, &key);
    authority.root(RootAct::Keys(list), &[]);
    authority.new_log = Some(key);
    let signer = signer_of(&mut authority, "payment");
    authority.root(RootAct::Compromised { key: signer, spki: None, from: 0 }, &[]);
    authority.follow(&mut follower).unwrap();
    drop(follower);
    let mut again = Follower::open(authority.config(), dir.path(), START + 5).unwrap();
    assert_eq!(again.reports(), vec![]);
    assert_eq!(again.view().size(), authority.tree.size());
    assert_eq!(standing(&again, "payment:v1.1", START + 5), Standing::Revoked);
    assert_eq!(standing(&again, "travel:v2.1", START + 5), Standing::Valid);
    drop(again);
    // with its file forged or gone, the head does not verify, and nothing counts
    std::fs::remove_file(dir.path().join("trust.json")).unwrap();
    let lost = Follower::open(authority.config(), dir.path(), START + 5).unwrap();
    assert_eq!(standing(&lost, "travel:v2.1", START + 5), Standing::NotCovered);
}

#[test]
fn a_newcomer_to_an_authority_with_a_trust_list_and_no_floors_loads_everything_in_its_first_round() {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&document("shop:v1.0"));
    authority.root(RootAct::Keys(authority.key_list()), &[]);
    let mut newcomer = authority.follower();
    assert_eq!(newcomer.reports(), vec![]);
    assert_eq!(standing(&newcomer, "shop:v1.0", START), Standing::Valid);
}

/// Document and statement are signed below two issuing certificates, and the statement's leaves the list.
#[test]
fn a_document_does_not_come_back_by_its_own_chain_when_its_statement_counts_no_more() {
    let (mut authority, mut follower) = followed();
    let random = SystemRandom::new();
    let profile = IssuingProfile::new("second", Family::Contexts, authority.keys.since);
    let second =
        authority.keys.root_key.issuing(&profile, KeyPair::generate(&random).unwrap(), &random).unwrap();
    let key = KeyPair::generate(&random).unwrap();
    let line = vec![Line::parse("shop").unwrap()];
    let chain =
        second.leaf(&LeafProfile::context(line, authority.keys.since), key.public(), &random).unwrap();
    let by = SigningIdentity::new(key, chain);
    let both = authority.key_list();
    let wide = [both.issuing.clone(), vec![second.chain().thumbprint()]].concat();
    authority.root(RootAct::Keys(KeyList::new(1, both.roots.clone(), wide, both.log.clone())), &[]);
    let good = authority.signer(&Line::parse("shop").unwrap());
    let context = authority.pretend(&document("shop:v1.0"));
    authority.publish_by(&context, &good, &by);
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "shop:v1.0", authority.now), Standing::Valid);
    assert!(follower.view().context(&urn("shop:v1.0")).is_some());
    authority.now += 10;
    authority.root(RootAct::Keys(both.clone()), &[]);
    authority.follow(&mut follower).unwrap();
    // long after a document that failed would be asked for again
    for _ in 0..3 {
        authority.now += 100;
        authority.renew();
        authority.follow(&mut follower).unwrap();
        let loaded = Arc::clone(follower.view().loaded(&urn("shop:v1.0")).unwrap());
        assert!(loaded.context.is_none() && loaded.fault.is_some());
    }
    // the list takes the certificate back, and the document with it
    let wide = [both.issuing.clone(), vec![second.chain().thumbprint()]].concat();
    authority.root(RootAct::Keys(KeyList::new(1, both.roots, wide, both.log)), &[]);
    authority.follow(&mut follower).unwrap();
    assert!(follower.view().context(&urn("shop:v1.0")).is_some());
}

#[test]
fn a_head_that_counts_fewer_statements_of_the_root_is_kept_as_evidence() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.root(RootAct::Keys(authority.key_list()), &[]);
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    authority.now += 10;
    authority.publish(&document("more:v1.0"));
    authority.head.root_statements = 0;
    authority.sign_head();
    let fault = authority.follow(&mut follower);
    assert_eq!(fault, Err(FollowFault::RootWithdrawn { had: 1, offered: 0 }));
    let report = follower.reports().pop().unwrap();
    let kept = report.evidence.unwrap();
    assert!(kept.join("accepted-head.json").is_file() && kept.join("offered-head.json").is_file());
}

#[test]
fn a_damaged_memory_of_the_root_still_holds_against_a_rollback() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.root(RootAct::Keys(authority.key_list()), &[]);
    let before = authority.clone();
    authority.publish(&document("more:v1.0"));
    let dir = tempfile::tempdir().unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    authority.follow(&mut follower).unwrap();
    drop(follower);
    std::fs::write(dir.path().join("trust.json"), b"{}").unwrap();
    let mut follower = Follower::open(authority.config(), dir.path(), START).unwrap();
    assert_eq!(standing(&follower, "more:v1.0", START), Standing::Stale);
    let mut old = before.clone();
    old.now += 10;
    old.renew();
    let (had, offered) = (authority.tree.size(), old.tree.size());
    assert_eq!(old.follow(&mut follower), Err(FollowFault::Rollback { had, offered }));
    authority.now += 100;
    authority.renew();
    authority.follow(&mut follower).unwrap();
    assert_eq!(standing(&follower, "more:v1.0", authority.now), Standing::Valid);
}
