//! Files that outlive the process and a power cut.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// The suffix of a file until it is whole.
pub const TEMPORARY: &str = ".new";

/// Replaces a file, or makes it with at most this mode. Returns the new file, open at its end.
///
/// The temporary file is written, synced and renamed. Then the directory is synced, if this process may read it. A reader sees the
/// old content or the new.
///
/// # Errors
/// The error of the file system. No temporary file stays. The old content stays, unless only the last sync failed.
pub fn replace(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<BufWriter<File>> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(TEMPORARY);
    let temporary = path.with_file_name(name);
    let renamed = whole(&temporary, mode, write).and_then(|file| fs::rename(&temporary, path).map(|()| file));
    let file = renamed.inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    match sync_dir(path.parent().unwrap_or(path)) {
        // a directory that may be written but not read cannot be synced
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Ok(file),
        synced => synced.map(|()| file),
    }
}

/// Makes the names in a directory durable. An empty path is the working directory.
///
/// # Errors
/// The error of the file system.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir)?.sync_all()
}

fn whole(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<BufWriter<File>> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    // a leftover of a crash keeps its old mode
    let allowed = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(allowed & mode))?;
    let mut file = BufWriter::new(file);
    write(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(file)
}
