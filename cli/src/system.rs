//! What every command asks of the machine: files, the clock, randomness.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use semgate_certs::{ChainLimits, Roots};

use crate::fault::{Doing, Fault};

/// Reads a PEM file of roots.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn read_roots(path: &Path) -> Result<Roots, Fault> {
    Roots::from_pem(&read(path)?, &ChainLimits::default()).doing(format_args!("`{}`", path.display()))
}

/// Reads a text file.
///
/// # Errors
/// What the file system says, with the file's name.
pub fn read(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).doing(format_args!("cannot read `{}`", path.display()))
}

/// Creates a file that was not there, with this mode.
///
/// # Errors
/// It exists, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Fault> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(|e| {
        Fault::new(format_args!("cannot create `{}`: {e}", path.display())).hint("choose another name")
    })?;
    file.write_all(bytes).doing(format_args!("writing `{}`", path.display()))?;
    file.sync_all().doing(format_args!("writing `{}`", path.display()))
}

/// The system's randomness.
pub fn ring_random() -> ring::rand::SystemRandom {
    ring::rand::SystemRandom::new()
}

/// Seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}
