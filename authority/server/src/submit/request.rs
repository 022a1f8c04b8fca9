//! Requests to the sequencer, each from a caller with the right to it.

use std::sync::Arc;

use semgate_certs::{Chain, SpiffeId};
use semgate_contexts::{ContextUrn, Digest, Line, Version};
use semgate_statement::{Act, OwnStatement, SignedPermission, SignedStatement, Statement};

use super::quota::Charged;
use crate::keys::Minted;

/// A submission by a caller with the right to it.
#[derive(Debug)]
pub(crate) enum Request {
    /// Publish a signed context. Everything but its place in the log was checked.
    Publish {
        /// The publish statement, signed, its signature checked.
        statement: Box<OwnStatement>,
        /// The signed context, bytes as they will be served.
        document: Vec<u8>,
        /// The chains of the document's signer and of the statement's.
        chains: Vec<Chain>,
        /// The signer of the statement, if it is not stored yet.
        minted: Option<Arc<Minted>>,
        /// Bytes that the document takes in a gateway.
        compiled: u64,
        /// A size of the log: the document was compared with every version of its major published by then.
        seen: u64,
        /// Every context to which the document refers, directly or indirectly: each must count at publication.
        references: Vec<ContextUrn>,
    },
    /// A second digest for a published URN: to be kept as evidence.
    Conflict {
        /// The published URN.
        urn: ContextUrn,
        /// Digest of the offered document.
        digest: Digest,
        /// The offered document, as far as it can be kept.
        document: Vec<u8>,
    },
    /// Change the status of a context.
    Change {
        /// The change.
        act: Act,
        /// The context.
        urn: ContextUrn,
        /// The stated reason.
        reason: String,
        /// For a proposed resumption: the log index of the one suspension that it ends.
        ends: Option<u64>,
    },
    /// Raise a floor.
    Floor {
        /// The line.
        line: Line,
        /// The lowest version that still counts.
        min: Version,
        /// The stated reason.
        reason: String,
    },
    /// End the recognition of another authority.
    Withdraw {
        /// The recognised authority.
        recognised: String,
        /// The log index of the one recognition that this ends.
        index: u64,
        /// The lines that it is recognised for; the caller may revoke on each.
        lines: Vec<Line>,
        /// The stated reason.
        reason: String,
    },
    /// A permission that a person with the right to it signed.
    Override {
        /// SPIFFE id of the signer.
        by: SpiffeId,
        /// The signed permission.
        permission: Box<SignedPermission>,
    },
    /// A statement that root keys signed.
    Root(Box<SignedStatement>),
}

impl Request {
    /// Returns `true` for requests with reserved room on the disk: all but those that add documents and permissions.
    pub fn is_reserved(&self) -> bool {
        match self {
            Self::Publish { .. } | Self::Conflict { .. } | Self::Override { .. } => false,
            Self::Change { .. } | Self::Floor { .. } | Self::Withdraw { .. } | Self::Root(_) => true,
        }
    }

    /// The line that its bytes are charged to, and their purpose; none if nobody is charged.
    pub fn charged(&self) -> Option<(&Line, Charged)> {
        Some(match self {
            Self::Publish { statement, .. } => match statement.signed().unverified() {
                Statement::Publish { urn, .. } => (urn.line(), Charged::Growth),
                _ => return None,
            },
            Self::Conflict { urn, .. } => (urn.line(), Charged::Growth),
            Self::Override { permission, .. } => (permission.unverified().urn.line(), Charged::Growth),
            Self::Change { act: Act::Resume, urn, .. } => (urn.line(), Charged::Resumption),
            Self::Change { urn, .. } => (urn.line(), Charged::Always),
            Self::Floor { line, .. } => (line, Charged::Always),
            Self::Withdraw { .. } | Self::Root(_) => return None,
        })
    }

    /// The document that it publishes, with its digest.
    pub fn published(&self) -> Option<(Digest, &[u8])> {
        match self {
            Self::Publish { statement, document, .. } => match statement.signed().unverified() {
                Statement::Publish { digest, .. } => Some((*digest, document)),
                _ => None,
            },
            _ => None,
        }
    }
}
