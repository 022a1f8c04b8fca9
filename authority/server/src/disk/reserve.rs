//! Reserved room on the disk that publications leave alone: files that shrink when a revocation finds no room.
//!
//! A check of the free space before each publication would protect only against this authority. A file also protects against everything
//! else that fills the volume. **Not promised** on a file system that compresses, or that needs room to shorten a file.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Step, hostile, parent};
use crate::RunFault;

/// Bytes by which a file shrinks or grows at once: a batch of revocations with its tiles, head and records takes less.
const STEP: u64 = 512 * 1024;

/// A file of reserved room on each volume that a revocation writes to.
#[derive(Debug)]
pub(crate) struct Reserve {
    files: Vec<PathBuf>,
    bytes: u64,
    complete: AtomicBool,
    changing: Mutex<()>,
}

impl Reserve {
    /// Opens the files named `reserve` on the volumes of these paths, one on each volume. If the disk does not take all of it now,
    /// publications wait until it does.
    pub fn open(paths: &[&Path], bytes: u64) -> Self {
        let mut volumes = Vec::new();
        let mut files = Vec::new();
        for path in paths {
            let dir = if path.is_dir() { path.to_path_buf() } else { parent(path) };
            let dir = if dir.as_os_str().is_empty() { PathBuf::from(".") } else { dir };
            let Ok(volume) = std::fs::metadata(&dir).map(|dir| dir.dev()) else { continue };
            if !volumes.contains(&volume) {
                volumes.push(volume);
                files.push(dir.join("reserve"));
            }
        }
        let reserve = Self { files, bytes, complete: AtomicBool::new(false), changing: Mutex::default() };
        if let Err(fault) = reserve.restore() {
            tracing::warn!("nothing is published until there is room again for revocations: {fault}");
        }
        reserve
    }

    /// Returns `true` while all of it is there.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// Grows the files to their full size, step by step; steps that the disk took stay. Costs nothing while all is there.
    ///
    /// # Errors
    /// The disk does not take all of it.
    pub fn restore(&self) -> Result<(), RunFault> {
        if self.is_complete() {
            return Ok(());
        }
        let _changing = self.changing();
        self.files.iter().try_for_each(|path| {
            lengthen(path, self.bytes).map_err(RunFault::io("reserving room in", path))
        })?;
        self.complete.store(true, Ordering::Release);
        Ok(())
    }

    /// Runs work that writes to the disk. If there is no room, shrinks the files step by step and runs it again.
    ///
    /// # Errors
    /// The work failed for another reason, or nothing is left to give up.
    pub fn lend<T>(&self, mut work: impl FnMut() -> Result<T, RunFault>) -> Result<T, RunFault> {
        loop {
            match work() {
                Err(fault) if fault.is_no_room() && self.shorten() => {}
                answer => return answer,
            }
        }
    }

    /// Gives up one step of each file; `false` if nothing was left.
    fn shorten(&self) -> bool {
        let _changing = self.changing();
        self.complete.store(false, Ordering::Release);
        let mut given = false;
        for path in &self.files {
            match shorten(path) {
                Ok(shortened) => given |= shortened,
                Err(fault) => {
                    tracing::error!("cannot release the reserved room: `{}`: {fault}", path.display())
                }
            }
        }
        if given {
            tracing::warn!("the disk is full: an act used the room that is reserved for revocations");
        }
        given
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &Path) -> io::Result<File> {
    hostile(Step::Create, path)?;
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn lengthen(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = open(path)?;
    let mut length = file.metadata()?.len();
    while length < bytes {
        let step = usize::try_from(STEP.min(bytes - length)).unwrap_or_default();
        let written = hostile(Step::Write, path)
            .and_then(|()| file.write_all(&vec![b'.'; step]))
            .and_then(|()| hostile(Step::Sync, path))
            .and_then(|()| file.sync_data());
        if let Err(fault) = written {
            file.set_len(length)?;
            return Err(fault);
        }
        length += step as u64;
    }
    file.set_len(bytes)
}

fn shorten(path: &Path) -> io::Result<bool> {
    let file = match OpenOptions::new().write(true).open(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(fault) => return Err(fault),
    };
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(false);
    }
    file.set_len(length.saturating_sub(STEP))?;
    // a journaling file system frees the blocks only after it has committed this
    file.sync_all()?;
    Ok(true)
}
