//! The addresses behind the gateway, which no text of a card may name: whoever followed one would come past the firewall.

use std::net::IpAddr;

use crate::config::{Place, Upstream};

/// Host, port, and whether over TLS, of each place that the agent is behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside(Vec<Origin>);

#[derive(Clone, Debug)]
struct Origin {
    /// As URLs write it, in lower case.
    host: String,
    port: u16,
    loopback: bool,
    /// The port may be left out.
    default_port: bool,
}

/// Names of one's own machine: whoever says one means the others.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

impl Inside {
    pub(super) fn of<'u>(places: impl IntoIterator<Item = &'u Upstream>) -> Self {
        let origin = |upstream: &Upstream| {
            let Place::Tcp(host, port) = &upstream.place else { return None };
            let host = host.to_ascii_lowercase();
            let loopback =
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            let host = if host.contains(':') { format!("[{host}]") } else { host };
            let default_port = *port == if upstream.tls { 443 } else { 80 };
            Some(Origin { host, port: *port, loopback, default_port })
        };
        Self(places.into_iter().filter_map(origin).collect())
    }

    /// Whether a text names one of the places, in a URL or as host and port.
    pub(super) fn named_in(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        self.0.iter().any(|origin| origin.is_in(&text))
    }
}

impl Origin {
    fn is_in(&self, text: &str) -> bool {
        let same = if self.loopback { LOOPBACK.as_slice() } else { &[] };
        let hosts = same.iter().copied().chain([self.host.as_str()]);
        hosts.into_iter().any(|host| text.match_indices(host).any(|(at, _)| self.stands_at(text, at, host)))
    }

    fn stands_at(&self, text: &str, at: usize, host: &str) -> bool {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let after = after.get(host.len()..).unwrap_or_default();
        let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        // the end of a longer name
        if before.ends_with(inner) {
            return false;
        }
        if let Some(port) = after.strip_prefix(':') {
            let digits = port.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            return digits.parse() == Ok(self.port) || (digits.is_empty() && self.default_port);
        }
        // without a port only where a url stands, so that a word is no address
        let in_url = before.ends_with("//") || before.ends_with('@');
        self.default_port && in_url && !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(upstream: &str) -> Inside {
        Inside::of([&Upstream::parse(upstream, std::path::Path::new("/")).unwrap()])
    }

    #[test]
    fn a_place_is_found_however_a_text_names_it() {
        let (local, named) = (inside("http://127.0.0.1:24005/a2a"), inside("https://agent.internal/a2a"));
        for text in [
            "http://127.0.0.1:24005/a2a",
            "HTTP://LOCALHOST:24005",
            "see [::1]:24005 for more",
            "ws://u@127.0.0.1:24005",
        ] {
            assert!(local.named_in(text), "{text}");
        }
        for text in ["https://Agent.Internal/", "https://agent.internal:443/x", "agent.internal:443"] {
            assert!(named.named_in(text), "{text}");
        }
        for text in ["http://127.0.0.1:240051/", "http://10.127.0.0.1:24005/", "port 24005 of localhost"] {
            assert!(!local.named_in(text), "{text}");
        }
        for text in ["https://my-agent.internal/", "https://agent.internal:8443/", "ask agent.internal"] {
            assert!(!named.named_in(text), "{text}");
        }
        assert!(!inside("unix:/run/agent.sock").named_in("http://localhost/"));
    }
}
