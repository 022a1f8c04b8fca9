//! Under which addresses a server and the route before it are known, so that what it says of itself can be told from what it says of
//! others.

use std::net::IpAddr;
use std::path::Path;

use super::WELL_KNOWN;
use crate::config::{Place, RouteConfig, Upstream};
use crate::inside::{self, Inside};

/// Bytes of an address that a server states. As long as most servers of HTTP take one.
const MAX_URL: usize = 2_048;

/// The addresses of one route.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Where callers reach it; nothing where the gateway does not know.
    public: Option<Known>,
    behind: Upstream,
    /// What is behind this route and the others.
    inside: Inside,
}

#[derive(Clone, Debug)]
struct Known {
    /// Scheme, host and port, as configured.
    origin: String,
    at: Upstream,
}

/// An address as somebody states it: `http` or `https`, host, port and a plain path, and nothing beside.
pub(super) fn stated(text: &str) -> Option<Upstream> {
    if text.len() > MAX_URL {
        return None;
    }
    Upstream::parse(text, Path::new("/")).filter(|at| matches!(at.place, Place::Tcp(..)))
}

/// Whether a client may be sent there: over TLS, or on this machine.
pub(super) fn safe(at: &Upstream) -> bool {
    at.tls || at.local()
}

/// Scheme, host and port. Names of one's own machine are one name.
fn same_origin(one: &Upstream, other: &Upstream) -> bool {
    let (Place::Tcp(a, a_port), Place::Tcp(b, b_port)) = (&one.place, &other.place) else { return false };
    let loopback =
        |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    one.tls == other.tls && a_port == b_port && (a.eq_ignore_ascii_case(b) || (loopback(a) && loopback(b)))
}

/// A path without the slash at its end; that of a root is empty.
fn bare(path: &str) -> &str {
    path.trim_end_matches('/')
}

impl Places {
    pub(super) fn of(route: &RouteConfig, routes: &[RouteConfig], url: &str) -> Self {
        let unspecified = |at: &Upstream| matches!(&at.place, Place::Tcp(host, _) if host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified()));
        let public = stated(url).filter(|at| !unspecified(at)).map(|at| {
            let end = url.find("://").map_or(0, |at| at + 3);
            let end = url.get(end..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| at + end);
            Known { origin: url.get(..end).unwrap_or(url).to_owned(), at }
        });
        Self { public, behind: route.upstream.clone(), inside: Inside::behind(routes) }
    }

    fn public_path(&self) -> &str {
        self.public.as_ref().map_or("", |public| bare(&public.at.path))
    }

    /// Whether callers ask for the metadata of the whole host, and the route is not the whole host.
    pub(super) fn is_other_root(&self, asked: &str) -> bool {
        bare(asked).is_empty() && !self.public_path().is_empty()
    }

    /// The path at which the server's metadata are, if it does as RFC 9728 §3.1 says.
    pub(super) fn usual(&self) -> String {
        format!("{WELL_KNOWN}{}", bare(&self.behind.path))
    }

    /// The paths at which the server's metadata may be, the likeliest first, where callers ask for those of this path.
    pub(super) fn documents(&self, asked: &str) -> Vec<String> {
        let (usual, root) = (self.usual(), WELL_KNOWN.to_owned());
        // servers that know the name before the gateway have theirs below its path
        let named = format!("{WELL_KNOWN}{}", self.public_path());
        let mut paths = match bare(asked) {
            "" if !self.public_path().is_empty() => vec![root],
            "" => vec![usual, root],
            _ => vec![usual, named],
        };
        paths.dedup();
        paths
    }

    /// Where callers find the metadata of the route.
    pub(super) fn metadata_url(&self) -> Option<String> {
        let public = self.public.as_ref()?;
        Some(format!("{}{WELL_KNOWN}{}", public.origin, bare(&public.at.path)))
    }

    /// The path of an address of the server's own, whether it states it under the name that it has behind the gateway or before it.
    pub(super) fn own_path(&self, text: &str) -> Option<String> {
        let at = stated(text)?;
        let public = self.public.as_ref().is_some_and(|public| same_origin(&public.at, &at));
        (public || same_origin(&self.behind, &at)).then_some(at.path)
    }

    /// What callers know as the resource that the server states, where they asked for the metadata of this path: the server itself or its
    /// whole host. Under the name that callers know it stays as it is stated. `None` for any other resource.
    pub(super) fn resource(&self, text: &str, asked: &str) -> Option<String> {
        let (public, at) = (self.public.as_ref()?, stated(text)?);
        let (path, asked) = (bare(&at.path), bare(asked));
        if same_origin(&public.at, &at) && [asked, self.public_path(), ""].contains(&path) {
            return Some(text.to_owned());
        }
        if !same_origin(&self.behind, &at) {
            return None;
        }
        let origin = &public.origin;
        if path == bare(&self.behind.path) {
            let path = if asked.is_empty() { self.public_path() } else { asked };
            return Some(format!("{origin}{path}"));
        }
        let slash = if text.ends_with('/') { "/" } else { "" };
        path.is_empty().then(|| format!("{origin}{slash}"))
    }

    /// Whether an address leads past the gateway to what is behind any route, or nobody can say where it leads.
    pub(super) fn leads_inside(&self, at: &Upstream) -> bool {
        let public = self.public.as_ref().is_some_and(|public| same_origin(&public.at, at));
        !public && self.inside.is_at(at)
    }

    /// Whether callers reach the route on their own machine, so that other addresses there are none of a stranger's choosing.
    pub(super) fn is_here(&self) -> bool {
        self.public.as_ref().is_some_and(|public| inside::is_here(&public.at))
    }
}
