use super::*;
use crate::jws::JwsFault;
use crate::proof::TextProofFault;
use crate::replay::ReplayFault;
use crate::statement::{Act, Statement};
use crate::testing::{MemoryAuthority, START};
use crate::token::TokenFault;
use semgate_contexts::{Line, Version};
use std::sync::Arc;

fn verify(authority: &mut MemoryAuthority) -> Result<LogReport, LogFault> {
    let (config, now) = (authority.config(), authority.now);
    verify_log(authority, &config, now)
}

#[test]
fn an_honest_log_holds_at_every_kind_of_size() {
    let mut authority = MemoryAuthority::new(START);
    assert_eq!(verify(&mut authority).unwrap().size, 0);
    let mut authority = MemoryAuthority::with_library(START);
    authority.change(Act::Retire, "payment:v1.0");
    authority.change(Act::Revoke, "travel:v2.1");
    let report = verify(&mut authority).unwrap();
    let shipped = semgate_contexts::library::all().len() as u64;
    assert_eq!((report.size, report.documents, report.shards, report.floors), (shipped + 3, shipped, 1, 1));
    assert_eq!(report.root, authority.tree.root());
    authority.batch = true;
    for n in 0..306 - shipped {
        authority.publish(&MemoryAuthority::document(&format!("other:v1.{n}"), "thing"));
    }
    authority.renew();
    // Partial tiles of full ones may be gone.
    authority.tiles.retain(|path, _| path.width() == 256 || path.width() == (309 - 256) || path.width() == 1);
    let report = verify(&mut authority).unwrap();
    assert_eq!((report.size, report.documents, report.tiles), (309, 306, 3));
}

#[test]
fn every_served_file_is_held_against_the_replayed_log() {
    let (floors, shard) = {
        let other = MemoryAuthority::with_library(START);
        (b"{\"authority\":\"semgate.test\",\"floors\":[]}".to_vec(), other.shards["0"].clone())
    };
    let authority = MemoryAuthority::with_library(START);
    let lied = |path: &str, body: Vec<u8>| {
        let mut authority = authority.clone();
        authority.lie(path, body);
        verify(&mut authority).unwrap_err()
    };
    assert_eq!(lied("/v1/floors", floors), LogFault::FloorsDiffer);
    assert!(matches!(
        lied(&format!("/v1/feed/shards/{}", authority.head.shards[0].hex()), shard),
        LogFault::Token { .. }
    ));
    assert_eq!(lied("/v1/contexts", b"{\"contexts\":[]}".to_vec()), LogFault::ListingDiffers);
    let size = authority.tree.size();
    let tile = TilePath::hashes_in(0, 0, size).unwrap();
    let mut bytes = authority.tiles[&tile].clone();
    bytes[0] ^= 1;
    assert_eq!(lied(&tile.to_string(), bytes), LogFault::TileDiffers { path: tile.to_string() });
    let bundle = TilePath::entries_holding(0, size).unwrap();
    let mut other = MemoryAuthority::with_library(START);
    assert_eq!(lied(&bundle.to_string(), other.tiles.remove(&bundle).unwrap()), LogFault::TreeRoot);
    let older = authority.keys.log.sign(1, TreeHash::of_leaf(b"x")).unwrap();
    assert_eq!(lied("/checkpoint", older.into_bytes()), LogFault::CheckpointDiffers);
    let other_past = authority.keys.log.sign(size, TreeHash::of_leaf(b"x")).unwrap();
    assert_eq!(lied("/checkpoint", other_past.into_bytes()), LogFault::CheckpointDiffers);
    let published = authority.replay.contexts().map(|(_, p)| p.digest.to_string()).collect::<Vec<_>>();
    let swapped = authority.documents.values().nth(1).unwrap().clone();
    let first = authority.documents.keys().next().unwrap().to_string();
    assert!(published.contains(&first));
    assert!(matches!(
        lied(&format!("/v1/contexts/by-digest/{first}"), swapped),
        LogFault::DocumentDiffers { .. }
    ));
}

/// What stock readers and people ask for: a token by number, a context by name.
#[test]
fn what_is_served_by_number_and_by_name_is_held_against_the_log_too() {
    let mut authority = MemoryAuthority::with_library(START);
    let before = authority.shards["0"].clone();
    authority.change(Act::Revoke, "travel:v2.1");
    let lied = |path: &str, body: Vec<u8>| {
        let mut authority = authority.clone();
        authority.lie(path, body);
        verify(&mut authority).unwrap_err()
    };
    assert_eq!(lied("/v1/feed/shards/0", before), LogFault::Shard { n: 0 }, "as before the revocation");
    let token = String::from_utf8(authority.shards["0"].clone()).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let void = format!("{signed}.{}", "A".repeat(signature.len()));
    let fault = lied("/v1/feed/shards/0", void.into_bytes());
    let refused = |fault: &LogFault| {
        matches!(fault, LogFault::Token { n: 0, fault: TokenFault::Jws(JwsFault::Signature(_)) })
    };
    assert!(refused(&fault), "{fault}");
    let other = authority.documents
        [&authority.replay.published(&MemoryAuthority::urn("payment:v1.0")).unwrap().digest]
        .clone();
    let urn = MemoryAuthority::urn("travel:v2.1");
    assert_eq!(lied(&format!("/v1/contexts/{urn}"), other), LogFault::DocumentDiffers { urn });
    // a mirror may lack the tokens by number
    authority.shards.remove("0");
    verify(&mut authority).unwrap();
}

#[test]
fn a_log_whose_head_has_expired_holds_as_of_that_head_and_a_forged_one_does_not() {
    let mut authority = MemoryAuthority::with_library(START);
    let config = authority.config();
    let later = authority.now + 90_000_000;
    let report = verify_log_or_expired(&mut authority, &config, later).unwrap();
    assert_eq!(
        (report.issued_at, report.next_update),
        (authority.head.issued_at, authority.head.next_update)
    );
    assert!(report.next_update <= later);
    let now = authority.now;
    assert!(verify_log_or_expired(&mut authority, &config, now).unwrap().next_update > now);
    authority.lie("/v1/floors", b"{\"authority\":\"semgate.test\",\"floors\":[]}".to_vec());
    // nor is a log excused by the age of its head: both are told, and what is changed first
    let fault = verify_log_or_expired(&mut authority, &config, later).unwrap_err();
    assert_eq!(fault, LogFault::Expired(Box::new(LogFault::FloorsDiffer)));
    assert_eq!(fault.to_string(), "the floors differ from the replayed log; and its head has expired");
    let other = MemoryAuthority::named("other.test", "other.test/log", START).signed_head.clone();
    authority.lie("/v1/feed/head", other);
    let fault = verify_log_or_expired(&mut authority, &config, later).unwrap_err();
    assert!(matches!(fault, LogFault::Head(_)), "{fault}");
}

/// An authority that publishes another context whenever its listing is asked for, so many times.
struct Busy(MemoryAuthority, u64);

impl Fetch for Busy {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        if path == LISTING_PATH && self.1 > 0 {
            self.1 -= 1;
            self.0.publish(&MemoryAuthority::document(&format!("busy:v1.{}", self.1), "thing"));
        }
        Fetch::get(&mut self.0, path, max_bytes)
    }
}

#[test]
fn an_authority_that_publishes_without_a_pause_is_not_accused_and_one_that_lies_meanwhile_is() {
    let authority = MemoryAuthority::with_library(START);
    let (config, now) = (authority.config(), authority.now);
    let verify = |mut busy: Busy| verify_log(&mut busy, &config, now);
    let report = verify(Busy(authority.clone(), 20)).unwrap();
    assert_eq!(report.size, authority.tree.size() + 20);
    assert_eq!(verify(Busy(authority.clone(), 1000)), Err(LogFault::Moving));
    let mut liar = Busy(authority, 20);
    liar.0.lie("/v1/floors", b"{\"authority\":\"semgate.test\",\"floors\":[]}".to_vec());
    assert_eq!(verify(liar), Err(LogFault::FloorsDiffer));
}

#[test]
fn every_entry_is_proved_and_a_position_past_the_end_is_no_fault_of_the_log() {
    let mut authority = MemoryAuthority::new(START);
    authority.root(crate::root::RootAct::Keys(authority.key_list()), &[]);
    authority.publish(&MemoryAuthority::document("money:v1.0", "thing"));
    let (config, now) = (authority.config(), authority.now);
    let quorum = crate::cosignature::Quorum::default();
    let (prefix, documents) = (Prefix::default(), semgate_contexts::DocumentLimits::default());
    let checkpoint = crate::proof::CheckpointRules { log: &config.log, quorum: &quorum, latest: now };
    let rules =
        crate::proof::ProofRules { roots: &config.roots, checkpoint, prefix: &prefix, documents: &documents };
    let mut prover = Prover::new(&mut authority, &config, now).unwrap();
    let (_, root) = prover.inclusion(0).unwrap();
    let (_, published) = prover.inclusion(1).unwrap();
    for (at, fault) in
        [(2, LogFault::PastEnd { at: 2, size: 2 }), (u64::MAX, LogFault::PastEnd { at: u64::MAX, size: 2 })]
    {
        assert_eq!(prover.inclusion(at).unwrap_err(), fault);
    }
    assert_eq!(prover.continuation(3).unwrap_err(), LogFault::PastEnd { at: 3, size: 2 });
    let (entry, signed, under) = rules.verify_root_entry(&root).unwrap().unwrap();
    assert_eq!((entry.unverified().kind(), signed, under.size), ("key", 1, 2));
    assert!(rules.verify_root_entry(&published).unwrap().is_none());
    rules.verify_entry(&published).unwrap();
    // a statement of the root has no chain, and is none of a signer
    assert_eq!(rules.verify_entry(&root).unwrap_err(), TextProofFault::Extra);
    let moved = crate::proof::TlogProof { index: 1, ..root };
    assert!(matches!(rules.verify_root_entry(&moved), Err(TextProofFault::Proof(_))));
}

#[test]
fn a_log_with_an_impossible_sequence_does_not_hold() {
    let mut authority = MemoryAuthority::with_library(START);
    let keys = Arc::clone(&authority.keys);
    let line = Line::parse("payment").unwrap();
    let statement = Statement::Floor { line, min: Version::new(1, 0), reason: String::new() };
    let index = authority.log(statement, &keys.status);
    let fault = LogFault::Replay { index, fault: ReplayFault::FloorNotRaised };
    assert_eq!(verify(&mut authority), Err(fault));
}

#[test]
fn a_status_list_that_hides_a_revocation_does_not_hold() {
    let mut authority = MemoryAuthority::with_library(START);
    let honest = authority.replay.clone();
    authority.change(Act::Revoke, "travel:v2.1");
    let revoked = std::mem::replace(&mut authority.replay, honest);
    authority.replay.skip_for_tests();
    authority.renew();
    assert_ne!(authority.replay.statuses(), revoked.statuses());
    assert_eq!(verify(&mut authority), Err(LogFault::Shard { n: 0 }));
}

#[test]
fn a_stale_head_does_not_hold() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.now += 600;
    assert_eq!(verify(&mut authority), Err(LogFault::Head(crate::head::HeadFault::Expired)));
}

#[test]
fn documents_may_refer_to_what_was_published_before_them_and_to_nothing_else() {
    let mut authority = MemoryAuthority::new(START);
    authority.pretend(&MemoryAuthority::document("money:v1.0", "thing"));
    let shop = authority.referring("shop:v1.0", &[("money:v1.0", "thing")]);
    let mut late = authority.clone();
    authority.publish(&MemoryAuthority::document("money:v1.0", "thing"));
    authority.publish(&shop);
    assert_eq!(verify(&mut authority).unwrap().documents, 2);
    let (urn, other) = (MemoryAuthority::urn("shop:v1.0"), MemoryAuthority::urn("money:v1.0"));
    late.publish(&shop);
    let fault = LogFault::Reference { urn, other };
    assert_eq!(verify(&mut late).unwrap_err(), fault);
    late.publish(&MemoryAuthority::document("money:v1.0", "thing"));
    assert_eq!(verify(&mut late).unwrap_err(), fault);
}
