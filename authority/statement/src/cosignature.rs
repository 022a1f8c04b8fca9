//! Cosignatures: a witness signs that a checkpoint continues every earlier one of this log that it saw (C2SP `tlog-cosignature`, Ed25519,
//! `cosignature/v1`). A split view needs as many lying witnesses as its readers demand.

use crate::checkpoint::MAX_CHECKPOINT_BYTES;
use ring::rand::SecureRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use semgate_certs::encoding::{from_base64, to_base64};
use std::fmt;

#[cfg(test)]
mod tests;

/// Signature type of a cosignature by Ed25519 in a note key (C2SP tlog-cosignature).
const COSIGNATURE_V1: u8 = 4;
/// Start of each signature line of a note (C2SP signed-note).
const LINE: &str = "\u{2014} ";
/// The most witnesses in one quorum: each line takes about 120 bytes of a checkpoint of 16 KiB.
pub const MAX_WITNESSES: usize = 64;

/// Reason for refusing cosignatures or their keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CosignatureFault {
    /// Not a note key of type 4.
    Key,
    /// A note key whose id does not match its name and key (C2SP signed-note): one of the three was mistyped.
    KeyId,
    /// Not a signed note, or longer than a checkpoint may be.
    Malformed,
    /// Fewer of the configured witnesses cosigned than demanded.
    Missing {
        /// Witnesses demanded.
        need: usize,
        /// Witnesses with a valid cosignature.
        have: usize,
    },
    /// A quorum larger than its witnesses, two witnesses with one key, or more than [`MAX_WITNESSES`].
    Quorum,
    /// The random source failed.
    Random,
}

impl fmt::Display for CosignatureFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CosignatureFault::Key => f.write_str("not an Ed25519 cosigner's note key"),
            CosignatureFault::KeyId => f.write_str("note key whose id does not match its name and key"),
            CosignatureFault::Malformed => f.write_str("not a signed checkpoint"),
            CosignatureFault::Missing { need, have } => {
                write!(f, "cosigned by {have} of the configured witnesses, {need} are demanded")
            }
            CosignatureFault::Quorum => {
                f.write_str("a quorum larger than the number of witnesses, or two witnesses with one key")
            }
            CosignatureFault::Random => f.write_str("the source of randomness failed for a cosigner's key"),
        }
    }
}

impl std::error::Error for CosignatureFault {}

/// The key of a witness. Its text form is that of a log key with type 4: `PRIVATE+KEY+<name>+<id>+<base64 of 0x04 and the seed>`.
pub struct CosignerKey {
    text: String,
    pair: Ed25519KeyPair,
    verifier: CosignerVerifier,
}

impl CosignerKey {
    /// Draws a new key for the witness named `name`.
    pub fn generate(name: &str, random: &dyn SecureRandom) -> Result<CosignerKey, CosignatureFault> {
        let mut seed = [0_u8; 32];
        random.fill(&mut seed).map_err(|_| CosignatureFault::Random)?;
        CosignerKey::from_seed(name, &seed)
    }

    /// The key with a given 32-byte Ed25519 seed. The seed must belong to no other cosigner and to no log: the signed message does not name
    /// its signer.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<CosignerKey, CosignatureFault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| CosignatureFault::Key)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| CosignatureFault::Key)?;
        let verifier = CosignerVerifier::new(name, public)?;
        let secret = to_base64([&[COSIGNATURE_V1], seed.as_slice()].concat());
        let text = format!("PRIVATE+KEY+{name}+{:08x}+{secret}", verifier.id);
        Ok(CosignerKey { text, pair, verifier })
    }

    /// Reads the text form; white space around it is dropped.
    pub fn from_text(text: &str) -> Result<CosignerKey, CosignatureFault> {
        let mut parts = text.trim().strip_prefix("PRIVATE+KEY+").ok_or(CosignatureFault::Key)?.splitn(3, '+');
        let (name, _, secret) = (parts.next(), parts.next(), parts.next());
        let secret = secret.and_then(from_base64).ok_or(CosignatureFault::Key)?;
        let seed = secret.strip_prefix(&[COSIGNATURE_V1]).ok_or(CosignatureFault::Key)?;
        let seed: &[u8; 32] = seed.try_into().map_err(|_| CosignatureFault::Key)?;
        let key = CosignerKey::from_seed(name.unwrap_or_default(), seed)?;
        if key.text == text.trim() { Ok(key) } else { Err(CosignatureFault::KeyId) }
    }

    /// The text form. Keep it secret, mode 0600.
    pub fn to_text(&self) -> &str {
        &self.text
    }

    /// The verifier key for others to configure.
    pub fn verifier(&self) -> &CosignerVerifier {
        &self.verifier
    }

    /// One signature line, with its end, for the text of a checkpoint at `time`, in seconds since the epoch.
    pub fn cosign(&self, text: &str, time: u64) -> String {
        let signature = self.pair.sign(&message(text, time));
        let id = self.verifier.id.to_be_bytes();
        let all = [id.as_slice(), &time.to_be_bytes(), signature.as_ref()].concat();
        format!("{LINE}{} {}\n", self.verifier.name, to_base64(&all))
    }
}

impl fmt::Debug for CosignerKey {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CosignerKey({})", self.verifier)
    }
}

fn message(text: &str, time: u64) -> Vec<u8> {
    format!("cosignature/v1\ntime {time}\n{text}").into_bytes()
}

/// The verifier key of a witness: `<name>+<id>+<base64 of 0x04 and the public key>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CosignerVerifier {
    name: String,
    id: u32,
    key: [u8; 32],
}

impl CosignerVerifier {
    fn new(name: &str, key: [u8; 32]) -> Result<CosignerVerifier, CosignatureFault> {
        if !signed_note::is_key_name_valid(name) || name.len() > 200 {
            return Err(CosignatureFault::Key);
        }
        let id = signed_note::key_id(name, &[&[COSIGNATURE_V1], key.as_slice()].concat());
        Ok(CosignerVerifier { name: name.to_owned(), id, key })
    }

    /// Reads a `vkey`; only type 4 is accepted, and the id must be that of name and key.
    pub fn parse(vkey: &str) -> Result<CosignerVerifier, CosignatureFault> {
        let mut parts = vkey.trim().splitn(3, '+');
        let (name, _, key) = (parts.next(), parts.next(), parts.next());
        let key = key.and_then(from_base64).ok_or(CosignatureFault::Key)?;
        let key = key.strip_prefix(&[COSIGNATURE_V1]).ok_or(CosignatureFault::Key)?;
        let key = key.try_into().map_err(|_| CosignatureFault::Key)?;
        let verifier = CosignerVerifier::new(name.unwrap_or_default(), key)?;
        if verifier.to_string() == vkey.trim() { Ok(verifier) } else { Err(CosignatureFault::KeyId) }
    }

    /// The name of the witness.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The time of its cosignature on this text, from one of these lines; none if there is none.
    fn time_of(&self, text: &str, lines: &str) -> Option<u64> {
        lines.lines().find_map(|line| {
            let (name, signature) = line.strip_prefix(LINE)?.split_once(' ')?;
            let bytes = from_base64(signature).filter(|_| name == self.name)?;
            let (id, rest) = bytes.split_first_chunk::<4>()?;
            let (time, signature) = rest.split_first_chunk::<8>()?;
            let time = u64::from_be_bytes(*time);
            if *id != self.id.to_be_bytes() || i64::try_from(time).is_err() {
                return None;
            }
            let key = UnparsedPublicKey::new(&ED25519, &self.key);
            key.verify(&message(text, time), signature).ok().map(|()| time)
        })
    }

    /// The line of `answer` with this witness's cosignature on a checkpoint's text, as [`CosignerKey::cosign`] writes it. It must be dated
    /// `latest` (seconds since the epoch) or before, as [`Quorum::judge`] asks. Skips lines of others, invalid ones and later ones (C2SP
    /// tlog-witness, "add-checkpoint").
    pub fn line_in(&self, text: &str, answer: &str, latest: u64) -> Option<String> {
        let counts = |line: &&str| self.time_of(text, line).is_some_and(|time| time <= latest);
        let line = answer.lines().find(counts)?;
        Some(format!("{line}\n"))
    }
}

impl fmt::Display for CosignerVerifier {
    /// The `vkey` text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = to_base64([&[COSIGNATURE_V1], self.key.as_slice()].concat());
        write!(f, "{}+{:08x}+{key}", self.name, self.id)
    }
}

/// Witnesses, and the number of them that a checkpoint needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quorum {
    witnesses: Vec<CosignerVerifier>,
    need: usize,
}

impl Quorum {
    /// Demands `need` of these witnesses. Refuses one key under two names, which would count twice.
    pub fn new(witnesses: Vec<CosignerVerifier>, need: usize) -> Result<Quorum, CosignatureFault> {
        let keys: std::collections::BTreeSet<[u8; 32]> = witnesses.iter().map(|w| w.key).collect();
        if need > witnesses.len() || keys.len() != witnesses.len() || witnesses.len() > MAX_WITNESSES {
            return Err(CosignatureFault::Quorum);
        }
        Ok(Quorum { witnesses, need })
    }

    /// The number demanded; 0 demands none.
    pub fn need(&self) -> usize {
        self.need
    }

    /// The witnesses.
    pub fn witnesses(&self) -> &[CosignerVerifier] {
        &self.witnesses
    }

    /// Guarantees that enough of the witnesses cosigned a signed note, none of them later than `latest` (seconds since the epoch). Returns
    /// their number. Does not check the log's own signature.
    ///
    /// Errors: [`CosignatureFault::Malformed`], [`CosignatureFault::Missing`].
    pub fn judge(&self, note: &str, latest: u64) -> Result<usize, CosignatureFault> {
        let (text, lines) = split(note)?;
        let held = |w: &&CosignerVerifier| w.time_of(text, lines).is_some_and(|time| time <= latest);
        let have = self.witnesses.iter().filter(held).count();
        if have < self.need { Err(CosignatureFault::Missing { need: self.need, have }) } else { Ok(have) }
    }
}

/// The text of a signed note, with its final line break, and its signature lines.
pub fn split(note: &str) -> Result<(&str, &str), CosignatureFault> {
    if note.len() > MAX_CHECKPOINT_BYTES {
        return Err(CosignatureFault::Malformed);
    }
    let at = note.rfind("\n\n").ok_or(CosignatureFault::Malformed)?;
    let text = note.get(..at + 1).ok_or(CosignatureFault::Malformed)?;
    let lines = note.get(at + 2..).filter(|lines| lines.ends_with('\n'));
    Ok((text, lines.ok_or(CosignatureFault::Malformed)?))
}
