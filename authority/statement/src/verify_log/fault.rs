//! The source of the bytes, the report, and the faults of a log.

use super::DeltaFault;
use crate::checkpoint::CheckpointFault;
use crate::context::ContextFault;
use crate::cosignature::CosignatureFault;
use crate::format::FormatFault;
use crate::head::HeadFault;
use crate::proof::TextProofFault;
use crate::replay::ReplayFault;
use crate::root::RootFault;
use crate::statement::StatementFault;
use crate::tiles::{TileFault, TreeHash};
use crate::token::TokenFault;
use semgate_contexts::ContextUrn;
use std::fmt;

/// A source of bytes: a blocking HTTP client, or a directory.
pub trait Fetch {
    /// Gets a path under the authority's address, at most `max_bytes`. Only a 200 is an answer; redirects are not followed.
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault>;

    /// Gets a path as [`Fetch::get`] does, but only to look at it. It belongs to a later head, and must not be stored with the verified
    /// files.
    fn look(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        self.get(path, max_bytes)
    }

    /// Sizes of the log at which deltas to a head of `size` entries may begin, if the source can list them. None by default: nobody is
    /// asked for files that followers do not need.
    fn deltas(&mut self, _size: u64) -> Vec<u64> {
        Vec::new()
    }

    /// Reports the content of `path` as of the verified head, if something newer was served: for callers that store all files of one
    /// moment.
    fn as_of_head(&mut self, _path: &str, _bytes: &[u8]) {}

    /// Waits some tenths of a second for a head that is on its way.
    fn pause(&mut self) {}

    /// Returns true if contexts are read by their names too. False for a source that derives the names from files read by digest.
    fn by_name(&self) -> bool {
        true
    }
}

/// Reason why a path could not be fetched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchFault {
    /// No answer.
    Unreachable,
    /// Another status than 200.
    HttpStatus(u16),
    /// Longer than the limit.
    TooLarge,
}

impl fmt::Display for FetchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchFault::Unreachable => f.write_str("could not be reached"),
            FetchFault::HttpStatus(status) => write!(f, "answered {status}"),
            FetchFault::TooLarge => f.write_str("is longer than its limit"),
        }
    }
}

impl std::error::Error for FetchFault {}

/// A version that a named person permitted although it breaks or is not proven.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overridden {
    /// Position of the statement.
    pub index: u64,
    /// The version.
    pub urn: ContextUrn,
    /// True if it was published with the permitted document.
    pub published: bool,
    /// SPIFFE id that the authority verified.
    pub by: String,
    /// Name of the person.
    pub name: String,
    /// The reason.
    pub reason: String,
}

/// The result of a successful check.
#[derive(Clone, PartialEq, Debug)]
pub struct LogReport {
    /// The verified entries, in order, as logged.
    pub entries: Vec<Vec<u8>>,
    /// Size of the log.
    pub size: u64,
    /// Issue time of its head, in seconds since the epoch.
    pub issued_at: u64,
    /// Expiry of its head.
    pub next_update: u64,
    /// Root hash, computed from the entries.
    pub root: TreeHash,
    /// Hash tiles compared.
    pub tiles: u64,
    /// Statements verified.
    pub statements: u64,
    /// Documents verified.
    pub documents: u64,
    /// Status shards compared.
    pub shards: u64,
    /// Pages of the listing found and compared.
    pub pages: u64,
    /// Deltas found, each leading to a signed head.
    pub deltas: u64,
    /// Floors compared.
    pub floors: usize,
    /// Number of root keys that speak for the root as of the head, by its trust list; it may be fewer than configured.
    pub root_threshold: u64,
    /// The overrides, in log order.
    pub overrides: Vec<Overridden>,
}

/// Reason for refusing a log.
#[derive(Clone, PartialEq, Debug)]
pub enum LogFault {
    /// A path could not be fetched.
    Fetch {
        /// The path.
        path: String,
        /// The reason.
        fault: FetchFault,
    },
    /// The head.
    Head(HeadFault),
    /// The trust document.
    Trust(FormatFault),
    /// The trust document names another authority.
    TrustOfAnother,
    /// A statement of the root.
    Root(RootFault),
    /// A configured log key that no trust list of this log names or named.
    LogKeyUnlisted {
        /// Its text.
        key: String,
    },
    /// The trust document or the head counts other statements of the root than the log holds.
    RootDiffers,
    /// The head is signed by a compromised key.
    FeedCompromised,
    /// A malformed tile or bundle.
    Tile {
        /// Its path.
        path: String,
        /// The fault.
        fault: TileFault,
    },
    /// A served hash tile differs from the one that its entries make.
    TileDiffers {
        /// Its path.
        path: String,
    },
    /// The entries do not hash to the root of the checkpoint.
    TreeRoot,
    /// A statement, its signature or its role.
    Statement {
        /// Its index.
        index: u64,
        /// The fault.
        fault: StatementFault,
    },
    /// A statement that cannot follow the ones before it.
    Replay {
        /// Its index.
        index: u64,
        /// The fault.
        fault: ReplayFault,
    },
    /// The checkpoint at `/checkpoint`.
    Checkpoint(CheckpointFault),
    /// The checkpoint at `/checkpoint` is older than the head's or contradicts it.
    CheckpointDiffers,
    /// A head served after the verified one is of a log that does not continue it.
    LaterDiffers {
        /// Its number of entries.
        size: u64,
    },
    /// A status list differs from the replayed one.
    Shard {
        /// Its number.
        n: u64,
    },
    /// A status token.
    Token {
        /// Number of its shard.
        n: u64,
        /// The fault.
        fault: TokenFault,
    },
    /// A delta does not lead to a signed head. Everything else is valid.
    Delta {
        /// The size where it begins.
        from: u64,
        /// The fault.
        fault: DeltaFault,
    },
    /// The floors that the head names are not the replayed ones.
    HeadFloorsDiffer,
    /// The served floors differ from the replayed ones, and nothing newer is signed.
    FloorsDiffer,
    /// The listing differs from the replayed one, and nothing newer is signed.
    ListingDiffers,
    /// A page of the listing differs from its entries.
    PageDiffers {
        /// Its path.
        path: String,
    },
    /// A published document does not verify.
    Document {
        /// Its URN.
        urn: ContextUrn,
        /// The fault.
        fault: ContextFault,
    },
    /// A document refers to a context that was not published before it.
    Reference {
        /// Its URN.
        urn: ContextUrn,
        /// The context that it refers to.
        other: ContextUrn,
    },
    /// A document is not the published one.
    DocumentDiffers {
        /// Its URN.
        urn: ContextUrn,
    },
    /// Files of the head were gone in every attempt, because it moved meanwhile. No fault of the log.
    Moving,
    /// A file does not fit the head, but the authority signed something later: a copy is under way or was cut short. No fault of the log.
    Unfinished(Box<LogFault>),
    /// The head has expired, and this fault holds as of its issue time.
    Expired(Box<LogFault>),
    /// Too few of the configured witnesses cosigned the checkpoint.
    Cosignatures(CosignatureFault),
    /// A proof could not be made or is not valid.
    Proof(TextProofFault),
    /// The requested entry or size is past the end of the log. No fault of the log.
    PastEnd {
        /// The requested position or size.
        at: u64,
        /// Entries of the log.
        size: u64,
    },
    /// The listing does not name this context.
    Unpublished,
    /// The trust document does not name the signer of an entry.
    SignerMissing,
}

impl LogFault {
    /// Returns true for faults that can come from files of several moments: of a mirror during an update, or of several caches.
    pub(super) fn may_be_a_race(&self) -> bool {
        matches!(
            self,
            LogFault::Fetch { .. }
                | LogFault::Shard { .. }
                | LogFault::Token { .. }
                | LogFault::Delta { .. }
                | LogFault::Unfinished(_)
                | LogFault::FloorsDiffer
                | LogFault::ListingDiffers
                | LogFault::Statement { .. }
                | LogFault::RootDiffers
        )
    }
}

impl fmt::Display for LogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFault::Fetch { path, fault } => write!(f, "`{path}` {fault}"),
            LogFault::Head(fault) => write!(f, "{fault}"),
            LogFault::Trust(fault) => write!(f, "trust document: {fault}"),
            LogFault::TrustOfAnother => f.write_str("the trust document names another authority"),
            LogFault::Tile { path, fault } => write!(f, "`{path}`: {fault}"),
            LogFault::TileDiffers { path } => write!(f, "`{path}` differs from the entries"),
            LogFault::Root(fault) => write!(f, "{fault}"),
            LogFault::LogKeyUnlisted { key } => {
                write!(f, "no trust list of this log names the log key `{key}`")
            }
            LogFault::RootDiffers => f.write_str("the statements of the root differ from those of the log"),
            LogFault::FeedCompromised => f.write_str("the head is signed by a compromised key"),
            LogFault::TreeRoot => f.write_str("the entries do not hash to the root of the checkpoint"),
            LogFault::Statement { index, fault } => write!(f, "entry {index}: {fault}"),
            LogFault::Replay { index, fault } => write!(f, "entry {index}: {fault}"),
            LogFault::Checkpoint(fault) => write!(f, "`/checkpoint`: {fault}"),
            LogFault::CheckpointDiffers => {
                f.write_str("`/checkpoint` is older than the head or contradicts it")
            }
            LogFault::LaterDiffers { size } => {
                write!(f, "the head of {size} entries that was served later does not continue the log")
            }
            LogFault::Shard { n } => write!(f, "status shard {n} differs from the replayed log"),
            LogFault::Token { n, fault } => write!(f, "status shard {n}: {fault}"),
            LogFault::Delta { from, fault } => write!(f, "`/v1/feed/deltas/{from}`: {fault}"),
            LogFault::HeadFloorsDiffer => {
                f.write_str("the floors that the head names differ from those of the replayed log")
            }
            LogFault::FloorsDiffer => f.write_str("the floors differ from the replayed log"),
            LogFault::ListingDiffers => f.write_str("the listing differs from the replayed log"),
            LogFault::PageDiffers { path } => write!(f, "`{path}` differs from what its entries publish"),
            LogFault::Document { urn, fault } => write!(f, "`{urn}`: {fault}"),
            LogFault::Reference { urn, other } => {
                write!(f, "`{urn}` refers to `{other}`, which was not published before it")
            }
            LogFault::DocumentDiffers { urn } => write!(f, "`{urn}`: the document is not the published one"),
            LogFault::Moving => {
                f.write_str("the head changed too often: its files were gone before they were read")
            }
            LogFault::Unfinished(fault) => {
                write!(f, "{fault} up to its head, and there is something newer than the head")
            }
            LogFault::Expired(fault) => write!(f, "{fault}; and its head has expired"),
            LogFault::Cosignatures(fault) => write!(f, "{fault}"),
            LogFault::Proof(fault) => write!(f, "{fault}"),
            LogFault::PastEnd { at, size } => {
                write!(f, "{at} is past the end of the served log, which has {size} entries")
            }
            LogFault::Unpublished => f.write_str("the context is not listed as published"),
            LogFault::SignerMissing => {
                f.write_str("the trust document does not name the signer of the entry")
            }
        }
    }
}

impl std::error::Error for LogFault {}
