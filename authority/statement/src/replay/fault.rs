//! Reasons why a log cannot continue so.

use std::fmt;

/// Reason why an entry cannot follow the ones before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayFault {
    /// Logged earlier than the entry before.
    LoggedBack,
    /// The URN is published already, with another digest: evidence of poisoning.
    SecondDigest,
    /// The URN is published already, with the same digest: the same statement again.
    PublishedTwice {
        /// Log index of the publication.
        index: u64,
    },
    /// A line that differs only in case from a published one, or from a tree that holds one; DNS ignores case.
    LineDiffersInCase,
    /// A status change names nothing that was published.
    NotPublished,
    /// The index of the status change is not that of its URN.
    WrongIndex {
        /// Log index of the publication.
        index: u64,
    },
    /// A change of a revoked context: INVALID never returns.
    Revoked,
    /// Suspend of a suspended context.
    SuspendedAlready,
    /// Resume of a context that is not suspended.
    NotSuspended,
    /// Retire of a retired context.
    RetiredAlready,
    /// A floor that is not above the one before.
    FloorNotRaised,
    /// A floor above every published version of its line.
    FloorAboveVersions,
    /// A statement, or a document, signed by a compromised key.
    SignerCompromised,
    /// A root statement whose number is not the next one.
    RootNumber,
    /// A key compromised from an index past the log, or already from an earlier one.
    CompromisedFrom,
    /// Lowers a floor that does not exist, or not below the current one.
    FloorNotLowered,
    /// A recognition for a line that is published here, or recognised for another authority: a line belongs to one authority.
    LineTaken,
    /// A context of a line for which another authority is recognised.
    LineRecognised,
    /// A recognition that has ended before it is logged.
    RecognitionEnded,
    /// A withdrawal of an authority that is not recognised, or not for these lines.
    NotRecognised,
    /// An override of a version that is published already.
    OverrideLate,
    /// An override beside a version that is not published with this digest.
    OverrideUnknown,
    /// A key is compromised, and the key behind the certificate of a signer is not known.
    SignerUnknown,
}

impl fmt::Display for ReplayFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReplayFault::LoggedBack => "entry logged earlier than the one before",
            ReplayFault::SecondDigest => "the context is published already with another digest",
            ReplayFault::PublishedTwice { .. } => "the context is published already",
            ReplayFault::LineDiffersInCase => {
                "a published line, or a parent of one, differs from this one only in case"
            }
            ReplayFault::NotPublished => "the context is not published",
            ReplayFault::WrongIndex { .. } => "the index is not the index of the context",
            ReplayFault::Revoked => "the context is revoked",
            ReplayFault::SuspendedAlready => "the context is suspended already",
            ReplayFault::NotSuspended => "the context is not suspended",
            ReplayFault::RetiredAlready => "the context is retired already",
            ReplayFault::FloorNotRaised => "the floor is not above the one before",
            ReplayFault::FloorAboveVersions => "the floor is above every published version",
            ReplayFault::SignerCompromised => "the key that signed is compromised",
            ReplayFault::RootNumber => "the root statement is not the next one by its number",
            ReplayFault::CompromisedFrom => {
                "the key is already compromised from that index on, or the log has no such index"
            }
            ReplayFault::FloorNotLowered => "there is no floor above this one",
            ReplayFault::LineTaken => {
                "a line of the recognition is published here, or another authority is recognised for it"
            }
            ReplayFault::LineRecognised => "another authority is recognised for this line",
            ReplayFault::RecognitionEnded => "the recognition ends before it is logged",
            ReplayFault::NotRecognised => "the authority is not recognised for these lines",
            ReplayFault::OverrideLate => "the version of the override is already published",
            ReplayFault::OverrideUnknown => "the override names a version that is not published so",
            ReplayFault::SignerUnknown => "a key is compromised, and the certificate of a signer is missing",
        })
    }
}

impl std::error::Error for ReplayFault {}
