//! The differences between bindings: one trait, with one implementation for each binding and transport.

use crate::{
    Asked, Binding, Call, Echo, Form, GatewayAnswer, Message, MessageFault, Reading, RpcId, Secret,
    SessionRef,
    a2a::{self, AgentError, Operation, TaskList},
    a2h::A2h,
    iac::Iac,
    ldp::Ldp,
    mcp::{self, Mcp},
    native::L8,
    removal::Walk,
};
use semgate_contexts::{Version, json::Json};
use std::fmt;

/// A protocol in one of its transports.
pub trait Protocol: fmt::Debug + Sync {
    /// Properties that no message changes.
    fn traits(&self) -> &'static Traits;

    /// The line and version of the context that defines the protocol's operations; none in native L8.
    fn vocabulary(&self) -> Option<(&'static str, Version)> {
        None
    }

    /// The version that a message is read under, as the protocol writes it; empty where it has none.
    fn version(&self, _call: &Call) -> &'static str {
        ""
    }

    /// The names of all carried versions, the default first.
    fn versions(&self) -> &'static [&'static str] {
        &[""]
    }

    /// Returns true if a route with these A2A versions takes the request.
    fn takes_version(&self, _call: &Call, _versions: &[a2a::Version]) -> bool {
        true
    }

    /// The id of the other side's request that a message answers. None for requests and notifications.
    fn answered(&self, _json: &Json<'_>, _call: &Call) -> Option<RpcId> {
        None
    }

    /// Reads a request. `question` is the operation of the request that the message answers, if it answers one.
    ///
    /// # Errors
    /// The first fault of the message.
    fn request<'j>(
        &self,
        json: &'j Json<'j>,
        call: &Call,
        question: Option<mcp::Operation>,
        reading: &Reading<'_>,
    ) -> Result<Message<'j>, MessageFault>;

    /// Reads a reply, or one event of a stream.
    ///
    /// # Errors
    /// The first fault of the reply.
    fn reply<'j>(
        &self,
        json: &'j Json<'j>,
        request: &ReplyTo<'j>,
        reading: &Reading<'_>,
    ) -> Result<Reply<'j>, MessageFault>;

    /// The JSON-RPC id that the answer to a request repeats, if the request has a valid one.
    fn rpc_id(&self, _json: &Json<'_>) -> Option<RpcId> {
        None
    }

    /// The texts that the answer to a request repeats, as far as they can be read.
    fn echo(&self, _json: &Json<'_>, _call: &Call) -> Option<Echo> {
        None
    }

    /// The session and task that a request names, in bindings with sessions by messages.
    fn session<'j>(&self, _json: &'j Json<'j>, _call: &Call) -> Option<SessionRef<'j>> {
        None
    }

    /// Writes a refusal as an answer of the protocol with HTTP status 200; none where the protocol has no such answer,
    /// so that the binding's HTTP status tells.
    fn refusal(&self, _draft: &RefusalDraft<'_>, _echo: &Echo) -> Option<Vec<u8>> {
        None
    }

    /// The task of a refused request whose client may ask about it afterwards.
    fn refused_task<'e>(&self, _echo: &'e Echo) -> Option<RefusedTask<'e>> {
        None
    }

    /// Marks the members of a message that are removed before it is judged.
    fn remove<'j>(&self, _walk: &mut Walk<'_, 'j>, _json: &'j Json<'j>) {}

    /// The kind of a reply with this HTTP status; none if no such reply passes.
    fn reply_kind(&self, status: u16, is_empty: bool, operation: Option<Operation>) -> Option<ReplyKind>;

    /// The error that an HTTP status and its body stand for, in transports where the status tells.
    fn status_error(&self, _status: u16, _body: &Json<'_>) -> Option<AgentError> {
        None
    }

    /// Writes an answer of the gateway in the agent's place; none if the protocol has no such answers.
    fn write(&self, own: &GatewayAnswer<'_>, asked: Option<&Asked>, extension: &str) -> Option<Vec<u8>>;

    /// Returns true if a request of this operation carries a message between the agents. Only such requests
    /// take turns, and only they may be clarified.
    fn converses(&self, operation: Option<Operation>) -> bool;

    /// Returns true if a request needs no lock on any route: no context for a lock is known yet, or the
    /// operation only reads.
    fn waives_lock(&self, _message: &Message<'_>) -> bool {
        false
    }

    /// JSON Pointer to the URN of a claim at this location.
    fn claim_pointer(&self, location: &str, _extension: &str) -> String {
        location.to_owned()
    }

    /// A better hint for a request that looks like one of another version. `versions` are those of the route.
    fn fault_hint(
        &self,
        _fault: &MessageFault,
        _call: &Call,
        _versions: &[a2a::Version],
    ) -> Option<&'static str> {
        None
    }
}

/// Properties of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The location of a request's parameters in the judged JSON.
    pub params_path: &'static str,
    /// The relation of a request's bytes to the judged JSON.
    pub request_bytes: RequestBytes,
    /// The search for the proposal that a message answers.
    pub turns: Turns,
    /// The rules of a stream of replies.
    pub stream: StreamRules,
    /// True if instances of the context are calls of tools, or their results.
    pub calls_tools: bool,
    /// True if every reply names its context. Otherwise a reply without one has the request's.
    pub names_context_in_replies: bool,
    /// True if the gateway answers every request by itself, and forwards none.
    pub answered_here: bool,
    /// True if each message is signed by its sender. A connection then identifies nobody, and no message travels over HTTP.
    /// Nothing can be removed from such a message or redacted in it.
    pub signs_messages: bool,
    /// True if an agent on a socket may ignore a request, and may answer a message that only informs.
    pub answers_freely: bool,
    /// Words for the location of a claim, in the hint of a refusal; empty in bindings with one location.
    pub claim_hint: &'static str,
    /// The hint for a request in a version that is not carried.
    pub version_hint: &'static str,
    /// The hint for a message that is not of the binding's form.
    pub form_hint: &'static str,
    /// The use of HTTP.
    pub http: HttpTraits,
}

/// Properties of a protocol's use of HTTP.
#[derive(Clone, Copy, Debug)]
pub struct HttpTraits {
    /// Content types of a message.
    pub media_types: &'static [&'static str],
    /// True if a header of the request names our extension.
    pub names_extensions: bool,
    /// True if `Accept` tells that the caller takes a stream.
    pub accept_tells_streams: bool,
    /// True if a route chooses among transports.
    pub has_transports: bool,
    /// True if clients join paths to the address of the agent.
    pub joins_paths: bool,
    /// True if `Origin` is checked on every listener.
    pub checks_origin: bool,
    /// True if the protocol has authorization of its own for forwarded tokens.
    pub has_authorization: bool,
}

impl HttpTraits {
    /// JSON and nothing else.
    pub(crate) const PLAIN: Self = Self {
        media_types: &["application/json"],
        names_extensions: false,
        accept_tells_streams: false,
        has_transports: false,
        joins_paths: false,
        checks_origin: false,
        has_authorization: false,
    };
}

impl Binding {
    /// The protocol in its default transport. Only methods without a [`Call`] or a body are independent of the transport.
    pub fn protocol(self) -> &'static dyn Protocol {
        match self {
            Self::L8 => &L8,
            Self::A2a => &a2a::JSON_RPC,
            Self::Mcp => &Mcp,
            Self::A2h => &A2h,
            Self::Ldp => &Ldp,
            Self::Iac => &Iac,
        }
    }
}

impl Call {
    /// The protocol in the transport of this request.
    pub fn protocol(&self) -> &'static dyn Protocol {
        match (self.binding, self.form) {
            (Binding::A2a, Form::Rest(_)) => &a2a::REST,
            (Binding::A2a, Form::Grpc(_)) => &a2a::GRPC,
            (binding, _) => binding.protocol(),
        }
    }
}

/// The request that a reply answers. Both are absent in native L8.
#[derive(Clone, Copy, Debug)]
pub struct ReplyTo<'q> {
    /// The request, in A2A.
    pub a2a: Option<&'q Asked>,
    /// The request, in MCP.
    pub mcp: Option<&'q mcp::Asked>,
    /// True for an event of a stream.
    pub in_stream: bool,
    /// The texts that the answer repeats, in bindings with [`Protocol::echo`].
    pub echo: Option<&'q Echo>,
}

/// A refusal that is to be written as an answer of its protocol.
#[derive(Clone, Debug)]
pub struct RefusalDraft<'r> {
    /// The stable code.
    pub code: &'r str,
    /// The sentence that clients show, with the id of the decision.
    pub text: &'r str,
    /// The problem document.
    pub problem: &'r serde_json::Value,
    /// The agent's own failure, if that is refused.
    pub failure: Option<&'r AgentFailure>,
    /// The name of the receiver of the request, in whose name the gateway answers.
    pub sender: &'r str,
    /// A new id for the answer.
    pub message_id: &'r str,
    /// The time (RFC 3339).
    pub timestamp: &'r str,
    /// The secret that signs the receiver's messages.
    pub secret: Option<&'r Secret>,
}

/// The task of a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusedTask<'e> {
    /// The request would have begun it.
    Begun(&'e str),
    /// The request asked about it.
    AskedFor(&'e str),
}

/// A failure that an agent reports in its own words, without those words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFailure {
    /// The agent's code: a word of at most 64 letters, digits, `_`, `-`, `.`.
    pub code: String,
    /// The protocol's category of the failure.
    pub category: &'static str,
    /// The protocol's word for its severity.
    pub severity: &'static str,
    /// True if the agent invites another attempt.
    pub retryable: bool,
}

/// A reply as its binding reads it.
#[derive(Clone, Debug)]
pub enum Reply<'j> {
    /// A message to judge.
    Message(Box<Message<'j>>),
    /// Tasks, each to be judged for itself: the answer to `ListTasks` of A2A.
    Tasks(Box<TaskList<'j>>),
    /// An error of an A2A agent. Its text is not kept.
    Error(AgentError),
    /// An error of an MCP server: its number, and the part of its data that passes. Its text never passes;
    /// [`mcp::plain_error`] has the words of the protocol.
    ServerError(i32, Option<mcp::ErrorData>),
    /// A failure that the agent reports by a word of its own, with the envelope that it came in. Its text is not kept.
    Failure(AgentFailure, Box<Message<'j>>),
}

/// The kind of a reply, as its status and length tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// A success without a body, or with a body that answers nothing. No byte passes.
    Acknowledgement,
    /// Bytes to judge.
    Message,
    /// Bytes that may only name one of the protocol's errors.
    Error,
    /// A success without the body that it needs.
    Missing,
}

/// The relation of a request's bytes to the judged JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestBytes {
    /// They are the same.
    Judged,
    /// The JSON holds the bytes, and the parts of path and query.
    Part,
    /// The JSON is another encoding of the bytes ([`a2a::grpc::write_request`]).
    Encoded,
}

/// The search for the proposal that a message answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turns {
    /// Between the two agents, by line and by the name of the proposal.
    Pairs,
    /// In the task or conversation of the message.
    Threads,
}

/// The rules of a stream of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamRules {
    /// Messages of the agent: answers, or those of an open subscription.
    Messages,
    /// Events of one task, or one message.
    Task,
    /// JSON-RPC messages of a server.
    Server,
}
