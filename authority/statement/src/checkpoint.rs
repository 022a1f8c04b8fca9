//! Checkpoints: the log key's signature over one size of the tree, as a C2SP `signed-note` with the `tlog-checkpoint` text (origin, size,
//! root hash). The log key only orders; it vouches for no context.

use crate::tiles::{MAX_TREE_SIZE, TreeHash};
use ring::rand::SecureRandom;
use ring::signature::KeyPair as _;
use semgate_certs::{KeyFault, PublicKey, SignatureAlgorithm, SigningKey};
use signed_note::{
    Note, NoteError, SignerError, StandardSigner, StandardVerifier, VerifierError, VerifierList,
};
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The longest signed note accepted: a checkpoint with one signature has under 400 bytes; witnesses may add some.
pub const MAX_CHECKPOINT_BYTES: usize = 16 * 1024;

/// Signature type of Ed25519 in a note key (C2SP signed-note).
const ED25519: u8 = 1;

/// One size of the log and its root hash, under one origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    /// The log's name, for example `semgate.test/log`.
    pub origin: String,
    /// Entries in the tree.
    pub size: u64,
    /// Root hash of the tree.
    pub root: TreeHash,
}

/// Reason for refusing a checkpoint or a log key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckpointFault {
    /// Not a signed note, or its text is not a checkpoint without extension lines.
    Malformed,
    /// Longer than [`MAX_CHECKPOINT_BYTES`], or a tree past [`MAX_TREE_SIZE`].
    TooLarge,
    /// No signature by the configured log key, or a wrong one.
    Signature,
    /// The origin is not the configured one.
    Origin,
    /// The key text is not a note key for Ed25519.
    Key,
    /// A note key whose id does not match its name and key (C2SP signed-note): one of the three was mistyped.
    KeyId,
    /// The random source failed.
    Random,
    /// A log key did not sign.
    Signer(KeyFault),
}

impl fmt::Display for CheckpointFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CheckpointFault::Malformed => "not a signed checkpoint",
            CheckpointFault::TooLarge => "checkpoint or tree larger than the limit",
            CheckpointFault::Signature => "checkpoint is not signed by the configured log key",
            CheckpointFault::Origin => "checkpoint of another origin",
            CheckpointFault::Key => "not an Ed25519 note key",
            CheckpointFault::KeyId => "note key whose id does not match its name and key",
            CheckpointFault::Random => "the source of randomness failed for a log key",
            CheckpointFault::Signer(fault) => return write!(f, "the log key did not sign: {fault}"),
        })
    }
}

impl std::error::Error for CheckpointFault {}

/// The signing key of a log, named after the origin. It lies in a device, or in a file with the one-line text form
/// `PRIVATE+KEY+<name>+<id>+<base64>`.
#[derive(Clone)]
pub struct LogKey {
    /// The text form; none for a key in a device.
    text: Option<String>,
    verifier: LogVerifier,
    /// The key, and those that also sign while the log changes its key.
    signers: Vec<NoteKey>,
}

/// An Ed25519 key with its name and id in notes.
#[derive(Clone)]
struct NoteKey {
    name: String,
    id: u32,
    key: Arc<dyn SigningKey>,
}

impl NoteKey {
    /// A signature line of a note (C2SP signed-note).
    fn line(&self, text: &[u8]) -> Result<String, CheckpointFault> {
        let signature = self.key.sign_undrawn(text).map_err(CheckpointFault::Signer)?;
        let signature = [self.id.to_be_bytes().as_slice(), &signature].concat();
        Ok(format!("\u{2014} {} {}\n", self.name, semgate_certs::encoding::to_base64(&signature)))
    }
}

/// An Ed25519 key in memory, from a note key file.
struct SeedKey {
    pair: ring::signature::Ed25519KeyPair,
    public: PublicKey,
}

impl SeedKey {
    fn new(seed: &[u8]) -> Result<SeedKey, CheckpointFault> {
        let pair =
            ring::signature::Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| CheckpointFault::Key)?;
        let public = PublicKey::from_raw(SignatureAlgorithm::Ed25519, pair.public_key().as_ref());
        Ok(SeedKey { public: public.map_err(|_| CheckpointFault::Key)?, pair })
    }
}

impl fmt::Debug for SeedKey {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl SigningKey for SeedKey {
    fn public(&self) -> &PublicKey {
        &self.public
    }

    fn sign(&self, _: &dyn SecureRandom, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        self.sign_undrawn(message)
    }

    fn sign_undrawn(&self, message: &[u8]) -> Result<[u8; 64], KeyFault> {
        self.pair.sign(message).as_ref().try_into().map_err(|_| KeyFault::UnsupportedPublicKey)
    }

    fn pem(&self) -> Option<String> {
        None
    }
}

impl LogKey {
    /// Draws a new Ed25519 key for the log named `origin`. An origin that is empty or holds white space or `+`
    /// is [`CheckpointFault::Key`].
    pub fn generate(origin: &str, random: &dyn SecureRandom) -> Result<LogKey, CheckpointFault> {
        let mut seed = [0u8; 32];
        random.fill(&mut seed).map_err(|_| CheckpointFault::Random)?;
        LogKey::from_seed(origin, &seed)
    }

    /// The key with a given 32-byte Ed25519 seed: for test vectors, and for keys made elsewhere.
    pub fn from_seed(origin: &str, seed: &[u8; 32]) -> Result<LogKey, CheckpointFault> {
        let key = SeedKey::new(seed)?;
        let public = [&[ED25519], key.public.raw()].concat();
        let id = signed_note::key_id(origin, &public);
        let secret = [&[ED25519], seed.as_slice()].concat();
        LogKey::from_text(&format!(
            "PRIVATE+KEY+{origin}+{id:08x}+{}",
            semgate_certs::encoding::to_base64(&secret)
        ))
    }

    /// The Ed25519 key of the log named `origin`, wherever it lies. [`CheckpointFault::Key`] for a key of another algorithm.
    pub fn of_key(origin: &str, key: Arc<dyn SigningKey>) -> Result<LogKey, CheckpointFault> {
        if key.public().algorithm() != SignatureAlgorithm::Ed25519 {
            return Err(CheckpointFault::Key);
        }
        let public = [&[ED25519], key.public().raw()].concat();
        let id = signed_note::key_id(origin, &public);
        let vkey = format!("{origin}+{id:08x}+{}", semgate_certs::encoding::to_base64(&public));
        let verifier = LogVerifier::parse(&vkey)?;
        let signers = vec![NoteKey { name: origin.to_owned(), id, key }];
        Ok(LogKey { text: None, verifier, signers })
    }

    /// Reads the text form; white space around it is dropped.
    pub fn from_text(text: &str) -> Result<LogKey, CheckpointFault> {
        let text = text.trim();
        let signer = StandardSigner::new(text).map_err(|fault| match fault {
            SignerError::Id => CheckpointFault::KeyId,
            _ => CheckpointFault::Key,
        })?;
        // The key is base64, which may contain a `+` too.
        let key = text.splitn(5, '+').nth(4).ok_or(CheckpointFault::Key)?;
        let secret = semgate_certs::encoding::from_base64(key).ok_or(CheckpointFault::Key)?;
        let (_, seed) = secret.split_first().ok_or(CheckpointFault::Key)?;
        let name = signed_note::Signer::name(&signer);
        let key = LogKey::of_key(name, Arc::new(SeedKey::new(seed)?))?;
        Ok(LogKey { text: Some(text.to_owned()), ..key })
    }

    /// Adds another key of the same log that also signs: readers that know either of them accept the checkpoint. Checkpoints that either
    /// signed before belong to this log. [`CheckpointFault::Key`] for a key of another name.
    pub fn with_second_key(mut self, other: LogKey) -> Result<LogKey, CheckpointFault> {
        self.verifier =
            LogVerifier::any_of(vec![self.verifier, other.verifier]).ok_or(CheckpointFault::Key)?;
        self.text = None;
        self.signers.extend(other.signers);
        Ok(self)
    }

    /// The text form of a single key in a file; none for several keys, or for one in a device. Keep it secret, mode 0600.
    pub fn to_text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The verifier key for followers.
    pub fn verifier(&self) -> &LogVerifier {
        &self.verifier
    }

    /// Signs one size of the tree; Ed25519 is deterministic, so equal input gives equal bytes. [`CheckpointFault::Signer`] if a key did not
    /// sign: there is no checkpoint then.
    pub fn sign(&self, size: u64, root: TreeHash) -> Result<String, CheckpointFault> {
        let origin = self.verifier.name();
        let text = tlog_tiles::Checkpoint::new(origin, size, tlog_tiles::Hash(root.0), "")
            .map_err(|_| CheckpointFault::Malformed)?
            .to_bytes();
        let mut note = String::from_utf8(text.clone()).map_err(|_| CheckpointFault::Malformed)?;
        note.push('\n');
        for signer in &self.signers {
            note.push_str(&signer.line(&text)?);
        }
        Ok(note)
    }
}

impl fmt::Debug for LogKey {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogKey({})", self.verifier)
    }
}

/// The verifier key of a log: `<name>+<id>+<base64>` (C2SP signed-note, "vkey"). While a log changes its key it holds several of one name;
/// one of them must have signed.
#[derive(Clone)]
pub struct LogVerifier {
    text: String,
    verifier: StandardVerifier,
    others: Vec<StandardVerifier>,
}

impl LogVerifier {
    /// Reads a `vkey`; only Ed25519 is accepted, and the id must be that of name and key.
    ///
    /// Several keys of one name, separated by spaces, mean any of these ([`LogVerifier::any_of`]).
    pub fn parse(vkey: &str) -> Result<LogVerifier, CheckpointFault> {
        let vkey = vkey.trim();
        if vkey.contains(' ') {
            let keys = vkey.split(' ').map(LogVerifier::parse).collect::<Result<_, _>>()?;
            return LogVerifier::any_of(keys).ok_or(CheckpointFault::Key);
        }
        let verifier = StandardVerifier::new(vkey).map_err(|fault| match fault {
            VerifierError::Id => CheckpointFault::KeyId,
            _ => CheckpointFault::Key,
        })?;
        // the id may be in capitals, but a key has only one text here
        let id = signed_note::Verifier::key_id(&verifier);
        let key = vkey.splitn(3, '+').nth(2).ok_or(CheckpointFault::Key)?;
        let text = format!("{}+{id:08x}+{key}", signed_note::Verifier::name(&verifier));
        Ok(LogVerifier { text, verifier, others: Vec::new() })
    }

    /// The text of each key.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.text.split(' ')
    }

    /// Any of these keys, which must share a name; none if the list is empty or the names differ.
    pub fn any_of(keys: Vec<LogVerifier>) -> Option<LogVerifier> {
        let mut keys = keys.into_iter();
        let mut all = keys.next()?;
        for key in keys {
            if key.name() != all.name() {
                return None;
            }
            if !all.text.split(' ').any(|text| text == key.text) {
                all.text = format!("{} {}", all.text, key.text);
                all.others.push(key.verifier);
                all.others.extend(key.others);
            }
        }
        Some(all)
    }

    /// The name in the key: the log's origin.
    pub fn name(&self) -> &str {
        signed_note::Verifier::name(&self.verifier)
    }
}

impl fmt::Display for LogVerifier {
    /// The `vkey` text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for LogVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogVerifier({})", self.text)
    }
}

impl PartialEq for LogVerifier {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for LogVerifier {}

impl Checkpoint {
    /// Verifies a signed note: signed by `key`, of `origin`, within the bounds. Signatures by other keys
    /// (witnesses) are ignored; extension lines are refused.
    pub fn verify(note: &[u8], key: &LogVerifier, origin: &str) -> Result<Checkpoint, CheckpointFault> {
        if note.len() > MAX_CHECKPOINT_BYTES {
            return Err(CheckpointFault::TooLarge);
        }
        let note = Note::from_bytes(note).map_err(|_| CheckpointFault::Malformed)?;
        let keys = std::iter::once(&key.verifier).chain(&key.others);
        let known = VerifierList::new(
            keys.map(|key| -> Box<dyn signed_note::Verifier> { Box::new(key.clone()) }).collect(),
        );
        note.verify(&known).map_err(|fault| match fault {
            NoteError::UnverifiedNote | NoteError::InvalidSignature { .. } => CheckpointFault::Signature,
            _ => CheckpointFault::Malformed,
        })?;
        let text = tlog_tiles::Checkpoint::from_bytes(note.text()).map_err(|_| CheckpointFault::Malformed)?;
        if !text.extension().is_empty() || text.to_bytes() != note.text() {
            return Err(CheckpointFault::Malformed);
        }
        if text.origin() != origin {
            return Err(CheckpointFault::Origin);
        }
        if text.size() > MAX_TREE_SIZE {
            return Err(CheckpointFault::TooLarge);
        }
        let root = TreeHash(text.hash().0);
        if text.size() == 0 && root != TreeHash::EMPTY {
            return Err(CheckpointFault::Malformed);
        }
        Ok(Checkpoint { origin: origin.to_owned(), size: text.size(), root })
    }
}
