//! The one model that every binding produces.

use crate::{
    Admit, ContentFormat, Dialogue, JoinedTexts, Otherwise, Party, Pointer, RpcId, TextParts, Unadmitted,
    a2a::{Chunk, Operation, State},
    trace::TraceParent,
};
use semgate_contexts::{
    Performative,
    json::{self, Json},
};
use std::fmt;

/// The protocol of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Native L8 JSON over HTTP.
    L8,
    /// A2A 1.0 and 0.3.
    A2a,
    /// MCP over streamable HTTP.
    Mcp,
    /// A2H: agents ask people, and the gateway answers.
    A2h,
    /// LDP over HTTP.
    Ldp,
    /// IAC: signed messages over QUIC.
    Iac,
}

impl Binding {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::L8, Self::A2a, Self::Mcp, Self::A2h, Self::Ldp, Self::Iac];

    /// The binding of handshakes.
    pub const HANDSHAKE: Self = Self::L8;

    /// The name that configurations, policies (`context.binding`) and audit records use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::L8 => "l8",
            Self::A2a => "a2a",
            Self::Mcp => "mcp",
            Self::A2h => "a2h",
            Self::Ldp => "ldp",
            Self::Iac => "iac",
        }
    }

    /// All names, as words of a sentence.
    pub fn listed() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|binding| format!("`{binding}`")).collect();
        let (last, first) = names.split_last().map_or(("", [].as_slice()), |(last, first)| (last, first));
        format!("{} or {last}", first.join(", "))
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|binding| binding.as_str() == text)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Options for reading a message.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'r> {
    /// The extension URI, and the metadata member that holds the claim: the URN of the control vocabulary.
    pub extension: &'r str,
    /// Concept instances that one message may hold; more is [`crate::FaultKind::TooComplex`].
    pub max_concepts: usize,
    /// Unstructured parts that pass.
    pub admit: TextParts,
    /// The A2A tenant that a request must name; `None`: none may be named.
    pub tenant: Option<&'r str>,
    /// Keys of `_meta`, and of A2A metadata, that pass unread.
    pub meta: &'r crate::MetaKeys,
    /// Read content that names no concept anywhere as one instance without a name, in place of a gap.
    pub untyped: bool,
    /// Formats of content that the route admits.
    pub formats: &'r [ContentFormat],
}

/// The context that a message claims. Nothing here has been looked up yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'j> {
    /// The text in the place of the URN.
    pub urn: &'j str,
    /// The text in the place of the digest.
    pub digest: Option<&'j str>,
    /// The lock, an identifier.
    pub lock: Option<&'j str>,
    /// The location of the claim.
    pub location: &'static str,
}

/// The vocabulary that defines a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vocabulary {
    /// The message's context, or the control vocabulary.
    Context,
    /// The protocol's own context (`urn:contexts:a2a:v1.0`, `urn:contexts:mcp:v1.0`). The binding named it, the message did not.
    Protocol,
    /// The context of a format of content that the route admits. The binding named it, the message did not.
    Format(ContentFormat),
}

/// Ids that a message refers to, as written and unproved. A request asks about them; an answer names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Threads<'j> {
    /// The task and the conversation that the message itself belongs to, without those that it refers to or repeats as
    /// history.
    pub own: OwnThread<'j>,
    /// Ids of tasks, those referred to included.
    pub tasks: Vec<&'j str>,
    /// A2A's context ids: conversations.
    pub contexts: Vec<&'j str>,
    /// Push configurations: the task's id and the configuration's. The task's is empty where a configuration names none. That
    /// occurs in a message that begins a task, and in answers of agents that received it so.
    pub pushes: Vec<(&'j str, &'j str)>,
    /// The page that a request for a list of tasks asks for.
    pub page: Option<Page<'j>>,
    /// The task that a request begins under an id of its caller's choice.
    pub begins: Option<&'j str>,
    /// True if the answer is about the task, and so under its context. A2A's operation tells the same.
    pub asks: bool,
}

/// The task and conversation of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnThread<'j> {
    /// The task.
    pub task: Option<&'j str>,
    /// The conversation.
    pub context: Option<&'j str>,
}

/// The page of a list that is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page<'j> {
    /// The token from the previous page; none for the first.
    pub token: Option<&'j str>,
    /// The number of tasks on the page, if the request states it.
    pub size: Option<i64>,
    /// The first member whose value the protocol does not take, by its 1.0 name, and its fault. An agent refuses it by
    /// itself.
    pub unfit: Option<(&'static str, &'static str)>,
}

/// Instances of a message that form one artifact or message of a task, which later events may continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece<'j> {
    /// The kind of the piece. Ids of different kinds are unrelated.
    pub of: PieceOf,
    /// Its id, within the task.
    pub id: &'j str,
    /// The indices of its instances in [`Message::instances`].
    pub instances: std::ops::Range<usize>,
}

/// The kind of a [`Piece`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceOf {
    /// An artifact.
    Artifact,
    /// A message: of a status, of a history, or by itself.
    Message,
}

/// One concept object of a message.
#[derive(Clone, Debug)]
pub struct Instance<'j> {
    /// The vocabulary that defines the name.
    pub of: Vocabulary,
    /// The value of the naming member: the concept's or task's name, unchecked. Empty, as `naming` is, in content that names
    /// none: see [`Instance::is_untyped`].
    pub name: &'j str,
    /// The naming member, if it stands in the object. It is no part of the content that the schema judges. Empty if the whole
    /// object is judged.
    pub naming: &'static str,
    /// The location of the object in the message.
    pub pointer: Pointer<'j>,
    /// The object, naming member included.
    pub object: &'j json::Object<'j>,
    /// The speech act that carries it.
    pub performative: Performative,
}

impl Instance<'_> {
    /// True of content that names no concept, which [`Reading::untyped`] lets through.
    pub const fn is_untyped(&self) -> bool {
        self.name.is_empty() && self.naming.is_empty()
    }
}

/// The stamp and ids of a message that counts once. The binding ensures that the sender's signature covers them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Once<'j> {
    /// The time at which the sender signed the message, in seconds since the Unix epoch, if the protocol states it.
    pub at: Option<u64>,
    /// The ids that together occur once for this sender.
    pub ids: Vec<&'j str>,
}

/// A location in the content that names no concept.
#[derive(Clone, Debug)]
pub struct Gap<'j> {
    /// The location.
    pub pointer: Pointer<'j>,
    /// The content found there.
    pub what: &'static str,
}

/// A message as its binding reads it.
#[derive(Clone, Debug)]
pub struct Message<'j> {
    /// The binding that read it.
    pub binding: Binding,
    /// The operation that is asked for or answered, in A2A.
    pub operation: Option<Operation>,
    /// The type of the message as its protocol writes it, in bindings without operations.
    pub verb: Option<&'static str>,
    /// In MCP requests that expect an answer: the facts that it is read against.
    pub mcp: Option<crate::mcp::Asked>,
    /// The kind and operation of an MCP server's message.
    pub rpc: Option<(crate::mcp::Kind, crate::mcp::Operation)>,
    /// In MCP, of a tool call or its result: the tool, and `params` or `result` whole.
    pub tool_call: Option<(&'j str, &'j json::Object<'j>)>,
    /// In MCP: the request of the server that a client answers.
    pub answers: Option<RpcId>,
    /// In MCP 2026-07-28: the `requestState` that a server asks to get back, or that a client returns.
    pub state_token: Option<&'j str>,
    /// In MCP 2026-07-28: the name and method of each input that a server asks for (`inputRequests`) or a client gives
    /// (`inputResponses`). The form of a response tells its method.
    pub input: Vec<(&'j str, crate::mcp::Operation)>,
    /// The ids that it refers to.
    pub threads: Threads<'j>,
    /// The message's id, an identifier. In A2A replies that hold a task, the task's; empty where there is neither.
    pub message_id: &'j str,
    /// The sender that the message names; `None` where the protocol leaves that to the connection.
    pub sender_id: Option<&'j str>,
    /// The receiver that the message names; `None` where the protocol leaves that to the connection.
    pub receiver_id: Option<&'j str>,
    /// In bindings with signed messages: the stamp and ids by which a repetition is refused.
    pub once: Option<Once<'j>>,
    /// The speech act of the message as a whole.
    pub performative: Performative,
    /// Every context claim, in document order: at most one in a request.
    pub claims: Vec<Claim<'j>>,
    /// Every concept object, in document order.
    pub instances: Vec<Instance<'j>>,
    /// The first location whose content names no concept.
    pub gap: Option<Gap<'j>>,
    /// The first text, file, URL, data or metadata that the route does not admit.
    pub uninspectable: Option<Unadmitted<'j>>,
    /// In MCP: the characters of free text outside the instances and their marked members, such as names of client and
    /// server.
    pub prose: u64,
    /// In MCP: the strings that [`Message::prose`] counts, and those around them that a schema marks.
    pub prose_texts: Vec<String>,
    /// In MCP requests: the position in a trace.
    pub trace: Option<TraceParent>,
    /// The JSON-RPC id, in JSON-RPC bindings.
    pub rpc_id: Option<RpcId>,
    /// True only if nothing is said. In A2A: an empty reply, or a bare task status without message, artifact or history. In
    /// MCP: a tool's empty result, the end of a session, or a client's error.
    pub acknowledges: bool,
    /// The task's status, in A2A replies and events that state it.
    pub state: Option<State>,
    /// The artifact piece that an event of an A2A stream brings.
    pub chunk: Option<Chunk<'j>>,
    /// In A2A and MCP: the texts of each list of parts that holds several.
    pub joined_texts: Vec<JoinedTexts<'j>>,
    /// In A2A: the instances of each artifact or message, in document order.
    pub pieces: Vec<Piece<'j>>,
    /// Its session and signature.
    pub dialogue: Dialogue<'j>,
    /// Agents that content names as sender or receiver.
    pub parties: Vec<Party<'j>>,
    /// Instances that another vocabulary judges unless the message's context defines their name.
    pub otherwise: Vec<Otherwise>,
    /// Questions that content asks beside the instances of the control vocabulary; each costs its receiver inference.
    pub questions: usize,
}

impl<'j> Message<'j> {
    pub(crate) fn new(binding: Binding, performative: Performative) -> Self {
        Self {
            binding,
            operation: None,
            verb: None,
            mcp: None,
            rpc: None,
            answers: None,
            state_token: None,
            input: Vec::new(),
            tool_call: None,
            threads: Threads::default(),
            message_id: "",
            sender_id: None,
            receiver_id: None,
            once: None,
            performative,
            claims: Vec::new(),
            instances: Vec::new(),
            gap: None,
            uninspectable: None,
            prose: 0,
            prose_texts: Vec::new(),
            trace: None,
            rpc_id: None,
            acknowledges: false,
            state: None,
            chunk: None,
            joined_texts: Vec::new(),
            pieces: Vec::new(),
            dialogue: Dialogue::default(),
            parties: Vec::new(),
            otherwise: Vec::new(),
            questions: 0,
        }
    }

    /// The method, operation or type as the protocol writes it.
    pub fn method(&self) -> Option<&'static str> {
        let asked = self.mcp.as_ref().map(|asked| asked.operation);
        let of_mcp = asked.or(self.rpc.map(|(_, operation)| operation));
        of_mcp.map(crate::mcp::Operation::method).or(self.operation.map(Operation::as_str)).or(self.verb)
    }

    /// Counts characters of free text outside the instances, with the strings of the value that holds them.
    pub(crate) fn note_prose(&mut self, characters: u64, within: &Json<'_>) {
        if characters > 0 {
            self.prose = self.prose.saturating_add(characters);
            add_strings(within, &mut self.prose_texts);
        }
    }

    pub(crate) fn note_gap(&mut self, pointer: Pointer<'j>, what: &'static str) {
        if self.gap.is_none() {
            self.gap = Some(Gap { pointer, what });
        }
    }

    pub(crate) fn note_uninspectable(&mut self, pointer: Pointer<'j>, admit: Admit) {
        if self.uninspectable.is_none() {
            self.uninspectable = Some(Unadmitted { pointer, admit });
        }
    }
}

/// Adds all strings of a value; the strict reader bounded the depth.
fn add_strings(json: &Json<'_>, into: &mut Vec<String>) {
    match json {
        Json::String(text) => into.push(text.as_ref().to_owned()),
        Json::Array(items) => items.iter().for_each(|item| add_strings(item, into)),
        Json::Object(members) => members.iter().for_each(|(_, value)| add_strings(value, into)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
