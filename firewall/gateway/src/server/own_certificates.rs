//! The gateway's own certificates: what a start demands of them, and their ends.

use std::net::IpAddr;
use std::path::PathBuf;

use semgate_certs::{CertificateSummary, Chain, Usage, check_own};

use crate::clock::unix_now;
use crate::config::{Config, Listen, RouteConfig};
use crate::fault::RunFault;
use crate::server::pem_files::fault;

/// One certificate file, and the certificates in it.
pub(crate) struct OwnCertificate {
    /// Its use: `tls`, or `route.NAME.handshake`. It names no agent, as a file may.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// Leaf first.
    pub(crate) chain: Vec<CertificateSummary>,
}

impl OwnCertificate {
    /// Checks a chain of the configuration. Refuses one that has ended or not begun, lacks one of the usages, or has no name
    /// for one of the listen addresses.
    ///
    /// # Errors
    /// [`RunFault::File`].
    pub(crate) fn check(
        name: String,
        file: &std::path::Path,
        chain: &Chain,
        usages: &[Usage],
        listens: &[IpAddr],
    ) -> Result<Self, RunFault> {
        let chain = check_own(chain, usages, listens, unix_now());
        let chain = chain.map_err(|why| fault(file, "certificate", &why))?;
        Ok(Self { name, file: file.to_owned(), chain })
    }

    /// The first second at which the chain no longer counts.
    pub(crate) fn ends(&self) -> u64 {
        self.chain.iter().map(|one| one.not_after).min().unwrap_or(0)
    }

    /// Certificates of the file that end soon, one line each.
    pub(crate) fn ending(&self, now: u64) -> impl Iterator<Item = String> {
        let soon = self.chain.iter().filter(move |one| one.ends_soon(now));
        soon.map(move |one| {
            let (file, days) = (self.file.display(), one.days_left(now));
            format!("`{file}`: `{}` ends in {days} days: renew it", one.subject)
        })
    }
}

/// Usages that the configuration needs of `[tls]`: a server where a listener speaks TLS, and a client (`agent`) where an
/// agent or an authority sees the certificate.
pub(crate) fn needed_usages(config: &Config) -> Vec<Usage> {
    let client = config.authorities.iter().any(|authority| authority.present_certificate)
        || config.routes.iter().any(shows_certificate);
    let server = tls_listens(config).next().is_some();
    let needed = [(server, Usage::Server), (client, Usage::Agent)];
    needed.into_iter().filter_map(|(needed, usage)| needed.then_some(usage)).collect()
}

/// True if the agent of a route sees the certificate of `[tls]`.
fn shows_certificate(route: &RouteConfig) -> bool {
    route.upstream.tls || route.a2a.card_from.as_ref().is_some_and(|url| url.tls)
}

/// Addresses of the listeners that speak TLS over TCP.
pub(crate) fn tls_addresses(config: &Config) -> Vec<IpAddr> {
    let address = |listen: Listen| match listen {
        Listen::Tcp(address) => Some(address.ip()),
        Listen::Quic(_) | Listen::Unix(_) => None,
    };
    tls_listens(config).filter_map(address).collect()
}

fn tls_listens(config: &Config) -> impl Iterator<Item = Listen> {
    let people = config.approvals.as_ref().map(|approvals| Listen::Tcp(approvals.listen));
    let admin = (!config.admin.ids.is_empty()).then_some(Listen::Tcp(config.admin.listen));
    let routes = config.routes.iter().flat_map(|route| {
        let callers = route.takes_certificates().then_some(&route.listen);
        let push = route.a2a.push.as_ref().filter(|push| !push.plain).map(|push| &push.listen);
        callers.into_iter().chain(push).cloned()
    });
    admin.into_iter().chain(people).chain(routes)
}
