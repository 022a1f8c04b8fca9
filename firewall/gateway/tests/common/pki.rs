//! Throw-away TLS identities.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;

use ring::rand::SystemRandom;
use semgate_certs::tls::{
    ClientAuth, ClientConfig, DefaultTimeProvider, ExpectedServer, ServerConfig, ServerTrust, client_config,
    server_config,
};
use semgate_certs::{
    Chain, ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots,
    SpiffeId, TrustDomain,
};

use super::now;

pub struct Pki {
    random: SystemRandom,
    issuing: Issuer,
    pub roots: Roots,
}

fn issuer(random: &SystemRandom, name: &str) -> (Issuer, Roots, String) {
    let key = || KeyPair::generate(random).unwrap();
    let since = now() - 3600;
    let root = Issuer::root(&RootProfile::new(name, since), key(), random).unwrap();
    let profile = IssuingProfile::new(format!("{name} issuing"), Family::Tls, since);
    let issuing = root.issuing(&profile, key(), random).unwrap();
    let roots = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap();
    (issuing, roots, root.chain().to_pem())
}

impl Pki {
    /// A root and issuing certificate; the root and the gateway's own identity are written into `dir`.
    pub fn new(dir: &Path) -> Pki {
        let random = SystemRandom::new();
        let (issuing, roots, pem) = issuer(&random, "test tls");
        let pki = Pki { random, issuing, roots };
        std::fs::write(dir.join("tls-roots.pem"), pem).unwrap();
        pki.write_gateway(dir);
        pki
    }

    /// Another root under which nobody here is known.
    pub fn stranger() -> Pki {
        let random = SystemRandom::new();
        let (issuing, roots, _) = issuer(&random, "stranger");
        Pki { random, issuing, roots }
    }

    /// Other roots in place of its own: nobody that it certified counts any more.
    pub fn write_other_roots(&self, dir: &Path) {
        let (_, _, pem) = issuer(&self.random, "other");
        std::fs::write(dir.join("tls-roots.pem"), pem).unwrap();
    }

    pub fn write_gateway(&self, dir: &Path) {
        let (chain, key) = self.server("spiffe://semgate.test/gateway", true);
        std::fs::write(dir.join("gateway.pem"), chain.to_pem()).unwrap();
        std::fs::write(dir.join("gateway.key"), key.to_pem()).unwrap();
    }

    pub fn server(&self, id: &str, also_client: bool) -> (Chain, KeyPair) {
        let localhost = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let id = Some(SpiffeId::parse(id).unwrap());
        let profile = LeafProfile::server(id, Vec::new(), vec![localhost], now() - 60);
        self.leaf(&if also_client { profile.also_client() } else { profile })
    }

    pub fn agent(&self, id: &str) -> (Chain, KeyPair) {
        self.leaf(&LeafProfile::agent(SpiffeId::parse(id).unwrap(), now() - 60))
    }

    pub fn short_lived_agent(&self, id: &str, seconds: u64) -> (Chain, KeyPair) {
        self.leaf(&LeafProfile::agent(SpiffeId::parse(id).unwrap(), now() - 60).lifetime(60 + seconds))
    }

    fn leaf(&self, profile: &LeafProfile) -> (Chain, KeyPair) {
        let key = KeyPair::generate(&self.random).unwrap();
        let chain = self.issuing.leaf(profile, key.public(), &self.random).unwrap();
        (chain, key)
    }

    pub fn client_config(&self, identity: Option<&(Chain, KeyPair)>) -> Arc<ClientConfig> {
        let trust = ServerTrust { roots: self.roots.clone(), expected: ExpectedServer::Named };
        let identity = identity.map(|(chain, key)| (chain, key));
        Arc::new(client_config(trust, identity, Arc::new(DefaultTimeProvider)).unwrap())
    }

    pub fn server_config(&self, id: &str, clients: bool) -> Arc<ServerConfig> {
        let (chain, key) = self.server(id, false);
        let domain = TrustDomain::parse("semgate.test").unwrap();
        let peers = Arc::new(PeerRoots::new().with(domain, self.roots.clone()));
        let clients = if clients { ClientAuth::Required(peers) } else { ClientAuth::None };
        Arc::new(server_config(&chain, &key, clients, Arc::new(DefaultTimeProvider)).unwrap())
    }
}
