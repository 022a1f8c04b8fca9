//! Refusals: a public half for the caller, a private half for the operator.

use crate::{approval::NeedsApproval, code::Code, facts::Facts, meter::Quota};
use semgate_policies::Approval;
use std::{fmt, time::Duration};

mod approval;
mod failure;

pub use semgate_protocol::RpcId;
use semgate_protocol::{
    AgentFailure,
    a2a::ProtocolError,
    mcp::{ErrorData, Revision},
};

/// Delivery state of a refused message, or of the request whose reply was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivered {
    /// The upstream agent received nothing: sending again is safe.
    #[default]
    No,
    /// The upstream agent has the message: sending again repeats it.
    Yes,
    /// Unknown: the connection failed after bytes were sent.
    Unknown,
}

impl Delivered {
    /// The value in problem documents: `no`, `yes` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Yes => "yes",
            Self::Unknown => "unknown",
        }
    }
}

/// A remedy of the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// List the server's tools before a call: they changed, drifted elsewhere, or were not listed for long.
    ListTools,
    /// Leave a stream event out, since nobody waits for it. The stream goes on.
    LeaveOut,
    /// Leave a stream event out, since its request was answered. The stream goes on.
    Withhold,
}

/// The refusal of a message: its code, the text for the caller, and the text for the operator alone.
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
    failure: Option<AgentFailure>,
    remedy: Option<Remedy>,
    missing: Vec<String>,
    asks: Option<String>,
    by_agent: bool,
    tool_call: Option<Revision>,
    demands: Vec<Approval>,
    approval: Option<Box<NeedsApproval>>,
    location: Option<String>,
    facts: Facts,
}

impl Refusal {
    /// A refusal with its public reason: one line, lowercase, no payload value.
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
            failure: None,
            remedy: None,
            missing: Vec::new(),
            asks: None,
            by_agent: false,
            tool_call: None,
            demands: Vec::new(),
            approval: None,
            location: None,
            facts: Facts::default(),
        }))
    }

    /// Adds the hint for the caller.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = hint.into();
        self
    }

    /// Adds the detail for the operator alone.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = detail.into();
        self
    }

    /// Adds the missing members: JSON Pointers into the message, made of schema names (F0-63).
    #[must_use]
    pub fn with_missing(mut self, missing: Vec<String>) -> Self {
        self.0.missing = missing;
        self
    }

    /// Asks for the possible values of an undefined name (F0-31).
    #[must_use]
    pub fn with_asks(mut self, name: &str) -> Self {
        self.0.asks = Some(name.to_owned());
        self
    }

    /// Sets the delivery state.
    #[must_use]
    pub fn with_delivered(mut self, delivered: Delivered) -> Self {
        self.0.delivered = delivered;
        self
    }

    /// Sets the inner code of a refused reply.
    #[must_use]
    pub fn with_cause(mut self, cause: Code) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// Sets the wait before a retry can succeed.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Marks a message that can never pass: no wait helps.
    #[must_use]
    pub fn that_never_passes(mut self) -> Self {
        self.0.never = true;
        self
    }

    /// Adds the limits that stopped the message, as shown to its sender.
    #[must_use]
    pub fn with_quotas(mut self, quotas: Vec<Quota>) -> Self {
        self.0.quotas = quotas;
        self
    }

    /// Sets the JSON-RPC id that the answer must repeat.
    #[must_use]
    pub fn with_rpc_id(mut self, id: Option<RpcId>) -> Self {
        self.0.rpc_id = id;
        self
    }

    /// The refusal for an agent's error. A protocol error is repeated by number; any other is an invalid
    /// answer. The agent's own text never passes.
    pub fn of_agent(known: Option<ProtocolError>) -> Self {
        let Some(known) = known else {
            return Self::new(
                Code::UpstreamInvalid,
                "the upstream agent answered with an error that the protocol does not have",
            )
            .with_hint("the message was delivered: check its effect before you send it again")
            .with_delivered(Delivered::Yes)
            .by_agent();
        };
        let mut refusal =
            Self::new(Code::AgentError, "the upstream agent answered with an error of its protocol")
                .with_hint("handle this error as the protocol defines")
                .with_detail(known.text())
                .with_delivered(Delivered::Yes)
                .by_agent();
        refusal.0.agent_error = Some(known);
        refusal
    }

    /// Marks the refusal of a tool call in this MCP version, if its caller may see the tool.
    #[must_use]
    pub(crate) fn of_tool_call(mut self, version: Option<Revision>) -> Self {
        self.0.tool_call = version;
        self
    }

    /// The MCP version for a refusal that is answered as a tool result.
    ///
    /// The caller may see the tool, and its model can correct the arguments or report the policy decision.
    /// All other refusals of a call are protocol errors.
    pub fn tool_result(&self) -> Option<Revision> {
        let for_model = matches!(
            self.0.code,
            Code::ContentInvalid
                | Code::PolicyDenied
                | Code::PolicyError
                | Code::ApprovalRequired
                | Code::ApprovalPending
                | Code::ApprovalDenied
                | Code::ApprovalExpired
        );
        self.0.tool_call.filter(|_| for_model)
    }

    fn by_agent(mut self) -> Self {
        self.0.by_agent = true;
        self
    }

    /// Returns true if it stands for an agent's error: the request was not carried out.
    pub(crate) fn is_by_agent(&self) -> bool {
        self.0.by_agent
    }

    /// The refusal for an MCP server's error. Its number is repeated, with the text of JSON-RPC or MCP for
    /// it, if any.
    pub fn of_server(number: i32) -> Self {
        let (reason, hint) = match semgate_protocol::mcp::plain_error(number) {
            Some(words) => (
                format!("the server answered with an error: {words}"),
                "handle this error as the protocol defines",
            ),
            None => (
                "the server answered with an error of its own".to_owned(),
                "look up the number in the documentation of the server",
            ),
        };
        let mut refusal = Self::new(Code::AgentError, reason).with_hint(hint).with_delivered(Delivered::Yes);
        refusal.0.server_error = Some(number);
        refusal
    }

    /// The refusal for an MCP server that demands authorization by this status (RFC 6750 §3.1): 400, 401 or
    /// 403.
    pub fn demanded(status: u16) -> Self {
        let mut refusal =
            Self::new(Code::AuthorizationRequired, "the server demands authorization of its caller")
                .with_hint("send the credential that its challenge asks for")
                .with_delivered(Delivered::Yes);
        refusal.0.status = Some(status);
        refusal
    }

    /// HTTP status of the refusal: that of its code, or the server's own for `authorization_required`.
    pub fn status(&self) -> u16 {
        self.0.status.unwrap_or(self.0.code.status())
    }

    /// Number of the MCP server's error, for `agent_error`. An answer repeats it in the protocol's words.
    pub fn server_error(&self) -> Option<i32> {
        self.0.server_error
    }

    /// Error data for MCP: the admitted part of the server's data, or the protocol's own data for
    /// `version_unsupported`.
    pub fn server_data(&self) -> Option<&ErrorData> {
        self.0.server_data.as_ref()
    }

    /// Sets the MCP error data.
    #[must_use]
    pub fn with_server_data(mut self, data: Option<ErrorData>) -> Self {
        self.0.server_data = data;
        self
    }

    /// Sets the gateway's remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.0.remedy = Some(remedy);
        self
    }

    /// Remedy of the gateway before another judgement, or instead of ending a stream; none for most refusals.
    pub fn remedy(&self) -> Option<Remedy> {
        self.0.remedy
    }

    /// Sets the facts known when the verdict fell.
    #[must_use]
    pub fn with_facts(mut self, facts: Facts) -> Self {
        self.0.facts = facts;
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Public reason.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// Hint for the caller; never empty for a refusal of the inspector.
    pub fn hint(&self) -> &str {
        &self.0.hint
    }

    /// Detail for the operator alone; may be empty.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Inner code of `reply_refused` and `upstream_invalid`.
    pub fn cause(&self) -> Option<Code> {
        self.0.cause
    }

    /// All missing members of the message: JSON Pointers made of schema names, at most 16.
    pub fn missing(&self) -> &[String] {
        &self.0.missing
    }

    /// Undefined name to settle: the `parameter` of an `ambiguous_parameter`.
    pub fn asks(&self) -> Option<&str> {
        self.0.asks.as_deref()
    }

    /// Delivery state of the message.
    pub fn delivered(&self) -> Delivered {
        self.0.delivered
    }

    /// Wait before a retry, for the two rate codes.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns true if the message can never pass, so no answer should name a wait.
    pub fn never_passes(&self) -> bool {
        self.0.never
    }

    /// Limits that concern the message, for the two rate codes: its sender's own, never the replier's.
    pub fn quotas(&self) -> &[Quota] {
        &self.0.quotas
    }

    /// JSON-RPC id to repeat; present once a valid id was read.
    pub fn rpc_id(&self) -> Option<&RpcId> {
        self.0.rpc_id.as_ref()
    }

    /// Protocol error of the agent, for `agent_error`. An answer repeats its number, status and text in place
    /// of the code's.
    pub fn agent_error(&self) -> Option<ProtocolError> {
        self.0.agent_error
    }

    /// Facts known when the verdict fell.
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
