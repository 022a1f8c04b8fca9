//! A policy directory read as it stood at one moment: never half of one revision and half of another.
//!
//! A directory is swapped by others while it is read: git-sync turns a link (`current` → `abc123`), Kubernetes turns `..data`
//! below links to single files, editors write in place. So the directory is resolved once; every file of the set, links
//! followed, must lie in one directory; each is opened there and must be the file that was listed, before and after its bytes
//! are read; and then all of it must still be as it was. Else it is read again, a bounded number of times.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_policies::{Located, PolicyFault, PolicyLimits, PolicySource};

/// Between two tries: several times what a swap of a link takes.
const PAUSE: Duration = Duration::from_millis(20);

/// What tells one content of a file from another without reading it. The time of the last change of the inode cannot be set by
/// hand, so a file whose own times were put back is told too.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// One file of a set: its name in the set, where its bytes are, and what it was when it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    name: String,
    path: PathBuf,
    mark: Mark,
}

/// How a directory stood: equal stamps, equal content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    directory: PathBuf,
    mark: Mark,
    files: Vec<Listed>,
}

/// A set as it stood at one moment.
pub(super) struct Steady {
    pub(super) source: PolicySource,
    pub(super) stamp: Stamp,
}

/// Why a try did not succeed.
enum Missed {
    /// It moved meanwhile: another try may succeed.
    Moved,
    /// What is there is wrong.
    Fault(PolicyFault),
}

fn unreadable(path: &Path, why: impl ToString) -> PolicyFault {
    PolicyFault::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

impl Stamp {
    /// Lists the files of the set, with what each is.
    ///
    /// # Errors
    /// The directory or a file of it cannot be looked at, a file is no regular one, or files of the set lie in several directories.
    pub(super) fn take(directory: &Path, limits: &PolicyLimits) -> Result<Self, PolicyFault> {
        let resolved = directory.canonicalize().map_err(|why| unreadable(directory, why))?;
        let mark = std::fs::metadata(&resolved).map_err(|why| unreadable(&resolved, why))?;
        let located = PolicySource::located(&resolved, limits)?.into_iter();
        let files =
            located.map(|Located { name, path, metadata }| Listed { name, path, mark: Mark::of(&metadata) });
        Ok(Self { mark: Mark::of(&mark), files: files.collect(), directory: resolved })
    }

    /// The stamp of a set that is one file.
    ///
    /// # Errors
    /// It cannot be looked at, or is no regular file.
    pub(super) fn of_file(file: &Path) -> Result<Self, PolicyFault> {
        let resolved = file.canonicalize().map_err(|why| unreadable(file, why))?;
        let metadata = std::fs::metadata(&resolved).map_err(|why| unreadable(&resolved, why))?;
        if !metadata.is_file() {
            return Err(unreadable(file, "a signed policy bundle is demanded, and this is no regular file"));
        }
        Ok(Self { directory: resolved, mark: Mark::of(&metadata), files: Vec::new() })
    }

    /// Reads what was listed, if it still is that.
    fn read(&self, limits: &PolicyLimits) -> Result<PolicySource, Missed> {
        let mut contents = Vec::new();
        for file in &self.files {
            let limit = PolicySource::limit_of(&file.name, limits);
            if file.mark.length > limit as u64 {
                let what = format!("bytes of `{}`", file.name);
                return Err(Missed::Fault(PolicyFault::TooLarge { what, limit }));
            }
            contents.push((file.name.clone(), file.read(limit)?));
            semgate_policies::rest();
        }
        PolicySource::of(contents, limits).map_err(Missed::Fault)
    }
}

impl Listed {
    fn read(&self, limit: usize) -> Result<Vec<u8>, Missed> {
        let fault = |why: std::io::Error| match why.kind() {
            std::io::ErrorKind::NotFound => Missed::Moved,
            _ => Missed::Fault(unreadable(&self.path, why)),
        };
        // what it was when it was listed was a regular file: a pipe in its place is not waited for, and is another file
        let file = PolicySource::open(&self.path).map_err(fault)?;
        let same = |file: &File| file.metadata().is_ok_and(|now| Mark::of(&now) == self.mark);
        if !same(&file) {
            return Err(Missed::Moved);
        }
        let mut bytes = Vec::new();
        (&file).take(limit as u64 + 1).read_to_end(&mut bytes).map_err(fault)?;
        if bytes.len() as u64 != self.mark.length || !same(&file) {
            return Err(Missed::Moved);
        }
        Ok(bytes)
    }
}

/// Reads the directory as it stood at one moment, in at most `tries` tries.
///
/// # Errors
/// What is wrong with what is there, or that it changed in every try.
pub(super) fn read(directory: &Path, limits: &PolicyLimits, tries: usize) -> Result<Steady, PolicyFault> {
    let mut last = None;
    for attempt in 0..tries.max(1) {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let stamp = match Stamp::take(directory, limits) {
            Ok(stamp) => stamp,
            // what is half swapped looks wrong too, so it is looked at again
            Err(fault) => {
                last = Some(fault);
                continue;
            }
        };
        let read = stamp.read(limits);
        if Stamp::take(directory, limits).as_ref() != Ok(&stamp) {
            last = None;
            continue;
        }
        match read {
            Ok(source) => return Ok(Steady { source, stamp }),
            Err(Missed::Fault(fault)) => return Err(fault),
            Err(Missed::Moved) => last = None,
        }
    }
    Err(last.unwrap_or_else(|| unreadable(directory, format_args!("it changed in each of {tries} tries"))))
}

/// Reads one file as it stood at one moment, of at most `limit` bytes, in at most `tries` tries.
///
/// # Errors
/// What is wrong with it, or that it changed in every try.
pub(super) fn read_file(file: &Path, limit: usize, tries: usize) -> Result<(Vec<u8>, Stamp), PolicyFault> {
    let mut last = None;
    for attempt in 0..tries.max(1) {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let stamp = match Stamp::of_file(file) {
            Ok(stamp) => stamp,
            Err(fault) => {
                last = Some(fault);
                continue;
            }
        };
        if stamp.mark.length > limit as u64 {
            let what = format!("bytes of `{}`", file.display());
            return Err(PolicyFault::TooLarge { what, limit });
        }
        let listed = Listed { name: String::new(), path: stamp.directory.clone(), mark: stamp.mark.clone() };
        match listed.read(limit) {
            Ok(bytes) => return Ok((bytes, stamp)),
            Err(Missed::Fault(fault)) => return Err(fault),
            Err(Missed::Moved) => last = None,
        }
    }
    Err(last.unwrap_or_else(|| unreadable(file, format_args!("it changed in each of {tries} tries"))))
}

#[cfg(test)]
mod tests;
