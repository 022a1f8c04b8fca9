//! Files that outlive the process: written to a temporary name, synced, renamed, and the directory synced.
//!
//! Files are 0600 and directories 0700; the operator may widen access to the state.
//!
//! Nothing read from here is trusted: every byte is verified again, as if fetched (see `recover`).

mod reserve;

use crate::durable::{replace, sync_dir};
use crate::sha256::sha256;
use semgate_certs::encoding::to_hex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The directory of evidence.
const EVIDENCE: &str = "evidence";

/// The marker that all accepted state is on disk. It is removed before anything is accepted: a full volume takes no new file but still
/// removes one.
const WHOLE: &str = "whole";

/// Mode of every file.
const FILE: u32 = 0o600;
/// Mode of every new directory.
const DIRECTORY: u32 = 0o700;

/// One kind of file; each has a directory of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Part {
    Shards,
    Floors,
    Tiles,
    Entries,
    Contexts,
}

impl Part {
    const ALL: [Part; 5] = [Part::Shards, Part::Floors, Part::Tiles, Part::Entries, Part::Contexts];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Part::Shards => "shards",
            Part::Floors => "floors",
            Part::Tiles => "tiles",
            Part::Entries => "entries",
            Part::Contexts => "contexts",
        }
    }
}

/// The directory of one follower; none keeps everything in memory only.
#[derive(Debug)]
pub(super) struct Store {
    dir: Option<PathBuf>,
    /// Files with known good content: written, or verified, by this process.
    good: BTreeSet<(Part, String)>,
    /// SHA-256 of the files that are rewritten only on a change, as they are on disk.
    last: BTreeMap<&'static str, [u8; 32]>,
    /// True if the marker is on disk.
    complete: bool,
    /// True if the reserve may be spent: the current write takes something away from senders.
    urgent: bool,
    /// True if the reserve is on disk.
    reserve: bool,
    /// Reason for the last failed write.
    fault: Option<io::ErrorKind>,
}

/// State of the memory on disk, compared with the view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistenceState {
    /// True if all accepted state is on disk. After a start from an incomplete memory, nothing passes before a head is accepted.
    pub complete: bool,
    /// Reason for the last failed write; none if it worked, or nothing was written yet.
    pub fault: Option<io::ErrorKind>,
    /// True if room for a revocation is reserved on disk.
    pub reserve: bool,
}

impl Store {
    /// A memory that stores nothing.
    pub(super) fn none() -> Store {
        Store {
            dir: None,
            good: BTreeSet::new(),
            last: BTreeMap::new(),
            complete: true,
            urgent: false,
            reserve: false,
            fault: None,
        }
    }

    /// Makes the missing directories.
    pub(super) fn open(dir: &Path) -> io::Result<Store> {
        for part in Part::ALL {
            make_dir(&dir.join(part.as_str()))?;
        }
        make_dir(&dir.join(EVIDENCE))?;
        let (complete, reserve) = (dir.join(WHOLE).try_exists()?, reserve::is_kept(dir));
        Ok(Store { dir: Some(dir.to_owned()), complete, reserve, ..Store::none() })
    }

    /// The state for operators.
    pub(super) fn state(&self) -> PersistenceState {
        PersistenceState { complete: self.complete, fault: self.fault, reserve: self.reserve }
    }

    /// Reads a file of the directory itself, at most `max` bytes; none if it is missing or longer.
    pub(super) fn read(&self, name: &str, max: usize) -> io::Result<Option<Vec<u8>>> {
        match &self.dir {
            Some(dir) => read_file(&dir.join(name), max),
            None => Ok(None),
        }
    }

    /// Writes a file of the directory itself; takes from the reserve if needed and allowed.
    pub(super) fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self.dir.clone() {
            Some(dir) => self.put(&dir, name, bytes),
            None => Ok(()),
        }
    }

    /// Writes a file unless this process already wrote the same bytes.
    pub(super) fn write_changed(&mut self, name: &'static str, bytes: &[u8]) -> io::Result<()> {
        let hash = sha256(bytes);
        if self.last.get(name) != Some(&hash) {
            self.last.remove(name);
            self.write(name, bytes)?;
            self.last.insert(name, hash);
        }
        Ok(())
    }

    /// Marks the memory as incomplete before something is accepted. Returns true if it was complete until now.
    ///
    /// If a volume does not even take this, its marker stays: the head on it then counts until its `next_update`.
    pub(super) fn begin(&mut self) -> bool {
        let was = self.complete;
        if let Some(dir) = self.dir.as_ref().filter(|_| was) {
            // durable with the next write, or with `fail`
            match fs::remove_file(dir.join(WHOLE)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => self.fault = Some(error.kind()),
                _ => {}
            }
            self.complete = false;
        }
        was
    }

    /// Lets writes before [`Store::done`] spend the reserve.
    pub(super) fn spend_reserve(&mut self) {
        self.urgent = true;
    }

    /// Marks the memory as complete, and reserves room again.
    pub(super) fn done(&mut self) -> io::Result<()> {
        let Some(dir) = self.dir.clone() else { return Ok(()) };
        match mark(&dir) {
            Err(error) if self.urgent && reserve::is_full(&error) && self.give_up() => mark(&dir)?,
            marked => marked?,
        }
        (self.complete, self.urgent, self.fault) = (true, false, None);
        self.reserve = reserve::is_kept(&dir) || reserve::make(&dir).is_ok();
        Ok(())
    }

    /// Records a failed write and makes the removal of the marker durable. Returns true if the fault is new.
    pub(super) fn fail(&mut self, kind: io::ErrorKind) -> bool {
        if let Some(dir) = &self.dir {
            let _ = sync_dir(dir);
        }
        self.fault.replace(kind) != Some(kind)
    }

    /// Returns true if everything was written.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Writes a file. If there is no room and the reserve may be spent, uses its room.
    fn put(&mut self, dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
        match write_file(dir, name, bytes) {
            Err(error) if self.urgent && reserve::is_full(&error) && self.give_up() => {
                write_file(dir, name, bytes)
            }
            written => written,
        }
    }

    fn give_up(&mut self) -> bool {
        let given = self.dir.as_ref().is_some_and(|dir| reserve::give_up(dir).is_ok());
        self.reserve = false;
        given
    }

    pub(super) fn read_part(&self, part: Part, name: &str, max: usize) -> io::Result<Option<Vec<u8>>> {
        match &self.dir {
            Some(dir) => read_file(&dir.join(part.as_str()).join(name), max),
            None => Ok(None),
        }
    }

    /// Writes a file unless it is known to be good already. Its name identifies its content.
    pub(super) fn write_part(&mut self, part: Part, name: &str, bytes: &[u8]) -> io::Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let key = (part, name.to_owned());
        if !self.good.contains(&key) {
            let dir = dir.join(part.as_str());
            // documents are large, and can be fetched again
            match part {
                Part::Contexts => write_file(&dir, name, bytes)?,
                _ => self.put(&dir, name, bytes)?,
            }
            self.good.insert(key);
        }
        Ok(())
    }

    /// Records that a file was read and verified: it need not be written again.
    pub(super) fn verified(&mut self, part: Part, name: String) {
        self.good.insert((part, name));
    }

    /// Names of the files of one kind.
    pub(super) fn names(&self, part: Part) -> io::Result<BTreeSet<String>> {
        let Some(dir) = &self.dir else { return Ok(BTreeSet::new()) };
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(dir.join(part.as_str()))? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.insert(name);
            }
        }
        Ok(names)
    }

    /// Removes the files of one kind that are not in `keep`. A file that cannot be removed does no harm.
    pub(super) fn keep_only(&mut self, part: Part, keep: &BTreeSet<String>) {
        self.good.retain(|(other, name)| *other != part || keep.contains(name));
        let (Some(dir), Ok(names)) = (&self.dir, self.names(part)) else { return };
        for name in names.difference(keep) {
            let _ = fs::remove_file(dir.join(part.as_str()).join(name));
        }
    }

    /// Stores evidence in a directory of its own, named by kind and content, so that the same evidence is kept once. Each kind has `max`
    /// places of its own, so that frequent kinds take none from others. Returns the directory. Returns none if no place is left, the disk
    /// is full, or there is no memory.
    pub(super) fn evidence(&self, kind: &str, files: &[(&str, &[u8])], max: usize) -> Option<PathBuf> {
        let dir = self.dir.as_ref()?.join(EVIDENCE);
        let mut all = Vec::new();
        for (name, bytes) in files {
            all.extend_from_slice(name.as_bytes());
            all.extend_from_slice(&sha256(bytes));
        }
        let hash = to_hex(sha256(&all));
        let target = dir.join(format!("{kind}-{}", hash.get(..16)?));
        let is_kept = |(name, bytes): &(&str, &[u8])| {
            read_file(&target.join(name), bytes.len()).is_ok_and(|kept| kept.as_deref() == Some(*bytes))
        };
        if files.iter().all(is_kept) {
            return Some(target);
        }
        // an incomplete one was cut short, and keeps its place
        if !target.exists() && pieces(&dir, kind).ok()? >= max {
            return None;
        }
        make_dir(&target).ok()?;
        for (name, bytes) in files {
            write_file(&target, name, bytes).ok()?;
        }
        sync_dir(&dir).ok()?;
        Some(target)
    }
}

/// Number of pieces of evidence of one kind.
fn pieces(dir: &Path, kind: &str) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let of = name.to_str().and_then(|name| name.rsplit_once('-'));
        count += usize::from(of.is_some_and(|(of, _)| of == kind));
    }
    Ok(count)
}

fn read_file(path: &Path, max: usize) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(max as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= max).then_some(bytes))
}

fn make_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Writes a file whole and durably, or leaves the one before it. A failure leaves no partial file.
fn write_file(dir: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    replace(&dir.join(name), FILE, |file| file.write_all(bytes)).map(drop)
}

/// Creates the marker, durably. It is empty, so it cannot be incomplete.
fn mark(dir: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILE).open(dir.join(WHOLE))?;
    sync_dir(dir)
}
