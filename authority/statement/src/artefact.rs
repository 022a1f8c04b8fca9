//! Signed files of an operator's own publisher: policy bundles and models of scores. One signer vouches for one payload under a rising
//! version. What the payload means is its reader's business.

use crate::format::FormatFault;
use crate::jws::{General, JwsFault};
use semgate_certs::{Roots, SpiffeId, Thumbprint, Usage};
use semgate_contexts::Digest;
use std::fmt;

/// Seconds that an artefact may be dated ahead of the verifier's clock: the same as for heads.
pub const MAX_AHEAD: u64 = 60;

/// The rules of a verifier. All of it is configured; nothing comes from the artefact.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'r> {
    /// `typ` of the protected header.
    pub typ: &'r str,
    /// Roots of the signers' chains.
    pub roots: &'r Roots,
    /// Accepted signers.
    pub signers: &'r [SpiffeId],
    /// The largest artefact, in bytes: read into memory before its signature is checked.
    pub max_bytes: usize,
}

/// A payload that an accepted signer vouched for.
#[derive(Clone, Debug)]
pub(crate) struct Vouched {
    /// The payload; nothing of it was read.
    pub payload: Vec<u8>,
    /// The signer's id.
    pub signer: SpiffeId,
    /// The signer's certificate.
    pub key: Thumbprint,
    /// The last second at which the chain is valid.
    pub not_after: u64,
}

/// The version of an artefact, which rises with each replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edition {
    /// Rises with each replacement.
    pub version: u64,
    /// When it was made, in seconds since the Unix epoch.
    pub issued_at: u64,
    /// Digest of the content.
    pub digest: Digest,
}

/// Reason for refusing an artefact, whatever its payload. Holds nothing of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtefactFault {
    /// Framing, chain or signature.
    Jws(JwsFault),
    /// The signer is not an accepted one.
    Signer(String),
    /// The version is older than an accepted one.
    VersionOld {
        /// The version of the artefact.
        version: u64,
        /// The newest accepted version.
        newest: u64,
    },
    /// The version belongs to another content that was accepted.
    VersionReused(u64),
    /// It is dated in the future.
    Ahead,
}

impl ArtefactFault {
    /// A short stable name for records and specifications, such as `version_old`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Jws(JwsFault::Chain(chain)) => chain.as_str(),
            Self::Jws(JwsFault::Format(FormatFault::TooLarge)) => "too_large",
            Self::Jws(other) => other.as_str(),
            Self::Signer(_) => "signer",
            Self::VersionOld { .. } => "version_old",
            Self::VersionReused(_) => "version_reused",
            Self::Ahead => "ahead",
        }
    }
}

impl fmt::Display for ArtefactFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Jws(fault) => fault.fmt(f),
            Self::Signer(id) => write!(f, "`{id}` is not a configured signer"),
            Self::VersionOld { version, newest } => {
                write!(f, "version {version} is older than {newest}, which was live before")
            }
            Self::VersionReused(version) => {
                write!(f, "version {version} was live before with another content")
            }
            Self::Ahead => f.write_str("it was made in the future"),
        }
    }
}

impl std::error::Error for ArtefactFault {}

impl From<JwsFault> for ArtefactFault {
    fn from(fault: JwsFault) -> Self {
        Self::Jws(fault)
    }
}

/// Verifies the signature of an artefact at a time, and who made it. The signer's certificate has the usage `policy`.
///
/// # Errors
/// [`ArtefactFault::Jws`] or [`ArtefactFault::Signer`].
pub(crate) fn open(bytes: &[u8], rules: &Rules<'_>, at: u64) -> Result<Vouched, ArtefactFault> {
    let jws = General::read(bytes, rules.typ, rules.roots, rules.max_bytes)?;
    let key = jws.key();
    let (payload, leaf) = jws.verify(rules.roots, Usage::Policy, at)?;
    let signer = leaf.spiffe().map_err(|_| ArtefactFault::Signer(String::new()))?;
    if !rules.signers.contains(&signer) {
        return Err(ArtefactFault::Signer(signer.as_str().to_owned()));
    }
    Ok(Vouched { payload, signer, key, not_after: leaf.not_after() })
}

impl Edition {
    /// Refuses an edition of the future.
    ///
    /// # Errors
    /// [`ArtefactFault::Ahead`]
    pub(crate) fn is_made(self, at: u64) -> Result<(), ArtefactFault> {
        if self.issued_at > at.saturating_add(MAX_AHEAD) { Err(ArtefactFault::Ahead) } else { Ok(()) }
    }

    /// Refuses an edition before the newest accepted one, and another content under its version.
    ///
    /// # Errors
    /// [`ArtefactFault::VersionOld`] or [`ArtefactFault::VersionReused`].
    pub(crate) fn follows(self, newest: Option<(u64, Digest)>) -> Result<(), ArtefactFault> {
        match newest {
            Some((newest, _)) if self.version < newest => {
                Err(ArtefactFault::VersionOld { version: self.version, newest })
            }
            Some((newest, digest)) if self.version == newest && self.digest != digest => {
                Err(ArtefactFault::VersionReused(newest))
            }
            _ => Ok(()),
        }
    }
}
