//! Files that survive a SIGKILL or a power cut: written beside, fsynced, renamed, and the directory fsynced.
//!
//! Everything is 0600 in directories of 0700: role keys lie below, and who may read the state is for the operator to widen, not for us.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::RunFault;

/// The ending of a file that is being written; one found at start was left by a crash and is removed.
pub(crate) const UNFINISHED: &str = ".new";

/// Makes a directory and its parents, 0700, and makes their names durable.
pub(crate) fn make_dir(path: &Path) -> Result<(), RunFault> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = parent(path);
    if !parent.as_os_str().is_empty() {
        make_dir(&parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_dir(&parent),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(RunFault::io("making", path)(e)),
    }
}

/// Writes a whole file durably: after this returns, the new content is there, whatever happens; before, the old one is.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), RunFault> {
    write_unsynced_name(path, bytes)?;
    sync_dir(&parent(path))
}

/// As [`write`], but leaves the directory to a later [`sync_dir`]: for several files in one directory.
pub(crate) fn write_unsynced_name(path: &Path, bytes: &[u8]) -> Result<(), RunFault> {
    let beside = beside(path);
    let written = (|| {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    })();
    written.map_err(RunFault::io("writing", path))
}

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), RunFault> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir).and_then(|d| d.sync_all()).map_err(RunFault::io("syncing", dir))
}

/// Reads a file; none is `None`.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, RunFault> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(RunFault::io("reading", path)(e)),
    }
}

/// The names in a directory; none if there is no directory.
pub(crate) fn list(dir: &Path) -> Result<Vec<String>, RunFault> {
    let read = match fs::read_dir(dir) {
        Ok(read) => read,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(RunFault::io("listing", dir)(e)),
    };
    let mut names = Vec::new();
    for entry in read {
        let entry = entry.map_err(RunFault::io("listing", dir))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Removes what a crash left half written in a directory.
pub(crate) fn sweep(dir: &Path) -> Result<(), RunFault> {
    for name in list(dir)?.iter().filter(|n| n.ends_with(UNFINISHED)) {
        let path = dir.join(name);
        fs::remove_file(&path).map_err(RunFault::io("removing", &path))?;
    }
    Ok(())
}

pub(crate) fn parent(path: &Path) -> PathBuf {
    path.parent().map(Path::to_path_buf).unwrap_or_default()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(UNFINISHED);
    path.with_file_name(name)
}

/// The lock of a state directory, held as long as this lives. The kernel lets it go when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Takes the lock at once or says who is in the way.
    pub fn take(state: &Path) -> Result<Self, RunFault> {
        let path = state.join("lock");
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(RunFault::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(fs::TryLockError::WouldBlock) => Err(RunFault::Locked(path)),
            Err(fs::TryLockError::Error(e)) => Err(RunFault::io("locking", &path)(e)),
        }
    }
}
