//! Names that a plain listener, or the admin address, answers to. A page in a browser can make its own name resolve to this
//! machine (DNS rebinding). Its requests then carry that name in `Host` and in `Origin`.

use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use semgate_inspect::{Code, Refusal};

use crate::config::{Listen, PushConfig, RouteConfig};

/// Names that always mean this machine to its own programs.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The configuration's wildcard for every name.
const ANY: &str = "*";

/// Names and origins that a listener answers to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// Names, with a port if only that port counts. `None` if a certificate identifies the caller, or any name is accepted.
    hosts: Option<Vec<String>>,
    /// Additional origins of pages that may call the listener.
    origins: Vec<String>,
    /// True if `Origin` is checked.
    pages: bool,
}

impl Names {
    pub(crate) fn of(route: &RouteConfig) -> Self {
        let written = &route.hosts;
        let plain = route.plain_sender.is_some();
        let any = !plain || written.iter().any(|name| name == ANY);
        let url = route.public_url.as_deref();
        Self {
            hosts: if any { None } else { hosts(&route.listen, url, written) },
            origins: route.origins.clone(),
            pages: plain || route.binding.protocol().traits().http.checks_origin,
        }
    }

    /// Names of a push lane. `url` is the address given to the agent. Pages are refused here.
    pub(crate) fn of_lane(push: &PushConfig, url: &str) -> Self {
        let hosts = if push.plain { hosts(&push.listen, Some(url), &[]) } else { None };
        Self { hosts, origins: Vec::new(), pages: push.plain }
    }

    /// Names of a plain admin address: those of a plain listener there, and the names in the routes' `hosts`. A route's `*`
    /// applies to that route only.
    pub(crate) fn of_admin(address: SocketAddr, routes: &[RouteConfig]) -> Self {
        let written = routes.iter().flat_map(|route| &route.hosts).filter(|name| *name != ANY);
        let written: Vec<String> = written.cloned().collect();
        Self { hosts: hosts(&Listen::Tcp(address), None, &written), ..Self::of_certified_admin() }
    }

    /// Names of an admin address whose callers show certificates: any. Pages are refused there too.
    pub(crate) fn of_certified_admin() -> Self {
        Self { hosts: None, origins: Vec::new(), pages: true }
    }

    /// # Errors
    /// `host_refused`.
    pub(crate) fn judge(&self, parts: &Parts) -> Result<(), Refusal> {
        let header = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        let named = parts.uri.authority().map_or(header, |authority| Some(authority.as_str()));
        let named = named.unwrap_or_default().to_ascii_lowercase();
        if let Some(hosts) = &self.hosts
            && !hosts.iter().any(|host| *host == named || *host == without_port(&named))
        {
            return Err(Refusal::new(Code::HostRefused, "the listener does not have this host name")
                .with_hint("use its address or `localhost`; the operator can allow names"));
        }
        if self.pages { self.page(parts, &named) } else { Ok(()) }
    }

    /// Accepts a page from its own origin, if that is a name of this listener, or from an origin that the operator lists.
    fn page(&self, parts: &Parts, named: &str) -> Result<(), Refusal> {
        let mut origins = parts.headers.get_all(ORIGIN).iter();
        let Some(origin) = origins.next() else { return Ok(()) };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let same = self.hosts.is_some() && text.strip_prefix("http://") == Some(named);
        let fits = same || self.origins.iter().any(|known| known.eq_ignore_ascii_case(&text));
        if fits && origins.next().is_none() {
            return Ok(());
        }
        Err(Refusal::new(Code::HostRefused, "the listener does not allow requests of this web page")
            .with_hint("send no `Origin`; the operator can allow web pages"))
    }
}

/// The names of a plain listener. A Unix socket has none, since pages cannot reach it.
fn hosts(listen: &Listen, url: Option<&str>, written: &[String]) -> Option<Vec<String>> {
    let Listen::Tcp(address) = listen else { return None };
    let public = url.and_then(|url| url.split_once("://"));
    let public = public.map(|(_, rest)| rest.split('/').next().unwrap_or_default().to_owned());
    let own = match address {
        SocketAddr::V4(v4) => v4.ip().to_string(),
        SocketAddr::V6(v6) => format!("[{}]", v6.ip()),
    };
    let own = LOOPBACK.iter().map(ToString::to_string).chain([own]).chain(public);
    Some(own.chain(written.iter().cloned()).map(|name| name.to_ascii_lowercase()).collect())
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(names: &Names, headers: &[(&str, &str)]) -> Option<Code> {
        let mut request = http::Request::builder().method("POST").uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        names.judge(&parts).err().map(|refusal| refusal.code())
    }

    fn names(hosts: &[&str]) -> Names {
        Names {
            hosts: Some(hosts.iter().map(ToString::to_string).collect()),
            origins: vec!["https://desk.example".to_owned()],
            pages: true,
        }
    }

    #[test]
    fn a_name_that_was_bent_to_this_machine_is_refused_on_any_port() {
        let names = names(&["localhost", "127.0.0.1", "[::1]", "gw:8080"]);
        for host in ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]:9000", "[::1]", "gw:8080"] {
            assert_eq!(judged(&names, &[("host", host)]), None, "{host}");
        }
        for host in
            ["evil.test", "evil.test:9000", "localhost.evil.test", "gw", "gw:9000", "127.0.0.1.evil.test", ""]
        {
            assert_eq!(judged(&names, &[("host", host)]), Some(Code::HostRefused), "{host}");
        }
        assert_eq!(judged(&names, &[]), Some(Code::HostRefused));
    }

    #[test]
    fn a_page_speaks_only_to_where_it_came_from_or_by_name() {
        let names = names(&["localhost"]);
        let from = |origin: &str| judged(&names, &[("host", "localhost:9000"), ("origin", origin)]);
        assert_eq!((from("http://localhost:9000"), from("https://desk.example")), (None, None));
        for origin in ["http://localhost:3000", "http://evil.test", "null", "https://localhost:9000", ""] {
            assert_eq!(from(origin), Some(Code::HostRefused), "{origin}");
        }
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.test")];
        assert_eq!(judged(&names, &twice), Some(Code::HostRefused));
        // with certificates a name proves nothing, and a page still has to be named
        let certified = Names { hosts: None, ..names };
        assert_eq!(judged(&certified, &[("host", "evil.test")]), None);
        assert_eq!(judged(&certified, &[("host", "gw"), ("origin", "http://gw")]), Some(Code::HostRefused));
    }
}
