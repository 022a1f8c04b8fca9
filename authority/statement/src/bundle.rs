//! A policy set as one signed file (`docs/spec/policy-bundle.md`), in a general JWS of a policy signer. It holds names, lengths, hashes and
//! texts of its files under a rising version.
//!
//! The meaning of a set is not judged here: readers get names and bytes, and the signer.

use crate::artefact::{self, ArtefactFault, Edition, Rules};
use crate::format::{FormatFault, Members, limits, write};
use crate::jws::{General, JwsFault, SignFault, SigningIdentity};
use ring::rand::SecureRandom;
use semgate_certs::{ChainFault, Roots, SpiffeId, Thumbprint};
use semgate_contexts::json::{self, Json};
use semgate_contexts::{Digest, json::Fault};
use std::fmt;

#[cfg(test)]
mod tests;

/// `typ` of a policy bundle.
pub const TYP: &str = "policy-bundle+jws";
pub use crate::artefact::MAX_AHEAD;
/// The longest file name that file systems take.
const MAX_NAME: usize = 255;

/// The content of a bundle. Of a bundle that was read, only [`verify`] returns one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Rises with each replacement.
    pub version: u64,
    /// When it was made, in seconds since the Unix epoch.
    pub issued_at: u64,
    /// The digest of the set, as its readers compute it.
    pub digest: Digest,
    /// Name and text of each file, sorted by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// Name and version of the solver that analysed the set without a fault, such as `z3 5.4.1`; none where nobody analysed it.
    pub analysed: Option<String>,
}

/// The rules of a verifier. All of it is configured or remembered; nothing comes from the bundle.
#[derive(Clone, Copy, Debug)]
pub struct BundleRules<'r> {
    /// Roots of the signers' chains.
    pub roots: &'r Roots,
    /// Accepted signers.
    pub signers: &'r [SpiffeId],
    /// Version and digest of the newest accepted bundle.
    pub newest: Option<(u64, Digest)>,
    /// The largest bundle, in bytes: read into memory before its signature is checked.
    pub max_bytes: usize,
    /// The most files.
    pub max_files: usize,
    /// Refuse a bundle whose set was not analysed.
    pub require_analysed: bool,
}

/// A verified bundle and its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedBundle {
    /// The bundle.
    pub bundle: Bundle,
    /// The signer's id.
    pub signer: SpiffeId,
    /// The signer's certificate.
    pub key: Thumbprint,
    /// The last second at which the chain is valid.
    pub not_after: u64,
}

/// Reason for refusing a bundle. Holds nothing of its content but valid names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BundleFault {
    /// Framing, chain or signature.
    Jws(JwsFault),
    /// The signer is not an accepted one.
    Signer(String),
    /// The manifest is malformed.
    Format(FormatFault),
    /// A name is not a single component of the allowed letters.
    Name,
    /// A name occurs twice.
    Duplicate(String),
    /// The names are not sorted.
    Order,
    /// There are more files than the limit.
    TooManyFiles,
    /// A text has another length than the manifest says.
    Length(String),
    /// A text has another hash than the manifest says.
    Hash(String),
    /// The version is older than an accepted one.
    VersionOld {
        /// The version of the bundle.
        version: u64,
        /// The newest accepted version.
        newest: u64,
    },
    /// The version belongs to another set that was accepted.
    VersionReused(u64),
    /// The bundle is dated in the future.
    Ahead,
    /// Its set was not analysed, and a verifier demands that.
    NotAnalysed,
}

impl BundleFault {
    /// A short stable name for records and specifications, such as `version_old`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Jws(fault) => match fault {
                JwsFault::Chain(chain) => chain.as_str(),
                other => other.as_str(),
            },
            Self::Signer(_) => "signer",
            Self::Format(FormatFault::TooLarge) => "too_large",
            Self::Format(_) => "format",
            Self::Name => "name",
            Self::Duplicate(_) => "duplicate",
            Self::Order => "order",
            Self::TooManyFiles => "too_many_files",
            Self::Length(_) => "length",
            Self::Hash(_) => "hash",
            Self::VersionOld { .. } => "version_old",
            Self::VersionReused(_) => "version_reused",
            Self::Ahead => "ahead",
            Self::NotAnalysed => "not_analysed",
        }
    }

    /// Advice for the operator. Never one that changing the policies alone would follow.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Jws(JwsFault::Chain(
                ChainFault::Expired
                | ChainFault::NotYetValid
                | ChainFault::WrongUsage
                | ChainFault::UsageNotAlone,
            )) => {
                "sign it again with a valid certificate: `semgate cert leaf --usage policy`, then `semgate policy bundle`"
            }
            Self::Jws(JwsFault::Chain(_)) => {
                "check that `roots` certify its signer, or sign it again with a key under them: `semgate policy bundle`"
            }
            Self::Jws(JwsFault::Signature(_)) | Self::Length(_) | Self::Hash(_) => {
                "it was changed after signing, or signed by another key: sign the directory again with `semgate policy bundle`"
            }
            Self::Signer(_) => {
                "sign it with the key of one of `signers`, by `semgate policy bundle`, or add this signer to `signers`"
            }
            Self::Jws(JwsFault::TooLarge) | Self::Format(FormatFault::TooLarge) | Self::TooManyFiles => {
                "write the policies into fewer or smaller files: a bundle holds at most 1,000 files and 32 MiB"
            }
            Self::VersionOld { .. } | Self::VersionReused(_) => {
                "sign the wanted directory again with `semgate policy bundle`, which gives it a newer version"
            }
            Self::Ahead => {
                "the clock of this machine, or of the machine that signed it, is wrong: set it, and sign it again"
            }
            Self::NotAnalysed => {
                "sign it again on a machine with a solver: `semgate policy bundle --analyse`"
            }
            Self::Jws(_) | Self::Format(_) | Self::Name | Self::Duplicate(_) | Self::Order => {
                "it is not a complete file of `semgate policy bundle`: copy it again, or sign the directory again"
            }
        }
    }
}

impl fmt::Display for BundleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy bundle refused (`{}`): ", self.as_str())?;
        match self {
            Self::Jws(fault) => fault.fmt(f),
            Self::Signer(id) => write!(f, "`{id}` is not a configured signer"),
            Self::Format(fault) => fault.fmt(f),
            Self::Name => f.write_str("a file name is not one plain component"),
            Self::Duplicate(name) => write!(f, "two files are named `{name}`"),
            Self::Order => f.write_str("the files are not sorted by name"),
            Self::TooManyFiles => f.write_str("more files than the limit"),
            Self::Length(name) => write!(f, "`{name}` is not as long as the manifest says"),
            Self::Hash(name) => write!(f, "`{name}` does not have the hash of the manifest"),
            Self::VersionOld { version, newest } => {
                write!(f, "version {version} is older than {newest}, which was live before")
            }
            Self::VersionReused(version) => {
                write!(f, "version {version} was live before with another content")
            }
            Self::Ahead => f.write_str("it was made in the future"),
            Self::NotAnalysed => f.write_str("its policies were not analysed, and `require_analysed` is set"),
        }
    }
}

impl std::error::Error for BundleFault {}

impl From<JwsFault> for BundleFault {
    fn from(fault: JwsFault) -> Self {
        Self::Jws(fault)
    }
}

impl From<ArtefactFault> for BundleFault {
    fn from(fault: ArtefactFault) -> Self {
        match fault {
            ArtefactFault::Jws(fault) => Self::Jws(fault),
            ArtefactFault::Signer(id) => Self::Signer(id),
            ArtefactFault::VersionOld { version, newest } => Self::VersionOld { version, newest },
            ArtefactFault::VersionReused(version) => Self::VersionReused(version),
            ArtefactFault::Ahead => Self::Ahead,
        }
    }
}

impl From<FormatFault> for BundleFault {
    fn from(fault: FormatFault) -> Self {
        Self::Format(fault)
    }
}

/// Returns true for a single component of letters, digits, `.`, `_` and `-`, without a leading dot: it cannot lead out of its set.
fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

/// The name of a solver: 1 to 64 printable ASCII characters.
fn is_solver(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn hash(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// Signs a bundle.
///
/// # Errors
/// A name is not valid, a text is not UTF-8, the names are not sorted, or the key fails.
pub fn sign(
    bundle: &Bundle,
    identity: &SigningIdentity,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, SignFault> {
    let unfit = |member| SignFault::Payload(FormatFault::Member(member));
    let mut files = Vec::new();
    for (name, bytes) in &bundle.files {
        let text = std::str::from_utf8(bytes).map_err(|_| unfit("text"))?;
        if !is_name(name) {
            return Err(unfit("name"));
        }
        let file =
            serde_json::json!({"length": bytes.len(), "name": name, "sha256": hash(bytes), "text": text});
        files.push(file);
    }
    if !bundle.files.is_sorted_by(|(a, _), (b, _)| a < b) {
        return Err(unfit("files"));
    }
    let mut payload = serde_json::json!({
        "digest": bundle.digest.to_string(), "files": files, "issued_at": bundle.issued_at, "version": bundle.version,
    });
    if let (Some(solver), Some(members)) = (&bundle.analysed, payload.as_object_mut()) {
        if !is_solver(solver) {
            return Err(unfit("analysed"));
        }
        members.insert("analysed".to_owned(), solver.as_str().into());
    }
    General::sign(&write(&payload)?, TYP, identity, random)
}

/// Verifies a bundle at a time: first the allowed signer, then the content.
///
/// # Errors
/// See [`BundleFault`]; the first in the order of `docs/spec/policy-bundle.md`.
pub fn verify(bytes: &[u8], rules: &BundleRules<'_>, at: u64) -> Result<VerifiedBundle, BundleFault> {
    let BundleRules { roots, signers, max_bytes, .. } = *rules;
    let vouched = artefact::open(bytes, &Rules { typ: TYP, roots, signers, max_bytes }, at)?;
    let bundle = read(&vouched.payload, rules.max_files)?;
    let Bundle { version, issued_at, digest, .. } = bundle;
    let edition = Edition { version, issued_at, digest };
    edition.is_made(at)?;
    if rules.require_analysed && bundle.analysed.is_none() {
        return Err(BundleFault::NotAnalysed);
    }
    edition.follows(rules.newest)?;
    Ok(VerifiedBundle { bundle, signer: vouched.signer, key: vouched.key, not_after: vouched.not_after })
}

/// Reads the manifest of a bundle with a verified signature.
fn read(payload: &[u8], max_files: usize) -> Result<Bundle, BundleFault> {
    let json =
        json::read(payload, &limits(payload.len())).map_err(|fault: Fault| FormatFault::from(fault))?;
    let members = Members::closed(&json, &["digest", "files", "issued_at", "version"], &["analysed"])?;
    let listed = members.list("files")?;
    if listed.len() > max_files {
        return Err(BundleFault::TooManyFiles);
    }
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in listed {
        let (name, bytes) = file(entry)?;
        match files.last() {
            Some((last, _)) if *last == name => return Err(BundleFault::Duplicate(name)),
            Some((last, _)) if *last > name => return Err(BundleFault::Order),
            _ => files.push((name, bytes)),
        }
    }
    Ok(Bundle {
        version: members.integer("version")?,
        issued_at: members.integer("issued_at")?,
        digest: members.parsed("digest", |text| Digest::parse(text).ok())?,
        files,
        analysed: match members.get("analysed") {
            Ok(_) => Some(members.parsed("analysed", |text| is_solver(text).then(|| text.to_owned()))?),
            Err(_) => None,
        },
    })
}

fn file(entry: &Json<'_>) -> Result<(String, Vec<u8>), BundleFault> {
    let members = Members::closed(entry, &["length", "name", "sha256", "text"], &[])?;
    let (name, text) = (members.text("name")?, members.text("text")?);
    if !is_name(name) {
        return Err(BundleFault::Name);
    }
    if members.integer("length")? != text.len() as u64 {
        return Err(BundleFault::Length(name.to_owned()));
    }
    if members.text("sha256")? != hash(text.as_bytes()) {
        return Err(BundleFault::Hash(name.to_owned()));
    }
    Ok((name.to_owned(), text.as_bytes().to_vec()))
}
