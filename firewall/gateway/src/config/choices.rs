//! Optional settings of a route. Each default is the strictest choice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_contexts::{ContextUrn, Prefix};
use semgate_inspect::{NullArguments, Undefined, UnnamedTools};
use semgate_protocol::{MetaKeys, a2a::Version};

use super::raw::FileRoute;
use super::span::Span;
use super::{ConfigFault, IdentityFiles, Protocol, PushConfig};

/// Transport of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Parts that pass although no context defines their content. Policies still decide on sender and receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admit {
    /// Free text.
    pub text: bool,
    /// Files: bytes, and URLs of files.
    pub file: bool,
    /// Data without a concept.
    pub data: bool,
    /// HELLO, SELECT and LOCK, end to end and uninspected.
    pub handshake: bool,
}

/// Treatment of the agent's card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CardChoice {
    /// Rebuilt from named members, without the agent's signature.
    #[default]
    Rebuilt,
    /// Unchanged, byte for byte, if one of these keys signed it; refused otherwise.
    Untouched {
        /// JSON Web Key Set with the accepted keys.
        keys: PathBuf,
    },
}

/// MCP: accepted deviations of streams from the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamChoices {
    /// An answer in `application/json` may hold several values, one a line.
    pub json_lines: bool,
    /// Drops progress under an unknown token, and continues the stream.
    pub withhold_stray_progress: bool,
}

/// A route that forwards messages to every member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupChoice {
    /// The group in `entities.json`, which messages name as their receiver.
    pub name: String,
    /// Routes to possible members. `entities.json` lists the actual members.
    pub members: Vec<String>,
    /// Number of replies that suffices.
    pub replies: usize,
    /// Time to wait for replies.
    pub time: Duration,
}

/// Maximum members of a group. One message costs at most 64 times a single one.
const MAX_MEMBERS: usize = 64;
/// Default time to wait for replies: a third of one agent's time.
const REPLY_TIME: Duration = Duration::from_secs(10);

/// # Errors
/// Refuses incomplete group settings, another binding, invalid or repeated names, and settings that a group cannot have.
fn group(file: &FileRoute, protocol: Protocol) -> Result<Option<GroupChoice>, ConfigFault> {
    let key = |name: &str| format!("route `{}`: {name}", file.name);
    let Some(name) = &file.group else { return Ok(None) };
    if protocol != Protocol::L8 {
        return Err(ConfigFault::value(key("group"), "in the binding `l8`"));
    }
    if name.is_empty() || name.len() > 128 || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(ConfigFault::value(key("group"), "the name of a group of `entities.json`"));
    }
    let members = file.members.clone().unwrap_or_default();
    let once = members.iter().collect::<std::collections::HashSet<_>>().len() == members.len();
    if members.is_empty() || members.len() > MAX_MEMBERS || !once {
        return Err(ConfigFault::value(key("members"), "names of 1 to 64 routes, each once"));
    }
    let replies = usize::try_from(file.max_replies.unwrap_or(members.len() as u64)).unwrap_or(0);
    if !(1..=MAX_MEMBERS).contains(&replies) {
        return Err(ConfigFault::value(key("max_replies"), "between 1 and 64"));
    }
    let time = file.reply_time.as_ref().map_or(REPLY_TIME, |Span(time)| *time);
    if time < Duration::from_millis(10) || time > Duration::from_secs(3600) {
        return Err(ConfigFault::value(key("reply_time"), "between 10ms and 1h"));
    }
    Ok(Some(GroupChoice { name: name.clone(), members, replies, time }))
}

/// Optional settings of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChoices {
    /// A2A: accepted versions.
    pub versions: Vec<Version>,
    /// A2A: accepted transports.
    pub transports: Vec<Transport>,
    /// Contexts of messages that name none. Only MCP allows several; the first that pins a tool applies to the tool's calls.
    pub default_contexts: Vec<ContextUrn>,
    /// Parts that pass although no context defines them.
    pub admit: Admit,
    /// True if the agent itself keeps its callers' tasks apart.
    pub keeps_callers_apart: bool,
    /// True if each message must hold a lock.
    pub require_lock: bool,
    /// True if the gateway answers questions about parameters from the code lists of their context.
    pub answer_from_code_lists: bool,
    /// Treatment of names that the context does not define.
    pub undefined: Undefined,
    /// Listener for the agent's own notifications; `None` refuses push configurations.
    pub push: Option<PushConfig>,
    /// Additional names of a plain listener; `*` for any.
    pub hosts: Vec<String>,
    /// Additional origins of browser pages that may call the listener. A plain listener also accepts its own.
    pub origins: Vec<String>,
    /// MCP: treatment of tools that no context names.
    pub unnamed_tools: UnnamedTools,
    /// MCP: treatment of `null` arguments where the tool accepts none.
    pub null_arguments: NullArguments,
    /// MCP and A2A: keys of `_meta` and metadata that pass uninspected.
    pub meta: MetaKeys,
    /// MCP: accepted deviations of streams.
    pub streams: StreamChoices,
    /// Forwards the callers' `Authorization` to the agent. Off by default: a credential for the agent also works for anyone
    /// who sees it, and the gateway states the caller itself.
    pub forward_authorization: bool,
    /// MCP: the only authorization servers to which the server may send its callers; `None` allows any over TLS.
    pub authorization_servers: Option<Vec<String>>,
    /// Header of an API key to forward, in lower case.
    pub api_key_header: Option<String>,
    /// Native L8: accepts WebSockets. Excludes HTTP/2 with the agent, which supports no upgrade.
    pub websocket: bool,
    /// Native L8: group that the route leads to.
    pub group: Option<GroupChoice>,
    /// Treatment of the agent's card.
    pub card: CardChoice,
    /// A2A: prose of the agent passes in a rebuilt card. It is not inspected.
    pub card_texts: bool,
    /// Handling of handshakes; `None` refuses them.
    pub handshake: Option<HandshakeChoice>,
}

/// Handling of a route's handshakes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeChoice {
    /// Certificate and key with which the gateway answers for the agent. With `agent`, they are the gateway's own.
    pub identity: IdentityFiles,
    /// The agent negotiates by itself; the gateway opens, checks and reseals its handshakes.
    pub agent: bool,
}

impl Default for RouteChoices {
    fn default() -> Self {
        Self {
            versions: vec![Version::V10],
            transports: vec![Transport::JsonRpc],
            default_contexts: Vec::new(),
            admit: Admit::default(),
            keeps_callers_apart: false,
            require_lock: false,
            answer_from_code_lists: false,
            undefined: Undefined::Reject,
            push: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            unnamed_tools: UnnamedTools::Withhold,
            null_arguments: NullArguments::Refuse,
            meta: MetaKeys::default(),
            streams: StreamChoices::default(),
            forward_authorization: false,
            authorization_servers: None,
            api_key_header: None,
            websocket: false,
            group: None,
            card: CardChoice::Rebuilt,
            card_texts: false,
            handshake: None,
        }
    }
}

/// # Errors
/// Refuses an unknown word, an empty list, a repeated entry, an invalid context URN, or a setting that the protocol does not
/// have.
pub(super) fn choices(
    file: &FileRoute,
    protocol: Protocol,
    prefix: &Prefix,
    base: &Path,
) -> Result<RouteChoices, ConfigFault> {
    let key = |name: &str| format!("route `{}`: {name}", file.name);
    super::kinds::fits(file, protocol)?;
    if file.websocket == Some(true) && file.upstream_http2 == Some(true) {
        return Err(ConfigFault::value(key("websocket"), "left out with `upstream_http2`"));
    }
    let default = RouteChoices::default();
    let versions = match &file.versions {
        Some(written) => list(written, &[Version::V10, Version::V03], Version::as_str)
            .ok_or_else(|| ConfigFault::value(key("versions"), "`1.0`, `0.3`, or both, each once"))?,
        None => default.versions,
    };
    let transports = match &file.transports {
        Some(written) => {
            list(written, &[Transport::JsonRpc, Transport::Rest, Transport::Grpc], Transport::as_str)
                .ok_or_else(|| {
                    ConfigFault::value(key("transports"), "some of `jsonrpc`, `rest`, `grpc`, each once")
                })?
        }
        None => default.transports,
    };
    if transports.contains(&Transport::Grpc) && file.upstream_http2 != Some(true) {
        return Err(ConfigFault::Missing {
            key: key("upstream_http2"),
            needed: "grpc is spoken over http/2 only".to_owned(),
        });
    }
    Ok(RouteChoices {
        versions,
        transports,
        default_contexts: default_contexts(file, prefix)?,
        admit: admit(file.admit.as_deref().unwrap_or_default()).ok_or_else(|| {
            ConfigFault::value(key("admit"), "some of `text`, `file`, `data`, `handshake`, each once")
        })?,
        keeps_callers_apart: file.keeps_callers_apart.unwrap_or(false),
        require_lock: file.require_lock.unwrap_or(false),
        answer_from_code_lists: file.answer_from_code_lists.unwrap_or(false),
        undefined: match file.undefined.as_deref() {
            None | Some("reject") => Undefined::Reject,
            Some("disambiguate") => Undefined::Disambiguate,
            Some(_) => return Err(ConfigFault::value(key("undefined"), "`reject` or `disambiguate`")),
        },
        push: file.push.as_ref().map(|push| push.check(&file.name, base)).transpose()?,
        hosts: hosts(file)?,
        origins: origins(file)?,
        unnamed_tools: word(
            file,
            ("unnamed_tools", file.unnamed_tools.as_deref()),
            ("`withhold` or `pass`", UnnamedTools::parse),
        )?,
        null_arguments: word(
            file,
            ("null_arguments", file.null_arguments.as_deref()),
            ("`refuse` or `absent`", NullArguments::parse),
        )?,
        meta: MetaKeys::parse(file.meta.as_deref().unwrap_or_default()).map_err(|bad| {
            ConfigFault::value(key("meta"), format!("keys, or prefixes that end in `.` or `/`: {bad}"))
        })?,
        streams: StreamChoices {
            json_lines: file.json_lines.unwrap_or(false),
            withhold_stray_progress: file.withhold_stray_progress.unwrap_or(false),
        },
        forward_authorization: file.forward_authorization.unwrap_or(false),
        authorization_servers: authorization_servers(file)?,
        api_key_header: match file.api_key_header.as_deref() {
            Some(name) => Some(api_key(name).ok_or_else(|| {
                ConfigFault::value(
                    key("api_key_header"),
                    "a header that is nobody else's, such as `x-api-key`",
                )
            })?),
            None => None,
        },
        websocket: file.websocket.unwrap_or(false),
        group: group(file, protocol)?,
        card: card(file, base)?,
        card_texts: file.card_texts.unwrap_or(false),
        handshake: file.handshake.as_ref().map(|files| files.under(base)),
    })
}

/// Parses host names or addresses, with or without a port.
fn hosts(file: &FileRoute) -> Result<Vec<String>, ConfigFault> {
    let written = file.hosts.clone().unwrap_or_default();
    let key = || format!("route `{}`: hosts", file.name);
    let fits = |name: &String| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]*".contains(&b))
    };
    if written.iter().all(fits) {
        return Ok(written);
    }
    Err(ConfigFault::value(key(), "names, such as `gateway.internal` or `gateway.internal:8080`, or `*`"))
}

/// Parses origins as browsers send them: scheme and authority only.
fn origins(file: &FileRoute) -> Result<Vec<String>, ConfigFault> {
    let written = file.origins.clone().unwrap_or_default();
    let fits = |origin: &String| {
        let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic() && b != b'/'))
    };
    if written.iter().all(fits) {
        return Ok(written);
    }
    Err(ConfigFault::value(
        format!("route `{}`: origins", file.name),
        "origins, such as `https://desk.example`",
    ))
}

/// Parses one of a few words; defaults to the strictest.
fn word<T: Default>(
    file: &FileRoute,
    (name, written): (&str, Option<&str>),
    (must, parse): (&'static str, impl Fn(&str) -> Option<T>),
) -> Result<T, ConfigFault> {
    let fault = |must| ConfigFault::value(format!("route `{}`: {name}", file.name), must);
    match written {
        None => Ok(T::default()),
        Some(word) => parse(word).ok_or_else(|| fault(must)),
    }
}

/// Parses issuers in the exact bytes of the metadata. They apply only if tokens are forwarded.
fn authorization_servers(file: &FileRoute) -> Result<Option<Vec<String>>, ConfigFault> {
    let Some(written) = &file.authorization_servers else { return Ok(None) };
    let key = || format!("route `{}`: authorization_servers", file.name);
    if file.forward_authorization != Some(true) {
        return Err(ConfigFault::value(key(), "left out unless `forward_authorization` is on"));
    }
    let fits = |url: &String| super::rules::public_url(&key(), url, Path::new("/")).is_ok();
    if !written.is_empty() && written.iter().all(fits) {
        return Ok(Some(written.clone()));
    }
    Err(ConfigFault::value(key(), "urls without query, https unless on loopback, at least one"))
}

/// Parses the header of an API key. Refuses headers of HTTP, the bindings and the gateway.
fn api_key(name: &str) -> Option<String> {
    let name = http::HeaderName::from_bytes(name.as_bytes()).ok()?.as_str().to_owned();
    let taken = [
        "content-",
        "semgate-",
        "a2a-",
        "x-a2a-",
        "l9-",
        "mcp-",
        "grpc-",
        "client-cert",
        "x-forwarded-",
        "proxy-",
        "sec-",
    ];
    let known = [
        "accept",
        "authorization",
        "connection",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ];
    let free = !taken.iter().any(|prefix| name.starts_with(prefix)) && !known.contains(&name.as_str());
    free.then_some(name)
}

fn card(file: &FileRoute, base: &Path) -> Result<CardChoice, ConfigFault> {
    let key = |name: &str| format!("route `{}`: {name}", file.name);
    match (file.card.as_deref(), &file.card_keys) {
        (None | Some("rebuilt"), None) => Ok(CardChoice::Rebuilt),
        (Some("untouched"), Some(keys)) => Ok(CardChoice::Untouched { keys: base.join(keys) }),
        (Some("untouched"), None) => Err(ConfigFault::Missing {
            key: key("card_keys"),
            needed: "a card passes untouched only under a known signature".to_owned(),
        }),
        (None | Some("rebuilt"), Some(_)) => {
            Err(ConfigFault::value(key("card_keys"), "left out unless `card` is `untouched`"))
        }
        (Some(_), _) => Err(ConfigFault::value(key("card"), "`rebuilt` or `untouched`")),
    }
}

fn list<T: Copy + PartialEq>(
    written: &[String],
    all: &[T],
    as_str: impl Fn(T) -> &'static str,
) -> Option<Vec<T>> {
    let mut found = Vec::new();
    for word in written {
        let one = all.iter().copied().find(|one| as_str(*one) == word)?;
        if found.contains(&one) {
            return None;
        }
        found.push(one);
    }
    (!found.is_empty()).then_some(found)
}

/// Default contexts of a route, without duplicates.
fn default_contexts(file: &FileRoute, prefix: &Prefix) -> Result<Vec<ContextUrn>, ConfigFault> {
    let fault =
        |name: &str, must: &str| Err(ConfigFault::value(format!("route `{}`: {name}", file.name), must));
    let (name, written) = match (&file.default_context, &file.default_contexts) {
        (Some(_), Some(_)) => return fault("default_contexts", "left out beside `default_context`"),
        (Some(one), None) => ("default_context", std::slice::from_ref(one)),
        (None, several) => ("default_contexts", several.as_deref().unwrap_or_default()),
    };
    let mut urns = Vec::new();
    for urn in written {
        match ContextUrn::parse(urn, prefix) {
            Ok(urn) if !urns.contains(&urn) => urns.push(urn),
            _ => return fault(name, "a context, such as `urn:contexts:payment:v1.1`, each once"),
        }
    }
    Ok(urns)
}

fn admit(written: &[String]) -> Option<Admit> {
    let mut admit = Admit::default();
    for word in written {
        let slot = match word.as_str() {
            "text" => &mut admit.text,
            "file" => &mut admit.file,
            "data" => &mut admit.data,
            "handshake" => &mut admit.handshake,
            _ => return None,
        };
        if std::mem::replace(slot, true) {
            return None;
        }
    }
    Some(admit)
}

impl Admit {
    /// The spelling in the configuration.
    pub(super) fn words(self) -> Vec<String> {
        let all =
            [("text", self.text), ("file", self.file), ("data", self.data), ("handshake", self.handshake)];
        all.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.to_owned()).collect()
    }
}
