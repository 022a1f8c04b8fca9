//! Sealed endpoints of Human Cards (F1-05): a copy of the directory tells nobody where a person is reached.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use semgate_approvals::{HumanCard, HumanId};

use crate::fault::RunFault;

/// Prefix of a sealed value. The rest is base64url of nonce, ciphertext and tag.
const SEALED: &str = "enc:v1:";
/// Bytes of a key.
const KEY: usize = 32;

/// The key of sealed endpoints: AES-256-GCM. Id and channel are bound in, so a value counts in its own place only.
pub struct CardKey(LessSafeKey);

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardKey")
    }
}

impl CardKey {
    /// Reads a key file: base64url of 32 bytes.
    ///
    /// # Errors
    /// An unreadable file, or another content.
    pub fn open(path: &Path) -> Result<Self, RunFault> {
        let text = std::fs::read_to_string(path).map_err(|why| fault(path, &why))?;
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok().filter(|bytes| bytes.len() == KEY);
        let bytes = bytes.ok_or_else(|| fault(path, &"it is not base64url of 32 bytes"))?;
        Self::of(&bytes).ok_or_else(|| fault(path, &"it is no key"))
    }

    /// Writes a new key file (0600). Replaces nothing.
    ///
    /// # Errors
    /// The file exists or cannot be written, or the system has no randomness.
    pub fn create(path: &Path) -> Result<Self, RunFault> {
        let mut bytes = [0; KEY];
        SystemRandom::new().fill(&mut bytes).map_err(|_| fault(path, &"the system has no randomness"))?;
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(path);
        let written = file.and_then(|mut file| {
            writeln!(file, "{}", URL_SAFE_NO_PAD.encode(bytes))?;
            file.sync_all()
        });
        written.map_err(|why| fault(path, &why))?;
        Self::of(&bytes).ok_or_else(|| fault(path, &"it is no key"))
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        UnboundKey::new(&AES_256_GCM, bytes).ok().map(|key| Self(LessSafeKey::new(key)))
    }

    /// Seals an address of a person at a channel.
    ///
    /// # Errors
    /// The system has no randomness.
    pub fn seal(&self, id: &HumanId, channel: &str, address: &str) -> Result<String, RunFault> {
        let fault = |_| RunFault::system("card key", "the system has no randomness");
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(fault)?;
        let mut sealed = address.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(unique, aad(id, channel), &mut sealed).map_err(fault)?;
        Ok(format!("{SEALED}{}", URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())))
    }

    /// Opens a sealed value. None if this key did not seal it for this person and channel.
    fn unseal(&self, id: &HumanId, channel: &str, value: &str) -> Option<String> {
        let bytes = URL_SAFE_NO_PAD.decode(value.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let opened = self.0.open_in_place(nonce, aad(id, channel), &mut sealed).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

/// Returns true for a sealed value.
pub fn is_sealed(value: &str) -> bool {
    value.starts_with(SEALED)
}

/// The address of a person at a channel, opened if it is sealed. None without an address, and if the key does not open it.
pub(crate) fn address(key: Option<&CardKey>, card: &HumanCard, channel: &str) -> Option<String> {
    let value = card.endpoints.get(channel)?;
    if is_sealed(value) { key?.unseal(&card.id, channel, value) } else { Some(value.clone()) }
}

fn aad(id: &HumanId, channel: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("{id}\n{channel}").into_bytes())
}

fn fault(path: &Path, why: &dyn fmt::Display) -> RunFault {
    RunFault::File { path: path.to_owned(), what: "card key", why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_address_opens_for_its_own_person_and_channel_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cards.key");
        let key = CardKey::create(&path).unwrap();
        let (bob, alice) =
            (HumanId::parse("human://bob.sre").unwrap(), HumanId::parse("human://alice.eng").unwrap());
        let sealed = key.seal(&bob, "slack", "https://hooks.test/secret").unwrap();
        assert!(is_sealed(&sealed) && !sealed.contains("hooks"));
        let key = CardKey::open(&path).unwrap();
        assert_eq!(key.unseal(&bob, "slack", &sealed).unwrap(), "https://hooks.test/secret");
        assert_eq!(key.unseal(&bob, "email", &sealed), None);
        assert_eq!(key.unseal(&alice, "slack", &sealed), None);
        let mut other = sealed.clone().into_bytes();
        let last = other.len() - 2;
        other[last] = if other[last] == b'A' { b'B' } else { b'A' };
        assert_eq!(key.unseal(&bob, "slack", &String::from_utf8(other).unwrap()), None);
        assert_ne!(key.seal(&bob, "slack", "https://hooks.test/secret").unwrap(), sealed);
        assert!(CardKey::create(&path).is_err());
    }
}
