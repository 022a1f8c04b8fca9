use super::*;
use crate::jws::JwsFault;
use crate::listing::{ListedContext, Listing};
use crate::proof::TextProofFault;
use crate::replay::ReplayFault;
use crate::statement::{Act, Statement};
use crate::status::Status;
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
        authority.serve_instead(path, body);
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
        authority.serve_instead(path, body);
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
    authority.serve_instead("/v1/floors", b"{\"authority\":\"semgate.test\",\"floors\":[]}".to_vec());
    // nor is a log excused by the age of its head: both are told, and what is changed first
    let fault = verify_log_or_expired(&mut authority, &config, later).unwrap_err();
    assert_eq!(fault, LogFault::Expired(Box::new(LogFault::FloorsDiffer)));
    assert_eq!(fault.to_string(), "the floors differ from the replayed log; and its head has expired");
    let other = MemoryAuthority::named("other.test", "other.test/log", START).signed_head.clone();
    authority.serve_instead("/v1/feed/head", other);
    let fault = verify_log_or_expired(&mut authority, &config, later).unwrap_err();
    assert!(matches!(fault, LogFault::Head(_)), "{fault}");
}

/// An authority that does something before each answer.
struct Busy<F>(MemoryAuthority, F);

impl<F: FnMut(&mut MemoryAuthority, &str)> Fetch for Busy<F> {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        (self.1)(&mut self.0, path);
        Fetch::get(&mut self.0, path, max_bytes)
    }
}

/// Whether a path is one of those that name no head.
fn is_unnamed(path: &str) -> bool {
    ["/v1/floors", "/v1/contexts", "/checkpoint", "/v1/feed/shards/0"].contains(&path)
}

#[test]
fn an_authority_that_publishes_without_a_pause_is_verified_as_of_one_head_and_one_that_lies_meanwhile_is_accused()
 {
    let mut authority = MemoryAuthority::with_library(START);
    let before = authority.shards["0"].clone();
    // a token of the head's second could be a newer one
    authority.now += 1;
    let (config, now) = (authority.config(), authority.now);
    authority.change(Act::Suspend, "payment:v1.0");
    let size = authority.tree.size();
    let mut published = 0;
    // another version, a status that comes and goes, a floor that rises, between any two answers
    let mut acts = |authority: &mut MemoryAuthority, path: &str| {
        if !is_unnamed(path) {
            return;
        }
        published += 1;
        authority.publish(&MemoryAuthority::document(&format!("busy:v1.{published}"), "thing"));
        let act = if published % 2 == 0 { Act::Suspend } else { Act::Resume };
        authority.change(act, "payment:v1.0");
        authority.floor("busy", &format!("v1.{published}"));
    };
    let report = verify_log(&mut Busy(authority.clone(), &mut acts), &config, now).unwrap();
    assert_eq!(report.size, size, "it is judged as of the head that was served first");

    let lied = |path: &str, body: &[u8]| {
        let mut published = 0;
        let mut liar = Busy(authority.clone(), |authority: &mut MemoryAuthority, path: &str| {
            if is_unnamed(path) {
                published += 1;
                authority.publish(&MemoryAuthority::document(&format!("busy:v1.{published}"), "thing"));
            }
        });
        liar.0.serve_instead(path, body.to_vec());
        verify_log(&mut liar, &config, now).unwrap_err()
    };
    let floors = b"{\"authority\":\"semgate.test\",\"floors\":[]}";
    assert_eq!(lied("/v1/floors", floors), LogFault::FloorsDiffer);
    // a context is left out; one has a status that it never had; one was never published
    let listing = authority.replay.listing();
    let of = |change: &dyn Fn(&mut Listing)| {
        let mut listing = listing.clone();
        change(&mut listing);
        lied("/v1/contexts", &listing.to_bytes().unwrap())
    };
    let last = listing.contexts.last().unwrap().clone();
    assert_eq!(of(&|listing| drop(listing.contexts.pop())), LogFault::ListingDiffers);
    assert_eq!(of(&|listing| listing.contexts[0].status = Status::Invalid), LogFault::ListingDiffers);
    let never = |index: u64| ListedContext { index, urn: MemoryAuthority::urn("never:v1.0"), ..last.clone() };
    assert_eq!(of(&|listing| listing.contexts.push(never(size))), LogFault::ListingDiffers);
    assert_eq!(of(&|listing| listing.contexts.push(never(1 << 30))), LogFault::ListingDiffers);
    assert_eq!(lied("/v1/feed/shards/0", &before), LogFault::Shard { n: 0 }, "as before the suspension");
}

#[test]
fn a_later_head_or_checkpoint_of_another_history_is_evidence_and_one_that_continues_is_none() {
    let authority = MemoryAuthority::with_library(START);
    let (config, now, size) = (authority.config(), authority.now, authority.tree.size());
    let verify = |busy: &mut dyn Fetch| verify_log(busy, &config, now);
    let mut newer = authority.clone();
    newer.publish(&MemoryAuthority::document("busy:v1.0", "thing"));
    // tiles of the newer log are there before the head that covers them
    let ahead = newer.head.checkpoint.clone();
    let mut early = authority.clone();
    early.serve_instead("/checkpoint", ahead.clone().into_bytes());
    early.tiles.extend(newer.tiles.clone());
    assert_eq!(verify(&mut early).unwrap().size, size);
    let forged = authority.keys.log.sign(size + 1, TreeHash::of_leaf(b"x")).unwrap();
    early.serve_instead("/checkpoint", forged.into_bytes());
    assert_eq!(verify(&mut early), Err(LogFault::CheckpointDiffers));

    // two histories that part behind the first head's beginning
    let mut other = MemoryAuthority::new(START);
    other.keys = Arc::clone(&authority.keys);
    for n in 0..size + 3 {
        other.publish(&MemoryAuthority::document(&format!("other:v1.{n}"), "thing"));
    }
    let mut forked = Busy(authority, |authority: &mut MemoryAuthority, path: &str| {
        if path == LISTING_PATH && authority.tree.size() == size {
            // who asks for what the first head covers is shown that
            let shown = (authority.tiles.clone(), authority.documents.clone());
            *authority = other.clone();
            authority.tiles.extend(shown.0);
            authority.documents.extend(shown.1);
        }
    });
    let fault = verify(&mut forked).unwrap_err();
    assert_eq!(fault, LogFault::LaterDiffers { size: size + 3 }, "{fault}");
}

/// A mirror whose copy was cut short between two files: what is newer than the head is of a log that its checkpoint tells.
#[test]
fn attack_a_copy_that_was_cut_short_between_two_files_is_no_evidence_and_a_damaged_file_of_it_is() {
    let older = MemoryAuthority::with_library(START);
    let mut newer = older.clone();
    newer.now += 10;
    newer.publish(&MemoryAuthority::document("busy:v1.0", "thing"));
    newer.change(Act::Revoke, "travel:v2.1");
    newer.floor("busy", "v1.0");
    let (config, now, size) = (older.config(), newer.now, older.tree.size());
    let listing = newer.replay.listing().to_bytes().unwrap();
    let floors = newer.replay.floors_document("semgate.test").to_bytes().unwrap();
    let files = [
        ("/checkpoint", newer.head.checkpoint.clone().into_bytes()),
        ("/v1/trust", newer.trust.to_bytes().unwrap()),
        ("/v1/feed/shards/0", newer.shards["0"].clone()),
        ("/v1/floors", floors),
        ("/v1/contexts", listing),
    ];
    let mut cut = older.clone();
    cut.tiles.extend(newer.tiles.clone());
    for (path, bytes) in &files {
        cut.serve_instead(path, bytes.clone());
        assert_eq!(verify_log(&mut cut, &config, now).unwrap().size, size, "{path}");
    }
    // nor does a newer log excuse what is of none of its sizes
    let lied = |path: &str, bytes: &[u8]| {
        let mut cut = cut.clone();
        cut.serve_instead(path, bytes.to_vec());
        verify_log(&mut cut, &config, now).unwrap_err()
    };
    assert_eq!(lied("/v1/contexts", b"{\"contexts\":[]}"), LogFault::ListingDiffers);
    assert_eq!(lied("/v1/floors", b"{\"authority\":\"semgate.test\",\"floors\":[]}"), LogFault::FloorsDiffer);

    // of a copy in another order nothing tells the log: what the authority signed later is undecided
    let of = |paths: &[usize]| {
        let mut mixed = older.clone();
        for (path, bytes) in paths.iter().filter_map(|at| files.get(*at)) {
            mixed.serve_instead(path, bytes.clone());
        }
        verify_log(&mut mixed, &config, now).unwrap_err()
    };
    let unfinished = |fault: LogFault| LogFault::Unfinished(Box::new(fault));
    assert_eq!(of(&[2]), unfinished(LogFault::Shard { n: 0 }));
    assert_eq!(of(&[2, 3, 4]), unfinished(LogFault::FloorsDiffer));
    assert_eq!(of(&[3]), LogFault::FloorsDiffer, "nothing that is signed is newer");
    assert_eq!(of(&[4]), LogFault::ListingDiffers, "nothing that is signed is newer");
    let said = of(&[2]).to_string();
    let wanted = "status shard 0 differs from the replayed log up to its head, and there is something newer than the head";
    assert_eq!(said, wanted);
}

/// What is revoked stays so: no later log explains a token without it.
#[test]
fn attack_a_newer_token_that_takes_a_revocation_back_is_evidence() {
    let mut authority = MemoryAuthority::with_library(START);
    let mut unrevoked = authority.clone();
    authority.change(Act::Revoke, "travel:v2.1");
    unrevoked.now += 10;
    unrevoked.publish(&MemoryAuthority::document("busy:v1.0", "thing"));
    let (config, now) = (authority.config(), unrevoked.now);
    authority.serve_instead("/v1/feed/shards/0", unrevoked.shards["0"].clone());
    assert_eq!(verify_log(&mut authority, &config, now), Err(LogFault::Shard { n: 0 }));
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
    let rules = crate::proof::ProofRules {
        roots: &config.roots,
        checkpoint,
        prefix: &prefix,
        documents: &documents,
        root_knowledge: None,
    };
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
