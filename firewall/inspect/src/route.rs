//! Routes: a receiver, its binding, and the contexts that it understands.

use crate::DialogueRules;
use semgate_contexts::{ContextUrn, Line, ModelName, Version};
pub use semgate_protocol::TextParts;
use semgate_protocol::{Binding, ContentFormat, MetaKeys, a2a};
use std::fmt;

/// The versions of one line, or all lines, that a receiver understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineScope {
    /// Every line and version: `*`.
    All,
    /// Every version of a line: `payment`.
    Line(Line),
    /// One major of a line: `payment:v1`.
    Major(Line, u32),
    /// One version: `payment:v1.1`.
    Exact(Line, Version),
}

impl LineScope {
    /// Reads `*`, `line`, `line:vMAJOR` or `line:vMAJOR.MINOR`.
    ///
    /// # Errors
    /// [`RouteFault::Scope`] for any other text.
    pub fn parse(text: &str) -> Result<Self, RouteFault> {
        let fault = || RouteFault::Scope { text: text.to_owned() };
        if text == "*" {
            return Ok(Self::All);
        }
        let Some((line, version)) = text.split_once(':') else {
            return Line::parse(text).map(Self::Line).map_err(|_| fault());
        };
        let line = Line::parse(line).map_err(|_| fault())?;
        if version.contains('.') {
            return Version::parse(version).map(|v| Self::Exact(line, v)).map_err(|_| fault());
        }
        // one spelling of a number: the version grammar with a minor appended
        let version = Version::parse(&format!("{version}.0")).map_err(|_| fault())?;
        Ok(Self::Major(line, version.major))
    }

    /// Returns true if this version of a line is among them.
    pub fn holds(&self, urn: &ContextUrn) -> bool {
        match self {
            Self::All => true,
            Self::Line(line) => line == urn.line(),
            Self::Major(line, major) => line == urn.line() && *major == urn.version().major,
            Self::Exact(line, version) => line == urn.line() && *version == urn.version(),
        }
    }
}

impl LineScope {
    fn reaches(&self, line: &Line, floor: Version) -> bool {
        match self {
            Self::All => true,
            Self::Line(own) => own == line,
            Self::Major(own, major) => own == line && *major >= floor.major,
            Self::Exact(own, version) => own == line && *version >= floor,
        }
    }
}

impl fmt::Display for LineScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Line(line) => write!(f, "{line}"),
            Self::Major(line, major) => write!(f, "{line}:v{major}"),
            Self::Exact(line, version) => write!(f, "{line}:{version}"),
        }
    }
}

/// A destination of a listener's messages, with the contexts that its receiver understands.
#[derive(Clone, Debug)]
pub struct Route {
    /// Name of the route in the configuration.
    pub name: String,
    /// Protocol binding of the messages.
    pub binding: Binding,
    /// Id of the receiver, which its certificate must carry.
    pub receiver: String,
    /// Address of the receiver: a URL, never from a message.
    pub upstream: String,
    /// Contexts that the receiver understands. Each also admits concepts of the control vocabulary.
    pub contexts: Vec<LineScope>,
    /// Admitted unstructured parts, which pass unread.
    pub text_parts: TextParts,
    /// A2A tenant that requests must name; with `None` they must name no tenant.
    pub tenant: Option<String>,
    /// Optional settings; each default is the strictest choice.
    pub options: RouteOptions,
}

/// Marks a group route: its requests address a group, and its receiver is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupScope {
    /// Name of the group in `entities.json`.
    pub name: String,
    /// Contexts of the group. A member takes part in those that it also understands.
    pub contexts: Vec<LineScope>,
}

/// Optional settings of a route. The defaults admit nothing optional.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteOptions {
    /// A2A versions that the route takes, 1.0 alone by default; ignored in other bindings.
    ///
    /// A request without a version means 0.3. A stripped header is therefore refused unless the route takes
    /// 0.3.
    pub versions: Vec<a2a::Version>,
    /// Contexts for messages that name none.
    ///
    /// An MCP call uses the first that pins its tool; everything else uses the first. The receiver must
    /// understand each ([`Route::check`]). Without any, such a message is `context_missing`.
    pub default_contexts: Vec<ContextUrn>,
    /// Requires a lock in every message about a context of the route; `lock_mismatch` without one.
    pub require_lock: bool,
    /// Passes HELLO, SELECT and LOCK unopened, for the agents alone to verify. Otherwise they are
    /// `content_uninspectable` here and belong to the route's endpoint.
    pub passes_handshakes: bool,
    /// True if the upstream agent keeps its callers apart by itself, by `Client-Cert` or `Semgate-Sender`.
    ///
    /// The gateway then admits other agents' tasks, and still records the context of each task.
    pub keeps_callers_apart: bool,
    /// Group that requests address in place of the receiver.
    pub group: Option<GroupScope>,
    /// Lets the gateway answer a QUERY of `ambiguous_parameter` alone from the context's code lists, in the
    /// agent's place (F0-28).
    pub answer_from_code_lists: bool,
    /// Concept or task of the first default context that judges content without a name. Content that names one, and content
    /// under another context, is judged as without this option.
    pub untyped: Option<String>,
    /// Embedding models that the receiver speaks. Handshakes that the gateway answers for it offer those that a context names.
    pub embeddings: Vec<ModelName>,
    /// Treatment of names that the context does not define.
    pub undefined: Undefined,
    /// Treatment of MCP tools that no task of the context pins.
    pub unnamed_tools: UnnamedTools,
    /// Treatment of `null` arguments of a pinned tool whose parameters take no null.
    pub null_arguments: NullArguments,
    /// Keys of MCP `_meta` and A2A metadata that pass unread, in either direction.
    pub meta: MetaKeys,
    /// Formats of content that pass in data parts, in A2A.
    pub formats: Vec<ContentFormat>,
    /// Rules for sessions and signatures of messages.
    pub dialogue: DialogueRules,
}

/// Treatment of a name that the context does not define (F0-31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undefined {
    /// Refuses the message.
    #[default]
    Reject,
    /// Refuses the message and asks its sender for the possible values. The sender may then use the name in
    /// that session. This needs a session, and a policy that names it.
    Disambiguate,
}

/// Treatment of tools that no context names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnnamedTools {
    /// Neither lists nor calls them.
    #[default]
    Withhold,
    /// Lists and calls them if a policy permits `mcp::CallTool`. No schema judges their arguments and
    /// results.
    Pass,
}

impl UnnamedTools {
    /// The value in configurations.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Withhold => "withhold",
            Self::Pass => "pass",
        }
    }

    /// Reads the value of a configuration.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Withhold, Self::Pass].into_iter().find(|choice| choice.as_str() == text)
    }
}

/// Treatment of a `null` argument of an MCP tool that the signed parameters name as optional and without
/// null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullArguments {
    /// Refuses the call: it does not fit the schema.
    #[default]
    Refuse,
    /// Removes the argument before the call is judged and forwarded.
    Absent,
}

impl NullArguments {
    const WORDS: [(&str, Self); 2] = [("refuse", Self::Refuse), ("absent", Self::Absent)];

    /// The value in configurations.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, choice)| *choice == self).map_or("refuse", |(word, _)| word)
    }

    /// Reads the value of a configuration.
    pub fn parse(text: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|(word, _)| *word == text).map(|(_, choice)| choice)
    }
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self {
            versions: vec![a2a::Version::V10],
            default_contexts: Vec::new(),
            require_lock: false,
            passes_handshakes: false,
            keeps_callers_apart: false,
            group: None,
            answer_from_code_lists: false,
            untyped: None,
            embeddings: Vec::new(),
            undefined: Undefined::Reject,
            unnamed_tools: UnnamedTools::Withhold,
            null_arguments: NullArguments::Refuse,
            meta: MetaKeys::default(),
            formats: Vec::new(),
            dialogue: DialogueRules::default(),
        }
    }
}

/// Proof that the route's receiver understands a context.
#[derive(Clone, Copy, Debug)]
pub struct Understood(());

/// A route's receiver does not understand a context.
#[derive(Clone, Copy, Debug)]
pub struct NotUnderstood;

impl Route {
    /// Checks that the receiver understands the context.
    ///
    /// # Errors
    /// [`NotUnderstood`] if no scope of the route contains it.
    pub fn understands(&self, urn: &ContextUrn) -> Result<Understood, NotUnderstood> {
        let group = self.options.group.as_ref();
        let within = group.is_none_or(|group| group.contexts.iter().any(|scope| scope.holds(urn)));
        if within && self.contexts.iter().any(|scope| scope.holds(urn)) {
            Ok(Understood(()))
        } else {
            Err(NotUnderstood)
        }
    }

    /// Returns true if the receiver understands a version of the line at or above `floor`.
    pub(crate) fn reaches(&self, line: &Line, floor: Version) -> bool {
        self.contexts.iter().any(|scope| scope.reaches(line, floor))
    }

    /// Checks the options against the rest of the route.
    ///
    /// # Errors
    /// [`RouteFault::DefaultContext`] if the receiver does not understand a default context. Every receiver
    /// understands the protocol of its binding, and the formats of its route.
    pub fn check(&self) -> Result<(), RouteFault> {
        let formats = self.options.formats.iter().map(|format| format.as_str());
        let own: Vec<&str> = formats.chain([self.binding.as_str()]).collect();
        let strange =
            |urn: &&ContextUrn| !own.contains(&urn.line().as_str()) && self.understands(urn).is_err();
        match self.options.default_contexts.iter().find(strange) {
            Some(urn) => Err(RouteFault::DefaultContext { urn: urn.to_string() }),
            None => Ok(()),
        }
    }
}

/// Reason why a route's configuration is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFault {
    /// A context scope is not one of `*`, `line`, `line:vMAJOR`, `line:vMAJOR.MINOR`.
    Scope {
        /// Text of the configuration.
        text: String,
    },
    /// The receiver does not understand the default context.
    DefaultContext {
        /// URN of the context.
        urn: String,
    },
}

impl fmt::Display for RouteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope { text } => {
                write!(
                    f,
                    "`{text}` is not a context scope: write `*`, `payment`, `payment:v1` or `payment:v1.1`"
                )
            }
            Self::DefaultContext { urn } => {
                write!(f, "the default context `{urn}` is not among the contexts that the route lists")
            }
        }
    }
}

impl std::error::Error for RouteFault {}
