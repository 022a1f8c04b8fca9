use super::*;
use crate::tests::{DAY, NOW};
use crate::{
    ChainLimits, Family, Issuer, IssuingProfile, LeafProfile, LineScope, PeerFault, RootProfile, TrustDomain,
};
use ::ring::rand::SystemRandom;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{AlertDescription, CertificateError, ClientConnection, Error, ServerConnection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
struct Clock(AtomicU64);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::Relaxed))))
    }
}

struct Bed {
    roots: Roots,
    tls: Issuer,
    clock: Arc<Clock>,
}

type Identity = (Chain, KeyPair);

impl Bed {
    fn new() -> Bed {
        Bed::under("Root")
    }

    fn under(name: &str) -> Bed {
        let random = SystemRandom::new();
        let key = || KeyPair::generate(&random).unwrap();
        let root = Issuer::root(&RootProfile::new(name, NOW - DAY), key(), &random).unwrap();
        let profile = IssuingProfile::new("TLS", Family::Tls, NOW - DAY).lines(LineScope::All);
        let tls = root.issuing(&profile, key(), &random).unwrap();
        let roots = Roots::from_pem(&root.chain().to_pem(), &ChainLimits::default()).unwrap();
        Bed { roots, tls, clock: Arc::new(Clock(AtomicU64::new(NOW))) }
    }

    fn identity(&self, profile: &LeafProfile) -> Identity {
        let random = SystemRandom::new();
        let key = KeyPair::generate(&random).unwrap();
        (self.tls.leaf(profile, key.public(), &random).unwrap(), key)
    }

    fn gateway(&self) -> Identity {
        let hosts = vec!["localhost".to_owned()];
        let profile =
            LeafProfile::server(Some(id("gateway")), hosts, vec!["127.0.0.1".parse().unwrap()], NOW);
        self.identity(&profile.also_client())
    }

    fn agent(&self) -> Identity {
        self.identity(&LeafProfile::agent(id("agent/retailer-7"), NOW))
    }

    fn peers(&self) -> Arc<PeerRoots> {
        Arc::new(PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), self.roots.clone()))
    }

    fn server(&self, clients: ClientAuth) -> Arc<ServerConfig> {
        let (chain, key) = self.gateway();
        Arc::new(server_config(&chain, &key, clients, self.clock.clone()).unwrap())
    }

    fn client(&self, expected: ExpectedServer, identity: Option<&Identity>) -> Arc<ClientConfig> {
        let trust = ServerTrust { roots: self.roots.clone(), expected };
        let identity = identity.map(|(chain, key)| (chain, key));
        Arc::new(client_config(trust, identity, self.clock.clone()).unwrap())
    }
}

fn id(path: &str) -> SpiffeId {
    SpiffeId::parse(&format!("spiffe://semgate.test/{path}")).unwrap()
}

/// Moves bytes until both are done or one refuses: the server's and the client's last word.
fn shake(
    client: &mut ClientConnection,
    server: &mut ServerConnection,
) -> (Result<(), Error>, Result<(), Error>) {
    let (mut at_server, mut at_client) = (Ok(()), Ok(()));
    for _ in 0..10 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() && at_server.is_ok() {
            server.read_tls(&mut rest).unwrap();
            at_server = server.process_new_packets().map(|_| ());
        }
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        let mut rest = bytes.as_slice();
        while !rest.is_empty() && at_client.is_ok() {
            client.read_tls(&mut rest).unwrap();
            at_client = client.process_new_packets().map(|_| ());
        }
    }
    (at_server, at_client)
}

fn connect(
    server: &Arc<ServerConfig>,
    client: &Arc<ClientConfig>,
    name: &'static str,
) -> (ServerConnection, Result<(), Error>, Result<(), Error>) {
    let name = ServerName::try_from(name).unwrap();
    let mut client = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
    let (at_server, at_client) = shake(&mut client, &mut server);
    if at_server.is_ok() && at_client.is_ok() {
        assert_eq!(client.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        assert_eq!(client.alpn_protocol(), Some(b"http/1.1".as_slice()));
        assert_eq!(client.tls13_tickets_received(), 0, "no ticket, so no resumption past the certificate");
    }
    (server, at_server, at_client)
}

#[test]
fn an_agent_and_the_gateway_meet_and_the_gateway_knows_who_it_is() {
    let bed = Bed::new();
    let server = bed.server(ClientAuth::Required(bed.peers()));
    let client = bed.client(ExpectedServer::NamedWithId(id("gateway")), Some(&bed.agent()));
    for name in ["localhost", "127.0.0.1"] {
        let (server, at_server, at_client) = connect(&server, &client, name);
        assert_eq!((at_server, at_client), (Ok(()), Ok(())));
        let peer = bed.peers().identify(server.peer_certificates().unwrap(), NOW).unwrap();
        assert_eq!(peer.id(), &id("agent/retailer-7"));
    }
}

#[test]
fn a_second_connection_shakes_hands_in_full() {
    let bed = Bed::new();
    let server = bed.server(ClientAuth::Required(bed.peers()));
    let client = bed.client(ExpectedServer::Named, Some(&bed.agent()));
    for _ in 0..2 {
        let (server, at_server, _) = connect(&server, &client, "localhost");
        assert_eq!(at_server, Ok(()));
        assert_eq!(server.handshake_kind(), Some(rustls::HandshakeKind::Full));
    }
}

#[test]
fn a_client_without_a_certificate_is_refused_where_one_is_required_and_let_in_where_not() {
    let bed = Bed::new();
    let client = bed.client(ExpectedServer::Named, None);
    let (_, at_server, _) = connect(&bed.server(ClientAuth::Required(bed.peers())), &client, "localhost");
    assert_eq!(at_server, Err(Error::NoCertificatesPresented));
    for open in [ClientAuth::Optional(bed.peers()), ClientAuth::None] {
        let (server, at_server, at_client) = connect(&bed.server(open), &client, "localhost");
        assert_eq!((at_server, at_client), (Ok(()), Ok(())));
        assert!(server.peer_certificates().is_none());
    }
}

#[test]
fn a_strangers_certificate_is_refused_even_where_none_is_required() {
    let bed = Bed::new();
    let stranger = Bed::under("Strangers").agent();
    let client = bed.client(ExpectedServer::Named, Some(&stranger));
    for clients in [ClientAuth::Required(bed.peers()), ClientAuth::Optional(bed.peers())] {
        let (_, at_server, at_client) = connect(&bed.server(clients), &client, "localhost");
        assert_eq!(at_server, Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)));
        assert_eq!(at_client, Err(Error::AlertReceived(AlertDescription::UnknownCA)));
    }
}

#[test]
fn a_client_of_another_trust_domain_under_the_same_root_is_refused() {
    let bed = Bed::new();
    let foreign = SpiffeId::parse("spiffe://other.test/agent/a").unwrap();
    let foreign = bed.identity(&LeafProfile::agent(foreign, NOW));
    let client = bed.client(ExpectedServer::Named, Some(&foreign));
    let (_, at_server, _) = connect(&bed.server(ClientAuth::Required(bed.peers())), &client, "localhost");
    let Err(Error::InvalidCertificate(CertificateError::Other(other))) = at_server else {
        panic!("{at_server:?}");
    };
    let fault = other.0.downcast_ref::<PeerFault>();
    assert_eq!(fault, Some(&PeerFault::UnknownTrustDomain));
}

#[test]
fn an_expired_client_and_an_expired_server_are_refused_by_the_clock_given() {
    let bed = Bed::new();
    let server = bed.server(ClientAuth::Required(bed.peers()));
    let client = bed.client(ExpectedServer::Named, Some(&bed.agent()));
    bed.clock.0.store(NOW + 31 * DAY, Ordering::Relaxed);
    let (_, _, at_client) = connect(&server, &client, "localhost");
    assert_eq!(at_client, Err(Error::InvalidCertificate(CertificateError::Expired)));
    bed.clock.0.store(NOW - 3600, Ordering::Relaxed);
    let (_, _, at_client) = connect(&server, &client, "localhost");
    assert_eq!(at_client, Err(Error::InvalidCertificate(CertificateError::NotValidYet)));
}

#[test]
fn a_server_with_another_name_or_another_identity_is_refused() {
    let bed = Bed::new();
    let server = bed.server(ClientAuth::None);
    let named = bed.client(ExpectedServer::Named, None);
    let (_, _, at_client) = connect(&server, &named, "elsewhere.test");
    assert_eq!(at_client, Err(Error::InvalidCertificate(CertificateError::NotValidForName)));
    let by_id = bed.client(ExpectedServer::Id(id("gateway")), None);
    assert_eq!(connect(&server, &by_id, "elsewhere.test").2, Ok(()));
    for expected in [ExpectedServer::Id(id("authority")), ExpectedServer::NamedWithId(id("authority"))] {
        let (_, _, at_client) = connect(&server, &bed.client(expected, None), "localhost");
        let Err(Error::InvalidCertificate(CertificateError::Other(other))) = at_client else {
            panic!("{at_client:?}");
        };
        assert_eq!(other.0.downcast_ref::<PeerFault>(), Some(&PeerFault::OtherId));
    }
}

#[test]
fn an_agents_certificate_does_not_make_a_server() {
    let bed = Bed::new();
    let (chain, key) = bed.agent();
    let server = Arc::new(server_config(&chain, &key, ClientAuth::None, bed.clock.clone()).unwrap());
    let client = bed.client(ExpectedServer::Id(id("agent/retailer-7")), None);
    let (_, _, at_client) = connect(&server, &client, "localhost");
    assert_eq!(at_client, Err(Error::InvalidCertificate(CertificateError::InvalidPurpose)));
}

#[test]
fn a_key_of_another_certificate_stops_the_configuration() {
    let bed = Bed::new();
    let (chain, _) = bed.gateway();
    let (_, other) = bed.gateway();
    let server = server_config(&chain, &other, ClientAuth::None, bed.clock.clone());
    assert_eq!(server.map(|_| ()), Err(TlsFault::Identity));
    let trust = ServerTrust { roots: bed.roots.clone(), expected: ExpectedServer::Named };
    let client = client_config(trust, Some((&chain, &other)), bed.clock.clone());
    assert_eq!(client.map(|_| ()), Err(TlsFault::Identity));
}

#[test]
fn only_tls_13_is_configured() {
    let bed = Bed::new();
    let server = bed.server(ClientAuth::None);
    assert_eq!(server.send_tls13_tickets, 0);
    assert_eq!(server.max_early_data_size, 0);
    assert!(!server.ticketer.enabled());
}
