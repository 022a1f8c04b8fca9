//! Types of a message body, each with its members.

use semgate_contexts::Performative;

/// The type of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hello,
    CapabilityManifest,
    SessionPropose,
    SessionAccept,
    SessionReject,
    TaskSubmit,
    TaskUpdate,
    TaskResult,
    TaskFailed,
    TaskCancel,
    Attestation,
    SessionClose,
}

/// Every member that some type has.
const MEMBERS: [&str; 18] = [
    "delegate_id",
    "supported_modes",
    "capabilities",
    "config",
    "session_id",
    "negotiated_mode",
    "reason",
    "error",
    "task_id",
    "skill",
    "input",
    "contract",
    "progress",
    "message",
    "output",
    "provenance",
    "claim",
    "evidence",
];

impl Kind {
    pub(super) const ALL: [Self; 12] = [
        Self::Hello,
        Self::CapabilityManifest,
        Self::SessionPropose,
        Self::SessionAccept,
        Self::SessionReject,
        Self::TaskSubmit,
        Self::TaskUpdate,
        Self::TaskResult,
        Self::TaskFailed,
        Self::TaskCancel,
        Self::Attestation,
        Self::SessionClose,
    ];

    /// The word on the wire.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hello => "HELLO",
            Self::CapabilityManifest => "CAPABILITY_MANIFEST",
            Self::SessionPropose => "SESSION_PROPOSE",
            Self::SessionAccept => "SESSION_ACCEPT",
            Self::SessionReject => "SESSION_REJECT",
            Self::TaskSubmit => "TASK_SUBMIT",
            Self::TaskUpdate => "TASK_UPDATE",
            Self::TaskResult => "TASK_RESULT",
            Self::TaskFailed => "TASK_FAILED",
            Self::TaskCancel => "TASK_CANCEL",
            Self::Attestation => "ATTESTATION",
            Self::SessionClose => "SESSION_CLOSE",
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The members of the type, besides `type`.
    pub(super) const fn members(self) -> &'static [&'static str] {
        match self {
            Self::Hello => &["delegate_id", "supported_modes"],
            Self::CapabilityManifest => &["capabilities"],
            Self::SessionPropose => &["config"],
            Self::SessionAccept => &["session_id", "negotiated_mode"],
            Self::SessionReject => &["reason", "error"],
            Self::TaskSubmit => &["task_id", "skill", "input", "contract"],
            Self::TaskUpdate => &["task_id", "progress", "message"],
            Self::TaskResult => &["task_id", "output", "provenance"],
            Self::TaskFailed => &["task_id", "error"],
            Self::TaskCancel => &["task_id"],
            Self::Attestation => &["claim", "evidence"],
            Self::SessionClose => &["reason"],
        }
    }

    /// True of a member that another type has.
    pub(super) fn is_of_another(member: &str) -> bool {
        MEMBERS.contains(&member)
    }

    /// Members whose texts the signature covers, in its order.
    pub(super) const fn signed(self) -> &'static [&'static str] {
        match self {
            Self::Hello => &["delegate_id"],
            Self::SessionAccept => &["session_id"],
            Self::SessionReject => &["reason"],
            Self::TaskSubmit => &["task_id", "skill"],
            Self::TaskUpdate | Self::TaskResult | Self::TaskFailed | Self::TaskCancel => &["task_id"],
            Self::CapabilityManifest | Self::SessionPropose | Self::Attestation | Self::SessionClose => &[],
        }
    }

    /// The concept of the whole body, or of its one object; none where the content has a name of its own, or no text passes.
    pub(super) const fn concept(self) -> Option<&'static str> {
        match self {
            Self::Hello => Some("hello"),
            Self::CapabilityManifest => Some("capability_manifest"),
            Self::SessionPropose => Some("session_propose"),
            Self::SessionAccept => Some("session_accept"),
            Self::TaskUpdate => Some("task_update"),
            Self::TaskCancel => Some("task_cancel"),
            Self::Attestation => Some("attestation"),
            Self::SessionClose => Some("session_close"),
            Self::SessionReject | Self::TaskSubmit | Self::TaskResult | Self::TaskFailed => None,
        }
    }

    /// The speech act of a request.
    pub(super) const fn asks(self) -> Performative {
        match self {
            Self::TaskSubmit | Self::TaskCancel => Performative::Request,
            Self::TaskUpdate => Performative::Query,
            Self::SessionPropose => Performative::Propose,
            _ => Performative::Inform,
        }
    }

    /// The speech act of an answer.
    pub(super) const fn answers(self) -> Performative {
        match self {
            Self::SessionAccept => Performative::Accept,
            Self::SessionReject => Performative::Reject,
            Self::TaskFailed => Performative::Refuse,
            _ => Performative::Inform,
        }
    }

    /// True if a client may send it. The others are answers.
    pub(super) const fn is_request(self) -> bool {
        !matches!(self, Self::SessionAccept | Self::SessionReject | Self::TaskResult | Self::TaskFailed)
    }

    /// True if it answers a request of this type. A failure answers every request.
    pub(super) fn replies_to(self, asked: Self) -> bool {
        match self {
            Self::SessionReject | Self::TaskFailed => true,
            Self::CapabilityManifest => matches!(asked, Self::Hello | Self::CapabilityManifest),
            Self::SessionAccept => asked == Self::SessionPropose,
            Self::TaskUpdate | Self::TaskResult => {
                matches!(asked, Self::TaskSubmit | Self::TaskUpdate | Self::TaskCancel)
            }
            Self::Attestation | Self::SessionClose => asked == self,
            Self::Hello | Self::SessionPropose | Self::TaskSubmit | Self::TaskCancel => false,
        }
    }
}
