//! What every command asks of the machine: files, the clock, randomness.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use semgate_certs::{ChainLimits, Roots, SigningKey};

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
    fs::read_to_string(path).map_err(|why| unreadable(path, &why))
}

/// Reads a file, whatever is in it.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Fault> {
    fs::read(path).map_err(|why| unreadable(path, &why))
}

fn unreadable(path: &Path, why: &std::io::Error) -> Fault {
    let hint = match why.kind() {
        std::io::ErrorKind::NotFound => "is this its name, seen from the directory that you are in?",
        std::io::ErrorKind::PermissionDenied => {
            "it belongs to somebody else: ask for it, or use a copy of your own"
        }
        std::io::ErrorKind::IsADirectory => "name the file within it",
        std::io::ErrorKind::InvalidData => "a text was expected, in UTF-8",
        _ => "it has to be a file that can be read",
    };
    Fault::new(format_args!("cannot read `{}`: {why}", path.display())).hint(hint)
}

/// The key at a place: a PEM file, or a `pkcs11:` URI of a device. Of a URI nothing is repeated, for people write PINs into them.
///
/// # Errors
/// It is not there, or is none.
pub fn signing_key(place: &str) -> Result<Arc<dyn SigningKey>, Fault> {
    semgate_authority::signing_key(place).doing(format_args!("key `{}`", shown(place)))
}

fn shown(place: &str) -> &str {
    if in_device(place) { "pkcs11:…" } else { place }
}

/// Whether a key's place is the URI of a device, or was meant to be.
pub fn in_device(place: &str) -> bool {
    place.split_once(':').is_some_and(|(scheme, _)| scheme.trim().eq_ignore_ascii_case("pkcs11"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_in_the_uri_of_a_key_is_refused_without_being_repeated() {
        for place in
            ["pkcs11:object=k?pin-value=1234", "pkcs11:object=k;pin-value=1234", " PKCS11:pin-value=1234"]
        {
            let fault = signing_key(place).map(|_| ()).unwrap_err().to_string();
            assert!(fault.contains("key `pkcs11:…`: ") && !fault.contains("1234"), "{fault}");
        }
        let fault = signing_key("pkcs11:object=k?module-path=/m&pin-value=1234").map(|_| ()).unwrap_err();
        assert!(fault.to_string().contains("give `pin-source`, not `pin-value`"), "{fault}");
        assert_eq!(shown("keys/a:b.key"), "keys/a:b.key");
    }
}
