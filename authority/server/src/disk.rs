//! Files that survive a SIGKILL or a power cut: written beside their place, fsynced, renamed, and the directory fsynced.
//!
//! Files are 0600 in directories of 0700: role keys lie below. The operator may widen access to the state.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::RunFault;

mod reserve;

pub(crate) use reserve::Reserve;

/// The suffix of a file being written; a leftover of a crash is removed at start.
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
    match hostile(Step::Create, path).and_then(|()| DirBuilder::new().mode(0o700).create(path)) {
        Ok(()) => sync_dir(&parent),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(RunFault::io("making", path)(e)),
    }
}

/// Writes a whole file durably. Once this returns, the new content is there, whatever happens; before, the old one is.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), RunFault> {
    write_all(&[(path.to_path_buf(), bytes)])
}

/// Writes several files as [`write`] does: each is whole or absent, and all are durable when this returns.
pub(crate) fn write_all<B: AsRef<[u8]> + Sync>(files: &[(PathBuf, B)]) -> Result<(), RunFault> {
    let [staged] = stage([files])?;
    staged.install()
}

/// Forces appended data to the disk before returning.
pub(crate) fn sync_data(path: &Path, file: &File) -> io::Result<()> {
    hostile(Step::Sync, path)?;
    file.sync_data()
}

/// Tests that the disk beside `path` takes as many bytes; removes the bytes again.
pub(crate) fn probe(path: &Path, bytes: usize) -> Result<(), RunFault> {
    let [staged] = stage([[(path.with_extension("probe"), vec![b'.'; bytes])].as_slice()])?;
    drop(staged);
    Ok(())
}

/// A whole file beside its place. It is removed on drop; a leftover is swept at the next start.
#[must_use]
#[derive(Debug)]
pub(crate) struct TempFile {
    target: PathBuf,
    /// None once it is renamed.
    temp: Option<PathBuf>,
}

impl TempFile {
    /// Writes files under unique temporary names, so that two files for one place do not collide. Durable when this returns; a fault leaves
    /// nothing.
    pub fn write_all(files: &[(PathBuf, &[u8])]) -> Result<Vec<Self>, RunFault> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (mut all, mut open) = (Vec::with_capacity(files.len()), Vec::with_capacity(files.len()));
        for (target, bytes) in files {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let (temp, file) = Self::written(target.clone(), &format!(".{number}{UNFINISHED}"), bytes)?;
            all.push(temp);
            open.push((target.clone(), file));
        }
        sync_files(&open)?;
        Ok(all)
    }

    fn written(target: PathBuf, ending: &str, bytes: &[u8]) -> Result<(Self, File), RunFault> {
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(ending);
        let at = target.with_file_name(name);
        let fault = |e| RunFault::io("writing", &target)(e);
        let mut file = create(&target, &at).map_err(fault)?;
        let temp = Self { target, temp: Some(at) };
        let fault = |e| RunFault::io("writing", &temp.target)(e);
        hostile(Step::Write, &temp.target).and_then(|()| file.write_all(bytes)).map_err(fault)?;
        Ok((temp, file))
    }

    /// Renames it into its place, and returns that path.
    fn rename(mut self) -> Result<PathBuf, RunFault> {
        if let Some(at) = &self.temp {
            hostile(Step::Rename, &self.target)
                .and_then(|()| fs::rename(at, &self.target))
                .map_err(RunFault::io("writing", &self.target))?;
        }
        self.temp = None;
        Ok(std::mem::take(&mut self.target))
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(at) = &self.temp {
            let _ = fs::remove_file(at);
        }
    }
}

/// Durable files beside their places, ready to be renamed. Everything that needs room on the disk is done; only names change from here on.
/// They are removed on drop.
#[must_use]
#[derive(Debug)]
pub(crate) struct Staged(Vec<TempFile>);

/// Stages several groups of files. They are fsynced in parallel, because a journaling file system then commits them together. That makes a
/// group commit cheap. A fault leaves nothing behind.
pub(crate) fn stage<B: AsRef<[u8]> + Sync, const N: usize>(
    groups: [&[(PathBuf, B)]; N],
) -> Result<[Staged; N], RunFault> {
    let mut staged: [Staged; N] = std::array::from_fn(|_| Staged(Vec::new()));
    let mut open = Vec::with_capacity(groups.iter().map(|group| group.len()).sum());
    for (group, staged) in groups.iter().zip(&mut staged) {
        for (path, bytes) in *group {
            let (temp, file) = TempFile::written(path.clone(), UNFINISHED, bytes.as_ref())?;
            staged.0.push(temp);
            open.push((path.clone(), file));
        }
    }
    sync_files(&open)?;
    Ok(staged)
}

impl Staged {
    /// Adds files that already lie durably beside their places.
    pub fn with(mut self, begun: Vec<TempFile>) -> Self {
        self.0.extend(begun);
        self
    }

    /// Renames the files into their places. If one rename fails, those before it stay.
    pub fn rename(self) -> Result<RenamedDirs, RunFault> {
        let places = self.0.into_iter().map(|file| Ok(parent(&file.rename()?)));
        Ok(RenamedDirs(places.collect::<Result<_, RunFault>>()?))
    }

    /// Renames the files and makes the names durable.
    pub fn install(self) -> Result<(), RunFault> {
        self.rename()?.sync()
    }
}

/// Directories whose names have changed; not durable until [`RenamedDirs::sync`].
#[must_use]
#[derive(Debug)]
pub(crate) struct RenamedDirs(BTreeSet<PathBuf>);

impl RenamedDirs {
    /// Makes the names durable.
    pub fn sync(self) -> Result<(), RunFault> {
        let mut open = Vec::with_capacity(self.0.len());
        for dir in self.0 {
            let file = open_dir(&dir)?;
            open.push((dir, file));
        }
        sync_files(&open)
    }
}

fn open_dir(dir: &Path) -> Result<File, RunFault> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir).map_err(RunFault::io("syncing", dir))
}

fn create(target: &Path, at: &Path) -> io::Result<File> {
    hostile(Step::Create, target)?;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(at)
}

/// Parallel fsyncs. More than a few add nothing: the file system commits all waiting ones at once.
const SYNCING: usize = 8;

/// Fsyncs files or directories in parallel; `open` names each for its fault.
fn sync_files(open: &[(PathBuf, File)]) -> Result<(), RunFault> {
    let sync = |part: &[(PathBuf, File)]| {
        part.iter().try_for_each(|(path, file)| {
            hostile(Step::Sync, path).and_then(|()| file.sync_all()).map_err(RunFault::io("syncing", path))
        })
    };
    let size = open.len().div_ceil(SYNCING).max(1);
    let mut parts = open.chunks(size);
    let Some(first) = parts.next() else { return Ok(()) };
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| scope.spawn(move || sync(part))).collect();
        let mut all = sync(first);
        for other in others {
            let died = || RunFault::Stopped("a thread died while syncing".to_owned());
            all = all.and(other.join().unwrap_or_else(|_| Err(died())));
        }
        all
    })
}

/// A disk operation; tests let any of them fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Create,
    Write,
    Sync,
    Rename,
}

/// A disk that fails as tests configure it.
#[cfg(not(test))]
#[inline]
fn hostile(_: Step, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
use hostile::hostile;

#[cfg(test)]
pub(crate) mod hostile;

/// Makes the names in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), RunFault> {
    sync_files(&[(dir.to_path_buf(), open_dir(dir)?)])
}

/// Reads a file; `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, RunFault> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(RunFault::io("reading", path)(e)),
    }
}

/// The names in a directory; none if it does not exist.
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

/// Removes half-written files that a crash left in a directory.
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

/// The lock of a state directory, held until drop. The kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

impl Lock {
    /// Takes the lock at once, or names the process in the way.
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
