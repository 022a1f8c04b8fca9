//! Reserved room on disk for a revocation: a file that is removed when a write finds the volume full.

use super::write_file;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The file. Nothing reads it.
const RESERVE: &str = "reserve";

/// Bytes of the reserve. It holds a head and a floors document at their limits (512 KiB and 1 MiB). It also holds the lists (16 KiB each),
/// tiles (8 KiB each) and indexes that one change of status writes. A trust list near its own limit does not fit.
const BYTES: usize = 2 * 1024 * 1024;

/// Returns true if the whole reserve is there.
pub(super) fn is_kept(dir: &Path) -> bool {
    fs::metadata(dir.join(RESERVE)).is_ok_and(|file| file.len() == BYTES as u64)
}

/// Reserves the room, if the volume has as much again for others.
pub(super) fn make(dir: &Path) -> io::Result<()> {
    let volume = rustix::fs::statvfs(dir)?;
    let free = volume.f_bavail.saturating_mul(volume.f_frsize);
    if free < 2 * BYTES as u64 {
        return Err(ErrorKind::StorageFull.into());
    }
    write_file(dir, RESERVE, &vec![0; BYTES])
}

/// Frees the room. Errors if there was no reserve.
pub(super) fn give_up(dir: &Path) -> io::Result<()> {
    fs::remove_file(dir.join(RESERVE))?;
    super::sync_dir(dir)
}

/// Returns true for a full volume, or a full quota.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}
