//! An authority of its own for each test, on loopback, over real TLS; and a small client.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use ring::rand::SystemRandom;
use rustls_pki_types::ServerName;
use semgate_authority::{
    Bound, Config, InitOptions, Initialised, Publisher, RunFault, TlsRequest, TlsUse, init, issue_tls, run,
};
use semgate_certs::tls::{DefaultTimeProvider, ExpectedServer, ServerTrust, client_config};
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots};
use semgate_contexts::{DocumentLimits, Prefix};
use semgate_statement::follower::Request as Wanted;
use semgate_statement::verify_log::FetchFault;
use semgate_statement::{
    Answer, Fetch, FollowFault, Follower, FollowerConfig, FollowerLimits, Lines, LogVerifier, Step,
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const OPERATOR: &str = "spiffe://semgate.test/operator";

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A small context of a line; `more` makes another document of the same name.
pub fn document(urn: &str, more: &str) -> String {
    format!(
        r#"{{"context":"{urn}","description":"{more}","concepts":{{"thing":{{"type":"object","properties":{{"name":{{"type":"string"}}}},"required":["name"]}}}}}}"#
    )
}

/// A directory with an initialised authority that does not run yet.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub made: Initialised,
}

impl Place {
    pub fn new() -> Place {
        Place::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut InitOptions)) -> Place {
        let dir = tempfile::tempdir().unwrap();
        let mut options = InitOptions::on_loopback("semgate.test");
        options.status_lifetime = Duration::from_secs(60);
        change(&mut options);
        let made = init(dir.path(), &options).unwrap();
        Place { dir, made }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("authority")
    }

    /// As `init` wrote it, but without the checkpoint that is kept apart: most tests are about what the state itself remembers.
    pub fn config(&self) -> Config {
        Config { last_checkpoint: None, ..self.whole_config() }
    }

    /// As `init` wrote it.
    pub fn whole_config(&self) -> Config {
        Config::load(&self.made.config).unwrap()
    }

    pub fn identity(&self, id: &str) -> (Chain, KeyPair) {
        identity(self.path(), id)
    }

    pub fn roots(&self) -> Roots {
        roots(self.path())
    }

    pub fn follower_config(&self) -> FollowerConfig {
        follower_config(self.path(), &self.made.log_key)
    }

    /// Starts it in this process.
    pub async fn start(&self) -> Running {
        self.start_with(self.config()).await
    }

    pub async fn start_with(&self, config: Config) -> Running {
        let (ready, bound) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let task =
            tokio::spawn(run(config, Vec::new(), move |bound| ready.send(bound).unwrap(), async move {
                let _ = stopped.await;
            }));
        let Ok(bound) = bound.await else { panic!("{}", task.await.unwrap().unwrap_err()) };
        let client = Client::new(self.path(), bound.listen, Some(OPERATOR));
        Running { bound, client, stop, task }
    }
}

pub struct Running {
    pub bound: Bound,
    pub client: Client,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), RunFault>>,
}

impl Running {
    pub async fn stop(self) {
        let _ = self.stop.send(());
        self.task.await.unwrap().unwrap();
    }

    pub async fn ended(self) -> Result<(), RunFault> {
        self.task.await.unwrap()
    }

    /// A client without a certificate, or with another one.
    pub fn client_of(&self, place: &Place, id: Option<&str>) -> Client {
        Client::new(place.path(), self.bound.listen, id)
    }

    /// A GET on the admin address.
    pub async fn admin(&self, path: &str) -> (StatusCode, String) {
        self.admin_as(path, &[("host", "localhost")]).await
    }

    /// The same with these headers, `Host` among them.
    pub async fn admin_as(&self, path: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
        let socket = TcpStream::connect(self.bound.admin).await.unwrap();
        let (mut send, connection) = http1::handshake::<_, Full<Bytes>>(TokioIo::new(socket)).await.unwrap();
        tokio::spawn(connection);
        let request =
            headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
        let request = request.body(Full::default()).unwrap();
        let answer = send.send_request(request).await.unwrap();
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }
}

pub fn roots(dir: &Path) -> Roots {
    Roots::from_pem(&std::fs::read_to_string(dir.join("roots.pem")).unwrap(), &ChainLimits::default())
        .unwrap()
}

pub fn identity(dir: &Path, id: &str) -> (Chain, KeyPair) {
    let leaf = issue_tls(
        dir,
        &TlsRequest {
            usage: TlsUse::Agent,
            spiffe: id.to_owned(),
            dns: Vec::new(),
            addresses: Vec::new(),
            lifetime: Duration::from_secs(86_400),
        },
    )
    .unwrap();
    let chain = Chain::from_pem(&leaf.chain_pem, &ChainLimits::default()).unwrap();
    (chain, KeyPair::from_pem(&leaf.key_pem, &SystemRandom::new()).unwrap())
}

pub fn follower_config(dir: &Path, log_key: &str) -> FollowerConfig {
    FollowerConfig {
        authority: "semgate.test".to_owned(),
        origin: "semgate.test/log".to_owned(),
        root_threshold: 1,
        roots: roots(dir),
        log: LogVerifier::parse(log_key).unwrap(),
        quorum: semgate_statement::Quorum::default(),
        prefix: Prefix::default(),
        recognised: false,
        lines: Lines::All,
        max_status_age: 900,
        poll: 5,
        documents: DocumentLimits::default(),
        limits: FollowerLimits::default(),
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Got {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Got {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {:?}", self.body))
    }

    pub fn code(&self) -> String {
        assert_eq!(self.headers["content-type"], "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status.as_u16());
        assert!(problem["hint"].is_string() && problem["title"].is_string());
        problem["code"].as_str().unwrap().to_owned()
    }

    pub fn etag(&self) -> String {
        self.headers["etag"].to_str().unwrap().to_owned()
    }
}

/// A client of one identity. Each request has a connection of its own, unless [`Client::connect`] keeps one.
#[derive(Clone)]
pub struct Client {
    connector: TlsConnector,
    address: SocketAddr,
}

pub type Line = SendRequest<Full<Bytes>>;

impl Client {
    pub fn new(dir: &Path, address: SocketAddr, id: Option<&str>) -> Client {
        let identity = id.map(|id| identity(dir, id));
        let trust = ServerTrust { roots: roots(dir), expected: ExpectedServer::Named };
        let identity = identity.as_ref().map(|(chain, key)| (chain, key));
        let config = client_config(trust, identity, Arc::new(DefaultTimeProvider)).unwrap();
        Client { connector: TlsConnector::from(Arc::new(config)), address }
    }

    /// The same client for another address.
    pub fn at(&self, address: SocketAddr) -> Client {
        Client { connector: self.connector.clone(), address }
    }

    /// A bare TLS connection.
    pub async fn raw(&self) -> TlsStream<TcpStream> {
        self.try_raw().await.unwrap()
    }

    async fn try_raw(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let socket = TcpStream::connect(self.address).await?;
        self.handshake(socket).await
    }

    /// TLS over a socket that is connected already.
    pub async fn handshake(&self, socket: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        socket.set_nodelay(true)?;
        let name = ServerName::IpAddress(self.address.ip().into());
        self.connector.connect(name, socket).await
    }

    pub async fn connect(&self) -> std::io::Result<Line> {
        let stream = self.try_raw().await?;
        let (send, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok(send)
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Got {
        self.try_send(request).await.unwrap()
    }

    pub async fn try_send(&self, request: Request<Full<Bytes>>) -> std::io::Result<Got> {
        let mut line = self.connect().await?;
        send_on(&mut line, request).await
    }

    pub async fn get(&self, path: &str) -> Got {
        self.send(request(Method::GET, path, None, "")).await
    }

    pub async fn ok(&self, path: &str) -> Got {
        let got = self.get(path).await;
        assert_eq!(got.status, StatusCode::OK, "{path}: {got:?}");
        got
    }

    pub async fn post(&self, path: &str, media: &str, body: &str) -> Got {
        self.send(request(Method::POST, path, Some(media), body)).await
    }

    pub async fn publish(&self, document: &str) -> Got {
        self.post("/v1/contexts", "application/json", document).await
    }

    pub async fn act(&self, urn: &str, act: &str) -> Got {
        self.post(&format!("/v1/contexts/{urn}/{act}"), "application/json", r#"{"reason":"a test"}"#).await
    }

    pub async fn floor(&self, line: &str, min: &str) -> Got {
        let body = format!(r#"{{"line":"{line}","min":"{min}","reason":"a test"}}"#);
        self.post("/v1/floors", "application/json", &body).await
    }

    /// Follows until there is nothing left to fetch.
    pub async fn follow(&self, follower: &mut Follower) -> Result<(), FollowFault> {
        follower.hint();
        loop {
            match follower.next(now()) {
                Step::Idle { .. } => return Ok(()),
                Step::Get(wanted) => {
                    let answer = self.answer(&wanted).await;
                    follower.answer(&wanted.path, answer, now())?;
                }
            }
        }
    }

    /// What a follower wants.
    pub async fn answer(&self, wanted: &Wanted) -> Answer {
        let mut asked = request(Method::GET, &wanted.path, None, "");
        if let Some(etag) = &wanted.if_none_match {
            asked.headers_mut().insert("if-none-match", etag.parse().unwrap());
        }
        let got = self.send(asked).await;
        let etag = got.headers.get("etag").map(|tag| tag.to_str().unwrap().to_owned());
        Answer { status: got.status.as_u16(), etag, body: got.body.to_vec() }
    }
}

/// For `verify_log`, inside a multi-threaded test.
impl Fetch for Client {
    fn get(&mut self, path: &str, max_bytes: u64) -> Result<Vec<u8>, FetchFault> {
        let got = tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(self.try_send(request(Method::GET, path, None, "")))
        });
        let got = got.map_err(|_| FetchFault::Unreachable)?;
        match got.status.as_u16() {
            200 if got.body.len() as u64 > max_bytes => Err(FetchFault::TooLarge),
            200 => Ok(got.body.to_vec()),
            status => Err(FetchFault::HttpStatus(status)),
        }
    }
}

pub fn request(method: Method, path: &str, media: Option<&str>, body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", "authority");
    if let Some(media) = media {
        request = request.header("content-type", media);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap()
}

pub async fn send_on(line: &mut Line, request: Request<Full<Bytes>>) -> std::io::Result<Got> {
    line.ready().await.map_err(std::io::Error::other)?;
    let answer = line.send_request(request).await.map_err(std::io::Error::other)?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    Ok(Got { status: head.status, headers: head.headers, body })
}

/// A publisher with the rights given as patterns.
pub fn publisher(id: &str, publish: &[&str], revoke: &[&str], floor: &[&str]) -> Publisher {
    let patterns =
        |texts: &[&str]| texts.iter().map(|t| semgate_authority::LinePattern::parse(t).unwrap()).collect();
    Publisher {
        id: id.to_owned(),
        publish: patterns(publish),
        revoke: patterns(revoke),
        floor: patterns(floor),
        overrides: Vec::new(),
    }
}
