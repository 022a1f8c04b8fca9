//! The list of refusal codes.
//!
//! A code never changes its meaning. A test compares this list with the table in `docs/reference/refusals.md`.

use std::fmt;

/// The class of a code, which sets its JSON-RPC error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Limits, framing and form of the message: −32010.
    Form,
    /// The context that the message names: −32011.
    Context,
    /// The content of the message: −32012.
    Content,
    /// The sender and receiver: −32013.
    Authority,
    /// Rate limits: −32014.
    Rate,
    /// The upstream agent, or the gateway itself: −32015.
    Delivery,
}

impl Class {
    /// The JSON-RPC error number of the class.
    pub const fn rpc(self) -> i32 {
        match self {
            Self::Form => -32010,
            Self::Context => -32011,
            Self::Content => -32012,
            Self::Authority => -32013,
            Self::Rate => -32014,
            Self::Delivery => -32015,
        }
    }
}

macro_rules! codes {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, $status:literal, $class:ident; )+) => {
        /// Reason for stopping a message. The text form is part of the wire format.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $( $(#[doc = $doc])+ $variant, )+ }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[ $( Code::$variant, )+ ];

            /// The code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $text, )+ }
            }

            /// The HTTP status of the code over plain HTTP.
            pub const fn status(self) -> u16 {
                match self { $( Code::$variant => $status, )+ }
            }

            /// The class of the code.
            pub const fn class(self) -> Class {
                match self { $( Code::$variant => Class::$class, )+ }
            }
        }
    };
}

codes! {
    /// The bytes are not a message of the binding: bad JSON, an unknown member, or two sources that differ.
    Malformed = "malformed", 400, Form;
    /// An object has one member twice, after unescaping and regardless of letter case.
    DuplicateKey = "duplicate_key", 400, Form;
    /// Arrays and objects are nested too deeply.
    TooDeep = "too_deep", 400, Form;
    /// The message exceeds the limit of JSON values, concepts, ids or work.
    TooComplex = "too_complex", 400, Form;
    /// The gateway does not support the content encoding, or it is nested.
    EncodingUnsupported = "encoding_unsupported", 400, Form;
    /// The binding does not carry the method.
    MethodUnsupported = "method_unsupported", 400, Form;
    /// The protocol version is unknown, or the route does not take it.
    VersionUnsupported = "version_unsupported", 400, Form;
    /// A header that repeats the body is missing or differs (MCP).
    HeaderMismatch = "header_mismatch", 400, Form;
    /// The message names no context.
    ContextMissing = "context_missing", 400, Form;
    /// The body was not complete in time.
    TooSlow = "too_slow", 408, Form;
    /// The body is larger than the limit, before or after inflating.
    TooLarge = "too_large", 413, Form;
    /// The context was never published, or the route's receiver does not understand it.
    ContextUnknown = "context_unknown", 404, Context;
    /// The digest is not the published one, or the document failed verification.
    ContextUntrusted = "context_untrusted", 403, Context;
    /// The authority revoked the context.
    ContextRevoked = "context_revoked", 403, Context;
    /// The authority suspended the context.
    ContextSuspended = "context_suspended", 403, Context;
    /// The version is below the lowest allowed one.
    ContextBelowFloor = "context_below_floor", 403, Context;
    /// The authority's status is too old to rely on.
    StatusStale = "status_stale", 503, Context;
    /// The content names a concept that the context does not define, or names none.
    ConceptUndefined = "concept_undefined", 422, Content;
    /// The content does not fit the schema of its concept.
    ContentInvalid = "content_invalid", 422, Content;
    /// The content is text, a file or a URL, and the route does not admit it.
    ContentUninspectable = "content_uninspectable", 422, Content;
    /// The request names another host than the listener's, or its page has no right to speak there.
    HostRefused = "host_refused", 403, Authority;
    /// The sender in the message is not the verified peer, or its credential is invalid.
    SenderMismatch = "sender_mismatch", 403, Authority;
    /// The receiver in the message is not the route's.
    ReceiverMismatch = "receiver_mismatch", 403, Authority;
    /// The lock is unknown, expired, or belongs to other peers or another context.
    LockMismatch = "lock_mismatch", 403, Authority;
    /// The task, conversation or session does not exist or belongs to another agent. Both give the same
    /// answer.
    NotFound = "not_found", 404, Authority;
    /// A proposal is answered without an open one of the other side in this conversation. Also an agent's
    /// stream message outside every open request or subscription.
    OutOfTurn = "out_of_turn", 409, Authority;
    /// A message that counts once came twice, or its stamp is too far from the clock.
    Replayed = "replayed", 403, Authority;
    /// No policy permits it, or one forbids it.
    PolicyDenied = "policy_denied", 403, Authority;
    /// A policy could not be evaluated.
    PolicyError = "policy_error", 403, Authority;
    /// A policy permits the message only after approval by a person, and nobody can be asked here.
    ApprovalRequired = "approval_required", 403, Authority;
    /// People were asked to approve the message, and have not answered yet.
    ApprovalPending = "approval_pending", 202, Authority;
    /// A person refused to approve the message.
    ApprovalDenied = "approval_denied", 403, Authority;
    /// Nobody approved the message in time.
    ApprovalExpired = "approval_expired", 403, Authority;
    /// The server describes another form of a tool than the signed one.
    ToolDrift = "tool_drift", 403, Authority;
    /// A push configuration names an address that the route does not deliver to.
    TargetRefused = "target_refused", 403, Authority;
    /// The agent asked more ambiguous questions than the limit allows.
    AmbiguityLimited = "ambiguity_limited", 429, Rate;
    /// The agent sent more messages than the limit allows.
    RateLimited = "rate_limited", 429, Rate;
    /// The upstream agent is not reachable.
    UpstreamUnavailable = "upstream_unavailable", 502, Delivery;
    /// The upstream agent's answer is not a reply of the binding.
    UpstreamInvalid = "upstream_invalid", 502, Delivery;
    /// The upstream agent's answer is not permitted; `cause` has the inner code.
    ReplyRefused = "reply_refused", 502, Delivery;
    /// The upstream agent answered with a protocol error. Its number is repeated, its text never.
    AgentError = "agent_error", 502, Delivery;
    /// The MCP server demands a credential of the caller, or a better one. Its challenge is repeated.
    AuthorizationRequired = "authorization_required", 401, Delivery;
    /// The upstream agent did not answer in time.
    UpstreamTimeout = "upstream_timeout", 504, Delivery;
    /// The audit cannot store the record, so nothing may pass.
    AuditUnavailable = "audit_unavailable", 503, Delivery;
    /// The gateway cannot store what people are asked, so nothing that needs them may pass.
    StateUnavailable = "state_unavailable", 503, Delivery;
}

impl Code {
    /// The JSON-RPC error number: that of the class, unless JSON-RPC or A2A has one with exactly this
    /// meaning.
    pub const fn rpc(self) -> i32 {
        match self {
            // JSON-RPC 2.0 §5.1 "Method not found"; A2A 1.0 VersionNotSupportedError.
            Self::MethodUnsupported => -32601,
            Self::VersionUnsupported => -32009,
            // MCP 2026-07-28 HeaderMismatchError.
            Self::HeaderMismatch => -32020,
            // A2A 1.0 TaskNotFoundError, which also covers other agents' tasks
            Self::NotFound => -32001,
            other => other.class().rpc(),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
