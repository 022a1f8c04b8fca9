//! The requests that the sequencer takes, each from somebody with the right to it.

use std::sync::Arc;

use semgate_certs::{Chain, SpiffeId};
use semgate_contexts::{ContextUrn, Digest, Line, Version};
use semgate_statement::{Act, OwnStatement, SignedPermission, SignedStatement, Statement};

use super::quota::Charged;
use crate::keys::Minted;

/// A submission by somebody who has the right to it.
#[derive(Debug)]
pub(crate) enum Request {
    /// Publish a signed context. Everything about it but its place in the log was checked.
    Publish {
        /// The publish statement, signed, its signature checked.
        statement: Box<OwnStatement>,
        /// The signed context, bytes as they will be served.
        document: Vec<u8>,
        /// The chain of the document's signer and that of the statement's.
        chains: Vec<Chain>,
        /// The signer of the statement where no file holds it yet.
        minted: Option<Arc<Minted>>,
        /// The bytes that the document takes in a gateway.
        compiled: u64,
        /// A size of the log: the document was compared with every version of its major that was published by then.
        seen: u64,
        /// Every context that the document refers to, directly or by another: each must count when it is published.
        references: Vec<ContextUrn>,
    },
    /// A second digest for a published URN: to be kept as evidence.
    Conflict {
        /// What is published.
        urn: ContextUrn,
        /// Digest of what was offered.
        digest: Digest,
        /// What was offered, as far as it can be kept.
        document: Vec<u8>,
    },
    /// Change the status of a context.
    Change {
        /// What happens to it.
        act: Act,
        /// The context.
        urn: ContextUrn,
        /// Why.
        reason: String,
        /// Of a resumption that was proposed: where the suspension that it ends is in the log. No other one is ended by it.
        ends: Option<u64>,
    },
    /// Raise a floor.
    Floor {
        /// The line.
        line: Line,
        /// The lowest version that still counts.
        min: Version,
        /// Why.
        reason: String,
    },
    /// End the recognition of another authority.
    Withdraw {
        /// The authority that is recognised.
        recognised: String,
        /// Where its recognition is in the log: no other one is ended by this.
        index: u64,
        /// The lines that it is recognised for, each of which the caller may revoke in.
        lines: Vec<Line>,
        /// Why.
        reason: String,
    },
    /// A permission that a person with the right to it signed.
    Override {
        /// Who.
        by: SpiffeId,
        /// What was signed.
        permission: Box<SignedPermission>,
    },
    /// What root keys signed.
    Root(Box<SignedStatement>),
}

impl Request {
    /// `true` where room is reserved for it on the disk: for everything but what adds documents and permissions.
    pub fn is_reserved(&self) -> bool {
        match self {
            Self::Publish { .. } | Self::Conflict { .. } | Self::Override { .. } => false,
            Self::Change { .. } | Self::Floor { .. } | Self::Withdraw { .. } | Self::Root(_) => true,
        }
    }

    /// The line that its bytes are charged to, and their purpose; none where they are charged to nobody.
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

    /// The document that it publishes, and its digest; none of what publishes nothing.
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
