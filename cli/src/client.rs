//! The HTTP client of the command line: HTTP/1.1 with TLS or without, with or without a client certificate, bounded in size and time.

mod connection;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use semgate_certs::tls::{self, DefaultTimeProvider, ServerTrust};
use tokio_rustls::TlsConnector;

use self::connection::{Connection, ConnectionFault, connect, request, unreachable};
use crate::fault::{Doing, Fault};
use crate::system::{read_chain, read_key, read_roots};
use crate::up_directory::UpDirectory;

/// The largest answer accepted: a bundle of 256 log entries of 64 KiB is 16 MiB, the most that an authority serves.
const MAX_ANSWER_BYTES: usize = 20 * 1024 * 1024;
/// Time for one request: longer than the gateway's own upstream limit (30 s), so that its answer arrives.
const PATIENCE: Duration = Duration::from_secs(40);

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, at most as long as the client allows.
    pub body: Bytes,
}

impl Reply {
    /// A header of printable ASCII, if present.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// True if the body is an event stream.
    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The code of a refusal, if the body is one (RFC 9457).
    pub fn code(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
        Some(body.get("code")?.as_str()?.to_owned())
    }
}

/// A client with fixed roots and at most one identity.
#[derive(Clone)]
pub struct Client {
    connector: Option<TlsConnector>,
    max_bytes: usize,
    patience: Duration,
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
            .hinted("tls", "check that the key belongs to the certificate")?;
        Ok(Self { connector: Some(TlsConnector::from(Arc::new(config))), ..Self::plain() })
    }

    /// A client for plain HTTP alone.
    pub const fn plain() -> Self {
        Self { connector: None, max_bytes: MAX_ANSWER_BYTES, patience: PATIENCE }
    }

    /// Replaces the bounds of one request: bytes of its answer, and time.
    #[must_use]
    pub fn bounded(self, max_bytes: usize, patience: Duration) -> Self {
        Self { max_bytes, patience, ..self }
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
        let opening = self.open(Method::POST, url, &headers, body.into());
        let response = self.in_time(url, opening).await?;
        self.events(response, each).await.map_err(|what| unreachable(url, &what))
    }

    /// Any request.
    ///
    /// # Errors
    /// No answer in time; an error status is an answer.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Reply, Fault> {
        let exchange = async { self.whole(self.open(method, url, headers, body).await?).await };
        self.in_time(url, exchange).await
    }

    async fn in_time<T>(
        &self,
        url: &str,
        job: impl Future<Output = Result<T, ConnectionFault>>,
    ) -> Result<T, Fault> {
        let late = || Err(format!("no answer within {} s", self.patience.as_secs()).into());
        let outcome = tokio::time::timeout(self.patience, job).await.unwrap_or_else(|_| late());
        outcome.map_err(|what| unreachable(url, &what))
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
        connect(&uri, self.connector.as_ref()).await?.send(request).await
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Reply, ConnectionFault> {
        let reply = read(response, self.max_bytes).await?;
        if reply.body.len() > self.max_bytes {
            return Err("length limit exceeded".to_owned().into());
        }
        Ok(reply)
    }

    /// Reads events. The gateway writes an event's name before its data, and each piece of data on a line of its own.
    async fn events(
        &self,
        response: Response<Incoming>,
        each: &mut dyn FnMut(&str),
    ) -> Result<StreamedReply, ConnectionFault> {
        let streamed = response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let mut failed = false;
        if !streamed {
            return Ok(StreamedReply { reply: self.whole(response).await?, streamed, failed });
        }
        let (head, mut body) = response.into_parts();
        let (mut text, mut last) = (Vec::new(), String::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|e| ConnectionFault::of(&e))?.into_data() else { continue };
            text.extend_from_slice(&data);
            if text.len() > self.max_bytes {
                return Err("an event is too large".to_owned().into());
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
        let reply = Reply { status: head.status.as_u16(), headers: head.headers, body: last.into() };
        Ok(StreamedReply { reply, streamed, failed })
    }

    /// The same client over one kept connection.
    pub fn session(self) -> Session {
        Session { client: self, idle: None }
    }
}

/// Reads an answer; of a body longer than `max` one byte more than that, and no further.
async fn read(response: Response<Incoming>, max: usize) -> Result<Reply, ConnectionFault> {
    let (head, mut body) = response.into_parts();
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|e| ConnectionFault::of(&e))?.into_data() else { continue };
        let room = max.saturating_add(1).saturating_sub(bytes.len());
        bytes.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        if bytes.len() > max {
            break;
        }
    }
    Ok(Reply { status: head.status.as_u16(), headers: head.headers, body: bytes.into() })
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
        let max = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(self.client.max_bytes);
        let exchange = exchange(self.client.connector.as_ref(), idle, url, max);
        let (reply, connection) = self.client.in_time(url, exchange).await?;
        // the rest of a longer body is not worth reading
        self.idle = (reply.body.len() <= max).then_some(connection);
        Ok(reply)
    }
}

async fn exchange(
    connector: Option<&TlsConnector>,
    idle: Option<Connection>,
    url: &str,
    max: usize,
) -> Result<(Reply, Connection), ConnectionFault> {
    let uri: Uri = url.parse().map_err(|_| "not a url".to_owned())?;
    let get = || request(Method::GET, &uri, &[], Bytes::new());
    if let Some(mut connection) = idle
        && connection.is_ready().await
        // a server may close an idle connection just as it is used again
        && let Ok(response) = connection.send(get()?).await
    {
        return Ok((read(response, max).await?, connection));
    }
    let mut connection = connect(&uri, connector).await?;
    let response = connection.send(get()?).await?;
    Ok((read(response, max).await?, connection))
}
