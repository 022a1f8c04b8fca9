//! System access of all commands: files, the clock, randomness.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use semgate_certs::{Chain, ChainLimits, KeyPair, Roots, SigningKey};

use crate::fault::{Doing, Fault};

/// Reads a PEM file of roots.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn read_roots(path: &Path) -> Result<Roots, Fault> {
    Roots::from_pem(&read(path)?, &ChainLimits::default())
        .hinted(format_args!("`{}`", path.display()), "give the certificates of roots as PEM: `roots.pem`")
}

/// Reads a PEM file of a chain, leaf first.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn read_chain(path: &Path) -> Result<Chain, Fault> {
    Chain::from_pem(&read(path)?, &ChainLimits::default())
        .hinted(format_args!("`{}`", path.display()), "give a certificate chain as PEM, leaf first")
}

/// Reads a PEM file of a private key.
///
/// # Errors
/// It cannot be read, or holds none.
pub fn read_key(path: &Path) -> Result<KeyPair, Fault> {
    KeyPair::from_pem(&read(path)?, &ring_random())
        .hinted(format_args!("`{}`", path.display()), "give a private key as PKCS#8 in PEM: ECDSA over P-256")
}

/// Reads a text file.
///
/// # Errors
/// The error of the file system, with the file's name.
pub fn read(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).map_err(|why| unreadable(path, &why))
}

/// Reads a file of any content.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path).map_err(|why| unreadable(path, &why))
}

/// Reads a file of any content and of at most `most` bytes, also one without an end.
///
/// # Errors
/// As [`read`], or it is longer.
pub fn read_at_most(path: &Path, most: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|why| unreadable(path, &why))?;
    let length = (most as u64).saturating_add(1);
    file.take(length).read_to_end(&mut bytes).map_err(|why| unreadable(path, &why))?;
    match bytes.len() > most {
        false => Ok(bytes),
        true => Err(Fault::new(format_args!("`{}` has more than {most} bytes", path.display()))
            .hint("name a regular file of that kind; no longer one is read")),
    }
}

/// The fault for an unreadable file, with its remedy.
pub fn unreadable(path: &Path, why: &std::io::Error) -> Fault {
    let hint = match why.kind() {
        std::io::ErrorKind::NotFound => "check its name relative to the current directory",
        std::io::ErrorKind::PermissionDenied => {
            "it belongs to another user: ask for access, or use your own copy"
        }
        std::io::ErrorKind::IsADirectory => "name the file within it",
        std::io::ErrorKind::InvalidData => "the file must be text in UTF-8",
        _ => "it must be a readable file",
    };
    Fault::new(format_args!("cannot read `{}`: {why}", path.display())).hint(hint)
}

/// The key at a PEM file, or at a `pkcs11:` URI of a device. Faults repeat nothing of a URI, because people write PINs into them.
///
/// # Errors
/// There is no key.
pub fn signing_key(location: &str) -> Result<Arc<dyn SigningKey>, Fault> {
    semgate_authority::signing_key(location).hinted(
        format_args!("key `{}`", shown(location)),
        "name a PEM file with a P-256 key, as `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256` makes one, or a `pkcs11:` URI as in docs/how-to/run-an-authority.md",
    )
}

fn shown(location: &str) -> &str {
    if in_device(location) { "pkcs11:…" } else { location }
}

/// Returns true if a key's location is the URI of a device, or was meant to be.
pub fn in_device(location: &str) -> bool {
    location.split_once(':').is_some_and(|(scheme, _)| scheme.trim().eq_ignore_ascii_case("pkcs11"))
}

/// Creates a new file with this mode.
///
/// # Errors
/// It exists, or cannot be written.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Fault> {
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(|e| {
            match e.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    Fault::new(format_args!("cannot create `{}`: {e}", path.display()))
                        .hint("choose another name")
                }
                _ => unwritable(path, &e),
            }
        })?;
    let done = file.write_all(bytes).and_then(|()| file.sync_all());
    done.map_err(|why| unwritable(path, &why))
}

/// Writes a file, and replaces an existing one.
///
/// # Errors
/// The error of the file system, with the file's name.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    fs::write(path, bytes).map_err(|why| unwritable(path, &why))
}

/// Replaces a file by rename, so that a reader sees the old one or the new one.
///
/// # Errors
/// As [`write()`].
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    replace_as(path, bytes, 0o666)
}

/// As [`replace`], with this mode.
///
/// # Errors
/// As [`write()`].
pub fn replace_as(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Fault> {
    let replaced = semgate_statement::durable::replace(path, mode, |file| file.write_all(bytes));
    replaced.map(drop).map_err(|why| unwritable(path, &why))
}

/// Makes a directory that others may read, with its parents.
///
/// # Errors
/// The error of the file system.
pub fn make_dir(path: &Path) -> Result<(), Fault> {
    fs::create_dir_all(path).map_err(|why| unwritable(path, &why))
}

/// The fault for an unwritable file, with its remedy.
pub fn unwritable(path: &Path, why: &std::io::Error) -> Fault {
    let hint = match why.kind() {
        std::io::ErrorKind::NotFound => "create its directory first",
        std::io::ErrorKind::PermissionDenied => {
            "it belongs to another user: choose another path, or ask for access"
        }
        std::io::ErrorKind::StorageFull => "the disk is full: make room",
        std::io::ErrorKind::ReadOnlyFilesystem => "nothing can be written there: choose another path",
        std::io::ErrorKind::AlreadyExists
        | std::io::ErrorKind::NotADirectory
        | std::io::ErrorKind::IsADirectory => "something else has this name: choose another path",
        _ => "the path must be writable",
    };
    Fault::new(format_args!("cannot write `{}`: {why}", path.display())).hint(hint)
}

/// The system's randomness.
pub fn ring_random() -> ring::rand::SystemRandom {
    ring::rand::SystemRandom::new()
}

/// Seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
