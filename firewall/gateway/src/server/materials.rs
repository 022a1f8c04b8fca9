//! Keys, certificates and TLS configurations from their files. They are loaded at the start and on SIGHUP, since leaf
//! certificates last at most 90 days and gateways run longer.

mod presented;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ring::rand::SystemRandom;
use semgate_certs::tls::{
    ClientAuth, DefaultTimeProvider, ExpectedServer, ServerTrust, client_config, server_config,
};
use semgate_certs::token::{KeySet, TokenIssuer, TokenIssuers};
use semgate_certs::{Chain, KeyPair, PeerRoots, SpiffeId, TrustDomain};
use semgate_negotiation::{Endpoint, FleetSecret, Identity as HandshakeIdentity, LockKeys, Relay, Trust};
use semgate_statement::SigningIdentity;
use tokio_rustls::rustls::{ClientConfig, ServerConfig};

use crate::clock::unix_now;
use crate::config::{
    ApprovalsConfig, AuthorityConfig, Config, CredentialIssuer, HandshakeChoice, RouteConfig, TracesConfig,
};
use crate::control::crls::Stores;
use crate::fault::RunFault;
use crate::local::card::CardKeys;
use crate::server::own_certificates::{OwnCertificate, needed_usages, tls_addresses};
use crate::server::pem_files::{fault, identity, read, roots};
use crate::server::reply_signer::ReplySigner;
use crate::server::route_files::RouteFiles;
use presented::Presented;

/// Material for TLS in both directions.
pub(crate) struct Materials {
    /// Trust domains whose agents may connect, with their roots.
    pub(crate) peers: Arc<PeerRoots>,
    /// Configuration of TLS listeners; `None` without any.
    pub(crate) server: Option<Arc<ServerConfig>>,
    /// Configuration of the address for people, who may show no certificate.
    pub(crate) people: Option<Arc<ServerConfig>>,
    /// Configurations of https upstreams.
    pub(crate) upstreams: OfRoutes<Arc<ClientConfig>>,
    /// Handlers of handshakes. A reload on SIGHUP drops unfinished handshakes, but remembers used
    /// ones.
    pub(crate) endpoints: OfRoutes<Shaker>,
    /// Keys that must have signed unchanged cards.
    pub(crate) card_keys: OfRoutes<Arc<CardKeys>>,
    /// Contents of files that routes hold.
    pub(crate) files: Arc<OfRoutes<RouteFiles>>,
    /// Keys that sign the gateway's own messages, where messages are signed.
    pub(crate) signers: OfRoutes<Arc<ReplySigner>>,
    /// Issuers whose tokens count as credentials.
    pub(crate) issuers: Arc<TokenIssuers>,
    /// The gateway's own certificates.
    pub(crate) own: Vec<OwnCertificate>,
}

/// Name and receiver of a route. A route that took another's name has another receiver's materials.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RouteKey {
    name: String,
    receiver: String,
}

impl From<&RouteConfig> for RouteKey {
    fn from(route: &RouteConfig) -> Self {
        Self { name: route.name.clone(), receiver: route.receiver.clone() }
    }
}

/// Values of those routes that have one.
pub(crate) type OfRoutes<T> = BTreeMap<RouteKey, T>;

/// Handler of a route's handshakes.
#[derive(Clone)]
pub(crate) enum Shaker {
    /// The gateway answers for the agent.
    Answers(Arc<Endpoint>),
    /// The agent answers; the gateway opens, checks and reseals.
    Relays(Arc<Relay>),
}

impl Materials {
    /// # Errors
    /// An unreadable or unusable file, with its name.
    pub(crate) fn load(config: &Config, crls: &Stores) -> Result<Self, RunFault> {
        Self::after(&OfRoutes::new(), config, crls)
    }

    /// Reloads the files of a configuration. Used handshakes of its routes stay used.
    ///
    /// # Errors
    /// Same as [`Materials::load`].
    pub(crate) fn reload(&self, config: &Config, crls: &Stores) -> Result<Self, RunFault> {
        Self::after(&self.endpoints, config, crls)
    }

    fn after(before: &OfRoutes<Shaker>, config: &Config, crls: &Stores) -> Result<Self, RunFault> {
        // others check the gateway's own certificate: with lists here, it could never start to fetch them
        let (mut peers, mut own) = (PeerRoots::new(), PeerRoots::new());
        for domain in &config.trust_domains {
            let name = TrustDomain::parse(&domain.name).map_err(|e| RunFault::Tls { why: e.to_string() })?;
            let roots = roots(&domain.roots, config)?;
            own = own.with(name.clone(), roots.clone());
            peers = peers.with(name, crls.hold(&domain.name, roots));
        }
        let peers = Arc::new(peers);
        let identity = config.tls.as_ref().map(identity).transpose()?;
        let server = match &identity {
            Some((chain, key)) => Some(Arc::new(server(chain, key, &peers)?)),
            None => None,
        };
        let people = match (&identity, &config.approvals) {
            (Some((chain, key)), Some(_)) => Some(Arc::new(server_for_people(chain, key, &peers)?)),
            _ => None,
        };
        let upstream = |route: &RouteConfig| match &identity {
            Some((chain, key))
                if route.upstream.tls || route.a2a.card_from.as_ref().is_some_and(|url| url.tls) =>
            {
                agent(config, route, chain, key, crls).map(Some)
            }
            _ => Ok(None),
        };
        let upstreams = of_routes(config, upstream)?;
        let endpoint = |route: &RouteConfig| match &route.agent.handshake {
            Some(choice) => shaker(config, route, choice, &own, before.get(&route.into())).map(Some),
            None => Ok(None),
        };
        let endpoints = of_routes(config, endpoint)?;
        let card_keys = |route: &RouteConfig| match &route.a2a.card_keys {
            Some(keys) => CardKeys::load(keys).map(|keys| Some(Arc::new(keys))),
            None => Ok(None),
        };
        let card_keys = of_routes(config, card_keys)?;
        let files = Arc::new(of_routes(config, files)?);
        let signers = of_routes(config, signer)?;
        let own_certificates = own_certificates(config, identity.as_ref().map(|(chain, _)| chain))?;
        let issuers = Arc::new(issuers(config)?);
        Ok(Self {
            peers,
            server,
            people,
            upstreams,
            endpoints,
            card_keys,
            files,
            signers,
            issuers,
            own: own_certificates,
        })
    }
}

/// Contents of the files that a route holds; `None` without any.
fn files(route: &RouteConfig) -> Result<Option<RouteFiles>, RunFault> {
    RouteFiles::load(route).map(|files| (!files.is_empty()).then_some(files))
}

/// Signer of a route's refusals.
fn signer(route: &RouteConfig) -> Result<Option<Arc<ReplySigner>>, RunFault> {
    let Some(file) = &route.iac.signing_key else { return Ok(None) };
    let signer = ReplySigner::load(file)?;
    tracing::info!(route = route.name, "refusals of the route are signed by {}", signer.name());
    Ok(Some(Arc::new(signer)))
}

/// The chain of `[tls]` and those of handshakes, each checked for its use.
fn own_certificates(config: &Config, shown: Option<&Chain>) -> Result<Vec<OwnCertificate>, RunFault> {
    let mut all = Vec::new();
    if let (Some(files), Some(chain)) = (&config.tls, shown) {
        let (usages, listens) = (needed_usages(config), tls_addresses(config));
        all.push(OwnCertificate::check("tls".to_owned(), &files.certificate, chain, &usages, &listens)?);
    }
    for route in &config.routes {
        let Some(choice) = &route.agent.handshake else { continue };
        let (chain, _) = identity(&choice.identity())?;
        let name = format!("route.{}.handshake", route.name);
        all.push(OwnCertificate::check(name, &choice.certificate, &chain, &[], &[])?);
    }
    all.sort_by(|one, other| one.file.cmp(&other.file));
    all.dedup_by(|one, other| one.file == other.file);
    Ok(all)
}

/// The values of the routes that have one.
fn of_routes<T>(
    config: &Config,
    value: impl Fn(&RouteConfig) -> Result<Option<T>, RunFault>,
) -> Result<OfRoutes<T>, RunFault> {
    let each = config.routes.iter().map(|route| Ok(value(route)?.map(|value| (route.into(), value))));
    each.filter_map(Result::transpose).collect()
}

/// Issuers of credentials with their keys.
fn issuers(config: &Config) -> Result<TokenIssuers, RunFault> {
    let one = |issuer: &CredentialIssuer| {
        let keys = KeySet::read(read(&issuer.keys, "credential keys")?.as_bytes());
        Ok(TokenIssuer {
            name: issuer.name.clone(),
            issuer: issuer.issuer.clone(),
            audience: issuer.audience.clone(),
            claim: issuer.claim.clone(),
            algorithms: issuer.algorithms.clone(),
            leeway: issuer.leeway.as_secs(),
            keys: keys.map_err(|why| fault(&issuer.keys, "credential keys", &why))?,
        })
    };
    config.credential_issuers.iter().map(one).collect::<Result<_, _>>().map(TokenIssuers::new)
}

/// TLS towards callers: requires a certificate, over either HTTP version.
fn server(chain: &Chain, key: &KeyPair, peers: &Arc<PeerRoots>) -> Result<ServerConfig, RunFault> {
    let clients = ClientAuth::Required(Arc::clone(peers));
    let mut server = server_config(chain, key, clients, Arc::new(DefaultTimeProvider))
        .map_err(|e| RunFault::Tls { why: e.to_string() })?;
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(server)
}

/// TLS towards people and chat services: a certificate is asked for and not required.
fn server_for_people(chain: &Chain, key: &KeyPair, peers: &Arc<PeerRoots>) -> Result<ServerConfig, RunFault> {
    let clients = ClientAuth::Optional(Arc::clone(peers));
    let mut server = server_config(chain, key, clients, Arc::new(DefaultTimeProvider))
        .map_err(|e| RunFault::Tls { why: e.to_string() })?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(server)
}

/// TLS towards one agent: it must be the route's receiver, under the roots of the receiver's trust domain.
fn agent(
    config: &Config,
    route: &RouteConfig,
    chain: &Chain,
    key: &KeyPair,
    crls: &Stores,
) -> Result<Arc<ClientConfig>, RunFault> {
    let receiver = &route.receiver;
    let id = SpiffeId::parse(receiver).map_err(|e| RunFault::Tls { why: e.to_string() })?;
    let domain = config.trust_domains.iter().find(|domain| domain.name == id.trust_domain().as_str());
    let domain = domain.ok_or_else(|| RunFault::Tls {
        why: format!("no trust domain is configured for the receiver `{receiver}`"),
    })?;
    let roots = crls.hold(&domain.name, roots(&domain.roots, config)?);
    let trust = ServerTrust { roots, expected: ExpectedServer::Id(id) };
    let mut client = client_config(trust, Some((chain, key)), Arc::new(DefaultTimeProvider))
        .map_err(|e| RunFault::Tls { why: e.to_string() })?;
    if route.agent.upstream_http2 {
        client.alpn_protocols = vec![b"h2".to_vec()];
    }
    Ok(Arc::new(client))
}

/// Handler of handshakes. With the agent's certificate, which everyone verifies, the gateway answers for the agent. With its
/// own certificate it relays, and has no key of the agent. A new handler continues where the previous one stopped.
fn shaker(
    config: &Config,
    route: &RouteConfig,
    choice: &HandshakeChoice,
    peers: &PeerRoots,
    before: Option<&Shaker>,
) -> Result<Shaker, RunFault> {
    let files = &choice.identity();
    let refused = |why: &dyn std::fmt::Display| fault(&files.certificate, "handshake certificate", why);
    let (chain, key) = identity(files)?;
    let trust = Trust { roots: peers, prefix: &config.prefix };
    let signing = SigningIdentity::new(key, chain);
    let me = HandshakeIdentity::new(signing, &trust, &SystemRandom::new(), unix_now())
        .map_err(|why| refused(&why))?;
    let receiver = &route.receiver;
    if choice.agent {
        let agent = SpiffeId::parse(receiver).map_err(|e| RunFault::Tls { why: e.to_string() })?;
        let why =
            format!("it names the receiver `{receiver}`, which negotiates by itself: use the gateway's own");
        let relay = Relay::new(me, agent).map_err(|_| refused(&why))?;
        let relay = if let Some(Shaker::Relays(before)) = before { relay.continuing(before) } else { relay };
        return Ok(Shaker::Relays(Arc::new(relay)));
    }
    if me.id().as_str() != receiver {
        return Err(refused(&format!("it does not name the receiver `{receiver}`")));
    }
    let endpoint = Endpoint::new(me).standing_in();
    let endpoint =
        if let Some(Shaker::Answers(before)) = before { endpoint.continuing(before) } else { endpoint };
    Ok(Shaker::Answers(Arc::new(endpoint)))
}

/// Keys that create and verify locks: the fleet's, or keys that end with the process.
///
/// # Errors
/// The file is unreadable or holds no secret. Without a file, the system's random source failed.
pub(crate) fn lock_keys(config: &Config) -> Result<LockKeys, RunFault> {
    let Some(path) = &config.lock_secret else {
        return FleetSecret::random(&SystemRandom::new())
            .map(|secret| LockKeys::new(vec![secret]))
            .map_err(|why| RunFault::system("lock secret", why));
    };
    let secrets = FleetSecret::read_file(&read(path, "lock secret")?);
    secrets.map(LockKeys::new).map_err(|why| fault(path, "lock secret", &why))
}

/// Secret files of the configuration that others than their owner can read or write.
pub(crate) fn open_secrets(config: &Config) -> Vec<PathBuf> {
    let handshakes = config.routes.iter().filter_map(|route| route.agent.handshake.as_ref());
    let keys = config.tls.iter().map(|files| &files.key).chain(handshakes.map(|choice| &choice.key));
    let mut open: Vec<PathBuf> = keys
        .chain(&config.lock_secret)
        .chain(config.routes.iter().flat_map(|route| &route.ldp.ldp_secrets).map(|secret| &secret.file))
        .chain(config.routes.iter().flat_map(|route| &route.iac.signing_key))
        .chain(config.traces.iter().flat_map(|traces| &traces.headers))
        .chain(config.approvals.iter().flat_map(ApprovalsConfig::secrets))
        .filter(|path| is_open(path))
        .cloned()
        .collect();
    open.sort();
    open.dedup();
    open
}

fn is_open(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

/// TLS towards the receiver of spans; `None` for a plain one on this machine.
///
/// # Errors
/// Unreadable roots.
pub(crate) fn receiver(
    config: &Config,
    traces: &TracesConfig,
) -> Result<Option<Arc<ClientConfig>>, RunFault> {
    if !traces.endpoint.tls {
        return Ok(None);
    }
    let missing = || RunFault::Tls { why: "an https receiver of traces needs `tls_roots`".to_owned() };
    let path = traces.tls_roots.as_ref().ok_or_else(missing)?;
    let trust = ServerTrust { roots: roots(path, config)?, expected: ExpectedServer::Named };
    let client = client_config(trust, None, Arc::new(DefaultTimeProvider));
    client.map(Arc::new).map(Some).map_err(|e| RunFault::Tls { why: e.to_string() })
}

/// TLS towards an authority, which serves everyone. Presents the gateway's certificate if `present_certificate` is set.
///
/// # Errors
/// Unreadable roots, or no `[tls]` for a certificate.
pub(crate) fn authority(config: &Config, authority: &AuthorityConfig) -> Result<Arc<ClientConfig>, RunFault> {
    let trust = ServerTrust { roots: roots(&authority.tls_roots, config)?, expected: ExpectedServer::Named };
    let mut client = client_config(trust, None, Arc::new(DefaultTimeProvider))
        .map_err(|e| RunFault::Tls { why: e.to_string() })?;
    if authority.present_certificate {
        let files = config.tls.clone().ok_or_else(|| RunFault::Tls {
            why: format!("`present_certificate` of `{}` needs the certificate of `[tls]`", authority.name),
        })?;
        client.client_auth_cert_resolver = Arc::new(Presented(files));
    }
    Ok(Arc::new(client))
}
