//! Faults of a handshake.

use crate::{FeaturesFault, LockFault, NoCommonVersion, NotTaken};
use semgate_certs::KeyFault;
use semgate_contexts::{Version, json};
use semgate_statement::{JwsFault, SignFault};
use std::fmt;

/// The reason that a HELLO, SELECT or LOCK was refused. Holds nothing of the message; its sender learns
/// [`HandshakeFault::code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFault {
    /// Longer than its limit.
    TooLarge,
    /// Refused by the strict JSON reader.
    Json(json::Fault),
    /// A member is missing, of another form, out of range, there twice, or not named by the format.
    Member(&'static str),
    /// The payload is JSON, but not its own canonical form (RFC 8785).
    NotCanonical,
    /// A list of features is no set.
    Features(FeaturesFault),
    /// Not a JWS of this kind, or its chain or signature does not hold.
    Signature(JwsFault),
    /// The signer's certificate does not name the agent in the message's `from`.
    SignerMismatch,
    /// No roots are configured for the trust domain of the signer.
    UnknownTrustDomain,
    /// The message is not from the peer of the connection.
    SenderMismatch,
    /// The message is for another agent.
    ReceiverMismatch,
    /// Issued more than a window ago.
    TooOld,
    /// Issued later than clock skew explains.
    FromTheFuture,
    /// Taken before.
    Replayed,
    /// SELECT or LOCK is about another HELLO than the one sent or answered: a message was changed in transit (F0-37).
    OtherHello,
    /// LOCK is about another SELECT.
    OtherSelect,
    /// LOCK closes no handshake that is open here.
    NotOpen,
    /// SELECT chose a context, digest or feature that the HELLO did not offer.
    NotOffered,
    /// SELECT chose a context that does not count now, or that its initiator may not use.
    NotCurrent,
    /// The answer to LOCK is about another session than the agreed one.
    OtherSession,
    /// A key to answer to was stated by a party that is no gateway of this agent.
    UnknownGateway,
    /// SELECT chose a version below a minimum.
    BelowMinimum {
        /// The lowest version that is allowed.
        floor: Version,
    },
    /// No version is common to both and allowed by every floor.
    NoCommon(NoCommonVersion),
    /// Both name one version, with different digests.
    DigestDiffers,
    /// The answer has already ended, or ends later than was asked.
    Expiry,
    /// A sealed message was expected and an open one came, or the other way round.
    Sealing,
    /// Sealed to a key that is not ours now.
    UnknownSealingKey,
    /// The box does not open, or a key is no key.
    CannotOpen,
    /// The limit of remembered handshakes is reached.
    Busy,
    /// No lock could be made.
    Lock(LockFault),
    /// The key or the source of randomness failed.
    Key(KeyFault),
}

impl HandshakeFault {
    /// The code that a refusal carries for this fault (`docs/reference/refusals.md`).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Json(fault) => fault.code(),
            // the choice is of the right form, and offers what nobody may choose
            Self::Features(FeaturesFault::SeveralModels) => "lock_mismatch",
            Self::Member(_) | Self::NotCanonical | Self::Features(_) => "malformed",
            Self::SignerMismatch | Self::UnknownTrustDomain | Self::SenderMismatch | Self::UnknownGateway => {
                "sender_mismatch"
            }
            Self::ReceiverMismatch => "receiver_mismatch",
            Self::TooOld | Self::FromTheFuture | Self::Replayed => "replayed",
            Self::NoCommon(NoCommonVersion::Disjoint) | Self::NotCurrent => "context_unknown",
            Self::NoCommon(NoCommonVersion::BelowFloor { .. }) | Self::BelowMinimum { .. } => {
                "context_below_floor"
            }
            Self::DigestDiffers => "context_untrusted",
            Self::Busy => "rate_limited",
            Self::Key(_) => "upstream_unavailable",
            Self::Signature(_)
            | Self::OtherHello
            | Self::OtherSelect
            | Self::NotOpen
            | Self::NotOffered
            | Self::OtherSession
            | Self::Expiry
            | Self::Sealing
            | Self::UnknownSealingKey
            | Self::CannotOpen
            | Self::Lock(_) => "lock_mismatch",
        }
    }
}

impl fmt::Display for HandshakeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::TooLarge => "the handshake message is longer than its limit",
            Self::Json(fault) => return fault.fmt(f),
            Self::Member(name) => {
                return write!(f, "member `{name}` of the handshake is missing or not valid");
            }
            Self::NotCanonical => "the signed payload is not in canonical form",
            Self::Features(fault) => return fault.fmt(f),
            Self::Signature(fault) => return write!(f, "the handshake message: {fault}"),
            Self::SignerMismatch => "the signer's certificate names another agent",
            Self::UnknownTrustDomain => "no roots are configured for the trust domain of the signer",
            Self::SenderMismatch => "the handshake is not from the peer that sent it",
            Self::ReceiverMismatch => "the handshake is for another agent",
            Self::TooOld => "the handshake message was issued too long ago",
            Self::FromTheFuture => "the handshake message was issued in the future",
            Self::Replayed => "the handshake message was already used",
            Self::OtherHello => "the answer is about another hello",
            Self::OtherSelect => "the lock is about another select",
            Self::NotOpen => "no such handshake is open here",
            Self::NotOffered => "the choice was not offered",
            Self::NotCurrent => "the choice is not valid now, or the opener may not use it",
            Self::OtherSession => "the lock is about another session than the agreed one",
            Self::UnknownGateway => "the key to answer to comes from a peer that is not a gateway here",
            Self::BelowMinimum { floor } => {
                return write!(f, "the choice is below the lowest version allowed, {floor}");
            }
            Self::NoCommon(fault) => return fault.fmt(f),
            Self::DigestDiffers => "the peers have different documents under one name",
            Self::Expiry => "the end of the session is outside the allowed range",
            Self::Sealing => {
                "the message is sealed where it should be open, or open where it should be sealed"
            }
            Self::UnknownSealingKey => "the message is sealed to a key that is not in use",
            Self::CannotOpen => "the sealed message does not open",
            Self::Busy => "more handshakes are open than the limit",
            Self::Lock(fault) => return fault.fmt(f),
            Self::Key(fault) => return fault.fmt(f),
        };
        f.write_str(text)
    }
}

impl std::error::Error for HandshakeFault {}

impl From<JwsFault> for HandshakeFault {
    fn from(fault: JwsFault) -> Self {
        match fault {
            JwsFault::TooLarge => Self::TooLarge,
            other => Self::Signature(other),
        }
    }
}

impl From<SignFault> for HandshakeFault {
    fn from(fault: SignFault) -> Self {
        match fault {
            SignFault::Key(fault) => Self::Key(fault),
            SignFault::Payload(_) => Self::NotCanonical,
        }
    }
}

impl From<LockFault> for HandshakeFault {
    fn from(fault: LockFault) -> Self {
        Self::Lock(fault)
    }
}

impl From<NoCommonVersion> for HandshakeFault {
    fn from(fault: NoCommonVersion) -> Self {
        Self::NoCommon(fault)
    }
}

impl From<FeaturesFault> for HandshakeFault {
    fn from(fault: FeaturesFault) -> Self {
        Self::Features(fault)
    }
}

impl From<KeyFault> for HandshakeFault {
    fn from(fault: KeyFault) -> Self {
        Self::Key(fault)
    }
}

impl From<NotTaken> for HandshakeFault {
    fn from(why: NotTaken) -> Self {
        match why {
            NotTaken::Replayed => Self::Replayed,
            NotTaken::Full => Self::Busy,
        }
    }
}
