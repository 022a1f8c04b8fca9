//! The addresses behind the gateway, which no text of a card may name: whoever followed one would come past the firewall.
//!
//! A text is held against them as those read it who connect: hosts are compared as the URL standard normalises them, so that case, a
//! dot at the end, percent signs, other digits and numbers for an address hide nothing. What a name resolves to is not looked at.

use std::net::IpAddr;
use std::ops::Range;

use url::Host;

use crate::config::{Place, Upstream};

/// Host and port of each place that an agent is behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Inside(Vec<Origin>);

#[derive(Clone, Debug)]
struct Origin {
    host: Normal,
    port: u16,
}

/// A host as one who connects understands it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Normal {
    /// One's own machine, under any of its names: whoever says one means the others.
    Here,
    Name(String),
    Address(IpAddr),
}

impl Normal {
    /// Reads a name, or an address, which is in brackets if it is of IPv6; nothing of what is neither.
    fn parse(host: &str) -> Option<Self> {
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

/// The port that a text says.
#[derive(Clone, Copy)]
enum Port {
    Is(u16),
    /// That of its scheme, which may be any.
    Usual,
}

impl Inside {
    pub(super) fn of<'u>(places: impl IntoIterator<Item = &'u Upstream>) -> Self {
        let origin = |upstream: &Upstream| {
            let Place::Tcp(host, port) = &upstream.place else { return None };
            let written = if host.contains(':') { format!("[{host}]") } else { host.clone() };
            let host = Normal::parse(&written).unwrap_or_else(|| Normal::Name(host.to_ascii_lowercase()));
            Some(Origin { host, port: *port })
        };
        Self(places.into_iter().filter_map(origin).collect())
    }

    /// Whether a text names one of the places, in a URL or as host and port.
    pub(super) fn named_in(&self, text: &str) -> bool {
        // readers of urls leave line ends out
        self.stands_in(text) || (text.contains('\n') && self.stands_in(&text.replace('\n', "")))
    }

    fn stands_in(&self, text: &str) -> bool {
        runs(text).into_iter().any(|run| {
            let (before, host, after) = (text.get(..run.start), text.get(run.clone()), text.get(run.end..));
            let (Some(before), Some(host), Some(after)) = (before, host, after) else { return false };
            port(before, after).is_some_and(|port| self.holds(host, port))
        })
    }

    fn holds(&self, host: &str, port: Port) -> bool {
        let at_port = |origin: &&Origin| match port {
            Port::Is(port) => origin.port == port,
            Port::Usual => matches!(origin.port, 80 | 443),
        };
        let mut there = self.0.iter().filter(at_port).peekable();
        if there.peek().is_none() {
            return false;
        }
        // words of other scripts may stand right before it
        let plain = host.rsplit(|c: char| !c.is_ascii()).next().unwrap_or_default();
        let read = [Normal::parse(host), Normal::parse(plain)];
        there.any(|origin| read.iter().flatten().any(|host| *host == origin.host))
    }
}

/// Where hosts can stand: what is written without a break, and what is in brackets.
fn runs(text: &str) -> Vec<Range<usize>> {
    let of_host = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '%') || !(c.is_ascii() || c.is_whitespace())
    };
    let (mut runs, mut begun) = (Vec::new(), None);
    for (at, c) in text.char_indices() {
        match (of_host(c), begun) {
            (true, None) => begun = Some(at),
            (false, Some(begin)) => {
                runs.push(begin..at);
                begun = None;
            }
            _ => {}
        }
    }
    runs.extend(begun.map(|begin| begin..text.len()));
    for (at, _) in text.match_indices('[') {
        let longest = text.bytes().skip(at).take(MAX_BRACKETS);
        runs.extend(longest.enumerate().find(|(_, b)| *b == b']').map(|(end, _)| at..at + end + 1));
    }
    runs
}

/// Bytes of an address in brackets: the longest of IPv6 has 45.
const MAX_BRACKETS: usize = 48;

/// The port of a host between the two; nothing where it is a word, and no address.
fn port(before: &str, after: &str) -> Option<Port> {
    if let Some(port) = after.strip_prefix(':') {
        let digits = port.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        return if digits.is_empty() { Some(Port::Usual) } else { digits.parse().ok().map(Port::Is) };
    }
    // without a port only where a url stands, so that a word is no address; slashes may be missing or lean back
    let scheme = before.trim_end_matches(['/', '\\']).strip_suffix(':');
    let in_url = scheme.is_some_and(|scheme| scheme.ends_with(|c: char| c.is_ascii_alphanumeric()));
    (in_url || before.ends_with("//") || before.ends_with('@')).then_some(Port::Usual)
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

    #[test]
    fn attack_a_place_behind_is_written_in_another_way_than_it_is_configured() {
        let (local, named) = (inside("http://127.0.0.1:24005/a2a"), inside("https://agent.internal/a2a"));
        for text in [
            "http://127.0.0.1.:24005/",
            "http://2130706433:24005/",
            "http://0x7f.1:24005/",
            "http://0177.0.0.1:24005/",
            "http://%31%32%37.0.0.1:24005/",
            "http://127.9.9.9:024005/",
            "http://0.0.0.0:24005/",
            "http://[::ffff:127.0.0.1]:24005/",
            "http://[0:0:0:0:0:0:0:1]:24005/",
            "http://a.localhost.:24005/",
            "http://１２７。０。０。１:24005/",
            "地址127.0.0.1:24005",
            "(127.0.0.1:24005)",
        ] {
            assert!(local.named_in(text), "{text}");
        }
        for text in [
            "https://agent.internal./",
            "https://AGENT.%49nternal/",
            "https:agent.internal",
            "https:\\\\agent.internal",
            "https:/agent.internal",
            "https://agent\u{ad}.internal/",
            "https://agent.in\nternal/",
            "https://ａgent.internal/",
            "agent.internal.:443",
        ] {
            assert!(named.named_in(text), "{text}");
        }
        let sixth = inside("http://[fd00::7]:9000/");
        assert!(sixth.named_in("http://[FD00:0::0007]:9000/") && !sixth.named_in("http://[fd00::8]:9000/"));
        for text in
            ["2130706433 items at 24005", "version 127.0.0.1", "https://internal/", "ask agent.internal."]
        {
            assert!(!local.named_in(text) && !named.named_in(text), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn fuzz_every_text_is_read(text in "[\\PC\\n]{0,64}", head in "[a-z:/@\\[%.]{0,8}") {
            let _ = inside("http://127.0.0.1:80/").named_in(&format!("{head}{text}"));
        }
    }
}
