//! Addresses of listeners and agents.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserializer;

use super::read::{as_text, checked, text};

/// A listening address: `127.0.0.1:8443`, `[::1]:8443`, `quic://127.0.0.1:4433` or `unix:/run/semgate/l8.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// TCP; port 0 selects a free port.
    Tcp(SocketAddr),
    /// QUIC over UDP; port 0 selects a free port.
    Quic(SocketAddr),
    /// A Unix stream socket, created with mode 0600. It replaces an old socket at its path.
    Unix(PathBuf),
}

text!(
    Listen,
    "an address with a port, the same after `quic://`, or `unix:/path`",
    Listen::parse,
    ToString::to_string
);
as_text!(Listen);

impl Listen {
    fn parse(text: &str) -> Option<Self> {
        if let Some(address) = text.strip_prefix("quic://") {
            return address.parse().ok().map(Self::Quic);
        }
        match text.strip_prefix("unix:") {
            Some("") => None,
            Some(path) => Some(Self::Unix(path.into())),
            None => text.parse().ok().map(Self::Tcp),
        }
    }

    /// Makes the path of a socket relative to this directory.
    pub(super) fn rebase(&mut self, base: &Path) {
        if let Self::Unix(path) = self {
            *path = base.join(&*path);
        }
    }

    /// Returns true if the listener has an address for others. `0.0.0.0` and a Unix socket have none.
    pub(super) fn names_a_host(&self) -> bool {
        matches!(self, Self::Tcp(address) | Self::Quic(address) if !address.ip().is_unspecified())
    }

    /// Returns true if only this machine can connect.
    pub(super) fn local(&self) -> bool {
        match self {
            Self::Tcp(address) | Self::Quic(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// Returns true if the system selects the port.
    pub(crate) fn takes_free_port(&self) -> bool {
        matches!(self, Self::Tcp(address) | Self::Quic(address) if address.port() == 0)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Quic(address) => write!(f, "quic://{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Target of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Host (a name or an address without brackets) and port.
    Tcp(String, u16),
    /// QUIC: host and port, as above.
    Quic(String, u16),
    /// A Unix stream socket.
    Unix(PathBuf),
}

/// An agent or an authority: `http://127.0.0.1:9001/l8`, `https://agents.example:8443/l8`, `quic://127.0.0.1:4433` or
/// `unix:/run/agent.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstream {
    /// Target of the connection.
    pub endpoint: Endpoint,
    /// True for TLS.
    pub tls: bool,
    /// Path of messages. Begins with `/` and has no query.
    pub path: String,
}

text!(
    Upstream,
    "`https://host:port/path`, `http://` on loopback, `quic://host:port`, or `unix:/path`",
    |text| Upstream::parse(text, Path::new("")),
    ToString::to_string
);
as_text!(Upstream);

impl Upstream {
    /// Makes the path of a socket relative to this directory.
    pub(super) fn rebase(&mut self, base: &Path) {
        if let Endpoint::Unix(path) = &mut self.endpoint {
            *path = base.join(&*path);
        }
    }

    /// Parses only the spellings above: no user, query, fragment, percent-encoding or `..` in the path.
    pub(crate) fn parse(text: &str, base: &Path) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            let endpoint = Endpoint::Unix(base.join(path));
            return (!path.is_empty()).then_some(Self { endpoint, tls: false, path: "/".to_owned() });
        }
        if let Some(authority) = text.strip_prefix("quic://") {
            let (host, port) = host_and_port(authority, 0)?;
            let endpoint = Endpoint::Quic(host, port);
            return (port != 0).then_some(Self { endpoint, tls: false, path: "/".to_owned() });
        }
        let (tls, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://")?),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => (rest.get(..at)?, rest.get(at..)?),
            None => (rest, "/"),
        };
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~:".contains(&b);
        if !path.bytes().all(plain) || path.split('/').any(|part| part == "..") {
            return None;
        }
        let (host, port) = host_and_port(authority, if tls { 443 } else { 80 })?;
        Some(Self { endpoint: Endpoint::Tcp(host, port), tls, path: path.to_owned() })
    }

    /// Returns true if the address is on this machine.
    pub(crate) fn local(&self) -> bool {
        match &self.endpoint {
            Endpoint::Unix(_) => true,
            Endpoint::Tcp(host, _) | Endpoint::Quic(host, _) => {
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
            }
        }
    }

    /// Value of `Host`: the address with its port, or `localhost` for a Unix socket.
    #[must_use]
    pub fn host_header(&self) -> String {
        match &self.endpoint {
            Endpoint::Tcp(host, port) | Endpoint::Quic(host, port) if host.contains(':') => {
                format!("[{host}]:{port}")
            }
            Endpoint::Tcp(host, port) | Endpoint::Quic(host, port) => format!("{host}:{port}"),
            Endpoint::Unix(_) => "localhost".to_owned(),
        }
    }
}

fn host_and_port(authority: &str, default: u16) -> Option<(String, u16)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        (host, port.strip_prefix(':'))
    } else {
        match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        }
    };
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-.:".contains(&b);
    if host.is_empty() || host.len() > 253 || !host.bytes().all(named) {
        return None;
    }
    let port = match port {
        Some(text) => text.parse().ok().filter(|port| *port != 0)?,
        None => default,
    };
    Some((host.to_owned(), port))
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
            Endpoint::Quic(..) => write!(f, "quic://{}", self.host_header()),
            Endpoint::Tcp(..) => {
                let scheme = if self.tls { "https" } else { "http" };
                write!(f, "{scheme}://{}{}", self.host_header(), self.path)
            }
        }
    }
}

/// Reads a URL for other hosts.
pub(super) fn public_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let must = "a url without query, https unless on loopback";
    checked(deserializer, must, |url: &String| is_public(url)).map(Some)
}

fn is_public(url: &str) -> bool {
    let parsed = Upstream::parse(url, Path::new(""));
    parsed.is_some_and(|url| matches!(url.endpoint, Endpoint::Tcp(..)) && (url.tls || url.local()))
}

/// Reads host names or addresses, with or without a port.
pub(super) fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"-._:[]*".contains(&b);
    checked(
        deserializer,
        "names, such as `gateway.internal` or `gateway.internal:8080`, or `*`",
        |names: &Vec<String>| names.iter().all(|name| !name.is_empty() && name.bytes().all(known)),
    )
}

/// Reads origins as browsers send them: scheme and authority only.
pub(super) fn origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let fits = |origin: &String| {
        let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic() && b != b'/'))
    };
    checked(deserializer, "origins, such as `https://desk.example`", |origins: &Vec<String>| {
        origins.iter().all(fits)
    })
}

/// Reads issuers in the exact bytes of the metadata.
pub(super) fn authorization_servers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let must = "urls without query, https unless on loopback, at least one";
    let fits = |urls: &Vec<String>| !urls.is_empty() && urls.iter().all(|url| is_public(url));
    checked(deserializer, must, fits).map(Some)
}
