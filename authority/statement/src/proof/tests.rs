use super::*;
use crate::cosignature::CosignerKey;
use crate::entry::Entry;
use crate::jws::SigningIdentity;
use crate::root::{Anchors, RootAct};
use crate::statement::Act;
use crate::testing::{MemoryAuthority, START};
use crate::tiles::{
    TilePath, Tree, check_consistency_proof, check_inclusion, consistency_proof, inclusion_proof,
    root_of_prefix,
};
use crate::trust::Trust;
use semgate_certs::{ChainLimits, Suspect};
use semgate_contexts::{DocumentLimits, Line, Prefix};
use std::collections::HashMap;

type Grown = (HashMap<TilePath, Vec<u8>>, Vec<(u64, TreeHash)>);

fn grown(sizes: &[u64]) -> Grown {
    let (mut tree, mut files, mut roots) = (Tree::new(), HashMap::new(), vec![(0, TreeHash::EMPTY)]);
    for size in sizes {
        let entries: Vec<Vec<u8>> = (tree.size()..*size).map(|i| format!("entry {i}").into_bytes()).collect();
        files.extend(tree.append(&entries).unwrap().into_iter().map(|file| (file.path, file.bytes)));
        roots.push((*size, tree.root()));
    }
    (files, roots)
}

#[test]
fn proofs_of_every_size_hold_and_with_one_bit_changed_do_not() {
    let sizes = [1, 2, 3, 4, 7, 8, 255, 256, 257, 300, 511, 512, 513, 1000, 65_536, 66_000];
    let (files, roots) = grown(&sizes);
    for (size, root) in roots.iter().skip(1) {
        for index in [0, 1, 2, 5, 255, 256, 299, 512, 999, 65_535, 65_999].into_iter().filter(|i| i < size) {
            let leaf = TreeHash::of_leaf(format!("entry {index}").as_bytes());
            let proof = inclusion_proof(index, *size, *root, &files).unwrap();
            check_inclusion(index, *size, *root, leaf, &proof).unwrap();
            for at in 0..proof.len() {
                let mut wrong = proof.clone();
                wrong[at].0[0] ^= 1;
                assert!(check_inclusion(index, *size, *root, leaf, &wrong).is_err());
            }
            let longer = [proof.as_slice(), &[leaf]].concat();
            assert!(check_inclusion(index, *size, *root, leaf, &longer).is_err());
        }
        for (old, old_root) in roots.iter().filter(|(old, _)| old <= size) {
            let proof = consistency_proof(*old, *size, *root, &files).unwrap();
            check_consistency_proof(*old, *old_root, *size, *root, &proof).unwrap();
            assert_eq!(root_of_prefix(*old, *size, *root, &files).unwrap(), *old_root, "{old} of {size}");
            let mut forked = *old_root;
            forked.0[31] ^= 1;
            assert!(check_consistency_proof(*old, forked, *size, *root, &proof).is_err(), "{old} of {size}");
            for at in 0..proof.len() {
                let mut wrong = proof.clone();
                wrong[at].0[7] ^= 1;
                assert!(check_consistency_proof(*old, *old_root, *size, *root, &wrong).is_err());
            }
        }
    }
    let (size, root) = roots[roots.len() - 1];
    let none: HashMap<TilePath, Vec<u8>> = HashMap::new();
    assert!(matches!(inclusion_proof(5, size, root, &none), Err(ProofFault::Missing(_))));
    assert_eq!(inclusion_proof(size, size, root, &files), Err(ProofFault::OutOfRange));
    assert_eq!(consistency_proof(size + 1, size, root, &files), Err(ProofFault::OutOfRange));
}

#[test]
fn a_proof_has_one_spelling() {
    let note = "o\n1\nAAAA\n\n— o AAAAAAAA\n".to_owned();
    let hashes = vec![TreeHash([1; 32]), TreeHash([2; 32])];
    for extra in [None, Some(b"something".to_vec())] {
        let proof = TlogProof { extra, index: 5, hashes: hashes.clone(), checkpoint: note.clone() };
        let text = proof.to_text();
        assert_eq!(TlogProof::read(&text).unwrap(), proof);
        for wrong in [
            text.replace("index 5", "index 05"),
            text.replace("index 5", "index +5"),
            text.replace("@v1", "@v2"),
            text.replace('\n', "\r\n"),
            text.replacen("=\n", "\n", 1),
            String::new(),
        ] {
            assert_eq!(TlogProof::read(&wrong), Err(TextProofFault::Malformed), "{wrong}");
        }
    }
    let proof = ContinuationProof { old: 20, hashes, checkpoint: note };
    assert_eq!(ContinuationProof::read(&proof.to_text()).unwrap(), proof);
    let many = ContinuationProof { hashes: vec![TreeHash([1; 32]); 64], ..proof };
    assert_eq!(ContinuationProof::read(&many.to_text()), Err(TextProofFault::Malformed));
}

fn stapled(authority: &MemoryAuthority, short: &str) -> Stapled {
    let published = authority.replay.published(&MemoryAuthority::urn(short)).unwrap().clone();
    let note = &authority.head.checkpoint;
    let at =
        Checkpoint::verify(note.as_bytes(), authority.keys.log.verifier(), crate::testing::ORIGIN).unwrap();
    let entry = &authority.entries[published.index as usize];
    let by = Entry::read(entry, &Prefix::default()).unwrap().signed().key().unwrap();
    let chain = authority.trust.chain(&by).unwrap();
    let hashes = inclusion_proof(published.index, at.size, at.root, &authority.tiles).unwrap();
    let proof = prove_entry(entry, Some(chain), published.index, hashes, note).unwrap();
    Stapled { signed: authority.documents[&published.digest].clone(), proof: Some(proof) }
}

fn judged(authority: &MemoryAuthority, bytes: &[u8], quorum: &Quorum) -> Result<Proved, TextProofFault> {
    let log = authority.keys.log.verifier();
    let (prefix, documents) = (Prefix::default(), DocumentLimits::default());
    let checkpoint = CheckpointRules { log, quorum, latest: authority.now };
    let rules = ProofRules {
        roots: &authority.keys.roots,
        checkpoint,
        prefix: &prefix,
        documents: &documents,
        root_knowledge: None,
    };
    let stapled = Stapled::read(bytes)?;
    rules.verify(&stapled.signed, stapled.proof.as_ref().ok_or(TextProofFault::Extra)?, &|_| None)
}

#[test]
fn a_stapled_context_is_verified_offline_and_its_signed_bytes_are_the_same() {
    let mut authority = MemoryAuthority::with_library(START);
    let stapled = stapled(&authority, "supplyChain:v1.0");
    let bytes = stapled.to_bytes().unwrap();
    assert_eq!(Stapled::read(&bytes).unwrap(), stapled);
    assert_eq!(Stapled::read(&stapled.signed).unwrap().proof, None);
    // Years later, when signer and checkpoint are long past their time.
    authority.now += 10 * 365 * 86_400;
    let proved = judged(&authority, &bytes, &Quorum::default()).unwrap();
    assert_eq!(proved.context.context().urn(), &MemoryAuthority::urn("supplyChain:v1.0"));
    assert_eq!((proved.logged_at, proved.checkpoint.size), (START, authority.tree.size()));
}

#[test]
fn a_proof_of_another_context_entry_log_or_index_is_refused_with_its_reason() {
    let mut authority = MemoryAuthority::with_library(START);
    authority.change(Act::Revoke, "travel:v2.1");
    let good = stapled(&authority, "supplyChain:v1.0");
    let refused =
        |stapled: &Stapled| judged(&authority, &stapled.to_bytes().unwrap(), &Quorum::default()).unwrap_err();
    let mut other = good.clone();
    other.signed = stapled(&authority, "payment:v1.0").signed;
    assert_eq!(refused(&other), TextProofFault::OfAnother);
    let mut other = good.clone();
    other.proof.as_mut().unwrap().index += 1;
    assert_eq!(refused(&other), TextProofFault::Proof(ProofFault::Inconsistent));
    let mut other = good.clone();
    other.proof.as_mut().unwrap().extra = None;
    assert_eq!(refused(&other), TextProofFault::Extra);
    // The entry of a revocation proves no publication.
    let index = authority.tree.size() - 1;
    let note = authority.head.checkpoint.clone();
    let at =
        Checkpoint::verify(note.as_bytes(), authority.keys.log.verifier(), crate::testing::ORIGIN).unwrap();
    let entry = &authority.entries[index as usize];
    let hashes = inclusion_proof(index, at.size, at.root, &authority.tiles).unwrap();
    let proof = prove_entry(entry, Some(&authority.keys.status.chain), index, hashes, &note).unwrap();
    let other = Stapled { signed: good.signed.clone(), proof: Some(proof) };
    assert_eq!(refused(&other), TextProofFault::NotPublished);
    // A log of the same name with another key.
    let mut stranger = MemoryAuthority::with_library(START);
    stranger.now = authority.now;
    let bytes = good.to_bytes().unwrap();
    let fault = judged(&stranger, &bytes, &Quorum::default()).unwrap_err();
    assert_eq!(fault, TextProofFault::Checkpoint(CheckpointFault::Signature));
}

#[test]
fn a_proof_under_a_checkpoint_that_too_few_witnesses_saw_is_refused() {
    let authority = MemoryAuthority::with_library(START);
    let witness = CosignerKey::from_seed("w.example", &[3; 32]).unwrap();
    let quorum = Quorum::new(vec![witness.verifier().clone()], 1).unwrap();
    let mut stapled = stapled(&authority, "supplyChain:v1.0");
    let missing = CosignatureFault::Missing { need: 1, have: 0 };
    let fault = judged(&authority, &stapled.to_bytes().unwrap(), &quorum).unwrap_err();
    assert_eq!(fault, TextProofFault::Cosignatures(missing));
    let proof = stapled.proof.as_mut().unwrap();
    let text = crate::cosignature::split(&proof.checkpoint).unwrap().0.to_owned();
    proof.checkpoint.push_str(&witness.cosign(&text, authority.now));
    judged(&authority, &stapled.to_bytes().unwrap(), &quorum).unwrap();
}

fn said_compromised(authority: &mut MemoryAuthority, signer: &SigningIdentity, from: u64) {
    let certificate = &signer.chain.certificates()[0];
    let suspect = Suspect::of(certificate, &ChainLimits::default()).unwrap();
    let act = RootAct::Compromised { key: suspect.certificate, spki: Some(suspect.key), from };
    authority.root(act, &[]);
}

/// What both checks of a proof answer, with what the root has said.
fn with_heard(authority: &MemoryAuthority, short: &str, trust: Trust) -> [Option<TextProofFault>; 2] {
    let served = stapled(authority, short);
    let config = authority.config();
    let configured = Anchors::new(&config.authority, &config.origin, &config.roots, 1, &config.log);
    let anchors = configured.with_entries(authority.trust.root(), u64::MAX, &Prefix::default()).unwrap();
    let heard = RootKnowledge { anchors, trust };
    let (nobody, prefix, documents) = (Quorum::default(), Prefix::default(), DocumentLimits::default());
    let checkpoint = CheckpointRules { log: &config.log, quorum: &nobody, latest: authority.now };
    let roots = &config.roots;
    let rules = ProofRules {
        roots,
        checkpoint,
        prefix: &prefix,
        documents: &documents,
        root_knowledge: Some(&heard),
    };
    let proof = served.proof.unwrap();
    [rules.verify(&served.signed, &proof, &|_| None).err(), rules.verify_entry(&proof).err()]
}

#[test]
fn what_a_compromised_key_published_is_not_proved_to_whoever_has_heard_of_it() {
    let mut authority = MemoryAuthority::new(START);
    authority.publish(&MemoryAuthority::document("shop:v1.0", "thing"));
    let from = authority.publish(&MemoryAuthority::document("shop:v1.1", "thing"));
    authority.publish(&MemoryAuthority::document("other:v1.0", "thing"));
    let stolen = authority.signer(&Line::parse("shop").unwrap());
    let whole = authority.trust.clone();
    assert_eq!(with_heard(&authority, "shop:v1.1", whole), [None, None]);
    said_compromised(&mut authority, &stolen, from);
    let whole = || authority.trust.clone();
    let refused = || Some(TextProofFault::SignerCompromised { from });
    assert_eq!(with_heard(&authority, "shop:v1.0", whole()), [None, None]);
    assert_eq!(with_heard(&authority, "other:v1.0", whole()), [None, None]);
    assert_eq!(with_heard(&authority, "shop:v1.1", whole()), [refused(), refused()]);
    // who has heard nothing is told what he was told before
    let bytes = stapled(&authority, "shop:v1.1").to_bytes().unwrap();
    assert!(judged(&authority, &bytes, &Quorum::default()).is_ok());
}

#[test]
fn attack_a_document_of_a_stolen_key_below_the_statement_of_another_is_not_proved() {
    let mut authority = MemoryAuthority::new(START);
    let line = Line::parse("shop").unwrap();
    authority.publish(&MemoryAuthority::document("shop:v1.0", "thing"));
    let (stolen, other) = (authority.signer(&line), authority.keys.signer(&["shop"]));
    let context = MemoryAuthority::context(&MemoryAuthority::document("shop:v1.1", "thing"));
    let from = authority.publish_by(&context, &stolen, &other);
    said_compromised(&mut authority, &stolen, from);
    let refused = || Some(TextProofFault::SignerCompromised { from });
    assert_eq!(with_heard(&authority, "shop:v1.1", authority.trust.clone()), [refused(), refused()]);
    // the file says nothing of the certificate, so that nobody knows whose it is; the document has it with it
    let fault = with_heard(&authority, "shop:v1.1", Trust::default());
    assert_eq!(fault, [refused(), Some(TextProofFault::SignerUnknown)]);
}
