//! `[[route]]`: a listener and the agent or group that it leads to.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use semgate_certs::SpiffeId;
use semgate_contexts::ContextUrn;
use semgate_inspect::{LineScope, NullArguments, Undefined, UnnamedTools};
use semgate_protocol::{Binding, MetaKeys, a2a::Version};
use serde::{Deserialize, Deserializer, Serialize};

use super::address::{authorization_servers, hosts, origins, public_url};
use super::read::{self, SpanText, between, checked, distinct, fault, name, one, some, text, timeout};
use super::{A2hOptions, HandshakeChoice, IacOptions, LdpOptions, Listen, PushConfig, Upstream, meta_keys};

/// One listener and its agent. Options of another kind of route keep their defaults, the strictest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// Name in metrics and status.
    #[serde(deserialize_with = "read::name")]
    pub name: String,
    /// Listening address.
    #[schemars(with = "String")]
    pub listen: Listen,
    /// Protocol of the messages.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub binding: Binding,
    /// SPIFFE id of the agent; of a group's first member.
    #[serde(deserialize_with = "agent")]
    pub receiver: String,
    /// Address of the agent; of a group's first member.
    #[schemars(with = "String")]
    pub upstream: Upstream,
    /// Lines and versions that the receiver understands.
    #[serde(with = "some")]
    #[schemars(with = "Vec<String>")]
    pub contexts: Vec<LineScope>,
    /// The one sender of a plain listener; `None` means TLS with client certificates.
    #[serde(default, deserialize_with = "plain_sender")]
    pub plain_sender: Option<String>,
    /// URL in the agent card; defaults to the listener's own.
    #[serde(default, deserialize_with = "public_url")]
    pub public_url: Option<String>,
    /// Additional names of a plain listener; `*` for any.
    #[serde(default, deserialize_with = "hosts")]
    pub hosts: Vec<String>,
    /// Additional origins of browser pages that may call the listener. A plain listener also accepts its own.
    #[serde(default, deserialize_with = "origins")]
    pub origins: Vec<String>,
    /// Forwards the callers' `Authorization` to the agent. Off by default: a credential for the agent also works for anyone
    /// who sees it, and the gateway states the caller itself.
    #[serde(default)]
    pub forward_authorization: bool,
    /// Header of an API key to forward, in lower case.
    #[serde(default, deserialize_with = "api_key")]
    pub api_key_header: Option<String>,
    /// Contexts of messages that name none, from `default_context` or `default_contexts`.
    #[serde(skip)]
    pub default_contexts: Vec<ContextUrn>,
    /// Options of a route to one agent.
    #[serde(skip)]
    pub agent: AgentOptions,
    /// Options of bindings whose messages state a performative: L8 and A2A.
    #[serde(skip)]
    pub speech: SpeechOptions,
    /// Options of bindings with tasks or sessions that have owners: A2A and MCP.
    #[serde(skip)]
    pub owned: OwnedOptions,
    /// Options of native L8 to one agent.
    #[serde(skip)]
    pub l8: L8Options,
    /// Options of A2A.
    #[serde(skip)]
    pub a2a: A2aOptions,
    /// Options of MCP.
    #[serde(skip)]
    pub mcp: McpOptions,
    /// Options of A2H.
    #[serde(skip)]
    pub a2h: A2hOptions,
    /// Options of LDP.
    #[serde(skip)]
    pub ldp: LdpOptions,
    /// Options of IAC.
    #[serde(skip)]
    pub iac: IacOptions,
    /// Native L8: group that the route leads to.
    #[serde(skip)]
    pub group: Option<GroupOptions>,
}

impl RouteConfig {
    /// URL for callers on this machine, without a path: of the listener, or the socket.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(&self.listen)
    }

    /// The same for a listener that is bound there.
    pub(crate) fn url_at(&self, listen: &Listen) -> String {
        let scheme = match (self.binding.protocol().traits().signs_messages, &self.plain_sender) {
            (true, _) => "tls",
            (false, Some(_)) => "http",
            (false, None) => "https",
        };
        match listen {
            Listen::Tcp(address) => format!("{scheme}://{address}"),
            Listen::Quic(_) | Listen::Unix(_) => listen.to_string(),
        }
    }

    /// Returns true if callers of the listener identify themselves by certificates.
    #[must_use]
    pub fn takes_certificates(&self) -> bool {
        self.plain_sender.is_none() && !self.binding.protocol().traits().signs_messages
    }
}

/// Options of a route to one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentOptions {
    /// Speaks HTTP/2 with the agent, with many messages on a connection: by ALPN over TLS, by prior knowledge without.
    pub upstream_http2: bool,
    /// Context of messages that name none, as written.
    pub default_context: Option<String>,
    /// Parts that pass although no context defines them.
    #[serde(deserialize_with = "distinct")]
    pub admit: Vec<Part>,
    /// True if each message must hold a lock.
    pub require_lock: bool,
    /// Handling of handshakes; `None` refuses them.
    pub handshake: Option<HandshakeChoice>,
}

/// Options of bindings whose messages state a performative.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpeechOptions {
    /// True if the gateway answers questions about parameters from the code lists of their context.
    pub answer_from_code_lists: bool,
    /// Concept or task of the default context that judges content without a name.
    #[serde(deserialize_with = "term")]
    pub untyped: Option<String>,
    /// Treatment of names that the context does not define.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub undefined: Undefined,
}

/// Options of bindings with tasks or sessions that have owners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwnedOptions {
    /// True if the agent itself keeps its callers' tasks apart.
    pub keeps_callers_apart: bool,
    /// Keys of `_meta` and metadata that pass uninspected.
    #[serde(with = "meta_keys")]
    #[schemars(with = "Vec<String>")]
    pub meta: MetaKeys,
}

/// Options of native L8 to one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct L8Options {
    /// Accepts WebSockets. Excludes HTTP/2 with the agent, which supports no upgrade.
    pub websocket: bool,
}

/// Options of A2A.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct A2aOptions {
    /// Accepted versions.
    #[serde(with = "some")]
    #[schemars(with = "Vec<String>")]
    pub versions: Vec<Version>,
    /// Accepted transports.
    #[serde(deserialize_with = "transports")]
    pub transports: Vec<Transport>,
    /// Treatment of the agent's card.
    pub card: CardChoice,
    /// JSON Web Key Set with the keys that may sign an untouched card.
    pub card_keys: Option<PathBuf>,
    /// Address of the card, if not the well-known path below `upstream`. An agent over gRPC serves no card there.
    #[schemars(with = "Option<String>")]
    pub card_from: Option<Upstream>,
    /// Prose of the agent passes in a rebuilt card. It is not inspected.
    pub card_texts: bool,
    /// Listener for the agent's own notifications; `None` refuses push configurations.
    pub push: Option<PushConfig>,
    /// Reads data parts that hold SSTP L9 objects as such; otherwise they are data without a concept.
    pub sstp: bool,
}

impl Default for A2aOptions {
    fn default() -> Self {
        Self {
            versions: vec![Version::V10],
            transports: vec![Transport::JsonRpc],
            card: CardChoice::Rebuilt,
            card_keys: None,
            card_from: None,
            card_texts: false,
            push: None,
            sstp: false,
        }
    }
}

/// Options of MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpOptions {
    /// Contexts of messages that name none, as written. The first that pins a tool applies to the tool's calls.
    pub default_contexts: Vec<String>,
    /// Treatment of tools that no context names.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub unnamed_tools: UnnamedTools,
    /// Treatment of `null` arguments where the tool accepts none.
    #[serde(with = "one")]
    #[schemars(with = "String")]
    pub null_arguments: NullArguments,
    /// An answer in `application/json` may hold several values, one a line.
    pub json_lines: bool,
    /// Drops progress under an unknown token, and continues the stream.
    pub withhold_stray_progress: bool,
    /// The only authorization servers to which the server may send its callers; `None` allows any over TLS.
    #[serde(deserialize_with = "authorization_servers")]
    pub authorization_servers: Option<Vec<String>>,
}

/// Transport of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// HTTP+JSON: a path for each operation.
    Rest,
    /// gRPC over HTTP/2.
    Grpc,
}

impl Transport {
    /// The spelling in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }
}

/// A part that passes although no context defines its content. Policies still decide on sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Free text.
    Text,
    /// Files: bytes, and URLs of files.
    File,
    /// Data without a concept.
    Data,
    /// HELLO, SELECT and LOCK, end to end and uninspected.
    Handshake,
}

/// Treatment of the agent's card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CardChoice {
    /// Rebuilt from named members, without the agent's signature.
    #[default]
    Rebuilt,
    /// Unchanged, byte for byte, if one of `card_keys` signed it; refused otherwise.
    Untouched,
}

/// A route that forwards messages to every member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GroupOptions {
    /// The group in `entities.json`, which messages name as their receiver.
    #[serde(rename = "group", deserialize_with = "group")]
    pub name: String,
    /// Routes to possible members. `entities.json` lists the actual members. One message costs at most 64 times a single one.
    #[serde(deserialize_with = "members")]
    pub members: Vec<String>,
    /// Number of replies that suffices; by default of all members.
    #[serde(rename = "max_replies", deserialize_with = "between::<_, _, 1, 64>")]
    pub replies: usize,
    /// Time to wait for replies.
    #[serde(rename = "reply_time", with = "timeout")]
    #[schemars(with = "SpanText")]
    pub time: Duration,
}

impl Default for GroupOptions {
    fn default() -> Self {
        // a third of one agent's time
        Self { name: String::new(), members: Vec::new(), replies: 0, time: Duration::from_secs(10) }
    }
}

text!(
    LineScope,
    "lines, such as `payment`, `payment:v2`, `payment:v1.1`, or `*`",
    |text| LineScope::parse(text).ok(),
    ToString::to_string
);
text!(
    Version,
    "`1.0`, `0.3`, or both",
    |text| [Version::V10, Version::V03].into_iter().find(|version| version.as_str() == text),
    |version| version.as_str().to_owned()
);
text!(Binding, Binding::listed(), Binding::parse, |binding| binding.as_str().to_owned());
text!(UnnamedTools, "`withhold` or `pass`", UnnamedTools::parse, |choice| choice.as_str().to_owned());
text!(NullArguments, "`refuse` or `absent`", NullArguments::parse, |choice| choice.as_str().to_owned());
text!(
    Undefined,
    "`reject` or `disambiguate`",
    |text| match text {
        "reject" => Some(Undefined::Reject),
        "disambiguate" => Some(Undefined::Disambiguate),
        _ => None,
    },
    |choice| match choice {
        Undefined::Reject => "reject".to_owned(),
        Undefined::Disambiguate => "disambiguate".to_owned(),
    }
);

/// Reads the SPIFFE id of an agent.
pub(super) fn agent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let must = "a spiffe id, such as `spiffe://semgate.test/agent/retailer-7`";
    checked(deserializer, must, |id: &String| SpiffeId::parse(id).is_ok())
}

fn term<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    name(deserializer).map(Some)
}

fn plain_sender<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    agent(deserializer).map(Some)
}

fn group<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, "the name of a group of `entities.json`", |name: &String| {
        (1..=128).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
    })
}

fn members<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    checked(deserializer, "names of 1 to 64 routes, each once", |names: &Vec<String>| {
        let once = names.iter().collect::<std::collections::HashSet<_>>().len() == names.len();
        (1..=64).contains(&names.len()) && once
    })
}

/// Prefixes of headers of HTTP, the bindings and the gateway.
const RESERVED: &str = "content- semgate- a2a- x-a2a- l9- mcp- grpc- client-cert x-forwarded- proxy- sec-";
/// Further headers of HTTP.
const KNOWN: &str = "accept authorization connection cookie expect forwarded host keep-alive te trailer \
                     transfer-encoding upgrade user-agent";

/// Reads transports: at least one, each once.
fn transports<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Transport>, D::Error> {
    let all = distinct(deserializer)?;
    if all.is_empty() { Err(fault("some of `jsonrpc`, `rest`, `grpc`, each once")) } else { Ok(all) }
}

/// Reads the header of an API key. Refuses headers with another meaning.
fn api_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let written = String::deserialize(deserializer)?;
    let name = http::HeaderName::from_bytes(written.as_bytes()).ok();
    let free = |name: &&str| {
        let is_reserved = RESERVED.split(' ').any(|prefix| name.starts_with(prefix));
        !is_reserved && !KNOWN.split(' ').any(|known| known == *name)
    };
    match name.as_ref().map(http::HeaderName::as_str).filter(free) {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(fault("a header without another meaning, such as `x-api-key`")),
    }
}
