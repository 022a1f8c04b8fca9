//! Signed contexts: a context document in a general JWS by a context signer whose certificate names its line.

use crate::jws::{General, JwsFault, SignFault, SigningIdentity};
use ring::rand::SecureRandom;
use semgate_certs::{Chain, Roots, SignerId, Thumbprint, Usage};
use semgate_contexts::{Context, ContextResolver, DocumentFault, DocumentLimits, Prefix};
use std::fmt;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// `typ` of a signed context.
pub const TYPE: &str = "context+jws";
/// The media type of signed contexts.
pub const MEDIA_TYPE: &str = "application/jose+json";
/// The media type of a signed context with the proof of its publication in the unprotected header.
pub const STAPLED_MEDIA_TYPE: &str = "application/vnd.semgate.stapled+json";
/// The largest signed context accepted: 90 kB of payload in base64url, and a chain of four certificates.
pub const MAX_SIGNED_BYTES: usize = 256 * 1024;

/// A context with checked signature, signer and document. It need not be published: see the view.
#[derive(Clone, Debug)]
pub struct SignedContext {
    context: Arc<Context>,
    signer: Thumbprint,
    names: SignerId,
    chain: Chain,
}

impl SignedContext {
    /// The checked document.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The verified chain of the signing certificate.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The thumbprint of the signing certificate.
    pub fn signer(&self) -> Thumbprint {
        self.signer
    }

    /// The names by which a statement can compromise its signer, along the verified path of the chain.
    pub fn signer_id(&self) -> &SignerId {
        &self.names
    }
}

/// Reason for refusing a signed context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContextFault {
    /// The JWS or its chain.
    Jws(JwsFault),
    /// The payload is not an acceptable document in canonical form.
    Document(DocumentFault),
    /// The signer's certificate does not name the document's line.
    LineNotDelegated,
}

impl ContextFault {
    /// A short stable name for records, such as `line_not_delegated`.
    pub fn as_str(&self) -> &'static str {
        match self {
            ContextFault::Jws(fault) => fault.as_str(),
            ContextFault::Document(_) => "document",
            ContextFault::LineNotDelegated => "line_not_delegated",
        }
    }
}

impl fmt::Display for ContextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ContextFault::Jws(fault) => write!(f, "signed context: {fault}"),
            ContextFault::Document(fault) => write!(f, "signed context: {fault}"),
            ContextFault::LineNotDelegated => {
                f.write_str("signed context: the signer's certificate does not name its line")
            }
        }
    }
}

impl std::error::Error for ContextFault {}

/// Signs a checked context. Returns the stored form: JCS of a general JWS.
pub fn sign_context(
    context: &Context,
    identity: &SigningIdentity,
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, SignFault> {
    General::sign(context.bytes(), TYPE, identity, random)
}

/// Verifies a signed context without references; see [`verify_context_among`].
pub fn verify_context(
    bytes: &[u8],
    roots: &Roots,
    at: u64,
    prefix: &Prefix,
    limits: &DocumentLimits,
) -> Result<SignedContext, ContextFault> {
    verify_context_among(bytes, roots, at, prefix, limits, &|_| None)
}

/// Verifies a signed context. First the chain for [`Usage::Context`] at `at` (the `logged_at` of its publish statement; now, before it is
/// published), then the signature. Then the document in its canonical form, and that the certificate names its line. Verifies before
/// parsing; never re-canonicalises.
///
/// `others` finds contexts to which it may refer, each verified before by the caller; nothing is fetched. A missing one is
/// [`DocumentFault::ReferenceMissing`].
pub fn verify_context_among(
    bytes: &[u8],
    roots: &Roots,
    at: u64,
    prefix: &Prefix,
    limits: &DocumentLimits,
    others: &ContextResolver<'_>,
) -> Result<SignedContext, ContextFault> {
    let jws = General::read(bytes, TYPE, roots, MAX_SIGNED_BYTES).map_err(ContextFault::Jws)?;
    let chain = jws.chain().clone();
    let (payload, leaf) = jws.verify(roots, Usage::Context, at).map_err(ContextFault::Jws)?;
    let context =
        Context::from_canonical(&payload, prefix, limits, others).map_err(ContextFault::Document)?;
    leaf.allows_line(context.urn().line()).map_err(|_| ContextFault::LineNotDelegated)?;
    let (signer, names) = (leaf.thumbprint(), leaf.signer_id().clone());
    Ok(SignedContext { context: Arc::new(context), signer, names, chain })
}
