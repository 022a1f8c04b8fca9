//! A small witness for a second party to run (C2SP `tlog-witness`). It keeps the last checkpoint of each known log, cosigns another one
//! only if that continues it, and refuses forks. It sees sizes and hashes, never an entry.

mod config;
mod serve;

pub use config::{WitnessSettings, init_witness};
pub use serve::{WitnessBound, run_witness};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use semgate_statement::witnessing::{WitnessFault, judge, origin_of};
use semgate_statement::{Checkpoint, ContinuationProof, CosignerKey, LogVerifier, cosignature};

use crate::{RunFault, disk};

/// The key of a witness, and its memory of the logs.
pub(crate) struct WitnessStore {
    key: CosignerKey,
    logs: BTreeMap<String, Mutex<KnownLog>>,
}

/// One log. The holder of its lock compares, writes and cosigns, in this order, so that no two requests race.
struct KnownLog {
    verifier: LogVerifier,
    /// Its keys, each on its own.
    keys: Vec<LogVerifier>,
    file: PathBuf,
    last: Option<Checkpoint>,
    /// Keys that signed the stored checkpoint. The same checkpoint may come again, signed by the next key of the log too.
    signed: BTreeSet<usize>,
}

/// Reason why nothing was cosigned.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The request.
    Request(WitnessFault),
    /// The disk failed: only a stored checkpoint is cosigned.
    Disk(RunFault),
}

impl WitnessStore {
    /// Reads the memory of each log. A file that is not a checkpoint of its log stops the start: a forgotten log could be forked.
    pub fn open(key: CosignerKey, state: &Path, logs: Vec<LogVerifier>) -> Result<Self, RunFault> {
        disk::make_dir(state)?;
        disk::sweep(state)?;
        let mut known = BTreeMap::new();
        for verifier in logs {
            let origin = verifier.name().to_owned();
            let name = semgate_contexts::Digest::of(origin.as_bytes());
            let file = state.join(format!("{}.checkpoint", name.hex()));
            let keys =
                verifier.to_string().split(' ').filter_map(|key| LogVerifier::parse(key).ok()).collect();
            let mut one = KnownLog { verifier, keys, file, last: None, signed: BTreeSet::new() };
            if let Some(bytes) = disk::read(&one.file)? {
                let last = Checkpoint::verify(&bytes, &one.verifier, &origin);
                one.last = Some(last.map_err(|e| RunFault::damaged(&one.file, e))?);
                one.signed = one.own_signatures(&String::from_utf8_lossy(&bytes)).1;
            }
            known.insert(origin, Mutex::new(one));
        }
        Ok(Self { key, logs: known })
    }

    /// Judges a request, stores its checkpoint durably, and returns the cosignature line, dated `now`.
    pub fn add(&self, request: &str, now: u64) -> Result<String, Refused> {
        let request =
            ContinuationProof::read(request).map_err(|_| Refused::Request(WitnessFault::Malformed))?;
        let origin = origin_of(&request).unwrap_or_default();
        let known = self.logs.get(origin).ok_or(Refused::Request(WitnessFault::UnknownLog))?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let new = judge(&request, &known.verifier, known.last.as_ref()).map_err(Refused::Request)?;
        let (text, _) =
            cosignature::split(&request.checkpoint).map_err(|_| Refused::Request(WitnessFault::Malformed))?;
        let (note, signed) = known.own_signatures(&request.checkpoint);
        // any reader of a checkpoint may send it again, with fewer lines of its log and more of others
        let more = signed.is_superset(&known.signed) && signed != known.signed;
        if more || known.last.as_ref() != Some(&new) {
            disk::write(&known.file, note.as_bytes()).map_err(Refused::Disk)?;
            (known.last, known.signed) = (Some(new), signed);
        }
        Ok(self.key.cosign(text, now))
    }

    /// Origin of each log, and the last size seen.
    pub fn seen(&self) -> Vec<(String, Option<u64>)> {
        let size = |known: &Mutex<KnownLog>| {
            known.lock().unwrap_or_else(PoisonError::into_inner).last.as_ref().map(|last| last.size)
        };
        self.logs.iter().map(|(origin, known)| (origin.clone(), size(known))).collect()
    }
}

impl KnownLog {
    /// A note with one line of each key of the log that signed it, without lines of others, and these keys.
    fn own_signatures(&self, note: &str) -> (String, BTreeSet<usize>) {
        let (text, lines) = cosignature::split(note).unwrap_or_default();
        let mut own = format!("{text}\n");
        let mut signed = BTreeSet::new();
        for (at, key) in self.keys.iter().enumerate() {
            let alone = |line: &&str| {
                Checkpoint::verify(format!("{text}\n{line}").as_bytes(), key, key.name()).is_ok()
            };
            if let Some(line) = lines.split_inclusive('\n').find(alone) {
                own.push_str(line);
                signed.insert(at);
            }
        }
        (own, signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semgate_statement::tiles::{TilePath, Tree, consistency_proof};
    use std::collections::HashMap;

    const ORIGIN: &str = "semgate.test/log";

    fn request(word: &str, old: u64, size: u64) -> String {
        let key = semgate_statement::LogKey::from_seed(ORIGIN, &[5; 32]).unwrap();
        let (mut tree, mut files) = (Tree::new(), HashMap::<TilePath, Vec<u8>>::new());
        let entries: Vec<Vec<u8>> = (0..size).map(|i| format!("{word} {i}").into_bytes()).collect();
        files.extend(tree.append(&entries).unwrap().into_iter().map(|file| (file.path, file.bytes)));
        let hashes = consistency_proof(old, size, tree.root(), &files).unwrap();
        let checkpoint = key.sign(size, tree.root()).unwrap();
        ContinuationProof { old, hashes, checkpoint }.to_text()
    }

    fn open(dir: &Path) -> WitnessStore {
        let key = CosignerKey::from_seed("w.example", &[9; 32]).unwrap();
        let log = semgate_statement::LogKey::from_seed(ORIGIN, &[5; 32]).unwrap();
        WitnessStore::open(key, dir, vec![log.verifier().clone()]).unwrap()
    }

    fn status(outcome: Result<String, Refused>) -> u16 {
        match outcome {
            Ok(_) => 200,
            Err(Refused::Request(fault)) => fault.status(),
            Err(Refused::Disk(fault)) => panic!("{fault}"),
        }
    }

    #[test]
    fn what_was_cosigned_outlives_the_process_and_only_grows() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(status(open(dir.path()).add(&request("true", 0, 3), 100)), 200);
        let witness = open(dir.path());
        assert_eq!(witness.seen(), [(ORIGIN.to_owned(), Some(3))]);
        assert_eq!(status(witness.add(&request("true", 0, 9), 100)), 409);
        assert_eq!(status(witness.add(&request("true", 3, 9), 100)), 200);
        assert_eq!(status(open(dir.path()).add(&request("true", 3, 3), 100)), 409, "never back");
        assert_eq!(status(open(dir.path()).add(&request("forked", 9, 12), 100)), 422);
        assert_eq!(open(dir.path()).seen()[0].1, Some(9));
    }

    #[test]
    fn a_memory_that_cannot_be_read_stops_the_start_and_one_that_cannot_be_written_the_cosignature() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path()).add(&request("true", 0, 3), 100).unwrap();
        let file = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&file, "scribble").unwrap();
        let key = CosignerKey::from_seed("w.example", &[9; 32]).unwrap();
        let log = semgate_statement::LogKey::from_seed(ORIGIN, &[5; 32]).unwrap();
        assert!(WitnessStore::open(key, dir.path(), vec![log.verifier().clone()]).is_err());
        std::fs::remove_file(&file).unwrap();
        let witness = open(dir.path());
        std::fs::remove_dir_all(dir.path()).unwrap();
        assert!(matches!(witness.add(&request("true", 0, 3), 100), Err(Refused::Disk(_))));
        assert_eq!(witness.seen()[0].1, None);
    }

    /// The log moves to another key: old alone, both, new alone; the witness follows and forgets nothing.
    #[test]
    fn a_log_changes_its_key_and_the_witness_goes_along() {
        let dir = tempfile::tempdir().unwrap();
        let key = |seed| semgate_statement::LogKey::from_seed(ORIGIN, &[seed; 32]).unwrap();
        let witness = |keys: &[u8]| {
            let own = CosignerKey::from_seed("w.example", &[9; 32]).unwrap();
            let keys = keys.iter().map(|seed| key(*seed).verifier().clone()).collect();
            WitnessStore::open(own, dir.path(), vec![LogVerifier::any_of(keys).unwrap()])
        };
        let by = |old: u64, size: u64, log: semgate_statement::LogKey| {
            let mut request = ContinuationProof::read(&request("true", old, size)).unwrap();
            let root =
                Checkpoint::verify(request.checkpoint.as_bytes(), key(5).verifier(), ORIGIN).unwrap().root;
            request.checkpoint = log.sign(size, root).unwrap();
            request.to_text()
        };
        let both = || key(6).with_second_key(key(5)).unwrap();
        assert_eq!(status(witness(&[5]).unwrap().add(&by(0, 3, key(5)), 100)), 200);
        // an unknown key signs for nobody
        assert_eq!(status(witness(&[5]).unwrap().add(&by(3, 4, key(6)), 100)), 403);
        assert!(witness(&[6]).is_err(), "what the old key alone signed is not given up");
        let overlap = witness(&[5, 6]).unwrap();
        assert_eq!(overlap.seen()[0].1, Some(3));
        // the same checkpoint, now by both keys: the file belongs to the new key too
        assert_eq!(status(overlap.add(&by(3, 3, both()), 100)), 200);
        assert_eq!(witness(&[6]).unwrap().seen()[0].1, Some(3));
        assert_eq!(status(witness(&[6, 5]).unwrap().add(&by(3, 7, both()), 100)), 200);
        let after = witness(&[6]).unwrap();
        assert_eq!(status(after.add(&by(7, 9, key(6)), 100)), 200);
        assert_eq!(status(after.add(&by(9, 10, key(5)), 100)), 403, "the old key is gone");
    }

    #[test]
    fn attack_a_stranger_rewrites_what_a_witness_keeps_by_sending_a_checkpoint_again_with_other_lines() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let key = |seed| semgate_statement::LogKey::from_seed(ORIGIN, &[seed; 32]).unwrap();
        let verifiers = [5, 6].map(|seed| key(seed).verifier().clone());
        let own = CosignerKey::from_seed("w.example", &[9; 32]).unwrap();
        let witness =
            WitnessStore::open(own, dir.path(), vec![LogVerifier::any_of(verifiers.to_vec()).unwrap()])
                .unwrap();
        let first = ContinuationProof::read(&request("true", 0, 3)).unwrap();
        let root = Checkpoint::verify(first.checkpoint.as_bytes(), &verifiers[0], ORIGIN).unwrap().root;
        let both = key(5).with_second_key(key(6)).unwrap().sign(3, root).unwrap();
        let junk = |note: &str| {
            let stranger = semgate_statement::LogKey::from_seed("stranger.test", &[7; 32]).unwrap();
            let line = stranger.sign(3, root).unwrap().lines().last().unwrap().to_owned();
            format!("{note}{line}\n")
        };
        let file = witness.logs[ORIGIN].lock().unwrap().file.clone();
        let stored = || (std::fs::metadata(&file).unwrap().ino(), std::fs::read_to_string(&file).unwrap());
        let send = |old, checkpoint: &str| {
            let request = ContinuationProof { old, checkpoint: checkpoint.to_owned(), ..first.clone() };
            assert_eq!(status(witness.add(&request.to_text(), 100)), 200);
            stored()
        };
        let again = ContinuationProof::read(&request("true", 3, 3)).unwrap();
        assert_eq!(again.hashes, first.hashes, "there is nothing to prove of either");
        assert_eq!(send(0, &junk(&key(5).sign(3, root).unwrap())).1, key(5).sign(3, root).unwrap());
        let (before, _) = stored();
        let (file_of_both, note) = send(3, &junk(&both));
        assert!(before != file_of_both && note == both, "the next key signs it too");
        for one in [junk(&both), key(5).sign(3, root).unwrap(), junk(&key(6).sign(3, root).unwrap())] {
            assert_eq!(send(3, &one), (file_of_both, both.clone()));
        }
    }

    #[test]
    fn logs_that_nobody_configured_are_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let other = request("true", 0, 3).replace(ORIGIN, "other.test/log");
        assert_eq!(status(open(dir.path()).add(&other, 100)), 404);
        assert_eq!(status(open(dir.path()).add("scribble", 100)), 400);
    }
}
