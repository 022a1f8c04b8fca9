//! The HTTPS client of the command line: one connection for each request, with or without a client certificate, bounded in size and time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use semgate_certs::tls::{self, DefaultTimeProvider, ServerTrust};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::fault::{Doing, Fault};
use crate::system::{read_chain, read_key, read_roots};
use crate::up_directory::UpDirectory;

/// The largest answer accepted: a bundle of 256 log entries of 64 KiB is 16 MiB, the most that an authority serves.
const MAX_ANSWER_BYTES: usize = 20 * 1024 * 1024;
/// Time for one request: longer than the gateway's own upstream limit (30 s), so that its answer arrives.
const PATIENCE: Duration = Duration::from_secs(40);

/// Time for a cancelled connection to report its fault: it has ended already.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// The body, at most 20 MiB.
    pub body: Bytes,
    /// `Semgate-Decision`, if present.
    pub decision: Option<String>,
    /// `ETag`, if present.
    pub etag: Option<String>,
}

impl Reply {
    /// The code of a refusal, if the body is one (RFC 9457).
    pub fn code(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        Some(body.get("code")?.as_str()?.to_owned())
    }
}

/// A client with fixed roots and at most one identity.
#[derive(Clone)]
pub struct Client {
    connector: TlsConnector,
}

impl Client {
    /// A client that trusts these roots and shows `identity`.
    ///
    /// # Errors
    /// Files that are not PEM, or a key that does not match the certificate.
    pub fn new(roots: &Path, identity: Option<(&Path, &Path)>) -> Result<Self, Fault> {
        let roots = read_roots(roots)?;
        let identity = match identity {
            Some((cert, key)) => Some((read_chain(cert)?, read_key(key)?)),
            None => None,
        };
        let trust = ServerTrust { roots, expected: tls::ExpectedServer::Named };
        let shown = identity.as_ref().map(|(chain, key)| (chain, key));
        let config = tls::client_config(trust, shown, Arc::new(DefaultTimeProvider))
            .hinted("tls", "is the key that of the certificate?")?;
        Ok(Self { connector: TlsConnector::from(Arc::new(config)) })
    }

    /// The client of an agent of `up.json`.
    ///
    /// # Errors
    /// There is no such agent, or its files cannot be read.
    pub fn of_agent(up_dir: &UpDirectory, name: &str) -> Result<Self, Fault> {
        let agent = up_dir.agent(name)?;
        let (cert, key) = (up_dir.path(&agent.cert), up_dir.path(&agent.key));
        Self::new(&up_dir.path(&up_dir.up().roots), Some((&cert, &key)))
    }

    /// A client without a certificate.
    ///
    /// # Errors
    /// The roots cannot be read.
    pub fn anonymous(up_dir: &UpDirectory) -> Result<Self, Fault> {
        Self::new(&up_dir.path(&up_dir.up().roots), None)
    }

    /// GET.
    ///
    /// # Errors
    /// No answer; an error status is an answer.
    pub async fn get(&self, url: &str) -> Result<Reply, Fault> {
        self.send(Method::GET, url, &[], Bytes::new()).await
    }

    /// POST of a body with its type.
    ///
    /// # Errors
    /// No answer; an error status is an answer.
    pub async fn post(&self, url: &str, content_type: &str, body: Vec<u8>) -> Result<Reply, Fault> {
        self.send(Method::POST, url, &[("content-type", content_type)], body.into()).await
    }

    /// POST of JSON that accepts a stream: `each` gets the data of every event as it comes. Another answer is returned as by
    /// [`Client::post`]; for a stream the body is the data of its last event.
    ///
    /// # Errors
    /// No answer, a cut stream, or an event larger than the limit of an answer. A stream may last for ever.
    pub async fn follow(
        &self,
        url: &str,
        body: Vec<u8>,
        each: &mut dyn FnMut(&str),
    ) -> Result<StreamedReply, Fault> {
        let headers =
            [("content-type", "application/json"), ("accept", "text/event-stream, application/json")];
        let fault = |what: ConnectionFault| unreachable(url, &what);
        let opening = self.open(Method::POST, url, &headers, body.into());
        let opened = tokio::time::timeout(PATIENCE, opening).await;
        let response = opened.map_err(|_| fault(ConnectionFault::new("nothing in time")))?.map_err(fault)?;
        events(response, each).await.map_err(|what| fault(what.into()))
    }

    /// Any request.
    ///
    /// # Errors
    /// No answer in 40 seconds; an error status is an answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply, Fault> {
        match tokio::time::timeout(PATIENCE, self.exchange(method, url, headers, body)).await {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(what)) => Err(unreachable(url, &what)),
            Err(_) => Err(unreachable(url, &ConnectionFault::late())),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply, ConnectionFault> {
        let response = self.open(method, url, headers, body).await?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER_BYTES)
            .collect()
            .await
            .map_err(|e| ConnectionFault::of(&*e))?
            .to_bytes();
        Ok(reply(&head, body))
    }

    async fn open(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Response<Incoming>, ConnectionFault> {
        let uri: Uri = url.parse().map_err(|_| "not a url".to_owned())?;
        let request = request(method, &uri, headers, body)?;
        self.connect(&uri).await?.send(request).await
    }

    /// Connects to the server of a URL.
    async fn connect(&self, uri: &Uri) -> Result<Connection, ConnectionFault> {
        let (host, port, https) = address(uri)?;
        let tcp = TcpStream::connect((host.as_str(), port)).await.map_err(|e| e.to_string())?;
        tcp.set_nodelay(true).map_err(|e| e.to_string())?;
        if https {
            let name = ServerName::try_from(host).map_err(|e| e.to_string())?;
            let tls = self.connector.connect(name, tcp).await.map_err(|e| ConnectionFault::of(&e))?;
            handshake(TokioIo::new(tls)).await
        } else {
            handshake(TokioIo::new(tcp)).await
        }
    }

    /// The same client over one kept connection.
    pub fn session(self) -> Session {
        Session { client: self, idle: None }
    }
}

/// A connection, and its end.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    ended: Option<JoinHandle<Result<(), hyper::Error>>>,
}

impl Connection {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, ConnectionFault> {
        let fault = match self.sender.send_request(request).await {
            Ok(response) => return Ok(response),
            Err(fault) => fault,
        };
        // the request does not tell the cause of its cancellation: the connection does
        match self.ended.take() {
            Some(ended) if fault.is_canceled() => match tokio::time::timeout(LAST_WORDS, ended).await {
                Ok(Ok(Err(why))) => Err(ConnectionFault::of(&why)),
                _ => Err(ConnectionFault::of(&fault)),
            },
            _ => Err(ConnectionFault::of(&fault)),
        }
    }
}

/// Reason for a missing answer.
struct ConnectionFault {
    what: String,
    /// The error of TLS.
    tls: Option<rustls::Error>,
}

impl ConnectionFault {
    fn new(what: &str) -> Self {
        Self { what: what.to_owned(), tls: None }
    }

    fn late() -> Self {
        format!("nothing within {} s", PATIENCE.as_secs()).into()
    }

    /// Looks for an error of TLS below that of HTTP.
    fn of(fault: &(dyn std::error::Error + 'static)) -> Self {
        let mut below = Some(fault);
        while let Some(one) = below {
            let inner = one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return Self { what: tls.to_string(), tls: Some(tls.clone()) };
            }
            below = one.source();
        }
        fault.to_string().into()
    }
}

impl From<String> for ConnectionFault {
    fn from(what: String) -> Self {
        Self { what, tls: None }
    }
}

/// A client for many small requests to one server, one after the other.
pub struct Session {
    client: Client,
    idle: Option<Connection>,
}

impl Session {
    /// GET. Every URL must be of the same server. Of a body longer than `max_bytes`, returns one byte more than that, and reads no further.
    ///
    /// # Errors
    /// No answer in 40 seconds; an error status is an answer.
    pub async fn get(&mut self, url: &str, max_bytes: u64) -> Result<Reply, Fault> {
        let idle = self.idle.take();
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(MAX_ANSWER_BYTES);
        let outcome = tokio::time::timeout(PATIENCE, self.exchange(idle, url, max)).await;
        outcome.unwrap_or_else(|_| Err(ConnectionFault::late())).map_err(|what| unreachable(url, &what))
    }

    async fn exchange(
        &mut self,
        idle: Option<Connection>,
        url: &str,
        max: usize,
    ) -> Result<Reply, ConnectionFault> {
        let uri: Uri = url.parse().map_err(|_| "not a url".to_owned())?;
        let idle = match idle {
            Some(mut connection) => connection.sender.ready().await.is_ok().then_some(connection),
            None => None,
        };
        let (reused, mut connection) = match idle {
            Some(connection) => (true, connection),
            None => (false, self.client.connect(&uri).await?),
        };
        let get = || request(Method::GET, &uri, &[], Bytes::new());
        let response = match connection.send(get()?).await {
            // a server may close an idle connection just as it is used again
            Err(_) if reused => {
                connection = self.client.connect(&uri).await?;
                connection.send(get()?).await
            }
            other => other,
        };
        let (head, mut body) = response?.into_parts();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|e| ConnectionFault::of(&e))?.into_data() else { continue };
            let room = max.saturating_add(1).saturating_sub(bytes.len());
            bytes.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
            if bytes.len() > max {
                // the rest on this connection is not worth reading
                return Ok(reply(&head, bytes.into()));
            }
        }
        self.idle = Some(connection);
        Ok(reply(&head, bytes.into()))
    }
}

fn unreachable(url: &str, broken: &ConnectionFault) -> Fault {
    let what = &broken.what;
    match &broken.tls {
        None => Fault::new(format_args!("no answer from `{url}`: {what}"))
            .hint("is it running, and is this its address?"),
        Some(rustls::Error::AlertReceived(_)) => {
            Fault::new(format_args!("`{url}` refused the connection: {what}")).hint(
                "does the certificate that is shown still hold (not ended, not revoked), and is it of an issuer that is admitted there?",
            )
        }
        Some(_) => Fault::new(format_args!("no secure connection to `{url}`: {what}"))
            .hint("does the server's certificate name this address, and are `--roots` (or `--tls-roots`) its roots?"),
    }
}

/// Host, port, and true for TLS.
fn address(uri: &Uri) -> Result<(String, u16, bool), String> {
    let host = uri.host().ok_or("no host in the url")?.to_owned();
    let https = uri.scheme_str() == Some("https");
    Ok((host, uri.port_u16().unwrap_or(if https { 443 } else { 80 }), https))
}

fn request(
    method: Method,
    uri: &Uri,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, String> {
    let (host, port, _) = address(uri)?;
    let mut request = Request::builder()
        .method(method)
        .uri(uri.path_and_query().map_or("/", |p| p.as_str()))
        .header("host", format!("{host}:{port}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::new(body)).map_err(|e| e.to_string())
}

async fn handshake<I>(io: I) -> Result<Connection, ConnectionFault>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (sender, connection) =
        hyper::client::conn::http1::handshake(io).await.map_err(|e| ConnectionFault::of(&e))?;
    // ends with the body read from it, or with its session
    let ended = Some(tokio::spawn(connection));
    Ok(Connection { sender, ended })
}

fn reply(head: &http::response::Parts, body: Bytes) -> Reply {
    let text = |name: &str| head.headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    Reply { status: head.status.as_u16(), body, decision: text("semgate-decision"), etag: text("etag") }
}

/// The result of a request that accepts a stream.
#[derive(Debug, Clone)]
pub struct StreamedReply {
    /// The answer; for a stream, its headers and the data of its last event.
    pub reply: Reply,
    /// True if it was a stream.
    pub streamed: bool,
    /// True if the stream ended with an event named `error`.
    pub failed: bool,
}

/// Reads events. The gateway writes an event's name before its data, and each piece of data on a line of its own.
async fn events(response: Response<Incoming>, each: &mut dyn FnMut(&str)) -> Result<StreamedReply, String> {
    let (head, mut body) = response.into_parts();
    let streamed = head.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let mut failed = false;
    if !streamed {
        let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|e| e.to_string())?;
        return Ok(StreamedReply { reply: reply(&head, body.to_bytes()), streamed, failed });
    }
    let (mut text, mut last) = (Vec::new(), String::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|e| e.to_string())?.into_data() else { continue };
        text.extend_from_slice(&data);
        if text.len() > MAX_ANSWER_BYTES {
            return Err("an event is too large".to_owned());
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            failed |= line.trim_end() == "event: error";
            if let Some(data) = line.strip_prefix("data: ") {
                last = data.trim_end().to_owned();
                if !failed {
                    each(&last);
                }
            }
        }
    }
    Ok(StreamedReply { reply: reply(&head, last.into()), streamed, failed })
}
