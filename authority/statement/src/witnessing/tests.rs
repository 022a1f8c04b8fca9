use super::*;
use crate::checkpoint::LogKey;
use crate::tiles::{TilePath, Tree, consistency_proof};
use std::collections::HashMap;

const ORIGIN: &str = "semgate.test/log";

/// A log of some size whose entries begin with a word: another word is another history.
struct Log {
    key: LogKey,
    tree: Tree,
    files: HashMap<TilePath, Vec<u8>>,
}

impl Log {
    fn of(word: &str, size: u64) -> Log {
        let key = LogKey::from_seed(ORIGIN, &[5; 32]).unwrap();
        let mut log = Log { key, tree: Tree::new(), files: HashMap::new() };
        let entries: Vec<Vec<u8>> = (0..size).map(|i| format!("{word} {i}").into_bytes()).collect();
        log.files.extend(log.tree.append(&entries).unwrap().into_iter().map(|file| (file.path, file.bytes)));
        log
    }

    fn request(&self, old: u64) -> ContinuationProof {
        let (size, root) = (self.tree.size(), self.tree.root());
        let checkpoint = self.key.sign(size, root).unwrap();
        let hashes = consistency_proof(old, size, root, &self.files).unwrap_or_default();
        ContinuationProof { old, hashes, checkpoint }
    }

    fn judged(&self, old: u64, last: Option<&Checkpoint>) -> Result<Checkpoint, WitnessFault> {
        judge(&self.request(old), self.key.verifier(), last)
    }
}

#[test]
fn a_log_that_only_grows_is_taken_from_the_first_checkpoint_on() {
    let mut last = None;
    for size in [0, 1, 7, 7, 256, 300] {
        let old = last.as_ref().map_or(0, |last: &Checkpoint| last.size);
        last = Some(Log::of("true", size).judged(old, last.as_ref()).unwrap());
        assert_eq!(last.as_ref().unwrap().size, size);
    }
}

#[test]
fn each_refusal_has_the_status_of_the_specification() {
    let seen = Log::of("true", 7).judged(0, None).unwrap();
    let log = Log::of("true", 9);
    for (old, status) in [(0, 409), (8, 409), (10, 400)] {
        assert_eq!(log.judged(old, Some(&seen)).unwrap_err().status(), status, "{old}");
    }
    assert_eq!(log.judged(0, Some(&seen)), Err(WitnessFault::Conflict { size: 7 }));
    let mut wrong = log.request(7);
    wrong.hashes[0].0[0] ^= 1;
    assert_eq!(judge(&wrong, log.key.verifier(), Some(&seen)), Err(WitnessFault::NotProved));
    wrong.hashes.clear();
    assert_eq!(judge(&wrong, log.key.verifier(), Some(&seen)), Err(WitnessFault::NotProved));
    let stranger = LogKey::from_seed(ORIGIN, &[6; 32]).unwrap();
    let fault = judge(&log.request(7), stranger.verifier(), Some(&seen)).unwrap_err();
    assert_eq!((fault, fault.status()), (WitnessFault::Signature, 403));
    assert_eq!(WitnessFault::UnknownLog.status(), 404);
}

#[test]
fn a_fork_is_refused_at_the_same_size_and_at_a_larger_one() {
    let seen = Log::of("true", 7).judged(0, None).unwrap();
    assert_eq!(Log::of("forked", 7).judged(7, Some(&seen)), Err(WitnessFault::Conflict { size: 7 }));
    assert_eq!(Log::of("forked", 9).judged(7, Some(&seen)), Err(WitnessFault::NotProved));
    // A proof for the first checkpoint must be empty.
    let mut long = Log::of("true", 7).request(0);
    long.hashes.push(TreeHash([0; 32]));
    assert_eq!(judge(&long, Log::of("true", 7).key.verifier(), None), Err(WitnessFault::NotProved));
}
