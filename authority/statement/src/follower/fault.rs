//! Faults while following, each with its own name.

use crate::context::ContextFault;
use crate::cosignature::CosignatureFault;
use crate::format::FormatFault;
use crate::head::HeadFault;
use crate::root::RootFault;
use crate::statement::StatementFault;
use crate::tiles::{ProofFault, TileFault};
use crate::token::TokenFault;
use semgate_contexts::{ContextUrn, Line};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Reason for refusing an answer. The view stays as it was. Holds only names and numbers of the input.
#[derive(Clone, PartialEq, Debug)]
pub enum FollowFault {
    /// The authority could not be reached.
    Unreachable,
    /// An answer with another status than 200 (or 304 for the head).
    HttpStatus {
        /// The first part of the requested path.
        what: &'static str,
        /// The status.
        status: u16,
    },
    /// A body longer than its limit.
    TooLarge {
        /// The first part of the requested path.
        what: &'static str,
    },
    /// An answer without a request.
    Unasked,
    /// More requests in one round than the limit.
    TooManyRequests,
    /// More contexts than the limit.
    TooManyContexts,
    /// The head by itself.
    Head(HeadFault),
    /// The delta since the accepted head cannot be read or does not begin there. The whole head is fetched in its place.
    Delta(FormatFault),
    /// A compromised key signed the head.
    FeedCompromised,
    /// A statement of the root.
    Root(RootFault),
    /// Fewer statements of the root than accepted before.
    RootWithdrawn {
        /// Statements accepted before.
        had: u64,
        /// Statements offered.
        offered: u64,
    },
    /// The trust document lacks statements of the root that the head counts.
    RootMissing {
        /// Statements that the head counts.
        named: u64,
        /// Statements present.
        known: u64,
    },
    /// A log smaller than the accepted one.
    Rollback {
        /// Size accepted before.
        had: u64,
        /// Size offered.
        offered: u64,
    },
    /// A head dated before an accepted one.
    IssuedBack,
    /// Two heads of one size that disagree. Contradictions like this are evidence, kept while there is a place for it: see
    /// [`Report::evidence`].
    Equivocation {
        /// The size.
        size: u64,
    },
    /// A larger log that does not continue the accepted one. Both heads are evidence.
    Fork {
        /// Size accepted before.
        had: u64,
        /// Size offered.
        offered: u64,
    },
    /// Fewer of the configured witnesses cosigned the checkpoint of a larger log than are demanded. What it revokes is revoked all the same.
    Cosignatures(CosignatureFault),
    /// Tiles that do not hash to the root.
    Tiles(ProofFault),
    /// A status token that cannot be read.
    Token(TokenFault),
    /// A shard with another list than the head names.
    Shard {
        /// Number of the shard.
        n: u64,
    },
    /// An index that was INVALID and no longer is. Both heads are evidence.
    Unrevoked {
        /// The index.
        index: u64,
    },
    /// The floors document cannot be read, or belongs to another authority.
    Floors(FormatFault),
    /// The floors document is not the one that the head names.
    FloorsSwapped,
    /// An accepted floor is lower now or gone.
    FloorLowered {
        /// Its line.
        line: Line,
    },
    /// A floor above every published version of its line.
    FloorAboveVersions {
        /// Its line.
        line: Line,
    },
    /// The listing cannot be read.
    Listing(FormatFault),
    /// The trust document cannot be read, or belongs to another authority.
    Trust(FormatFault),
    /// A malformed entry bundle.
    Bundle(TileFault),
    /// The entry at the listed index is not in the log.
    NotInLog,
    /// The statement at the listed index.
    Statement(StatementFault),
    /// The publish statement of a document does not count under the keys in force.
    StatementRefused {
        /// The reason.
        why: Arc<str>,
    },
    /// The entry at the listed index is not the publish statement of this context.
    WrongIndex,
    /// A second digest, or a second index, for a published URN. Both are evidence.
    SecondDigest,
    /// An entry logged earlier than one before it in the log.
    LoggedBack,
    /// A document with another digest than the published one.
    Digest,
    /// A document signed by another certificate than the published one.
    Signer,
    /// A document with another URN than the published one.
    Urn,
    /// The signed document.
    Document(ContextFault),
    /// The document verifies, but there is no room for it.
    NoRoom {
        /// The exceeded share: `its line`, or `all lines`.
        whose: &'static str,
        /// Bytes needed once compiled.
        bytes: u64,
        /// Bytes allowed.
        room: u64,
    },
    /// The document refers to a context that does not hold.
    Reference {
        /// The context that it refers to.
        urn: ContextUrn,
        /// Its fault.
        why: ReferenceFault,
    },
    /// The memory on disk cannot be read or written.
    Memory(std::io::ErrorKind),
    /// The memory on disk lacks accepted state, so nothing counts before a head is accepted.
    NotWhole,
    /// A part of the memory on disk is damaged or was tampered with, and is ignored.
    Damaged {
        /// The part.
        part: &'static str,
    },
}

impl FollowFault {
    /// Returns true if the log was, or may have been, searched for a referenced context without finding a valid one.
    pub(super) fn is_looked_up(&self) -> bool {
        match self {
            FollowFault::Reference { why, .. } => !matches!(why, ReferenceFault::Failed(_)),
            _ => false,
        }
    }

    /// A short stable name for records, such as `rollback`.
    pub fn as_str(&self) -> &'static str {
        match self {
            FollowFault::Unreachable => "unreachable",
            FollowFault::HttpStatus { .. } => "http_status",
            FollowFault::TooLarge { .. } => "too_large",
            FollowFault::Unasked => "unasked",
            FollowFault::TooManyRequests => "too_many_requests",
            FollowFault::TooManyContexts => "too_many_contexts",
            FollowFault::Head(_) => "head",
            FollowFault::Delta(_) => "delta",
            FollowFault::FeedCompromised => "feed_compromised",
            FollowFault::Root(_) => "root",
            FollowFault::RootWithdrawn { .. } => "root_withdrawn",
            FollowFault::RootMissing { .. } => "root_missing",
            FollowFault::Rollback { .. } => "rollback",
            FollowFault::IssuedBack => "issued_back",
            FollowFault::Equivocation { .. } => "equivocation",
            FollowFault::Fork { .. } => "fork",
            FollowFault::Cosignatures(_) => "cosignatures_missing",
            FollowFault::Tiles(_) => "tiles",
            FollowFault::Token(_) => "token",
            FollowFault::Shard { .. } => "shard",
            FollowFault::Unrevoked { .. } => "unrevoked",
            FollowFault::Floors(_) => "floors",
            FollowFault::FloorsSwapped => "floors_swapped",
            FollowFault::FloorLowered { .. } => "floor_lowered",
            FollowFault::FloorAboveVersions { .. } => "floor_above_versions",
            FollowFault::Listing(_) => "listing",
            FollowFault::Trust(_) => "trust",
            FollowFault::Bundle(_) => "bundle",
            FollowFault::NotInLog => "not_in_log",
            FollowFault::Statement(_) => "statement",
            FollowFault::StatementRefused { .. } => "statement_refused",
            FollowFault::WrongIndex => "wrong_index",
            FollowFault::SecondDigest => "second_digest",
            FollowFault::LoggedBack => "logged_back",
            FollowFault::NoRoom { .. } => "no_room",
            FollowFault::Digest => "digest",
            FollowFault::Signer => "signer",
            FollowFault::Urn => "urn",
            FollowFault::Document(_) => "document",
            FollowFault::Reference { .. } => "reference",
            FollowFault::Memory(_) => "memory",
            FollowFault::NotWhole => "not_whole",
            FollowFault::Damaged { .. } => "damaged",
        }
    }
}

impl fmt::Display for FollowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FollowFault::Unreachable => f.write_str("the authority could not be reached"),
            FollowFault::HttpStatus { what, status } => {
                write!(f, "the authority answered {status} for {what}")
            }
            FollowFault::TooLarge { what } => write!(f, "{what} is longer than its limit"),
            FollowFault::Unasked => f.write_str("an answer without a request"),
            FollowFault::TooManyRequests => f.write_str("following takes more requests than the limit"),
            FollowFault::TooManyContexts => f.write_str("the authority lists more contexts than the limit"),
            FollowFault::Head(fault) => write!(f, "{fault}"),
            FollowFault::Delta(fault) => write!(f, "delta: {fault}"),
            FollowFault::FeedCompromised => f.write_str("the head is signed by a compromised key"),
            FollowFault::Root(fault) => write!(f, "{fault}"),
            FollowFault::RootWithdrawn { had, offered } => {
                write!(f, "only {offered} of {had} statements of the root are left")
            }
            FollowFault::RootMissing { named, known } => {
                write!(f, "the head counts {named} statements of the root, but {known} exist")
            }
            FollowFault::Rollback { had, offered } => {
                write!(f, "the log was rolled back from size {had} to {offered}")
            }
            FollowFault::IssuedBack => f.write_str("the head was issued before an accepted head"),
            FollowFault::Equivocation { size } => write!(f, "two heads of size {size} contradict each other"),
            FollowFault::Fork { had, offered } => {
                write!(f, "the log of size {offered} does not continue the accepted one of size {had}")
            }
            FollowFault::Cosignatures(fault) => write!(f, "{fault}"),
            FollowFault::Tiles(fault) => write!(f, "{fault}"),
            FollowFault::Token(fault) => write!(f, "{fault}"),
            FollowFault::Shard { n } => write!(f, "status shard {n} is not the one that the head names"),
            FollowFault::Unrevoked { index } => {
                write!(f, "status index {index} was revoked and is no longer revoked")
            }
            FollowFault::Floors(fault) => write!(f, "floors: {fault}"),
            FollowFault::FloorsSwapped => f.write_str("the floors differ from those that the head names"),
            FollowFault::FloorLowered { line } => write!(f, "the floor of `{line}` was lowered"),
            FollowFault::FloorAboveVersions { line } => {
                write!(f, "the floor of `{line}` is above every published version")
            }
            FollowFault::Listing(fault) => write!(f, "listing: {fault}"),
            FollowFault::Trust(fault) => write!(f, "trust document: {fault}"),
            FollowFault::Bundle(fault) => write!(f, "{fault}"),
            FollowFault::NotInLog => f.write_str("the listed entry is not in the log"),
            FollowFault::Statement(fault) => write!(f, "{fault}"),
            FollowFault::StatementRefused { why } => {
                write!(f, "the publish statement is not valid under the current keys: {why}")
            }
            FollowFault::WrongIndex => f.write_str("the listed entry does not publish this context"),
            FollowFault::SecondDigest => f.write_str("a second statement for an already published context"),
            FollowFault::LoggedBack => f.write_str("an entry was logged earlier than one before it"),
            FollowFault::NoRoom { whose, bytes, room } => {
                write!(
                    f,
                    "left out: the compiled documents of {whose} would take {bytes} bytes, more than {room}"
                )
            }
            FollowFault::Digest => f.write_str("the document is not the published one"),
            FollowFault::Signer => {
                f.write_str("the document is signed by another certificate than published")
            }
            FollowFault::Urn => f.write_str("the document names another context than published"),
            FollowFault::Document(fault) => write!(f, "{fault}"),
            FollowFault::Reference { urn, why } => {
                write!(f, "the context `{urn}`, which the document refers to, {why}")
            }
            FollowFault::Memory(kind) => write!(f, "memory on disk: {kind}"),
            FollowFault::NotWhole => f.write_str(
                "memory on disk: the last write was incomplete, so nothing counts until a head is accepted",
            ),
            FollowFault::Damaged { part } => write!(f, "memory on disk: {part} is damaged and was ignored"),
        }
    }
}

impl std::error::Error for FollowFault {}

impl From<std::io::Error> for FollowFault {
    fn from(error: std::io::Error) -> Self {
        FollowFault::Memory(error.kind())
    }
}

/// Reason for not accepting a referenced context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReferenceFault {
    /// The authority has not published it, or its publish statement was refused.
    Unpublished,
    /// It was published after the context that refers to it, which no honest authority does.
    PublishedLater,
    /// It was published with another digest than the reference names.
    Digest,
    /// Too many contexts of other lines are listed to search for it.
    TooMany,
    /// Its own document failed.
    Failed(Arc<str>),
}

impl fmt::Display for ReferenceFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReferenceFault::Unpublished => f.write_str("has no valid publish statement"),
            ReferenceFault::PublishedLater => f.write_str("was published after it"),
            ReferenceFault::Digest => {
                f.write_str("was published with another digest than the reference names")
            }
            ReferenceFault::TooMany => {
                f.write_str("is not looked up: other lines exceed the limit of the listing")
            }
            ReferenceFault::Failed(why) => write!(f, "failed: {why}"),
        }
    }
}

/// One fault, with its subject.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Time of the fault.
    pub at: u64,
    /// The affected context; none if the authority as a whole is affected.
    pub urn: Option<ContextUrn>,
    /// The fault.
    pub fault: FollowFault,
    /// Directory with the complete evidence; none if there is none, or it could not be stored.
    pub evidence: Option<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.urn {
            Some(urn) => write!(f, "`{urn}`: {}", self.fault),
            None => write!(f, "{}", self.fault),
        }
    }
}
