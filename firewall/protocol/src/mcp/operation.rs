//! The table of methods: every MCP method, its speakers in each version, and its meaning here.

use semgate_contexts::Performative::{self, Inform, Query, Request as Ask, Subscribe};

/// The versions that are carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Revision {
    /// Sessions, as in 2025-11-25, which only adds to it: URL-mode elicitation, icons, tools in sampling.
    V2025_06_18,
    /// Sessions, `initialize`, requests of the server.
    V2025_11_25,
    /// Stateless: every request carries all that it needs.
    V2026_07_28,
}

impl Revision {
    /// Oldest first.
    pub const ALL: [Self; 3] = [Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    /// The newest version that has sessions. Clients without a header are read under it until `initialize` settles one.
    pub const NEWEST_WITH_SESSIONS: Self = Self::V2025_11_25;

    /// True where clients open sessions and servers send requests of their own; false where every request stands alone.
    pub const fn has_sessions(self) -> bool {
        !matches!(self, Self::V2026_07_28)
    }

    /// As `MCP-Protocol-Version` and configurations write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Reads the name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == text)
    }
}

/// The speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The caller.
    Client,
    /// The server behind the gateway.
    Server,
}

/// The three kinds of JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// With an id and a method: it is answered.
    Request,
    /// With a method and no id: it is not.
    Notification,
    /// With an id and a result or error.
    Response,
}

const OLD: &[Revision] = &[Revision::V2025_06_18, Revision::V2025_11_25];
const NEW: &[Revision] = &[Revision::V2026_07_28];
const BOTH: &[Revision] = &Revision::ALL;
const NONE: &[Revision] = &[];

macro_rules! operations {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $method:literal, $kind:ident, $act:expr, client $client:expr, server $server:expr; )+) => {
        /// One method. Its name is the name of its concept or task in the protocol context, except for `CallTool`,
        /// which is a task of another one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Operation { $( $(#[doc = $doc])+ $variant, )+ }

        impl Operation {
            /// Every method, in the order of the documentation.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The method as JSON-RPC writes it.
            pub const fn method(self) -> &'static str {
                match self { $( Self::$variant => $method, )+ }
            }

            /// The concept or task of the protocol context.
            pub const fn concept(self) -> &'static str {
                match self { $( Self::$variant => stringify!($variant), )+ }
            }

            /// Request or notification.
            pub const fn kind(self) -> Kind {
                match self { $( Self::$variant => Kind::$kind, )+ }
            }

            /// The speech act.
            pub const fn performative(self) -> Performative {
                match self { $( Self::$variant => $act, )+ }
            }

            /// The versions in which this speaker may say it.
            pub const fn versions(self, speaker: Speaker) -> &'static [Revision] {
                match (self, speaker) {
                    $( (Self::$variant, Speaker::Client) => $client, (Self::$variant, Speaker::Server) => $server, )+
                }
            }
        }
    };
}

operations! {
    /// Opens a session.
    Initialize = "initialize", Request, Ask, client OLD, server NONE;
    /// Asks for the server's capabilities.
    Discover = "server/discover", Request, Query, client NEW, server NONE;
    /// Checks that the peer is alive.
    Ping = "ping", Request, Query, client OLD, server OLD;
    /// Lists the tools, which are compared with the signed ones.
    ListTools = "tools/list", Request, Query, client BOTH, server NONE;
    /// Uses a tool: a task of the context that is pinned or named.
    CallTool = "tools/call", Request, Ask, client BOTH, server NONE;
    /// Lists the resources.
    ListResources = "resources/list", Request, Query, client BOTH, server NONE;
    /// Lists the resource templates.
    ListResourceTemplates = "resources/templates/list", Request, Query, client BOTH, server NONE;
    /// Reads a resource.
    ReadResource = "resources/read", Request, Query, client BOTH, server NONE;
    /// Subscribes to changes of a resource.
    SubscribeResource = "resources/subscribe", Request, Subscribe, client OLD, server NONE;
    /// Ends that subscription.
    UnsubscribeResource = "resources/unsubscribe", Request, Ask, client OLD, server NONE;
    /// Lists the prompts.
    ListPrompts = "prompts/list", Request, Query, client BOTH, server NONE;
    /// Reads a prompt.
    GetPrompt = "prompts/get", Request, Query, client BOTH, server NONE;
    /// Completes an argument.
    Complete = "completion/complete", Request, Query, client BOTH, server NONE;
    /// Sets the level of the server's log messages.
    SetLoggingLevel = "logging/setLevel", Request, Ask, client OLD, server NONE;
    /// Subscribes to changes.
    Listen = "subscriptions/listen", Request, Subscribe, client NEW, server NONE;
    /// The server asks the person at the client.
    Elicit = "elicitation/create", Request, Query, client NONE, server OLD;
    /// The server asks the client's model.
    CreateMessage = "sampling/createMessage", Request, Ask, client NONE, server OLD;
    /// The server asks for the client's directories.
    ListRoots = "roots/list", Request, Query, client NONE, server OLD;
    /// The session is open.
    Initialized = "notifications/initialized", Notification, Inform, client OLD, server NONE;
    /// A request is no longer wanted.
    Cancelled = "notifications/cancelled", Notification, Inform, client BOTH, server BOTH;
    /// The progress of a request.
    Progress = "notifications/progress", Notification, Inform, client OLD, server BOTH;
    /// A log line for the client.
    LogMessage = "notifications/message", Notification, Inform, client NONE, server BOTH;
    /// The tools changed.
    ToolListChanged = "notifications/tools/list_changed", Notification, Inform, client NONE, server BOTH;
    /// The resources changed.
    ResourceListChanged = "notifications/resources/list_changed", Notification, Inform, client NONE, server BOTH;
    /// The prompts changed.
    PromptListChanged = "notifications/prompts/list_changed", Notification, Inform, client NONE, server BOTH;
    /// The client's directories changed.
    RootsListChanged = "notifications/roots/list_changed", Notification, Inform, client OLD, server NONE;
    /// A resource changed.
    ResourceUpdated = "notifications/resources/updated", Notification, Inform, client NONE, server BOTH;
    /// A URL elicitation is complete.
    ElicitationComplete = "notifications/elicitation/complete", Notification, Inform, client NONE, server OLD;
    /// The changes that a subscription will report.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged", Notification, Inform, client NONE, server NEW;
}

impl Operation {
    /// The row of a method, if this speaker may say it as such a message in this version.
    pub fn find(method: &str, kind: Kind, speaker: Speaker, version: Revision) -> Option<Self> {
        Self::ALL.iter().copied().find(|row| {
            row.method() == method && row.kind() == kind && row.versions(speaker).contains(&version)
        })
    }

    /// The member of `params` that `Mcp-Name` repeats.
    pub const fn named_by(self) -> Option<&'static str> {
        match self {
            Self::CallTool | Self::GetPrompt => Some("name"),
            Self::ReadResource => Some("uri"),
            _ => None,
        }
    }

    /// Returns true if the server may answer with a request for input (2026-07-28).
    pub const fn takes_input(self) -> bool {
        matches!(self, Self::CallTool | Self::GetPrompt | Self::ReadResource)
    }
}
