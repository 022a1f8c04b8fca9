//! Addresses of a server and of the route before it. They separate a server's statements about itself from those about
//! others.

use std::net::IpAddr;
use std::path::Path;

use super::WELL_KNOWN;
use crate::config::{Endpoint, RouteConfig, Upstream};
use crate::upstream::internal_addresses::{self, InternalAddresses};

/// Maximum bytes of an address that a server states. Most HTTP servers have the same bound.
const MAX_URL: usize = 2_048;

/// The addresses of one route.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The callers' address of the route; `None` if unknown.
    public: Option<Known>,
    upstream: Upstream,
    /// Internal addresses of all routes.
    inside: InternalAddresses,
}

#[derive(Clone, Debug)]
struct Known {
    /// Scheme, host and port, as configured.
    origin: String,
    at: Upstream,
}

/// Parses a stated address: `http` or `https`, host, port and a plain path, and nothing else.
pub(super) fn stated(text: &str) -> Option<Upstream> {
    if text.len() > MAX_URL {
        return None;
    }
    Upstream::parse(text, Path::new("/")).filter(|at| matches!(at.endpoint, Endpoint::Tcp(..)))
}

/// Returns true for TLS or a local address, where a client may be sent.
pub(super) fn safe(at: &Upstream) -> bool {
    at.tls || at.local()
}

/// Compares scheme, host and port. All names of the local machine are equal.
fn same_origin(one: &Upstream, other: &Upstream) -> bool {
    let (Endpoint::Tcp(a, a_port), Endpoint::Tcp(b, b_port)) = (&one.endpoint, &other.endpoint) else {
        return false;
    };
    let loopback =
        |host: &str| host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    one.tls == other.tls && a_port == b_port && (a.eq_ignore_ascii_case(b) || (loopback(a) && loopback(b)))
}

/// A path without its final slash; empty for a root.
fn bare(path: &str) -> &str {
    path.trim_end_matches('/')
}

impl Places {
    pub(super) fn of(route: &RouteConfig, inside: &InternalAddresses, url: &str) -> Self {
        let unspecified = |at: &Upstream| matches!(&at.endpoint, Endpoint::Tcp(host, _) if host.parse::<IpAddr>().is_ok_and(|ip| ip.is_unspecified()));
        let public = stated(url).filter(|at| !unspecified(at)).map(|at| {
            let end = url.find("://").map_or(0, |at| at + 3);
            let end = url.get(end..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| at + end);
            Known { origin: url.get(..end).unwrap_or(url).to_owned(), at }
        });
        Self { public, upstream: route.upstream.clone(), inside: inside.clone() }
    }

    fn public_path(&self) -> &str {
        self.public.as_ref().map_or("", |public| bare(&public.at.path))
    }

    /// Returns true if callers request the metadata of the whole host but the route is only part of it.
    pub(super) fn is_other_root(&self, asked: &str) -> bool {
        bare(asked).is_empty() && !self.public_path().is_empty()
    }

    /// Path of the server's metadata according to RFC 9728 §3.1.
    pub(super) fn usual(&self) -> String {
        format!("{WELL_KNOWN}{}", bare(&self.upstream.path))
    }

    /// Candidate paths of the server's metadata, the likeliest first, for a request for this path.
    pub(super) fn documents(&self, asked: &str) -> Vec<String> {
        let (usual, root) = (self.usual(), WELL_KNOWN.to_owned());
        // servers that know the gateway's name have their metadata below its path
        let named = format!("{WELL_KNOWN}{}", self.public_path());
        let mut paths = match bare(asked) {
            "" if !self.public_path().is_empty() => vec![root],
            "" => vec![usual, root],
            _ => vec![usual, named],
        };
        paths.dedup();
        paths
    }

    /// Address at which callers find the route's metadata.
    pub(super) fn metadata_url(&self) -> Option<String> {
        let public = self.public.as_ref()?;
        Some(format!("{}{WELL_KNOWN}{}", public.origin, bare(&public.at.path)))
    }

    /// Path of the server's own address, stated under its internal or its public name.
    pub(super) fn own_path(&self, text: &str) -> Option<String> {
        let at = stated(text)?;
        let public = self.public.as_ref().is_some_and(|public| same_origin(&public.at, &at));
        (public || same_origin(&self.upstream, &at)).then_some(at.path)
    }

    /// The callers' name of the resource that the server states, for a request for this path's metadata. The resource is the
    /// server itself or its whole host. A public name stays unchanged; any other resource gives `None`.
    pub(super) fn resource(&self, text: &str, asked: &str) -> Option<String> {
        let (public, at) = (self.public.as_ref()?, stated(text)?);
        let (path, asked) = (bare(&at.path), bare(asked));
        if same_origin(&public.at, &at) && [asked, self.public_path(), ""].contains(&path) {
            return Some(text.to_owned());
        }
        if !same_origin(&self.upstream, &at) {
            return None;
        }
        let origin = &public.origin;
        if path == bare(&self.upstream.path) {
            let path = if asked.is_empty() { self.public_path() } else { asked };
            return Some(format!("{origin}{path}"));
        }
        let slash = if text.ends_with('/') { "/" } else { "" };
        path.is_empty().then(|| format!("{origin}{slash}"))
    }

    /// Returns true if an address leads past the gateway to any route's agent, or cannot be resolved safely.
    pub(super) fn leads_inside(&self, at: &Upstream) -> bool {
        let public = self.public.as_ref().is_some_and(|public| same_origin(&public.at, at));
        !public && self.inside.is_at(at)
    }

    /// Returns true if callers reach the route on their own machine. A stranger cannot choose the other addresses there.
    pub(super) fn is_here(&self) -> bool {
        self.public.as_ref().is_some_and(|public| internal_addresses::is_here(&public.at))
    }
}
