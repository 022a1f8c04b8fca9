//! The Python client: its own tests, which read the vectors of the handshake, and HELLO to LOCK against the library's endpoint.

use crate::support::python;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::SystemRandom;
use semgate_certs::{
    ChainLimits, Family, Issuer, IssuingProfile, KeyPair, LeafProfile, PeerRoots, RootProfile, Roots,
    SpiffeId, TrustDomain,
};
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use semgate_negotiation::{
    Endpoint, Features, FleetSecret, HandshakeRequest, Identity, LockKeys, LockQuestion, Minimum, Offer,
    ResponderConfig, Sessions, SupportedContext, Trust, VerifiedLock,
};
use semgate_statement::SigningIdentity;
use serde_json::Value;

const A: &str = "spiffe://semgate.test/agent/retailer-7";
const B: &str = "spiffe://semgate.test/agent/wholesaler-1";
const SNL: &str = "urn:contexts:snl:v1.0";

fn client() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients/python")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn the_python_client_passes_its_own_tests_over_the_vectors() {
    let output = Command::new(python::interpreter())
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider"])
        .current_dir(client())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert!(!out.contains("skipped"), "nothing is skipped: {out}");
}

#[test]
fn the_python_client_is_typed() {
    let output = Command::new(python::interpreter())
        .args(["-m", "mypy", "--cache-dir", "/dev/null"])
        .current_dir(client())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// The library's endpoint behind a socket: what a gateway puts between is left out.
struct Server {
    endpoint: Endpoint,
    roots: PeerRoots,
    sessions: Sessions,
    answering: ResponderConfig,
    random: SystemRandom,
    dir: tempfile::TempDir,
}

fn urn(short: &str) -> ContextUrn {
    ContextUrn::parse_short(short, &Prefix::default()).unwrap()
}

fn start() -> (Arc<Server>, String) {
    let random = SystemRandom::new();
    let key = || KeyPair::generate(&random).unwrap();
    let since = now() - 3_600;
    let root = Issuer::root(&RootProfile::new("root", since), key(), &random).unwrap();
    let issuer = root.issuing(&IssuingProfile::new("agents", Family::Tls, since), key(), &random).unwrap();
    let trusted = Roots::from_der(root.chain().certificates().to_vec(), &ChainLimits::default()).unwrap();
    let roots = PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), trusted);
    let leaf = |id: &str| {
        let key = key();
        let profile = LeafProfile::agent(SpiffeId::parse(id).unwrap(), since);
        let chain = issuer.leaf(&profile, key.public(), &random).unwrap();
        SigningIdentity::new(key, chain)
    };
    let dir = tempfile::tempdir().unwrap();
    let a = leaf(A);
    std::fs::write(dir.path().join("a.pem"), a.chain.to_pem()).unwrap();
    std::fs::write(dir.path().join("a.key"), a.key.pem().unwrap()).unwrap();
    std::fs::write(dir.path().join("roots.pem"), root.chain().to_pem()).unwrap();
    let prefix = Prefix::default();
    let me = Identity::new(leaf(B), &Trust { roots: &roots, prefix: &prefix }, &random, now()).unwrap();
    let features = Features::sorted(["embedding:acme/large", "embedding:acme/mini"]).unwrap();
    let offer = Offer { urn: urn("payment:v1.1"), digest: Digest::of(b"payment:v1.1"), features };
    let answering = ResponderConfig {
        contexts: vec![SupportedContext { offer, authority: "authority.test".to_owned() }],
        minimums: vec![Minimum { line: Line::parse("payment").unwrap(), min: Version::new(1, 1) }],
        ..ResponderConfig::default()
    };
    let sessions = Sessions::new(LockKeys::new(vec![FleetSecret::random(&random).unwrap()]));
    let server = Server { endpoint: Endpoint::new(me), roots, sessions, answering, random, dir };
    let (server, listener) = (Arc::new(server), TcpListener::bind("127.0.0.1:0").unwrap());
    let url = format!("http://{}/orders/snl", listener.local_addr().unwrap());
    let serving = Arc::clone(&server);
    std::thread::spawn(move || listener.incoming().for_each(|stream| serving.serve(&stream.unwrap())));
    (server, url)
}

impl Server {
    /// HTTP/1.1 as far as the client speaks it.
    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        loop {
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 {
                    return;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line == "\r\n" {
                    break;
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let (status, answer) = self.answer(head.starts_with("GET"), &body);
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", answer.len());
            let mut stream = stream;
            stream.write_all(&[head.into_bytes(), answer].concat()).unwrap();
        }
    }

    fn answer(&self, get: bool, body: &[u8]) -> (u16, Vec<u8>) {
        if get {
            let statement = self.endpoint.key_statement(&self.sessions, &self.random, now()).unwrap();
            return (200, statement.unwrap());
        }
        let prefix = Prefix::default();
        let asked = HandshakeRequest {
            peer: &SpiffeId::parse(A).unwrap(),
            route: "orders",
            answering: &self.answering,
            trust: Trust { roots: &self.roots, prefix: &prefix },
            sessions: &self.sessions,
            context: SNL,
            random: &self.random,
            now: now(),
        };
        match self.endpoint.answer(body, &asked) {
            Ok(answered) => (200, answered.body),
            Err(fault) => (403, format!("{{\"code\":\"{}\"}}", fault.code()).into_bytes()),
        }
    }

    fn client(&self, url: &str, short: &str, more: &[&str]) -> Value {
        let file = |name: &str| self.dir.path().join(name);
        let output = Command::new(python::interpreter())
            .arg(python::script("snl_client.py"))
            .arg(url)
            .args([file("a.pem"), file("a.key"), file("roots.pem")])
            .args(["semgate.test", B, urn(short).as_str(), &Digest::of(short.as_bytes()).to_string()])
            .args(more)
            .env("PYTHONPATH", client().join("src"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The verified lock of a session on `payment:v1.1`.
    fn held(&self, session: &Value) -> VerifiedLock {
        let question = LockQuestion {
            lock: session["lock"].as_str().unwrap_or_else(|| panic!("{session}")),
            initiator: A,
            responder: B,
            route: "orders",
            authority: "authority.test",
            urn: &urn("payment:v1.1"),
            digest: &Digest::of(b"payment:v1.1"),
            now: now(),
        };
        self.sessions.locks.verify(&question).unwrap()
    }
}

#[test]
fn the_python_client_shakes_hands_and_its_lock_holds() {
    let (server, url) = start();
    for more in [&[][..], &["sealed"]] {
        let session = server.client(&url, "payment:v1.1", more);
        assert_eq!(session["expires_at"], server.held(&session).expires_at());
    }
}

#[test]
fn f0_52_the_python_client_agrees_on_one_embedding_model_and_its_lock_holds() {
    let (server, url) = start();
    for more in [&["embedding:acme/mini", "embedding:other"][..], &["sealed", "embedding:acme/mini"]] {
        let session = server.client(&url, "payment:v1.1", more);
        assert_eq!(session["model"], "acme/mini", "{session}");
        assert_eq!(server.held(&session).model().unwrap().as_str(), "acme/mini");
    }
    assert_eq!(server.client(&url, "payment:v1.1", &["embedding:other"])["model"], Value::Null);
}

#[test]
fn the_python_client_is_told_why_it_is_refused() {
    let (server, url) = start();
    assert_eq!(server.client(&url, "travel:v2.1", &[])["refused"], "context_unknown");
    let refused = server.client(&url, "payment:v1.1", &["payment=v2.0"]);
    assert_eq!(refused["refused"], "context_below_floor");
}
