//! Internal addresses of the agents. Nothing that an agent says of itself may name one, since a reader could use it to bypass
//! the firewall.
//!
//! Texts are compared as a connecting client reads them. Hosts are normalised as in the URL standard. So case, a final dot,
//! percent signs, other digits and numeric addresses hide nothing. Names are not resolved.

use std::net::IpAddr;
use std::sync::Arc;

use arc_swap::ArcSwap;
use url::{Host, Url};

use crate::config::{Endpoint, RouteConfig, Upstream};

/// Host and port of each agent, for all routes; a reload replaces them.
#[derive(Clone, Debug, Default)]
pub(crate) struct InternalAddresses(Arc<ArcSwap<Vec<Origin>>>);

#[derive(Clone, Debug)]
struct Origin {
    host: Normal,
    port: u16,
}

/// A host in normalised form.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Normal {
    /// The local machine, under any of its names, which are all equal.
    Here,
    Name(String),
    Address(IpAddr),
}

impl Normal {
    /// Parses a name or an address, with brackets for IPv6; `None` for anything else.
    fn parse(host: &str) -> Option<Self> {
        // a sentence may end right after it
        let host = host.trim_end_matches('.');
        let address = |address: IpAddr| match address.to_canonical() {
            here if here.is_loopback() || here.is_unspecified() => Self::Here,
            other => Self::Address(other),
        };
        Some(match Host::parse(host).ok()? {
            Host::Ipv4(of) => address(of.into()),
            Host::Ipv6(of) => address(of.into()),
            Host::Domain(name) => match name.trim_end_matches('.') {
                "" => return None,
                name if name == "localhost" || name.ends_with(".localhost") => Self::Here,
                name => Self::Name(name.to_owned()),
            },
        })
    }
}

/// The host of an address as one who connects understands it, and as it is written; nothing for a socket of this machine.
fn host(at: &Upstream) -> Option<(Option<Normal>, &str, u16)> {
    let (Endpoint::Tcp(host, port) | Endpoint::Quic(host, port)) = &at.endpoint else { return None };
    let bracketed = host.contains(':').then(|| format!("[{host}]"));
    Some((Normal::parse(bracketed.as_ref().unwrap_or(host)), host, *port))
}

/// Returns true if a client that goes there reaches its own machine, by any name.
pub(crate) fn is_here(at: &Upstream) -> bool {
    host(at).is_none_or(|(host, ..)| host == Some(Normal::Here))
}

impl InternalAddresses {
    /// Internal addresses of these routes: their agents, and the sources of their cards.
    pub(crate) fn of_routes(routes: &[RouteConfig]) -> Self {
        Self::of(routes.iter().flat_map(|route| [&route.upstream].into_iter().chain(&route.a2a.card_from)))
    }

    /// Takes the internal addresses of these routes in place of the former ones.
    pub(crate) fn replace(&self, routes: &[RouteConfig]) {
        self.0.store(Self::of_routes(routes).0.load_full());
    }

    fn of<'u>(places: impl IntoIterator<Item = &'u Upstream>) -> Self {
        let origin = |upstream: &Upstream| {
            let (read, written, port) = host(upstream)?;
            Some(Origin { host: read.unwrap_or_else(|| Normal::Name(written.to_ascii_lowercase())), port })
        };
        Self(Arc::new(ArcSwap::from_pointee(places.into_iter().filter_map(origin).collect())))
    }

    /// Returns true if an address leads to an internal one in any protocol, or cannot be resolved safely.
    pub(crate) fn is_at(&self, at: &Upstream) -> bool {
        let Some((Some(host), _, port)) = host(at) else { return true };
        self.0.load().iter().any(|origin| origin.port == port && origin.host == host)
    }

    /// True if a URL leads to one of the places, or is none that says where it leads: of `http` or `https`, without user.
    pub(crate) fn is_led_to_by(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return true };
        let (Some(written), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return true };
        if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some()
        {
            return true;
        }
        let Some(host) = Normal::parse(written) else { return true };
        self.0.load().iter().any(|origin| origin.port == port && origin.host == host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(upstream: &str) -> InternalAddresses {
        InternalAddresses::of([&Upstream::parse(upstream, std::path::Path::new("/")).unwrap()])
    }

    #[test]
    fn attack_a_url_leads_behind_in_another_spelling_than_is_configured() {
        let (local, named) = (inside("http://127.0.0.1:24005/a2a"), inside("https://agent.internal/a2a"));
        for url in [
            "http://127.0.0.1:24005/a2a",
            "HTTP://LOCALHOST:24005",
            "http://127.0.0.1.:24005/",
            "http://2130706433:24005/",
            "http://0177.0.0.1:24005/",
            "http://%31%32%37.0.0.1:24005/",
            "http://0.0.0.0:24005/",
            "http://[::ffff:127.0.0.1]:24005/",
            "http://a.localhost.:24005/",
            "http://１２７。０。０。１:24005/",
        ] {
            assert!(local.is_led_to_by(url), "{url}");
        }
        for url in [
            "https://Agent.Internal./",
            "https:agent.internal",
            "https:\\\\agent.internal",
            "https://agent\u{ad}.internal/",
        ] {
            assert!(named.is_led_to_by(url), "{url}");
        }
        for url in ["https://my-agent.internal/", "https://agent.internal:8443/", "http://10.0.0.1:24005/"] {
            assert!(!named.is_led_to_by(url) && !local.is_led_to_by(url), "{url}");
        }
        for odd in ["", "a text", "/path", "ftp://a.test/", "https://u@a.test/", "urn:x:y"] {
            assert!(local.is_led_to_by(odd), "nobody can say where it leads: {odd}");
        }
    }

    #[test]
    fn an_address_is_at_a_place_whatever_it_is_written_as() {
        let at = |text: &str| Upstream::parse(text, std::path::Path::new("/")).unwrap();
        let address = inside("http://10.0.0.5:8443/mcp");
        for text in ["https://167772165:8443", "https://0x0a.0.0.5:8443", "https://[::ffff:10.0.0.5]:8443"] {
            assert!(address.is_at(&at(text)), "{text}");
        }
        assert!(!address.is_at(&at("https://10.0.0.5:8444")) && !address.is_at(&at("https://10.0.0.6:8443")));
        assert!(address.is_at(&at("https://10.0.0.5.6:8443")), "nobody can say where it leads");
        for text in ["http://LOCALHOST:1", "http://127.1:1", "https://a.localhost.:1", "http://[::1]:1"] {
            assert!(is_here(&at(text)), "{text}");
        }
        assert!(!is_here(&at("https://localhost.example")));
    }
}
