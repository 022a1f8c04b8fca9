//! Consistent reads of a policy directory: never half of one revision and half of another.
//!
//! Others may swap a directory while it is read. git-sync moves a link (`current` → `abc123`), Kubernetes moves `..data`
//! below links to files, and editors write in place.
//!
//! So the directory is resolved once, and every file of the set, links followed, must lie in one directory. Each file must
//! match its listing before and after its bytes are read. At the end, the whole directory must be unchanged. Otherwise it is
//! read again, a bounded number of times.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_policies::{Located, PolicyFault, PolicyLimits, PolicySource};

/// Pause between two tries: several times the duration of a link swap.
const PAUSE: Duration = Duration::from_millis(20);

/// Distinguishes contents of a file without reading it. The inode's change time cannot be set by hand, so a file with
/// restored timestamps is detected too.
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

/// One file of a set: its name, its path, and its mark when listed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    name: String,
    path: PathBuf,
    mark: Mark,
}

/// State of a directory. Equal stamps mean equal contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::control::follow) struct Stamp {
    directory: PathBuf,
    mark: Mark,
    files: Vec<Listed>,
}

/// A consistent policy set.
pub(super) struct Steady {
    pub(super) source: PolicySource,
    pub(super) stamp: Stamp,
}

/// Reason for a failed try.
enum Missed {
    /// The directory changed meanwhile; another try may succeed.
    Moved,
    /// The contents are faulty.
    Fault(PolicyFault),
}

fn unreadable(path: &Path, why: impl ToString) -> PolicyFault {
    PolicyFault::Unreadable { path: path.display().to_string(), why: why.to_string() }
}

impl Stamp {
    /// Lists the files of the set with their marks.
    ///
    /// # Errors
    /// An unreadable directory or file, a file that is not regular, or a set in several directories.
    pub(super) fn take(directory: &Path, limits: &PolicyLimits) -> Result<Self, PolicyFault> {
        let resolved = directory.canonicalize().map_err(|why| unreadable(directory, why))?;
        let mark = std::fs::metadata(&resolved).map_err(|why| unreadable(&resolved, why))?;
        let located = PolicySource::located(&resolved, limits)?.into_iter();
        let files =
            located.map(|Located { name, path, metadata }| Listed { name, path, mark: Mark::of(&metadata) });
        Ok(Self { mark: Mark::of(&mark), files: files.collect(), directory: resolved })
    }

    /// Stamp of a set in one file.
    ///
    /// # Errors
    /// The file cannot be examined, or is not regular.
    pub(in crate::control::follow) fn of_file(file: &Path) -> Result<Self, PolicyFault> {
        let resolved = file.canonicalize().map_err(|why| unreadable(file, why))?;
        let metadata = std::fs::metadata(&resolved).map_err(|why| unreadable(&resolved, why))?;
        if !metadata.is_file() {
            return Err(unreadable(file, "it is not a regular file"));
        }
        Ok(Self { directory: resolved, mark: Mark::of(&metadata), files: Vec::new() })
    }

    /// Reads the listed files, if they are unchanged.
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
        // the listing had a regular file here; a pipe in its place does not block and counts as another file
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

/// Reads the directory consistently, in at most `tries` tries.
///
/// # Errors
/// Fault of the contents, or a change in every try.
pub(super) fn read(directory: &Path, limits: &PolicyLimits, tries: usize) -> Result<Steady, PolicyFault> {
    let mut last = None;
    for attempt in 0..tries.max(1) {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let stamp = match Stamp::take(directory, limits) {
            Ok(stamp) => stamp,
            // a half-swapped directory looks faulty too, so it is checked again
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
    Err(last.unwrap_or_else(|| unreadable(directory, format_args!("it changed in each of {tries} reads"))))
}

/// Reads one file of at most `limit` bytes consistently, in at most `tries` tries.
///
/// # Errors
/// Fault of the file, or a change in every try.
pub(in crate::control::follow) fn read_file(
    file: &Path,
    limit: usize,
    tries: usize,
) -> Result<(Vec<u8>, Stamp), PolicyFault> {
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
    Err(last.unwrap_or_else(|| unreadable(file, format_args!("it changed in each of {tries} reads"))))
}

#[cfg(test)]
mod tests;
