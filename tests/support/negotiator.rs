//! An upstream agent that negotiates by itself, with the library's endpoint: native L8 over HTTP/1.1 on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use ring::rand::SystemRandom;
use rustls::{ServerConnection, StreamOwned};
use semgate_certs::{Chain, ChainLimits, KeyPair, PeerRoots, Roots, SpiffeId, TrustDomain, tls};
use semgate_contexts::{ContextUrn, Digest, Line, Prefix, Version};
use semgate_negotiation::{
    Endpoint, Features, FleetSecret, HandshakeFault, HandshakeRequest, Identity, Kind, LockKeys, Minimum,
    Offer, ResponderConfig, Sessions, SupportedContext, Trust, session_of,
};
use semgate_statement::SigningIdentity;
use serde_json::{Value, json};

use super::Up;
use super::gateway::read_message;

/// The agent of `up`, whose certificate it has.
pub const AGENT: &str = "spiffe://semgate.test/agent/wholesaler-1";
/// The control vocabulary.
pub const SNL: &str = "urn:contexts:snl:v1.0";
const GATEWAY: &str = "spiffe://semgate.test/gateway";

/// How it answers.
pub enum Habit {
    /// As it should.
    Honest,
    /// States this minimum.
    Minimum(&'static str, &'static str),
    /// Speaks this context and no other.
    Only(&'static str),
    /// Answers every HELLO with the first SELECT that it said.
    Repeats,
    /// Takes the HELLO that was kept in place of the one that came.
    Swaps,
    /// Stands behind another gateway.
    Behind(&'static str),
    /// Has no answer to who asks for its keys.
    Mute,
}

/// How it is spoken to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// HTTP/1.1 on loopback.
    Plain,
    /// HTTP/1.1 over TLS with its own certificate; whoever speaks to it shows one.
    Tls,
    /// HTTP/2 by prior knowledge.
    Http2,
}

/// Seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub fn spiffe(id: &str) -> SpiffeId {
    SpiffeId::parse(id).unwrap()
}

/// What everybody of `up` verifies signatures by.
pub fn roots(up: &Up) -> PeerRoots {
    let text = std::fs::read_to_string(up.path("/roots")).unwrap();
    let roots = Roots::from_pem(&text, &ChainLimits::default()).unwrap();
    PeerRoots::new().with(TrustDomain::parse("semgate.test").unwrap(), roots)
}

/// What the agent shows on its own listener, and whom it hears. The certificate by which it signs is a client's alone.
fn certificate(up: &Up) -> tls::ServerConfig {
    let [by, out] = ["offline/tls-issuing", "agents/wholesaler-1-server"].map(|name| up.dir.join(name));
    let mut leaf = Command::new(super::SEMGATE);
    leaf.args(["cert", "leaf", "--usage", "server", "--spiffe", AGENT, "--ip", "127.0.0.1", "--by"]);
    let output = leaf.arg(by).arg("--out").arg(out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (chain, key) = shown(up, "wholesaler-1-server");
    let clients = tls::ClientAuth::Required(Arc::new(roots(up)));
    tls::server_config(&chain, &key, clients, Arc::new(tls::DefaultTimeProvider)).unwrap()
}

fn shown(up: &Up, name: &str) -> (Chain, KeyPair) {
    let read = |what: &str| std::fs::read_to_string(up.dir.join(format!("agents/{name}.{what}"))).unwrap();
    let chain = Chain::from_pem(&read("pem"), &ChainLimits::default()).unwrap();
    (chain, KeyPair::from_pem(&read("key"), &SystemRandom::new()).unwrap())
}

/// An agent of `up`, to sign as.
pub fn identity(up: &Up, name: &str) -> Identity {
    let (chain, key) = shown(up, name);
    let (roots, prefix) = (roots(up), Prefix::default());
    let trust = Trust { roots: &roots, prefix: &prefix };
    Identity::new(SigningIdentity::new(key, chain), &trust, &SystemRandom::new(), now()).unwrap()
}

/// Offers of these contexts, as the authority of `up` lists them.
pub fn offers(up: &Up, urns: &[&str]) -> Vec<Offer> {
    let listed = up.authority("/v1/contexts").json();
    let digest = |urn: &str| {
        let all = listed["contexts"].as_array().unwrap();
        let one = all.iter().find(|context| context["urn"] == urn).unwrap_or_else(|| panic!("no {urn}"));
        Digest::parse(one["digest"].as_str().unwrap()).unwrap()
    };
    let prefix = Prefix::default();
    let offer = |urn: &&str| Offer {
        urn: ContextUrn::parse(urn, &prefix).unwrap(),
        digest: digest(urn),
        features: Features::none(),
    };
    urns.iter().map(offer).collect()
}

/// The agent, in threads of its own.
pub struct Negotiator {
    pub address: SocketAddr,
    inner: Arc<Inner>,
}

struct Inner {
    habit: Habit,
    endpoint: Endpoint,
    roots: PeerRoots,
    own: Sessions,
    answering: ResponderConfig,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    hellos: Vec<Value>,
    sessions: Vec<[u8; 32]>,
    /// How often it was asked for its keys.
    asked: usize,
    /// A SELECT that is said again, or a HELLO that is put in place of another.
    kept: Option<Vec<u8>>,
}

impl Negotiator {
    pub fn start(up: &Up, habit: Habit) -> Self {
        Self::start_over(up, habit, Over::Plain)
    }

    /// One that is spoken to in this way.
    pub fn start_over(up: &Up, habit: Habit, over: Over) -> Self {
        let urns = match habit {
            Habit::Only(urn) => vec![urn],
            _ => vec![
                "urn:contexts:supplyChain:v1.0",
                "urn:contexts:payment:v1.1",
                "urn:contexts:payment:v2.0",
            ],
        };
        let contexts =
            offers(up, &urns).into_iter().map(|offer| SupportedContext { offer, authority: "x".to_owned() });
        let minimums = match habit {
            Habit::Minimum(line, min) => {
                vec![Minimum { line: Line::parse(line).unwrap(), min: Version::parse(min).unwrap() }]
            }
            _ => Vec::new(),
        };
        let answering =
            ResponderConfig { contexts: contexts.collect(), minimums, ..ResponderConfig::default() };
        let gateway = if let Habit::Behind(other) = habit { other } else { GATEWAY };
        let secret = FleetSecret::random(&SystemRandom::new()).unwrap();
        let inner = Arc::new(Inner {
            habit,
            endpoint: Endpoint::new(identity(up, "wholesaler-1")).with_gateways(vec![spiffe(gateway)]),
            roots: roots(up),
            own: Sessions::new(LockKeys::new(vec![secret])),
            answering,
            seen: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, serving) = (listener.local_addr().unwrap(), Arc::clone(&inner));
        let tls = (over == Over::Tls).then(|| Arc::new(certificate(up)));
        if over == Over::Http2 {
            std::thread::spawn(move || serving.serve_http2(listener));
            return Self { address, inner };
        }
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (inner, tls) = (Arc::clone(&serving), tls.clone());
                std::thread::spawn(move || match tls {
                    Some(tls) => {
                        inner.serve(StreamOwned::new(ServerConnection::new(tls).unwrap(), stream));
                    }
                    None => inner.serve(stream),
                });
            }
        });
        Self { address, inner }
    }

    /// Whether it agreed on this session.
    pub fn knows(&self, session: &[u8; 32]) -> bool {
        self.inner.seen.lock().unwrap().sessions.contains(session)
    }

    /// The last message with a HELLO that reached it.
    pub fn last_hello(&self) -> Value {
        self.inner.seen.lock().unwrap().hellos.last().unwrap().clone()
    }

    /// How many reached it.
    pub fn hellos(&self) -> usize {
        self.inner.seen.lock().unwrap().hellos.len()
    }

    /// How often it was asked for its keys.
    pub fn asked(&self) -> usize {
        self.inner.seen.lock().unwrap().asked
    }

    /// Keeps a HELLO for [`Habit::Swaps`].
    pub fn keep(&self, hello: Vec<u8>) {
        self.inner.seen.lock().unwrap().kept = Some(hello);
    }
}

impl Inner {
    /// One connection after the other: a gateway of some cores opens one for each.
    fn serve_http2(self: Arc<Self>, listener: TcpListener) {
        listener.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let inner = Arc::clone(&self);
                let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
                    let inner = Arc::clone(&inner);
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await.unwrap().to_bytes();
                        let sender = head.headers.get("semgate-sender").map(|value| value.to_str().unwrap());
                        let (status, body) = inner.said(head.uri.path(), sender, &body);
                        let answer = http::Response::builder().status(status);
                        let answer = answer.header("content-type", "application/json");
                        Ok::<_, std::convert::Infallible>(answer.body(Full::new(Bytes::from(body))).unwrap())
                    }
                });
                let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(server.serve_connection(TokioIo::new(stream), service));
            }
        });
    }

    fn said(&self, path: &str, sender: Option<&str>, body: &[u8]) -> (u16, Vec<u8>) {
        match path {
            "/orders/snl/key" => self.asked_for_keys(body),
            "/orders/snl" => told(self.shake(sender.unwrap(), body)),
            _ => (self.take(body), Vec::new()),
        }
    }

    fn serve(&self, mut stream: impl Read + Write) {
        let mut buffer = vec![0; 512 * 1024];
        while let Some(message) = read_message(&mut stream, &mut buffer) {
            let at = message.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
            let head = String::from_utf8_lossy(&message[..at]).into_owned();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let mut senders = head.lines().filter_map(|line| line.split_once(": "));
            let sender = senders.find(|(name, _)| name.eq_ignore_ascii_case("semgate-sender"));
            let (status, body) = self.said(&path, sender.map(|(_, value)| value), &message[at..]);
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            if stream.write_all(&[head.into_bytes(), body].concat()).is_err() {
                return;
            }
        }
    }

    fn asked_for_keys(&self, body: &[u8]) -> (u16, Vec<u8>) {
        self.seen.lock().unwrap().asked += 1;
        if matches!(self.habit, Habit::Mute) { (503, Vec::new()) } else { told(self.appoint(body)) }
    }

    fn appoint(&self, body: &[u8]) -> Result<Vec<u8>, HandshakeFault> {
        let prefix = Prefix::default();
        let trust = Trust { roots: &self.roots, prefix: &prefix };
        self.endpoint.appoint(body, &trust, &self.own, &SystemRandom::new(), now())
    }

    fn shake(&self, sender: &str, body: &[u8]) -> Result<Vec<u8>, HandshakeFault> {
        let prefix = Prefix::default();
        let asked = HandshakeRequest {
            peer: &spiffe(sender),
            route: "mine",
            answering: &self.answering,
            trust: Trust { roots: &self.roots, prefix: &prefix },
            sessions: &self.own,
            context: SNL,
            random: &SystemRandom::new(),
            now: now(),
        };
        let message: Value = serde_json::from_slice(body).unwrap();
        let is_hello = message["content"]["concept_type"] == "HELLO";
        let mut seen = self.seen.lock().unwrap();
        if is_hello {
            seen.hellos.push(message);
        }
        let body = match (&self.habit, &seen.kept) {
            (Habit::Swaps, Some(kept)) if is_hello => kept,
            _ => body,
        };
        let answered = self.endpoint.answer(body, &asked)?;
        if let Some(session) = answered.session {
            seen.sessions.push(session);
        }
        if matches!(self.habit, Habit::Repeats) && answered.kind == Kind::Select {
            return Ok(seen.kept.get_or_insert(answered.body).clone());
        }
        Ok(answered.body)
    }

    /// A message in a session that it agreed on, or in none.
    fn take(&self, body: &[u8]) -> u16 {
        let message: Value = serde_json::from_slice(body).unwrap();
        let Some(lock) = message["lock"].as_str() else { return 202 };
        let known =
            session_of(lock).is_some_and(|session| self.seen.lock().unwrap().sessions.contains(&session));
        if known { 202 } else { 403 }
    }
}

fn told(outcome: Result<Vec<u8>, HandshakeFault>) -> (u16, Vec<u8>) {
    match outcome {
        Ok(body) => (200, body),
        Err(fault) => (403, json!({"code": fault.code()}).to_string().into_bytes()),
    }
}
