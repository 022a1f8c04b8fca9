//! Recovery: every kind of file truncated, deleted or damaged, and every place that a crash can cut an append at.

use std::fs;
use std::path::{Path, PathBuf};

use semgate_statement::tiles::{TilePath, TileSource, check_consistency, encode_bundle};
use semgate_statement::{Checkpoint, LogKey, TreeHash};

use super::log::{AppendFault, CommitFiles, Log, Recovery};
use super::{LastSeen, Layout, Leftovers};
use crate::RunFault;

const ORIGIN: &str = "semgate.test/log";

fn key() -> LogKey {
    LogKey::from_seed(ORIGIN, &[7; 32]).unwrap()
}

fn entry(n: u64) -> Vec<u8> {
    format!("entry {n} of a log").into_bytes()
}

fn open(dir: &Path) -> Result<(Log, Recovery, Vec<Vec<u8>>), RunFault> {
    // What was seen last is what the checkpoint says: what lies past it is a crash, unless the tiles say otherwise.
    let seen = fs::read(dir.join("checkpoint")).ok();
    let seen = seen.and_then(|note| Checkpoint::verify(&note, key().verifier(), ORIGIN).ok());
    open_seen(dir, seen.or_else(|| Checkpoint::verify(&empty(), key().verifier(), ORIGIN).ok()))
}

fn empty() -> Vec<u8> {
    key().sign(0, TreeHash::EMPTY).unwrap().into_bytes()
}

fn open_seen(dir: &Path, seen: Option<Checkpoint>) -> Result<(Log, Recovery, Vec<Vec<u8>>), RunFault> {
    let mut seen_entries = Vec::new();
    let leftovers = Leftovers::new(&Layout::new(dir), 600);
    let witness = LastSeen { seen, pinned: None };
    let (log, recovery) = Log::open(dir, key(), &witness, &leftovers, &mut |index, bytes| {
        assert_eq!(index, seen_entries.len() as u64);
        seen_entries.push(bytes.to_vec());
        Ok(())
    })?;
    Ok((log, recovery, seen_entries))
}

impl Log {
    fn append(&mut self, entries: &[Vec<u8>]) -> Result<(), AppendFault> {
        let append = self.extend(entries).map_err(AppendFault::Before)?;
        self.commit(append, Vec::new(), Vec::new(), CommitFiles::default())
    }
}

/// A log of `size` entries, appended in several batches.
fn filled(dir: &Path, size: u64) -> (u64, TreeHash) {
    let (mut log, _, _) = open(dir).unwrap();
    while log.size() < size {
        let until = (log.size() + 97).min(size);
        log.append(&(log.size()..until).map(entry).collect::<Vec<_>>()).unwrap();
    }
    (log.size(), log.root())
}

fn all(size: u64) -> Vec<Vec<u8>> {
    (0..size).map(entry).collect()
}

struct Files<'a>(&'a Path);

impl TileSource for Files<'_> {
    fn tile(&self, path: &TilePath) -> Option<Vec<u8>> {
        fs::read(self.0.join(path.to_string().trim_start_matches('/'))).ok()
    }
}

fn tile(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join("tile").join(name);
    assert!(path.is_file(), "{name}");
    path
}

#[test]
fn what_was_appended_is_read_back_and_only_the_newest_partial_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (size, root) = filled(dir.path(), 700);
    let (log, recovery, seen) = open(dir.path()).unwrap();
    assert_eq!((log.size(), log.root(), seen), (size, root, all(700)));
    assert_eq!(recovery, Recovery::default());
    let names = crate::disk::list(&dir.path().join("tile/entries/002.p")).unwrap();
    assert_eq!(names, ["188"]);
    assert!(!dir.path().join("tile/entries/000.p").exists());
}

#[test]
fn a_log_grows_by_consistent_trees_only() {
    let dir = tempfile::tempdir().unwrap();
    let mut before = filled(dir.path(), 1);
    for size in [2, 255, 256, 257, 600] {
        let after = filled(dir.path(), size);
        check_consistency(before.0, before.1, after.0, after.1, &Files(dir.path())).unwrap();
        before = after;
    }
}

#[test]
fn hash_tiles_are_written_anew_from_the_entries() {
    let dir = tempfile::tempdir().unwrap();
    let (size, root) = filled(dir.path(), 700);
    let whole = fs::read(tile(dir.path(), "0/000")).unwrap();
    fs::remove_file(tile(dir.path(), "0/000")).unwrap();
    fs::write(tile(dir.path(), "0/001"), b"damaged").unwrap();
    fs::write(tile(dir.path(), "0/002.p/188"), b"").unwrap();
    fs::remove_dir_all(dir.path().join("tile/1")).unwrap();
    let (log, recovery, seen) = open(dir.path()).unwrap();
    assert_eq!((log.size(), log.root(), seen.len()), (size, root, 700));
    assert_eq!(recovery.repaired, 4);
    assert_eq!(fs::read(tile(dir.path(), "0/000")).unwrap(), whole);
    assert_eq!(open(dir.path()).unwrap().1, Recovery::default());
}

#[test]
fn a_damaged_entry_stops_the_start_and_its_tile_is_named_and_left() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 700);
    let path = tile(dir.path(), "entries/001");
    let mut bytes = fs::read(&path).unwrap();
    bytes[10] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let witness = fs::read(tile(dir.path(), "0/001")).unwrap();
    let fault = open(dir.path()).err().unwrap();
    assert!(matches!(&fault, RunFault::Damaged { what, .. } if what.contains("`/tile/0/001`")), "{fault}");
    assert_eq!(fs::read(tile(dir.path(), "0/001")).unwrap(), witness);
}

#[test]
fn a_bundle_that_is_cut_short_or_missing_stops_the_start() {
    for damage in [Some(40), Some(0), None] {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), 300);
        for name in ["entries/000", "entries/001.p/44"] {
            let path = tile(dir.path(), name);
            let bytes = fs::read(&path).unwrap();
            match damage {
                Some(length) => fs::write(&path, &bytes[..length]).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let fault = open(dir.path()).err().unwrap();
            assert!(matches!(&fault, RunFault::Damaged { path: p, .. } if *p == path), "{fault}");
            fs::write(&path, &bytes).unwrap();
        }
        open(dir.path()).unwrap();
    }
}

#[test]
fn a_checkpoint_that_is_damaged_missing_or_of_another_key_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 3);
    let path = dir.path().join("checkpoint");
    let note = fs::read(&path).unwrap();
    let theirs = LogKey::from_seed(ORIGIN, &[8; 32]).unwrap().sign(3, TreeHash([1; 32])).unwrap();
    let ours_of_another_tree = key().sign(3, TreeHash([1; 32])).unwrap();
    let ours_of_a_larger_tree = key().sign(4, TreeHash([1; 32])).unwrap();
    for bad in [
        &note[..20],
        b"",
        theirs.as_bytes(),
        ours_of_another_tree.as_bytes(),
        ours_of_a_larger_tree.as_bytes(),
    ] {
        fs::write(&path, bad).unwrap();
        assert!(matches!(open(dir.path()).err().unwrap(), RunFault::Damaged { .. }));
    }
    fs::remove_file(&path).unwrap();
    let fault = open(dir.path()).err().unwrap();
    assert!(
        matches!(&fault, RunFault::Damaged { what, .. } if what.contains("although there are tiles")),
        "{fault}"
    );
}

/// An append writes bundles, then tiles, then the checkpoint: cut it after each of its files, and inside each of them.
#[test]
fn an_append_cut_at_any_file_leaves_the_log_before_it() {
    for size in [200, 256, 300] {
        let old = tempfile::tempdir().unwrap();
        let before = filled(old.path(), size);
        let new = tempfile::tempdir().unwrap();
        filled(new.path(), size);
        let (mut log, _, _) = open(new.path()).unwrap();
        log.append(&(size..size + 70).map(entry).collect::<Vec<_>>()).unwrap();
        let mut written: Vec<PathBuf> = Vec::new();
        files(&new.path().join("tile"), &mut written);
        for cut in 0..=written.len() * 2 {
            let dir = tempfile::tempdir().unwrap();
            copy(old.path(), dir.path());
            for (n, path) in written.iter().enumerate().take(cut.div_ceil(2)) {
                let to = dir.path().join(path.strip_prefix(new.path()).unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                let bytes = fs::read(path).unwrap();
                // The last one may be cut inside: then it still has the name that it is written under.
                let half = n + 1 == cut.div_ceil(2) && cut % 2 == 1;
                if half {
                    fs::write(to.with_extension("new"), &bytes[..bytes.len() / 2]).unwrap();
                } else {
                    fs::write(to, bytes).unwrap();
                }
            }
            let (log, _, seen) = open(dir.path()).unwrap();
            assert_eq!((log.size(), log.root(), seen), (before.0, before.1, all(size)), "cut {cut}");
            let (mut log, recovery, _) = open(dir.path()).unwrap();
            assert_eq!(recovery, Recovery::default(), "cut {cut}");
            // What comes next is another history than the one that was cut off, and just as good.
            log.append(&[b"something else".to_vec()]).unwrap();
            check_consistency(before.0, before.1, log.size(), log.root(), &Files(dir.path())).unwrap();
        }
    }
}

/// The names and bytes of everything, to show that a refusal changed nothing.
fn everything(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    files(dir, &mut all);
    all.sort();
    all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn an_older_checkpoint_put_back_is_refused_and_nothing_is_touched() {
    for (old, new, what) in [
        // The bundle that the checkpoint ends in is gone: a later checkpoint was durable.
        (200, 201, "it is older than the entries"),
        (200, 300, "it is older than the entries"),
        // On the edge of a tile nothing is missing, but there is more than one append.
        (256, 600, "more than one append"),
        (0, 300, "more than one append"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path(), old);
        let note = fs::read(dir.path().join("checkpoint")).unwrap();
        filled(dir.path(), new);
        let newest =
            Checkpoint::verify(&fs::read(dir.path().join("checkpoint")).unwrap(), key().verifier(), ORIGIN);
        fs::write(dir.path().join("checkpoint"), note).unwrap();
        let before = everything(dir.path());
        let refused =
            |fault: RunFault, what: &str| assert!(fault.to_string().contains(what), "{old} {fault}");
        refused(open(dir.path()).err().unwrap(), what);
        refused(open_seen(dir.path(), newest.ok()).err().unwrap(), "would be a rollback");
        assert!(matches!(open_seen(dir.path(), None), Err(RunFault::Damaged { .. })));
        assert_eq!(everything(dir.path()), before);
    }
}

#[test]
fn another_tree_of_the_size_that_was_seen_is_a_fork() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 5);
    let other = key().sign(5, TreeHash([9; 32])).unwrap();
    let seen = Checkpoint::verify(other.as_bytes(), key().verifier(), ORIGIN).unwrap();
    assert!(open_seen(dir.path(), Some(seen)).err().unwrap().to_string().contains("a fork"));
}

#[test]
fn entries_of_an_append_that_was_cut_short_are_set_aside_and_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path(), 5);
    let lost = encode_bundle(&all(7)).unwrap();
    fs::write(dir.path().join("tile/entries/000.p/7"), &lost).unwrap();
    let before = everything(dir.path());
    let fault = open_seen(dir.path(), None).err().unwrap();
    assert!(fault.to_string().contains("`head.json` is missing"), "{fault}");
    assert_eq!(everything(dir.path()), before);
    let (log, recovery, _) = open(dir.path()).unwrap();
    assert_eq!((log.size(), recovery.removed), (5, 1));
    let kept = everything(&dir.path().join("leftovers"));
    assert_eq!(kept.len(), 1);
    assert!(kept[0].0.file_name().unwrap().to_str().unwrap().starts_with("entries-000.p-7-"));
    assert_eq!(kept[0].1, lost);
}

#[test]
fn leftovers_are_bounded_and_the_oldest_make_place() {
    let dir = tempfile::tempdir().unwrap();
    let leftovers = Leftovers::new(&Layout::new(dir.path()), 3);
    let put = |n: u32| {
        let path = dir.path().join(format!("{n}.json"));
        fs::write(&path, n.to_string()).unwrap();
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(u64::from(n));
        fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
        path
    };
    for n in 0..5 {
        leftovers.take(&[put(n).as_path()]).unwrap();
    }
    let kept: Vec<_> =
        everything(&dir.path().join("leftovers")).into_iter().map(|(_, bytes)| bytes).collect();
    assert_eq!(kept, [b"2", b"3", b"4"]);
    let many: Vec<PathBuf> = (10..14).map(put).collect();
    let many: Vec<&Path> = many.iter().map(PathBuf::as_path).collect();
    assert!(matches!(leftovers.take(&many), Err(RunFault::Damaged { .. })));
    assert!(many.iter().all(|path| path.is_file()));
}

#[test]
fn a_write_that_fails_before_the_commit_point_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (size, root) = filled(dir.path(), 10);
    let (mut log, _, _) = open(dir.path()).unwrap();
    // A directory where the next bundle has to go: no rename can replace it.
    fs::create_dir_all(dir.path().join("tile/entries/000.p/11/in the way")).unwrap();
    assert!(matches!(log.append(&[entry(10)]), Err(AppendFault::Before(_))));
    assert_eq!((log.size(), log.root()), (size, root));
    fs::remove_dir_all(dir.path().join("tile/entries/000.p/11")).unwrap();
    log.append(&[entry(10)]).unwrap();
    assert_eq!(open(dir.path()).unwrap().2, all(11));
}

#[test]
fn entries_that_the_format_does_not_hold_are_refused_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (mut log, _, _) = open(dir.path()).unwrap();
    assert!(matches!(log.append(&[entry(0), Vec::new()]), Err(AppendFault::Before(_))));
    assert!(matches!(log.append(&[vec![0; 65_536]]), Err(AppendFault::Before(_))));
    assert_eq!(log.size(), 0);
    assert_eq!(open(dir.path()).unwrap().2, Vec::<Vec<u8>>::new());
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for name in crate::disk::list(dir).unwrap() {
        let path = dir.join(name);
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

fn copy(from: &Path, to: &Path) {
    let mut all = Vec::new();
    files(from, &mut all);
    for path in all {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
}
