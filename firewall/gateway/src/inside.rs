//! Internal addresses of the agents. Nothing that an agent says of itself may name one, since a reader could use it to bypass
//! the firewall.
//!
//! Texts are compared as a connecting client reads them. Hosts are normalised as in the URL standard. So case, a final dot,
//! percent signs, other digits and numeric addresses hide nothing. Names are not resolved.

use std::net::IpAddr;
use std::ops::Range;

use url::Host;

use crate::config::{Place, RouteConfig, Upstream};
use crate::spelling;

/// Host and port of each agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inside(Vec<Origin>);

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

/// Port in a text.
#[derive(Clone, Copy)]
enum Port {
    Is(u16),
    /// The default port of any scheme.
    Usual,
}

/// Host of an address, normalised and as written; `None` for a local socket.
fn host(at: &Upstream) -> Option<(Option<Normal>, &str, u16)> {
    let Place::Tcp(host, port) = &at.place else { return None };
    let bracketed = host.contains(':').then(|| format!("[{host}]"));
    Some((Normal::parse(bracketed.as_ref().unwrap_or(host)), host, *port))
}

/// Returns true if a client that goes there reaches its own machine, by any name.
pub(crate) fn is_here(at: &Upstream) -> bool {
    host(at).is_none_or(|(host, ..)| host == Some(Normal::Here))
}

impl Inside {
    /// Internal addresses of these routes: their agents, and the sources of their cards.
    pub(crate) fn behind(routes: &[RouteConfig]) -> Self {
        Self::of(routes.iter().flat_map(|route| [&route.upstream].into_iter().chain(&route.card_from)))
    }

    fn of<'u>(places: impl IntoIterator<Item = &'u Upstream>) -> Self {
        let origin = |upstream: &Upstream| {
            let (read, written, port) = host(upstream)?;
            Some(Origin { host: read.unwrap_or_else(|| Normal::Name(written.to_ascii_lowercase())), port })
        };
        Self(places.into_iter().filter_map(origin).collect())
    }

    /// Returns true if an address leads to an internal one in any protocol, or cannot be resolved safely.
    pub(crate) fn is_at(&self, at: &Upstream) -> bool {
        let Some((Some(host), _, port)) = host(at) else { return true };
        self.0.iter().any(|origin| origin.port == port && origin.host == host)
    }

    /// Returns true if a text names an internal address, as a URL or as host and port, even in disguised letters.
    pub(crate) fn named_in(&self, text: &str) -> bool {
        self.read_in(text) || self.read_in(&spelling::plain(text))
    }

    fn read_in(&self, text: &str) -> bool {
        // readers of urls drop line ends
        self.stands_in(text) || (text.contains('\n') && self.stands_in(&text.replace('\n', "")))
    }

    fn stands_in(&self, text: &str) -> bool {
        runs(text).into_iter().any(|run| {
            let (before, host, after) = (text.get(..run.start), text.get(run.clone()), text.get(run.end..));
            let (Some(before), Some(host), Some(after)) = (before, host, after) else { return false };
            let (at_end, before_end) = (port(before, after), port(before, ""));
            let of = |host: &str, port: Option<Port>| port.is_some_and(|port| self.holds(host, port));
            // other scripts' words, quotes and dashes may stand directly before or after it
            let foreign = !host.is_ascii() && (at_end.is_some() || before_end.is_some());
            let part = |(part, last): (String, bool)| of(&part, if last { at_end } else { before_end });
            of(host, at_end) || (foreign && pieces(host).any(part))
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
        Normal::parse(host).is_some_and(|host| there.any(|origin| origin.host == host))
    }
}

/// The longest ASCII parts of a run after URL-standard mapping. The flag is true for the part at the end of the run.
fn pieces(run: &str) -> impl Iterator<Item = (String, bool)> {
    let (mut all, mut piece) = (Vec::new(), String::new());
    for c in run.chars() {
        match mapped(c) {
            Some(ascii) => piece.push_str(&ascii),
            None => all.push((std::mem::take(&mut piece), false)),
        }
    }
    all.push((piece, true));
    all.into_iter().filter(|(piece, _)| !piece.is_empty())
}

/// URL-standard mapping of a host's character, if the result is ASCII. Maps other widths to letters, other dots to a dot, and
/// a soft hyphen to nothing.
fn mapped(c: char) -> Option<String> {
    if c.is_ascii() {
        return Some(c.to_string());
    }
    let Host::Domain(name) = Host::parse(&format!("a{c}a")).ok()? else { return None };
    let between = name.strip_prefix('a')?.strip_suffix('a')?;
    Some(between.to_owned())
}

/// Ranges that may hold hosts: unbroken text, and text in brackets.
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

/// Maximum bytes of an address in brackets; the longest IPv6 address has 45.
const MAX_BRACKETS: usize = 48;

/// Port of a host between the two; `None` for a plain word.
fn port(before: &str, after: &str) -> Option<Port> {
    if let Some(port) = after.strip_prefix(':') {
        let digits = port.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        return if digits.is_empty() { Some(Port::Usual) } else { digits.parse().ok().map(Port::Is) };
    }
    // a missing port counts only in a url, so that a word is no address; slashes may be missing or backward
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

    #[test]
    fn attack_a_quote_a_dash_or_a_word_of_another_script_stands_behind_a_place() {
        let (local, named) = (inside("http://127.0.0.1/a2a"), inside("https://agent.internal/a2a"));
        for end in ["”", "—", "」", "、", "は", "…", "。", "...", "”:8443", "、b.example:8443", "é, or so"]
        {
            for text in [
                format!("Reach it at “https://agent.internal{end}"),
                format!("“https://ＡＧＥＮＴ。inter\u{ad}nal{end}"),
                format!("「agent.internal:443{end}"),
                format!("https://地址agent.internal{end}"),
            ] {
                assert!(named.named_in(&text), "{text}");
            }
            for text in [format!("“http://127.0.0.1{end}"), format!("“http://１２７.0.0.1{end}")] {
                assert!(local.named_in(&text), "{text}");
            }
        }
        for text in ["“agent.internal”", "https://agent.internal.example”", "https://my-agent.internal—"]
        {
            assert!(!named.named_in(text), "{text}");
        }
    }

    #[test]
    fn attack_a_place_behind_is_written_in_characters_that_its_reader_undoes() {
        let (local, named) = (inside("http://127.0.0.1:24005/a2a"), inside("https://agent.internal/a2a"));
        for text in [
            "https&#58;//agent.internal/",
            "https%3A%2F%2Fagent.internal%2Fx",
            "https:\\u002f\\u002fagent.internal",
            "agent.internal%3A443",
            "https://agent&period;in&#10;ternal/",
            "https://agent.in&shy;ternal/",
            "https：／／agent.internal",
        ] {
            assert!(named.named_in(text), "{text}");
        }
        assert!(local.named_in("127.0.0.1&colon;24005") && local.named_in("http://127&#46;0.0.1%253A24005"));
        for text in
            ["https&#58;//my-agent.internal/", "https%3A%2F%2Fagent.internal.example", "127.0.0.1%3A240051"]
        {
            assert!(!named.named_in(text) && !local.named_in(text), "{text}");
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

    proptest::proptest! {
        #[test]
        fn fuzz_every_text_is_read(text in "[\\PC\\n]{0,64}", head in "[a-z:/@\\[%.]{0,8}") {
            let _ = inside("http://127.0.0.1:80/").named_in(&format!("{head}{text}"));
        }
    }
}
