//! What a checked chain proves about its leaf.

use crate::{PeerFault, PublicKey, SpiffeId, Thumbprint, Usage};
use semgate_contexts::Line;
use std::fmt;

/// A leaf whose chain was checked for one usage at one time. Only [`crate::verify_chain`] makes one.
#[derive(Clone, Debug)]
pub struct VerifiedLeaf {
    pub(crate) usage: Usage,
    pub(crate) key: PublicKey,
    pub(crate) thumbprint: Thumbprint,
    pub(crate) not_before: u64,
    pub(crate) not_after: u64,
    pub(crate) lines: Vec<Line>,
}

impl VerifiedLeaf {
    /// The usage that the chain was checked for.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The key that the leaf certifies.
    pub fn public_key(&self) -> &PublicKey {
        &self.key
    }

    /// The leaf's `x5t#S256`.
    pub fn thumbprint(&self) -> Thumbprint {
        self.thumbprint
    }

    /// The first second at which every certificate of the chain is valid.
    pub fn not_before(&self) -> u64 {
        self.not_before
    }

    /// The last second at which every certificate of the chain, and its root, is valid.
    pub fn not_after(&self) -> u64 {
        self.not_after
    }

    /// The lines that a context leaf may sign for, exactly as its URIs spell them. Empty for other usages.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Proof that this leaf may speak for a line. A context leaf must name just this line, case included; a status,
    /// feed or log leaf must name a tree that holds it (DNS knows no case). Server and agent leaves speak for none.
    pub fn allows_line(&self, _line: &Line) -> Result<LineAllowed, LineNotDelegated> {
        todo!()
    }

    /// The one SPIFFE id of a server or agent leaf. Refuses none, two, and a URI that is not one.
    pub fn spiffe(&self) -> Result<SpiffeId, PeerFault> {
        todo!()
    }
}

/// Proof that a verified leaf may speak for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAllowed {
    pub(crate) line: Line,
    pub(crate) signer: Thumbprint,
}

impl LineAllowed {
    /// The line.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The leaf that may speak for it.
    pub fn signer(&self) -> Thumbprint {
        self.signer
    }
}

/// The leaf was not delegated the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineNotDelegated;

impl fmt::Display for LineNotDelegated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certificate is not delegated the line")
    }
}

impl std::error::Error for LineNotDelegated {}
