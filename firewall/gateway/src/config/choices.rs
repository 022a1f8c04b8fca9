//! What a route may be told beyond where it leads. Each default is the strictest choice.

use std::path::{Path, PathBuf};
use std::time::Duration;

use semgate_contexts::{ContextUrn, Prefix};
use semgate_inspect::{NullArguments, Undefined, UnnamedTools};
use semgate_message::{MetaKeys, a2a::Version};

use super::raw::FileRoute;
use super::span::Span;
use super::{ConfigFault, IdentityFiles, Protocol, PushConfig};

/// How A2A is carried.
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
    /// As the configuration writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }
}

/// Parts that pass although no context defines what is in them. Their sender and receiver are still asked about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Admit {
    /// Free text.
    pub text: bool,
    /// Files: bytes, and URLs of files.
    pub file: bool,
    /// Data that names no concept.
    pub data: bool,
    /// HELLO, SELECT and LOCK, end to end and unopened.
    pub handshake: bool,
}

/// What becomes of the agent's card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CardChoice {
    /// It is rebuilt from named members, and carries no signature of the agent.
    #[default]
    Rebuilt,
    /// It passes byte for byte if one of these keys signed it, and is not served otherwise.
    Untouched {
        /// JSON Web Key Set with the keys that count.
        keys: PathBuf,
    },
}

/// MCP: what is taken of streams that are not quite the protocol's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamChoices {
    /// An answer in `application/json` may be several values, one a line.
    pub json_lines: bool,
    /// Progress under a token that the request did not give is left out, and the stream goes on.
    pub withhold_stray_progress: bool,
}

/// A route whose messages go to every member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupChoice {
    /// The group of `entities.json`: what messages name as their receiver.
    pub name: String,
    /// The routes to those who may be members. Who is one, `entities.json` says.
    pub members: Vec<String>,
    /// Replies that are enough.
    pub replies: usize,
    /// How long they are waited for.
    pub time: Duration,
}

/// Members of a group: 64, so that one message costs at most 64 of what one costs.
const MAX_MEMBERS: usize = 64;
/// How long replies are waited for unless said: a third of what one agent is given.
const REPLY_TIME: Duration = Duration::from_secs(10);

/// # Errors
/// Half a group, one of another binding, names that are none or there twice, or what a group cannot have.
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

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteChoices {
    /// A2A: the versions that are taken.
    pub versions: Vec<Version>,
    /// A2A: the transports that are taken.
    pub transports: Vec<Transport>,
    /// The contexts of messages that name none: several only in MCP, where the first that pins a tool is that of its calls.
    pub default_contexts: Vec<ContextUrn>,
    /// Parts that pass although no context defines them.
    pub admit: Admit,
    /// The agent behind keeps the tasks of its callers apart by itself.
    pub keeps_callers_apart: bool,
    /// A message must hold a lock.
    pub require_lock: bool,
    /// Questions about parameters are answered from the code lists of their context, not by the agent behind.
    pub answer_from_code_lists: bool,
    /// What becomes of a name that the context does not define.
    pub undefined: Undefined,
    /// The lane on which notifications leave that the agent sends by itself; none: push configurations are not carried.
    pub push: Option<PushConfig>,
    /// Names beside its own under which a plain listener may be spoken to; `*` for any.
    pub hosts: Vec<String>,
    /// Origins of pages in browsers that may speak to the listener, beside its own where it is plain.
    pub origins: Vec<String>,
    /// MCP: what becomes of tools that no context names.
    pub unnamed_tools: UnnamedTools,
    /// MCP: what becomes of arguments that are `null` where their tool takes none.
    pub null_arguments: NullArguments,
    /// MCP and A2A: keys of `_meta` and of metadata that pass unread.
    pub meta: MetaKeys,
    /// MCP: what is taken of streams.
    pub streams: StreamChoices,
    /// The callers' `Authorization` is passed on to the agent behind. Off unless said: a credential that is good at the agent is good for
    /// whoever sees it, and who the caller is the gateway states itself.
    pub forward_authorization: bool,
    /// MCP: the only authorization servers that the server behind may send its callers to; `None`: any over TLS.
    pub authorization_servers: Option<Vec<String>>,
    /// The header of an API key that is passed on too, in lower case.
    pub api_key_header: Option<String>,
    /// Native L8: WebSockets are carried. Not beside HTTP/2 with the agent behind, which upgrades nothing.
    pub websocket: bool,
    /// Native L8: the route is one to a group.
    pub group: Option<GroupChoice>,
    /// What becomes of the agent's card.
    pub card: CardChoice,
    /// A2A: prose of the agent passes in a rebuilt card. It is not inspected.
    pub card_texts: bool,
    /// Who deals with handshakes; none: nobody does.
    pub handshake: Option<HandshakeChoice>,
}

/// Who deals with the handshakes of a route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandshakeChoice {
    /// The certificate and key of the agent behind, with which the gateway answers in its place; with `agent` the gateway's own.
    pub identity: IdentityFiles,
    /// The agent behind negotiates by itself: the gateway opens, checks and seals anew (F0-47).
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
/// A word that is none, a list that is empty or names one twice, a context that is no URN, or a choice that the protocol does
/// not have.
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

/// Names, or addresses, with a port or without.
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

/// Origins as browsers send them: scheme and authority, and nothing behind.
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

/// One of a few words, or the strictest of them.
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

/// Issuers as metadata name them, byte for byte. They mean something only where tokens are passed on.
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

/// A header of HTTP, HTTP itself, the bindings or the gateway is no place for a key.
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

/// The default contexts of a route, each once.
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
    /// As the configuration writes it.
    pub(super) fn words(self) -> Vec<String> {
        let all =
            [("text", self.text), ("file", self.file), ("data", self.data), ("handshake", self.handshake)];
        all.into_iter().filter(|(_, on)| *on).map(|(word, _)| word.to_owned()).collect()
    }
}
