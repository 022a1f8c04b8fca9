//! A route ties a receiver, a binding and the contexts that the receiver understands together (`docs/design/firewall.md` §4).

use semgate_contexts::{ContextUrn, Line, Version};
pub use semgate_message::TextParts;
use semgate_message::{Binding, MetaKeys, a2a};
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
        // one spelling of a number: the version grammar with a minor put behind it
        let version = Version::parse(&format!("{version}.0")).map_err(|_| fault())?;
        Ok(Self::Major(line, version.major))
    }

    fn holds(&self, urn: &ContextUrn) -> bool {
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

/// Where messages of one listener go, and what its receiver understands.
#[derive(Clone, Debug)]
pub struct Route {
    /// The route's name in the configuration.
    pub name: String,
    /// How messages are written on this route.
    pub binding: Binding,
    /// The id of the receiver, and what its certificate must say.
    pub receiver: String,
    /// Where the receiver listens: a URL, never one that a message named.
    pub upstream: String,
    /// The contexts that the receiver understands. Concepts of the control vocabulary may be used under any of them.
    pub contexts: Vec<LineScope>,
    /// Unstructured parts that pass unread.
    pub text_parts: TextParts,
    /// The A2A tenant that requests must name; `None`: none may be named.
    pub tenant: Option<String>,
    /// What a route may be told, each with the strictest choice as its default.
    pub options: RouteOptions,
}

/// What is said on a route is addressed to a group, and its receiver hears it as a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupScope {
    /// The group of `entities.json`.
    pub name: String,
    /// The contexts of the group; of a member only those count that it understands too.
    pub contexts: Vec<LineScope>,
}

/// What an operator may choose for a route. The default refuses whatever there is a choice about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteOptions {
    /// The versions of A2A that the route takes, 1.0 alone by default; of no meaning in other bindings. A request that names no
    /// version speaks 0.3, so that a stripped header is refused where 0.3 is not taken.
    pub versions: Vec<a2a::Version>,
    /// The contexts of messages that name none: of a call in MCP the first one that pins its tool, of all else the first. Each must be
    /// one that the receiver understands ([`Route::check`]). Without any such a message is `context_missing`.
    pub default_contexts: Vec<ContextUrn>,
    /// A message about a context of the route must hold a lock; one without is `lock_mismatch`.
    pub require_lock: bool,
    /// HELLO, SELECT and LOCK pass between the two unopened, so that what is in them is for the agents alone to verify. Without it they are
    /// `content_uninspectable` here: they are for the endpoint of the route.
    pub passes_handshakes: bool,
    /// The agent behind tells its callers apart by itself (by `Client-Cert` or `Semgate-Sender`): the gateway does not refuse
    /// what names another's task, and still remembers which context each task is about.
    pub keeps_callers_apart: bool,
    /// The group that requests are addressed to, in place of the receiver.
    pub group: Option<GroupScope>,
    /// The gateway answers a QUERY of nothing but `ambiguous_parameter` from the code lists of the context, in the place of the
    /// agent behind (F0-28).
    pub answer_from_code_lists: bool,
    /// What becomes of a name that the context does not define.
    pub undefined: Undefined,
    /// What becomes of tools of MCP that no task of the context is pinned to.
    pub unnamed_tools: UnnamedTools,
    /// What becomes of arguments of such a tool that are `null` where its parameters take none.
    pub null_arguments: NullArguments,
    /// Keys of `_meta` of MCP and of metadata of A2A that pass unread, in either direction.
    pub meta: MetaKeys,
}

/// What becomes of a name that the context does not define (F0-31).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Undefined {
    /// The message is refused, and that is all.
    #[default]
    Reject,
    /// The message is refused; in a session, and where a policy names it, its sender is asked which values the name can have, and may use
    /// it in that session once it has said so.
    Disambiguate,
}

/// What becomes of tools that no context names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnnamedTools {
    /// They are neither listed nor called.
    #[default]
    Withhold,
    /// They are listed and called where a policy permits `mcp::CallTool`: no schema judges what is in their arguments and results.
    Pass,
}

impl UnnamedTools {
    /// As configurations write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Withhold => "withhold",
            Self::Pass => "pass",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Withhold, Self::Pass].into_iter().find(|choice| choice.as_str() == text)
    }
}

/// What becomes of an argument of a tool of MCP that is `null` where the signed parameters name it, do not ask for it and take no null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullArguments {
    /// The call does not fit its schema, and is refused.
    #[default]
    Refuse,
    /// It is taken out before the call is judged, and what is forwarded does not hold it.
    Absent,
}

impl NullArguments {
    const WORDS: [(&str, Self); 2] = [("refuse", Self::Refuse), ("absent", Self::Absent)];

    /// As configurations write it.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.into_iter().find(|(_, choice)| *choice == self).map_or("refuse", |(word, _)| word)
    }

    /// Reads the word.
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
            undefined: Undefined::Reject,
            unnamed_tools: UnnamedTools::Withhold,
            null_arguments: NullArguments::Refuse,
            meta: MetaKeys::default(),
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
    /// Whether the receiver understands the context.
    ///
    /// # Errors
    /// [`NotUnderstood`] when no scope of the route holds it.
    pub fn understands(&self, urn: &ContextUrn) -> Result<Understood, NotUnderstood> {
        let group = self.options.group.as_ref();
        let within = group.is_none_or(|group| group.contexts.iter().any(|scope| scope.holds(urn)));
        if within && self.contexts.iter().any(|scope| scope.holds(urn)) {
            Ok(Understood(()))
        } else {
            Err(NotUnderstood)
        }
    }

    /// Whether the receiver understands some version of a line that is not below `floor`.
    pub(crate) fn reaches(&self, line: &Line, floor: Version) -> bool {
        self.contexts.iter().any(|scope| scope.reaches(line, floor))
    }

    /// Whether the options go together with the rest of the route.
    ///
    /// # Errors
    /// [`RouteFault::DefaultContext`] if the receiver does not understand a default context. The words of its own protocol every
    /// receiver of a binding understands.
    pub fn check(&self) -> Result<(), RouteFault> {
        let strange = |urn: &&ContextUrn| {
            urn.line().as_str() != self.binding.as_str() && self.understands(urn).is_err()
        };
        match self.options.default_contexts.iter().find(strange) {
            Some(urn) => Err(RouteFault::DefaultContext { urn: urn.to_string() }),
            None => Ok(()),
        }
    }
}

/// A route cannot be read from its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RouteFault {
    /// A context scope is none of `*`, `line`, `line:vMAJOR`, `line:vMAJOR.MINOR`.
    Scope {
        /// The text of the configuration.
        text: String,
    },
    /// The default context is none that the receiver understands.
    DefaultContext {
        /// Its URN.
        urn: String,
    },
}

impl fmt::Display for RouteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scope { text } => {
                write!(
                    f,
                    "`{text}` is no context scope: write `*`, `payment`, `payment:v1` or `payment:v1.1`"
                )
            }
            Self::DefaultContext { urn } => {
                write!(f, "the default context `{urn}` is none of the contexts that the route lists")
            }
        }
    }
}

impl std::error::Error for RouteFault {}
