//! A model of text scores, or a baseline of one field, as one signed file (`docs/spec/scan.md`): a general JWS of a policy signer.
//!
//! The content is not read here: readers get its bytes, with the digest checked, and the signer.

use crate::artefact::{self, ArtefactFault, Edition, Rules};
use crate::format::{FormatFault, Members, limits, write};
use crate::jws::{General, SignFault, SigningIdentity};
use ring::rand::SecureRandom;
use semgate_certs::encoding::{from_base64url, to_base64url};
use semgate_certs::{ChainFault, Roots, SpiffeId};
use semgate_contexts::json::{self, Json};
use semgate_contexts::{ContextUrn, Digest, Prefix};
use std::fmt;

use crate::jws::JwsFault;

#[cfg(test)]
mod tests;

/// `typ` of a signed model or baseline.
pub const TYP: &str = "scan-model+jws";
/// The longest name of a concept, and the longest position: as much as a context document takes.
const MAX_NAME: usize = 1024;

/// A field of a context whose usual texts a baseline holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOfContext {
    /// The context; every minor version of its major has the field.
    pub context: ContextUrn,
    /// The concept, or the side of a task.
    pub concept: String,
    /// The position of the text, a JSON Pointer with `*` for any item.
    pub position: String,
}

/// The content of a signed file. Of one that was read, only [`verify`] returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanArtefact {
    /// Rises with each replacement.
    pub version: u64,
    /// When it was made, in seconds since the Unix epoch.
    pub issued_at: u64,
    /// Number of the format of features.
    pub features: u64,
    /// The field of a baseline; none for a model.
    pub field: Option<FieldOfContext>,
    /// Bytes of the model or the baseline.
    pub content: Vec<u8>,
}

impl ScanArtefact {
    /// SHA-256 of the content.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.content)
    }
}

/// The rules of a verifier. All of it is configured; nothing comes from the file.
#[derive(Clone, Copy, Debug)]
pub struct ScanRules<'r> {
    /// Roots of the signers' chains.
    pub roots: &'r Roots,
    /// Accepted signers.
    pub signers: &'r [SpiffeId],
    /// The prefix of context URNs.
    pub prefix: &'r Prefix,
    /// The largest file, in bytes.
    pub max_bytes: usize,
}

/// A verified file and its signer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedScan {
    /// The content.
    pub artefact: ScanArtefact,
    /// The signer's id.
    pub signer: SpiffeId,
    /// The last second at which the chain is valid.
    pub not_after: u64,
}

/// Reason for refusing a signed model or baseline. Holds nothing of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanFault {
    /// Signature, signer or version.
    Artefact(ArtefactFault),
    /// The payload is malformed.
    Format(FormatFault),
    /// The content has another digest than the payload says.
    Digest,
}

impl ScanFault {
    /// A short stable name for records and specifications, such as `version_old`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Artefact(fault) => fault.as_str(),
            Self::Format(FormatFault::TooLarge) => "too_large",
            Self::Format(_) => "format",
            Self::Digest => "digest",
        }
    }

    /// Advice for the operator.
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Artefact(ArtefactFault::Jws(JwsFault::Chain(
                ChainFault::Expired
                | ChainFault::NotYetValid
                | ChainFault::WrongUsage
                | ChainFault::UsageNotAlone,
            ))) => {
                "sign it again with a valid certificate: `semgate cert leaf --usage policy`, then `semgate scan sign`"
            }
            Self::Artefact(ArtefactFault::Signer(_)) => {
                "sign it with the key of one of `signers`, by `semgate scan sign`, or add this signer to `signers`"
            }
            Self::Artefact(ArtefactFault::VersionOld { .. } | ArtefactFault::VersionReused(_)) => {
                "sign the wanted file again with `semgate scan sign`, which gives it a newer version"
            }
            Self::Artefact(ArtefactFault::Ahead) => {
                "the clock of this machine, or of the machine that signed it, is wrong: set it, and sign it again"
            }
            Self::Artefact(ArtefactFault::Jws(_)) => {
                "it is no file of `semgate scan sign` under these `roots`: copy it again, or sign it again"
            }
            Self::Format(_) | Self::Digest => {
                "it is not a complete file of `semgate scan sign`: sign it again"
            }
        }
    }
}

impl fmt::Display for ScanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scan model refused (`{}`): ", self.as_str())?;
        match self {
            Self::Artefact(fault) => fault.fmt(f),
            Self::Format(fault) => fault.fmt(f),
            Self::Digest => f.write_str("the content does not have the digest of the payload"),
        }
    }
}

impl std::error::Error for ScanFault {}

impl From<ArtefactFault> for ScanFault {
    fn from(fault: ArtefactFault) -> Self {
        Self::Artefact(fault)
    }
}

impl From<FormatFault> for ScanFault {
    fn from(fault: FormatFault) -> Self {
        Self::Format(fault)
    }
}

/// Signs a model or a baseline.
///
/// # Errors
/// A name of the field is empty or too long, or the key fails.
pub fn sign(
    artefact: &ScanArtefact,
    identity: &SigningIdentity,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, SignFault> {
    let mut payload = serde_json::json!({
        "content": to_base64url(&artefact.content),
        "digest": artefact.digest().to_string(),
        "features": artefact.features,
        "issued_at": artefact.issued_at,
        "version": artefact.version,
    });
    if let (Some(field), Some(members)) = (&artefact.field, payload.as_object_mut()) {
        if !is_name(&field.concept) || !is_position(&field.position) {
            return Err(SignFault::Payload(FormatFault::Member("field")));
        }
        let field = serde_json::json!({
            "concept": field.concept, "context": field.context.as_str(), "position": field.position,
        });
        members.insert("field".to_owned(), field);
    }
    General::sign(&write(&payload)?, TYP, identity, random)
}

/// Verifies a file at a time: first the allowed signer, then the content. The caller compares the version with the newest that it
/// accepted for this field, by [`follows`].
///
/// # Errors
/// See [`ScanFault`]; the first in the order of `docs/spec/scan.md`.
pub fn verify(bytes: &[u8], rules: &ScanRules<'_>, at: u64) -> Result<VerifiedScan, ScanFault> {
    let ScanRules { roots, signers, prefix, max_bytes } = *rules;
    let vouched = artefact::open(bytes, &Rules { typ: TYP, roots, signers, max_bytes }, at)?;
    let (artefact, claimed) = read(&vouched.payload, prefix)?;
    edition(&artefact).is_made(at)?;
    if artefact.digest() != claimed {
        return Err(ScanFault::Digest);
    }
    Ok(VerifiedScan { artefact, signer: vouched.signer, not_after: vouched.not_after })
}

/// Refuses a version before the newest that was accepted for the same field, and another content under its version.
///
/// # Errors
/// [`ArtefactFault::VersionOld`] or [`ArtefactFault::VersionReused`].
pub fn follows(artefact: &ScanArtefact, newest: Option<(u64, Digest)>) -> Result<(), ScanFault> {
    Ok(edition(artefact).follows(newest)?)
}

fn edition(artefact: &ScanArtefact) -> Edition {
    Edition { version: artefact.version, issued_at: artefact.issued_at, digest: artefact.digest() }
}

fn is_name(text: &str) -> bool {
    (1..=MAX_NAME).contains(&text.len()) && !text.chars().any(char::is_control)
}

fn is_position(text: &str) -> bool {
    is_name(text) && text.starts_with('/')
}

/// Reads a payload with a verified signature, and the digest that it claims.
fn read(payload: &[u8], prefix: &Prefix) -> Result<(ScanArtefact, Digest), ScanFault> {
    let json = json::read(payload, &limits(payload.len())).map_err(FormatFault::from)?;
    let required = ["content", "digest", "features", "issued_at", "version"];
    let members = Members::closed(&json, &required, &["field"])?;
    let field = members.get("field").ok().map(|field| field_of(field, prefix)).transpose()?;
    let artefact = ScanArtefact {
        version: members.integer("version")?,
        issued_at: members.integer("issued_at")?,
        features: members.integer("features")?,
        field,
        content: members.parsed("content", from_base64url)?,
    };
    Ok((artefact, members.parsed("digest", |text| Digest::parse(text).ok())?))
}

fn field_of(json: &Json<'_>, prefix: &Prefix) -> Result<FieldOfContext, FormatFault> {
    let members = Members::closed(json, &["concept", "context", "position"], &[])?;
    let text = |fits: fn(&str) -> bool| move |text: &str| fits(text).then(|| text.to_owned());
    Ok(FieldOfContext {
        context: members.parsed("context", |urn| ContextUrn::parse(urn, prefix).ok())?,
        concept: members.parsed("concept", text(is_name))?,
        position: members.parsed("position", text(is_position))?,
    })
}
