//! The list of refusal codes.
//!
//! A code never changes its meaning. A test compares this list with the table in `docs/refusals.md`.

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

            /// The code as it is written on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $( Code::$variant => $text, )+ }
            }

            /// The HTTP status that carries the code over plain HTTP.
            pub const fn status(self) -> u16 {
                match self { $( Code::$variant => $status, )+ }
            }

            /// The family that the code belongs to.
            pub const fn class(self) -> Class {
                match self { $( Code::$variant => Class::$class, )+ }
            }
        }
    };
}

codes! {
    /// The bytes are not a message of the binding: bad JSON, a member that it does not have, two sources that differ.
    Malformed = "malformed", 400, Form;
    /// An object has one member twice, also after unescaping or in another case of letters.
    DuplicateKey = "duplicate_key", 400, Form;
    /// Arrays and objects are nested past the limit.
    TooDeep = "too_deep", 400, Form;
    /// There are more JSON values, or more concepts, than the limit allows.
    TooComplex = "too_complex", 400, Form;
    /// The content encoding is not one that the gateway inflates, or is nested.
    EncodingUnsupported = "encoding_unsupported", 400, Form;
    /// The method is not one that the binding carries.
    MethodUnsupported = "method_unsupported", 400, Form;
    /// The protocol version is not one that the binding speaks (A2A: anything but `1.0`).
    VersionUnsupported = "version_unsupported", 400, Form;
    /// A header that repeats the body is missing or says otherwise, where the protocol has an error for exactly this (MCP).
    HeaderMismatch = "header_mismatch", 400, Form;
    /// The message names no context.
    ContextMissing = "context_missing", 400, Form;
    /// The body was not complete within the time that the gateway waits.
    TooSlow = "too_slow", 408, Form;
    /// The body is larger than the limit, before or after inflating.
    TooLarge = "too_large", 413, Form;
    /// The context was never published, or the route's receiver does not understand it.
    ContextUnknown = "context_unknown", 404, Context;
    /// The digest is not the one that the authority published, or the document failed verification.
    ContextUntrusted = "context_untrusted", 403, Context;
    /// The authority revoked the context.
    ContextRevoked = "context_revoked", 403, Context;
    /// The authority suspended the context for now.
    ContextSuspended = "context_suspended", 403, Context;
    /// The version is below the lowest that is still allowed.
    ContextBelowFloor = "context_below_floor", 403, Context;
    /// The authority's status is too old to rely on.
    StatusStale = "status_stale", 503, Context;
    /// The content names a concept that the context does not define, or names none.
    ConceptUndefined = "concept_undefined", 422, Content;
    /// The content does not fit the schema of its concept.
    ContentInvalid = "content_invalid", 422, Content;
    /// The content is text, a file or a URL, which the route does not admit.
    ContentUninspectable = "content_uninspectable", 422, Content;
    /// The listener is not called as the request calls it, or the request comes from a page that may not speak there.
    HostRefused = "host_refused", 403, Authority;
    /// The sender in the message is not the verified peer, or the credential that it shows is not good.
    SenderMismatch = "sender_mismatch", 403, Authority;
    /// The receiver in the message is not the route's.
    ReceiverMismatch = "receiver_mismatch", 403, Authority;
    /// The lock is unknown, over, or not one between these two peers and this context.
    LockMismatch = "lock_mismatch", 403, Authority;
    /// There is no task, conversation or session of this id, or it is another agent's: the answer is one and the same.
    NotFound = "not_found", 404, Authority;
    /// A proposal is accepted, rejected or countered, and none of the other side is open in this conversation; or an agent says
    /// in a stream what no open request or subscription asks for.
    OutOfTurn = "out_of_turn", 409, Authority;
    /// A lock or a once-only concept was used again.
    Replayed = "replayed", 403, Authority;
    /// No policy permits it, or one forbids it.
    PolicyDenied = "policy_denied", 403, Authority;
    /// A policy could not be evaluated.
    PolicyError = "policy_error", 403, Authority;
    /// A policy lets it pass once a human approved it, and nobody did.
    ApprovalRequired = "approval_required", 403, Authority;
    /// The server describes a tool otherwise than it was signed.
    ToolDrift = "tool_drift", 403, Authority;
    /// A push configuration names an address that the route delivers nothing to.
    TargetRefused = "target_refused", 403, Authority;
    /// The agent asked more ambiguous questions than the limit allows.
    AmbiguityLimited = "ambiguity_limited", 429, Rate;
    /// The agent sent more messages than the limit allows.
    RateLimited = "rate_limited", 429, Rate;
    /// The agent behind could not be reached.
    UpstreamUnavailable = "upstream_unavailable", 502, Delivery;
    /// The agent behind answered something that is no reply of the binding.
    UpstreamInvalid = "upstream_invalid", 502, Delivery;
    /// The agent behind answered what it may not say; `cause` has the inner code.
    ReplyRefused = "reply_refused", 502, Delivery;
    /// The agent behind answered with an error of its protocol; the number is repeated, its text never.
    AgentError = "agent_error", 502, Delivery;
    /// MCP: the server demands of the caller that it shows a credential, or a better one; its challenge is repeated.
    AuthorizationRequired = "authorization_required", 401, Delivery;
    /// The agent behind did not answer in time.
    UpstreamTimeout = "upstream_timeout", 504, Delivery;
    /// The audit cannot take the record, so nothing may pass.
    AuditUnavailable = "audit_unavailable", 503, Delivery;
}

impl Code {
    /// The JSON-RPC error number: the class's, except where JSON-RPC or A2A has a number that means exactly this.
    pub const fn rpc(self) -> i32 {
        match self {
            // JSON-RPC 2.0 §5.1 "Method not found"; A2A 1.0 VersionNotSupportedError.
            Self::MethodUnsupported => -32601,
            Self::VersionUnsupported => -32009,
            // MCP 2026-07-28 HeaderMismatchError.
            Self::HeaderMismatch => -32020,
            // A2A 1.0 TaskNotFoundError, which its specification has for tasks of others too.
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
