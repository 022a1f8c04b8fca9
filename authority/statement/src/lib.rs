//! The data of an authority, and its verification: signed contexts, statements, the log with its checkpoints and tiles, status lists,
//! floors, the head. The fold [`replay`] computes all of them from a log prefix. A follower keeps a verified view of one authority
//! ([`Follower`]). `docs/spec/` describes the formats.
//!
//! Bytes in, next request out: nothing here opens a socket, reads a clock or draws randomness. Times are integer seconds since the Unix
//! epoch (RFC 7519 §2, without fractions). Only the follower touches files, those of its memory.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod sha256;

pub mod artefact;
pub mod bundle;
pub mod checkpoint;
pub mod context;
pub mod cosignature;
pub mod delta;
pub mod durable;
pub mod entry;
pub mod floors;
pub mod follower;
pub mod format;
pub mod head;
pub mod jws;
pub mod listing;
pub mod permission;
pub mod proof;
pub mod recognition;
pub mod replay;
pub mod root;
pub mod scan_model;
pub mod statement;
pub mod status;
#[doc(hidden)]
pub mod testing;
pub mod tiles;
pub mod token;
pub mod trust;
pub mod tuf;
pub mod verify_log;
pub mod view;
pub mod witnessing;

pub use checkpoint::{Checkpoint, CheckpointFault, LogKey, LogVerifier};
pub use context::{SignedContext, sign_context, verify_context, verify_context_among};
pub use cosignature::{CosignatureFault, CosignerKey, CosignerVerifier, Quorum};
pub use delta::{Delta, HeadParts};
pub use entry::{Entry, VerifiedEntry};
pub use floors::FloorsDocument;
pub use follower::{
    Answer, FollowFault, Follower, FollowerConfig, FollowerLimits, Lines, PersistenceState, Progress,
    ReferenceFault, Report, Step,
};
pub use format::FormatFault;
pub use head::{Head, HeadFault, NamedShards, ShardRef, VerifiedHead};
pub use jws::{JwsFault, SignFault, SigningIdentity};
pub use listing::{ListedContext, Listing};
pub use permission::{Permission, PermissionFault, SignedPermission};
pub use proof::{
    CheckpointRules, ContinuationProof, ProofRules, Proved, RootKnowledge, Stapled, TextProofFault,
    TlogProof, prove_entry,
};
pub use recognition::{
    NotRecognised, Recognised, Recogniser, Recognition, RecognitionFault, RecognitionState, ScopedLine,
    UnrecognisedLine,
};
pub use replay::{Replay, ReplayFault};
pub use root::{Anchors, KeyList, RootAct, RootFault, RootStatement};
pub use statement::{Act, OwnStatement, SignedStatement, Statement, StatementFault, VerifiedStatement};
pub use status::{Status, StatusList};
pub use tiles::{TileFile, TilePath, Tree, TreeHash};
pub use trust::{RootEntry, Trust};
pub use verify_log::{Fetch, LogFault, LogReport, verify_log};
pub use view::{LoadedContext, Standing, View};
