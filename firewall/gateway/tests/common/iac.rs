//! Agents of IAC: a raw client and a raw server over QUIC, with keys of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{Connection, Endpoint};
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};
use semgate_protocol::iac::{Draft, Frame, FrameLimits, MessageType, deflate, inflate};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};

use super::{House, now};

/// A key of its own for each name.
pub fn key(name: &str) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(digest(&SHA256, name.as_bytes()).as_ref()).unwrap()
}

pub fn hex(key: &Ed25519KeyPair) -> String {
    key.public_key().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the gateway's key, and returns its name in the configuration.
pub fn signing_key(house: &House) -> &'static str {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    std::fs::write(house.path("iac.key"), key.serialize_pem()).unwrap();
    "iac.key"
}

/// A message with an id of its own.
pub fn draft(from: &str, to: &str, kind: MessageType, payload: &str) -> Draft {
    let mut id = [0; 8];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut id).unwrap();
    Draft {
        from: from.to_owned(),
        to: to.to_owned(),
        kind,
        payload: payload.to_owned(),
        timestamp: now(),
        msg_id: u64::from_be_bytes(id),
        session_id: 0,
        extra: Vec::new(),
    }
}

pub fn signed(draft: Draft, by: &str) -> Vec<u8> {
    draft.sign(&key(by))
}

/// One end of a connection.
#[derive(Clone)]
pub struct Peer {
    pub connection: Connection,
    _endpoint: Endpoint,
}

impl Peer {
    /// Connects as a stock client does: any certificate, the name `localhost`, no ALPN.
    pub async fn connect(port: u16) -> Peer {
        let endpoint = Endpoint::client("127.0.0.1:0".parse().unwrap()).unwrap();
        let connecting = endpoint.connect_with(client(), ([127, 0, 0, 1], port).into(), "localhost").unwrap();
        Peer { connection: connecting.await.unwrap(), _endpoint: endpoint }
    }

    /// Sends these bytes as one stream.
    pub async fn raw(&self, bytes: &[u8]) {
        let mut stream = self.connection.open_uni().await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.finish().unwrap();
    }

    /// Sends one message.
    pub async fn send(&self, message: &[u8]) {
        self.raw(&deflate(message)).await;
    }

    /// The next message; `None` once the connection has ended.
    pub async fn receive(&self) -> Option<Frame> {
        let accepted = tokio::time::timeout(Duration::from_secs(20), self.connection.accept_uni());
        let mut stream = accepted.await.expect("no message came").ok()?;
        let packed = stream.read_to_end(1 << 20).await.unwrap();
        let limits = FrameLimits { compressed: 1 << 20, inflated: 1 << 20, window: 8 << 20 };
        Some(Frame::read(Bytes::from(inflate(&packed, &limits).unwrap())).unwrap())
    }

    /// The code and reason with which the gateway closes the connection.
    pub async fn closed(&self) -> (u64, String) {
        match tokio::time::timeout(Duration::from_secs(20), self.connection.closed()).await.unwrap() {
            quinn::ConnectionError::ApplicationClosed(close) => {
                (close.error_code.into_inner(), String::from_utf8(close.reason.to_vec()).unwrap())
            }
            other => panic!("{other}"),
        }
    }
}

/// The problem document of a reply of the gateway.
pub fn problem(reply: &Frame) -> serde_json::Value {
    assert_eq!(reply.kind(), MessageType::Reply);
    let key: Vec<u8> =
        (0..32).map(|n| u8::from_str_radix(&reply.from()[2 * n..2 * n + 2], 16).unwrap()).collect();
    assert!(reply.verify(&key.try_into().unwrap()).is_some(), "signed by the key that it names");
    serde_json::from_str(reply.payload()).unwrap()
}

/// The protobufs that a server sends back for a message.
pub type Act = Arc<dyn Fn(&Frame) -> Vec<Vec<u8>> + Send + Sync>;

/// A server that records everything.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Frame>>>,
    pub connections: Arc<Mutex<Vec<std::net::SocketAddr>>>,
    _endpoint: Endpoint,
}

impl Server {
    pub fn start(act: impl Fn(&Frame) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Server {
        let endpoint = Endpoint::server(server(), "127.0.0.1:0".parse().unwrap()).unwrap();
        let (seen, connections) = (Arc::default(), Arc::default());
        let server = Server {
            port: endpoint.local_addr().unwrap().port(),
            seen: Arc::clone(&seen),
            connections: Arc::clone(&connections),
            _endpoint: endpoint.clone(),
        };
        let act: Act = Arc::new(act);
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                // a stock server ends here with a failed handshake
                let connection = incoming.await.expect("the handshake is always finished");
                connections.lock().unwrap().push(connection.remote_address());
                let peer = Peer { connection, _endpoint: endpoint.clone() };
                tokio::spawn(serve(peer, Arc::clone(&seen), Arc::clone(&act)));
            }
        });
        server
    }

    pub fn seen(&self) -> Vec<Frame> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(peer: Peer, seen: Arc<Mutex<Vec<Frame>>>, act: Act) {
    while let Ok(mut stream) = peer.connection.accept_uni().await {
        let packed = stream.read_to_end(64 << 10).await.unwrap();
        let frame = Frame::read(Bytes::from(inflate(&packed, &FrameLimits::default()).unwrap())).unwrap();
        seen.lock().unwrap().push(frame.clone());
        for answer in act(&frame) {
            peer.send(&answer).await;
        }
    }
}

fn server() -> quinn::ServerConfig {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
    let certificate =
        rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let tls = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&tokio_rustls::rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    quinn::ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).unwrap()))
}

/// TLS that accepts any certificate.
pub fn any_certificate() -> ClientConfig {
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&tokio_rustls::rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any))
        .with_no_client_auth()
}

fn client() -> quinn::ClientConfig {
    quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(any_certificate()).unwrap()))
}

#[derive(Debug)]
struct Any;

impl tokio_rustls::rustls::client::danger::ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<tokio_rustls::rustls::client::danger::ServerCertVerified, Error> {
        Ok(tokio_rustls::rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<tokio_rustls::rustls::client::danger::HandshakeSignatureValid, Error> {
        unreachable!("QUIC is TLS 1.3")
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<tokio_rustls::rustls::client::danger::HandshakeSignatureValid, Error> {
        Ok(tokio_rustls::rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    /// Those of a stock client: no Ed25519.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256, SignatureScheme::RSA_PSS_SHA256]
    }
}
