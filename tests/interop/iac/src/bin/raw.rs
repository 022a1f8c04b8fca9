//! A peer that sends what no well-behaved one sends: `raw call ADDRESS [ed25519|early]` or `raw serve ADDRESS [ed25519|early]`.
//!
//! Each line of standard input is a stream of its own: `{"frame": HEX}` in one direction, `{"asking": HEX}` in both; `{"close": true}` closes
//! the connection and `{"open": HEX}` begins a stream that never ends. A line is printed for each connection, for each stream that came, as
//! sent and inflated, and for the end. A serving peer sends on its newest connection.

use std::sync::{Arc, Mutex};

use iac_rs::prelude::{Result, init_client, init_server};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, SendStream, ServerConfig};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, stdin};

/// The most bytes of a stream that are read, and of a frame that are inflated.
const MOST: usize = 16 * 1024 * 1024;

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let newest: Arc<Mutex<Option<Connection>>> = Arc::default();
    match words[0].as_str() {
        "serve" => {
            let config = words.get(2).map_or_else(init_server, |mode| offering(mode))?;
            let endpoint = Endpoint::server(config, words[1].parse()?)?;
            println!("{}", json!({"serves": words[1]}));
            let newest = Arc::clone(&newest);
            tokio::spawn(async move {
                while let Some(incoming) = endpoint.accept().await {
                    match incoming.await {
                        Ok(connection) => follow(connection, &newest),
                        Err(error) => println!("{}", json!({"failed": error.to_string()})),
                    }
                }
            });
        }
        _ => match call(&words[1], words.get(2).map_or("", String::as_str)).await {
            Ok(connection) => follow(connection, &newest),
            Err(error) => println!("{}", json!({"failed": error.to_string()})),
        },
    }
    let mut lines = BufReader::new(stdin()).lines();
    let mut open = Vec::new();
    while let Some(line) = lines.next_line().await? {
        let asked: Value = serde_json::from_str(&line)?;
        let Some(connection) = newest.lock().map_or(None, |newest| newest.clone()) else { continue };
        if let Err(error) = say(&connection, &asked, &mut open).await {
            println!("{}", json!({"unsent": error.to_string()}));
        }
    }
    Ok(())
}

async fn say(connection: &Connection, asked: &Value, open: &mut Vec<SendStream>) -> Result<()> {
    let bytes = |member: &str| asked[member].as_str().map(hex::decode).transpose();
    if let Some(frame) = bytes("frame")? {
        let mut stream = connection.open_uni().await?;
        stream.write_all(&frame).await?;
        stream.finish()?;
    }
    if let Some(frame) = bytes("open")? {
        let mut stream = connection.open_uni().await?;
        stream.write_all(&frame).await?;
        open.push(stream);
    }
    if let Some(frame) = bytes("asking")? {
        let (mut stream, mut answer) = connection.open_bi().await?;
        stream.write_all(&frame).await?;
        stream.finish()?;
        let answer = answer.read_to_end(MOST).await?;
        println!("{}", json!({"answer": hex::encode(answer)}));
    }
    if asked["close"] == true {
        connection.close(0_u8.into(), b"");
    }
    Ok(())
}

/// Prints what comes on this connection until its end.
fn follow(connection: Connection, newest: &Mutex<Option<Connection>>) {
    let identity =
        connection.peer_identity().and_then(|any| any.downcast::<Vec<CertificateDer<'static>>>().ok());
    let certificate = identity.and_then(|chain| chain.first().map(hex::encode));
    println!("{}", json!({"connected": connection.remote_address().to_string(), "certificate": certificate}));
    if let Ok(mut newest) = newest.lock() {
        *newest = Some(connection.clone());
    }
    tokio::spawn(async move {
        let end = loop {
            let mut stream = match connection.accept_uni().await {
                Ok(stream) => stream,
                Err(end) => break end,
            };
            match stream.read_to_end(MOST).await {
                Ok(frame) => {
                    let inflated = zstd::bulk::decompress(&frame, MOST).unwrap_or_default();
                    let (frame, message) = (hex::encode(frame), hex::encode(inflated));
                    println!("{}", json!({"frame": frame, "message": message}));
                }
                Err(error) => println!("{}", json!({"unread": error.to_string()})),
            }
        };
        let code = match &end {
            quinn::ConnectionError::ApplicationClosed(close) => Some(close.error_code.into_inner()),
            _ => None,
        };
        println!("{}", json!({"end": {"reason": end.to_string(), "code": code}}));
    });
}

async fn call(address: &str, mode: &str) -> Result<Connection> {
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    endpoint.set_default_client_config(match mode {
        "ed25519" | "early" => accepting(mode)?,
        _ => init_client()?,
    });
    let connecting = || -> Result<_> { Ok(endpoint.connect(address.parse()?, "localhost")?) };
    let first = connecting()?.await?;
    if mode != "early" {
        return Ok(first);
    }
    // the ticket comes after the handshake, and a message shows that it came
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    first.close(0_u8.into(), b"");
    match connecting()?.into_0rtt() {
        Ok((connection, accepted)) => {
            println!("{}", json!({"early": accepted.await}));
            Ok(connection)
        }
        Err(connecting) => {
            println!("{}", json!({"early": false}));
            Ok(connecting.await?)
        }
    }
}

/// The configuration of the stock server with a certificate of the other kind, or with early data.
fn offering(mode: &str) -> Result<ServerConfig> {
    let early = mode == "early";
    let key =
        KeyPair::generate_for(if early { &rcgen::PKCS_ECDSA_P256_SHA256 } else { &rcgen::PKCS_ED25519 })?;
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])?.self_signed(&key)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )?;
    // QUIC knows no other amount than everything
    config.max_early_data_size = if early { u32::MAX } else { 0 };
    Ok(ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(config)?)))
}

/// A configuration that takes any certificate, whose key is an Ed25519 one in that mode.
fn accepting(mode: &str) -> Result<ClientConfig> {
    let schemes = match mode {
        "ed25519" => vec![SignatureScheme::ED25519],
        _ => vec![SignatureScheme::ECDSA_NISTP256_SHA256],
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any(schemes)))
        .with_no_client_auth();
    config.enable_early_data = mode == "early";
    Ok(ClientConfig::new(Arc::new(QuicClientConfig::try_from(config)?)))
}

#[derive(Debug)]
struct Any(Vec<SignatureScheme>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.clone()
    }
}
