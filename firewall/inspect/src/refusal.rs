//! A refusal: an outside half for whoever called, an inside half for the operator.

use crate::{code::Code, facts::Facts, meter::Quota};
use std::{fmt, time::Duration};

pub use semgate_message::RpcId;
use semgate_message::{
    a2a::ProtocolError,
    mcp::{ErrorData, Version},
};

/// Whether the agent behind has received the message that is refused or whose reply is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivered {
    /// Nothing reached it: sending again is safe.
    #[default]
    No,
    /// It has the message: sending again says it twice.
    Yes,
    /// The connection failed after bytes were sent: nobody knows.
    Unknown,
}

impl Delivered {
    /// `no`, `yes` or `unknown`, as problem documents write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::Unknown => "unknown",
        }
    }
}

/// What the gateway itself can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// The tools of the server have to be listed before one is called: they changed, drifted elsewhere, or were not listed for long.
    ListTools,
    /// Of an event of a stream: nobody waits for it, so it can be left out and the stream go on.
    LeaveOut,
    /// Of an event of a stream: it answers a request that was answered. It is left out, and the stream goes on.
    Withhold,
}

/// A message was stopped: the code, what the caller may read, and what only the operator may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    code: Code,
    reason: String,
    hint: String,
    detail: String,
    cause: Option<Code>,
    delivered: Delivered,
    retry_after: Option<Duration>,
    never: bool,
    quotas: Vec<Quota>,
    rpc_id: Option<RpcId>,
    status: Option<u16>,
    agent_error: Option<ProtocolError>,
    server_error: Option<i32>,
    server_data: Option<ErrorData>,
    remedy: Option<Remedy>,
    missing: Vec<String>,
    asks: Option<String>,
    by_agent: bool,
    tool_call: Option<Version>,
    facts: Facts,
}

impl Refusal {
    /// A refusal with the reason that outsiders may read: one line, lowercase, no payload value.
    pub fn new(code: Code, reason: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            reason: reason.into(),
            hint: String::new(),
            detail: String::new(),
            cause: None,
            delivered: Delivered::No,
            retry_after: None,
            never: false,
            quotas: Vec::new(),
            rpc_id: None,
            status: None,
            agent_error: None,
            server_error: None,
            server_data: None,
            remedy: None,
            missing: Vec::new(),
            asks: None,
            by_agent: false,
            tool_call: None,
            facts: Facts::default(),
        }))
    }

    /// Adds what the caller can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// Adds what only the operator may read.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Names what is missing, as JSON Pointers into the message made of names of the schema (F0-63).
    #[must_use]
    pub fn with_missing(mut self, missing: Vec<String>) -> Self {
        self.0.missing = missing;
        self
    }

    /// Asks which values an undefined name can have (F0-31).
    #[must_use]
    pub fn with_asks(mut self, name: &str) -> Self {
        self.0.asks = Some(name.to_owned());
        self
    }

    /// Says whether the agent behind has the message.
    #[must_use]
    pub fn with_delivered(mut self, delivered: Delivered) -> Self {
        self.0.delivered = delivered;
        self
    }

    /// Names the inner code of a refused reply.
    #[must_use]
    pub fn with_cause(mut self, cause: Code) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Says when trying again can succeed.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Says that no wait helps: the same message can never pass.
    #[must_use]
    pub fn that_never_passes(mut self) -> Self {
        self.0.never = true;
        self
    }

    /// Adds the limits that stopped it, as its sender may know them.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Vec<Quota>) -> Self {
        self.0.quotas = quotas;
        self
    }

    /// Carries the JSON-RPC id that the answer must repeat.
    #[must_use]
    pub fn with_rpc_id(mut self, id: Option<RpcId>) -> Self {
        self.0.rpc_id = id;
        self
    }

    /// An agent answered with an error: one of the protocol's own is repeated by its number, another is no answer. What the
    /// agent wrote there never passes.
    pub fn of_agent(known: Option<ProtocolError>) -> Self {
        let Some(known) = known else {
            return Self::new(
                Code::UpstreamInvalid,
                "the agent behind answered with an error that the protocol does not have",
            )
            .with_hint("the message was delivered: do not send it again before you know what became of it")
            .with_delivered(Delivered::Yes)
            .by_agent();
        };
        let mut refusal =
            Self::new(Code::AgentError, "the agent behind answered with an error of its protocol")
                .with_hint("do what the protocol says about this error")
                .with_detail(known.text())
                .with_delivered(Delivered::Yes)
                .by_agent();
        refusal.0.agent_error = Some(known);
        refusal
    }

    /// Marks the refusal of a call, in this version of MCP, to a tool that its caller may see.
    #[must_use]
    pub(crate) fn of_tool_call(mut self, version: Option<Version>) -> Self {
        self.0.tool_call = version;
        self
    }

    /// The version of MCP in which the refusal answers as a tool result: the caller may see the tool, and its model can
    /// correct the arguments or tell why policy stopped the call. All other refusals of a call are protocol errors.
    pub fn tool_result(&self) -> Option<Version> {
        let for_model = matches!(
            self.0.code,
            Code::ContentInvalid | Code::PolicyDenied | Code::PolicyError | Code::ApprovalRequired
        );
        self.0.tool_call.filter(|_| for_model)
    }

    fn by_agent(mut self) -> Self {
        self.0.by_agent = true;
        self
    }

    /// Whether it stands for an error that an agent answered with, in whatever words: what the request asked for was not done.
    pub(crate) fn is_by_agent(&self) -> bool {
        self.0.by_agent
    }

    /// A server of MCP answered with an error: its number is repeated, in the words that JSON-RPC or MCP has for it, if any.
    pub fn of_server(number: i32) -> Self {
        let (reason, hint) = match semgate_message::mcp::plain_error(number) {
            Some(words) => (
                format!("the server answered with an error: {words}"),
                "do what the protocol says about this error",
            ),
            None => (
                "the server answered with an error of its own".to_owned(),
                "look the number up in what the server says of itself",
            ),
        };
        let mut refusal = Self::new(Code::AgentError, reason).with_hint(hint).with_delivered(Delivered::Yes);
        refusal.0.server_error = Some(number);
        refusal
    }

    /// A server of MCP demands authorization of its caller by this status (RFC 6750 §3.1): 400, 401 or 403.
    pub fn demanded(status: u16) -> Self {
        let mut refusal =
            Self::new(Code::AuthorizationRequired, "the server demands authorization of its caller")
                .with_hint("show it the credential that its challenge asks for")
                .with_delivered(Delivered::Yes);
        refusal.0.status = Some(status);
        refusal
    }

    /// The status of HTTP that goes with it: that of its code, or for `authorization_required` the server's own.
    pub fn status(&self) -> u16 {
        self.0.status.unwrap_or(self.0.code.status())
    }

    /// For `agent_error` in MCP: the number of the server's error, which an answer repeats in the words of the protocol.
    pub fn server_error(&self) -> Option<i32> {
        self.0.server_error
    }

    /// In MCP: what passes of the data of the server's error, and for `version_unsupported` the protocol's own data.
    pub fn server_data(&self) -> Option<&ErrorData> {
        self.0.server_data.as_ref()
    }

    /// Adds what MCP has as the data of the error.
    #[must_use]
    pub fn with_server_data(mut self, data: Option<ErrorData>) -> Self {
        self.0.server_data = data;
        self
    }

    /// Says what the gateway can do about it.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.0.remedy = Some(remedy);
        self
    }

    /// What the gateway can do before the same message is judged again, or in the place of ending a stream; for most refusals nothing.
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.remedy
    }

    /// Carries what was known when the verdict fell.
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> Self {
        self.0.facts = facts;
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Why, fit for outsiders.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// What the caller can do; never empty for a refusal of the inspector.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// What only the operator may read; may be empty.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The inner code, for `reply_refused` and `upstream_invalid`.
    pub fn cause(&self) -> Option<Code> {
        self.0.cause
    }

    /// What is missing in the message, all at once: JSON Pointers made of names of the schema, at most 16.
    pub fn missing(&self) -> &[String] {
        &self.0.missing
    }

    /// The undefined name that its sender is asked about: `parameter` of an `ambiguous_parameter`.
    pub fn asks(&self) -> Option<&str> {
        self.0.asks.as_deref()
    }

    /// Whether the agent behind has the message.
    pub fn delivered(&self) -> Delivered {
        self.0.delivered
    }

    /// How long to wait before trying again, for the two rate codes.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether no wait helps: the same message can never pass, so that nobody is to be told when to come back.
    pub fn never_passes(&self) -> bool {
        self.0.never
    }

    /// The limits that concern what was stopped, for the two rate codes: its sender's own, never those of who answers it.
    pub fn quotas(&self) -> &[Quota] {
        &self.0.quotas
    }

    /// The JSON-RPC id to repeat; present once a valid id was read.
    pub fn rpc_id(&self) -> Option<&RpcId> {
        self.0.rpc_id.as_ref()
    }

    /// For `agent_error`: the protocol's error that the agent answered with. An answer repeats its number, status and text
    /// in place of those of the code.
    pub fn agent_error(&self) -> Option<ProtocolError> {
        self.0.agent_error
    }

    /// What was known when the verdict fell.
    pub fn facts(&self) -> &Facts {
        &self.0.facts
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.reason)
    }
}

impl std::error::Error for Refusal {}
