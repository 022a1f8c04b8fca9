//! Targets of notifications: URLs in one spelling, an allow-list, and addresses permitted for connections.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Reason why a text is not a valid target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetFault {
    /// Neither `https://` nor `http://`.
    Scheme,
    /// `http://` to a host other than a loopback address or `localhost`.
    Plain,
    /// A user, an invalid port, or an empty or non-canonical host.
    Host,
    /// A byte, an escape or a `..` step that two readers could interpret differently.
    Path,
}

impl fmt::Display for TargetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "a url that begins with `https://`",
            Self::Plain => "a url that begins with `https://`; `http://` only to a loopback address",
            Self::Host => {
                "a url without user, whose host is a lower-case name or an address in canonical form"
            }
            Self::Path => "a url whose path has no `..`, no `\\`, no fragment and no escaped slash or dot",
        })
    }
}

/// The host of a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    /// Parses one spelling of each host: a lower-case name whose last label is not a number, or an address in canonical form.
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']')?;
            let address: Ipv6Addr = inner.parse().ok()?;
            return (address.to_string() == inner).then_some(Self::Address(address.into()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Some(Self::Address(address.into()));
        }
        let label = |label: &str| {
            let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
            let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            label.len() <= 63
                && label.bytes().all(inner)
                && edge(label.bytes().next())
                && edge(label.bytes().next_back())
        };
        // other readers take these for addresses: `127.1`, `0x7f000001`, `2130706433`
        let last = text.rsplit('.').next().unwrap_or_default();
        let number = last.bytes().next().is_none_or(|b| b.is_ascii_digit());
        let name = text.len() <= 253 && text.split('.').all(label) && !number;
        name.then(|| Self::Name(text.to_owned()))
    }

    fn is_loopback(&self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Address(address) => address.is_loopback(),
        }
    }
}

/// A valid URL in one spelling.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) tls: bool,
    pub(crate) host: Host,
    pub(crate) port: u16,
    path: String,
    query: Option<String>,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("target")
    }
}

impl Target {
    /// # Errors
    /// Returns the fault of an invalid URL.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetFault> {
        let (tls, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(TargetFault::Scheme),
        };
        let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at_checked(end).ok_or(TargetFault::Host)?;
        let (host, port) = authority_of(authority, if tls { 443 } else { 80 }).ok_or(TargetFault::Host)?;
        if !tls && !host.is_loopback() {
            return Err(TargetFault::Plain);
        }
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (rest, None),
        };
        let path = if path.is_empty() { "/" } else { path };
        let taken = |b: u8| b.is_ascii_graphic() && !b"\\#\"<>^`{|}".contains(&b);
        if !rest.bytes().all(taken) || !path.starts_with('/') || !plain_path(path) {
            return Err(TargetFault::Path);
        }
        Ok(Self { tls, host, port, path: path.to_owned(), query })
    }

    /// Value of `Host`.
    pub(crate) fn authority(&self) -> String {
        let default = if self.tls { 443 } else { 80 };
        let host = match &self.host {
            Host::Name(name) => name.clone(),
            Host::Address(IpAddr::V6(address)) => format!("[{address}]"),
            Host::Address(address) => address.to_string(),
        };
        if self.port == default { host } else { format!("{host}:{}", self.port) }
    }

    /// Path and query.
    pub(crate) fn path_and_query(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }
}

fn authority_of(text: &str, default: u16) -> Option<(Host, u16)> {
    let at = if text.starts_with('[') {
        text.find(']')?.checked_add(1)?
    } else {
        text.find(':').unwrap_or(text.len())
    };
    let (host, port) = text.split_at_checked(at)?;
    let port = match port.strip_prefix(':') {
        Some(port) if port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0') => {
            port.parse().ok()?
        }
        None if port.is_empty() => default,
        _ => return None,
    };
    Some((Host::parse(host)?, port))
}

/// Returns true if no receiver can interpret the path as another one.
fn plain_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let escaped = ["%2e", "%2f", "%5c", "%00", "%25"].iter().any(|escape| lower.contains(escape));
    // some receivers drop a step's parameters before they resolve it (RFC 3986 §3.3): they read `..;x` as `..`
    let step = |part: &str| matches!(part.split(';').next(), Some("." | ".."));
    !escaped && !path.split('/').any(step)
}

/// One entry of an allow-list: a URL and everything below it. On a loopback host it may cover every port:
/// `http://localhost:*/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    target: Target,
    any_port: bool,
}

impl Rule {
    /// # Errors
    /// Same as [`Target::parse`]; also refuses a query.
    pub(crate) fn parse(text: &str) -> Result<Self, TargetFault> {
        let any_port = text.split_once("://").is_some_and(|(_, rest)| {
            let authority = rest.split('/').next().unwrap_or_default();
            authority.ends_with(":*")
        });
        let target =
            if any_port { Target::parse(&text.replacen(":*", "", 1))? } else { Target::parse(text)? };
        if target.query.is_some() {
            return Err(TargetFault::Path);
        }
        if any_port && !target.host.is_loopback() {
            return Err(TargetFault::Host);
        }
        Ok(Self { target, any_port })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.target.tls
    }

    fn holds(&self, target: &Target) -> bool {
        let rule = &self.target;
        // an entry with a final `/` covers only what is below it: the path without the slash may have another owner
        let below = target
            .path
            .strip_prefix(rule.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rule.path.ends_with('/'));
        rule.tls == target.tls
            && rule.host == target.host
            && (self.any_port || rule.port == target.port)
            && below
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.target.tls { "https" } else { "http" };
        let any = if self.any_port { ":*" } else { "" };
        write!(f, "{scheme}://{}{any}{}", self.target.authority(), self.target.path)
    }
}

/// Permitted targets of a push lane.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    pub(crate) rules: Vec<Rule>,
    pub(crate) networks: Vec<IpNet>,
}

/// The target is not on the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffTheList;

/// The address is forbidden for delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotPublic;

impl Targets {
    /// Returns the target of a URL, if it is on the list.
    ///
    /// # Errors
    /// [`OffTheList`], also for an invalid URL and for a literal address that is forbidden.
    pub(crate) fn listed(&self, url: &str) -> Result<Target, OffTheList> {
        let target = Target::parse(url).map_err(|_| OffTheList)?;
        if !self.rules.iter().any(|rule| rule.holds(&target)) {
            return Err(OffTheList);
        }
        Ok(target)
    }

    /// Checks an address to which a target's name resolved. A non-public address must itself be on the list or in a listed
    /// network. `localhost` also permits a loopback address.
    ///
    /// # Errors
    /// [`NotPublic`].
    pub(crate) fn connectable(&self, target: &Target, address: IpAddr) -> Result<(), NotPublic> {
        let address = address.to_canonical();
        let named = match &target.host {
            // the list has literal hosts, so this address is on it
            Host::Address(host) => host.to_canonical() == address,
            Host::Name(name) => name == "localhost" && address.is_loopback(),
        };
        let allowed =
            named || public(address) || self.networks.iter().any(|network| network.contains(&address));
        if allowed { Ok(()) } else { Err(NotPublic) }
    }
}

/// Returns true for addresses of the public internet (IANA special-purpose registries, RFC 6890 and later).
fn public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !matches!(
                (a, b, c),
                (0 | 10 | 127 | 224..=255, ..)
                    | (100, 64..=127, _)
                    | (169, 254, _)
                    | (172, 16..=31, _)
                    | (192, 0, 0 | 2)
                    | (192, 88, 99)
                    | (192, 168, _)
                    | (198, 18..=19, _)
                    | (198, 51, 100)
                    | (203, 0, 113)
            )
        }
        IpAddr::V6(address) => {
            let [a, b, ..] = address.segments();
            // global unicast, without embedded IPv4, documentation and test ranges
            (0x2000..0x4000).contains(&a)
                && a != 0x2002
                && a != 0x3fff
                && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
        }
    }
}

#[cfg(test)]
mod tests;
