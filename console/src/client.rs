//! The HTTP client towards gateways and the authority: HTTP/1.1, TLS or loopback, bounded in size and time.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use semgate_contexts::json;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Bytes of an answer: a listing of an authority has at most 8 MiB.
const MAX_ANSWER: usize = 8 << 20;
/// Time of a read: a person waits for the page.
const READ_TIME: Duration = Duration::from_secs(5);
/// Time of an act: an authority answers once the new head is public.
const ACT_TIME: Duration = Duration::from_secs(40);

/// A failed call, in words for the person who waits.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum CallFault {
    /// No readable answer in time.
    #[error("no answer: {0}")]
    Silent(String),
    /// The request may have arrived, and its answer is lost.
    #[error("no answer came back: {0}")]
    Lost(String),
    /// A problem document.
    #[error("{code}: {text}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The stable code; `http` without one.
        code: String,
        /// Title, detail and hint.
        text: String,
    },
}

impl CallFault {
    /// The stable code, for the audit log.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Silent(_) => "no_answer",
            Self::Lost(_) => "unknown",
            Self::Refused { code, .. } => code,
        }
    }

    /// HTTP status of the answer, if there was one.
    pub(crate) const fn status(&self) -> Option<u16> {
        match self {
            Self::Silent(_) | Self::Lost(_) => None,
            Self::Refused { status, .. } => Some(*status),
        }
    }

    fn silent(why: impl std::fmt::Display) -> Self {
        Self::Silent(why.to_string())
    }

    fn lost(why: impl std::fmt::Display) -> Self {
        Self::Lost(why.to_string())
    }

    fn refused(status: u16, body: &[u8]) -> Self {
        let problem: Problem = read_json(body).unwrap_or_default();
        let code = problem.code.unwrap_or_else(|| "http".to_owned());
        let parts = [problem.title, problem.detail, problem.hint];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        Self::Refused { status, code, text: if text.is_empty() { format!("status {status}") } else { text } }
    }
}

/// Members of a problem document (RFC 9457).
#[derive(Debug, Default, serde::Deserialize)]
struct Problem {
    code: Option<String>,
    title: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
}

/// Reads JSON after the strict reader accepted it.
///
/// # Errors
/// The text is not strict JSON, or not of this form.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CallFault> {
    let limits = json::Limits {
        max_bytes: MAX_ANSWER,
        max_depth: 128,
        max_nodes: MAX_ANSWER,
        max_string_bytes: MAX_ANSWER,
        large_integers: true,
        ..json::Limits::default()
    };
    let read =
        json::read(bytes, &limits).map_err(|why| CallFault::silent(format_args!("not json: {why}")))?;
    serde_json::from_value(read.to_value()).map_err(|_| CallFault::silent("not of the expected form"))
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) body: Bytes,
}

impl Reply {
    /// Its JSON.
    ///
    /// # Errors
    /// As [`read_json`].
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, CallFault> {
        read_json(&self.body)
    }
}

/// A body with its media type.
pub(crate) struct Posted {
    kind: &'static str,
    bytes: Bytes,
}

/// A server at one address.
#[derive(Clone)]
pub(crate) struct Server {
    base: String,
    tls: Option<TlsConnector>,
    headers: HeaderMap,
}

impl Server {
    /// The server at this URL.
    pub(crate) fn new(base: &str, tls: Option<TlsConnector>) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), tls, headers: HeaderMap::new() }
    }

    /// The same server, called in the name of a person.
    ///
    /// # Errors
    /// The value is no header.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Result<Self, CallFault> {
        let value = header::HeaderValue::from_str(value).map_err(CallFault::silent)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// GET of a path.
    ///
    /// # Errors
    /// No answer in 5 seconds, or a status other than success.
    pub(crate) async fn get(&self, path: &str) -> Result<Reply, CallFault> {
        self.whole(READ_TIME, self.open(Method::GET, path, None)).await
    }

    /// POST of JSON.
    ///
    /// # Errors
    /// No answer in 40 seconds, or a status other than success.
    pub(crate) async fn post(&self, path: &str, body: &serde_json::Value) -> Result<Reply, CallFault> {
        let body = Posted { kind: "application/json", bytes: body.to_string().into() };
        self.whole(ACT_TIME, self.open(Method::POST, path, Some(body))).await
    }

    /// POST of a signed text.
    ///
    /// # Errors
    /// As [`Server::post`].
    pub(crate) async fn post_signed(&self, path: &str, text: &str) -> Result<Reply, CallFault> {
        let body = Posted { kind: "application/jose+json", bytes: text.to_owned().into() };
        self.whole(ACT_TIME, self.open(Method::POST, path, Some(body))).await
    }

    async fn whole(
        &self,
        time: Duration,
        opening: impl Future<Output = Result<Response<Incoming>, CallFault>>,
    ) -> Result<Reply, CallFault> {
        let exchange = async {
            let response = opening.await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
            let body = body.map_err(CallFault::lost)?.to_bytes();
            if status.is_success() {
                Ok(Reply { body })
            } else {
                Err(CallFault::refused(status.as_u16(), &body))
            }
        };
        let late = |_| Err(CallFault::lost(format_args!("nothing within {} s", time.as_secs())));
        tokio::time::timeout(time, exchange).await.unwrap_or_else(late)
    }

    /// Sends a request and returns the answer with its body unread, which may be a stream without end. Not bounded in time.
    ///
    /// # Errors
    /// The server is unreachable, or its certificate is not trusted.
    pub(crate) async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Posted>,
    ) -> Result<Response<Incoming>, CallFault> {
        let uri: Uri = format!("{}{path}", self.base).parse().map_err(CallFault::silent)?;
        let https = uri.scheme_str() == Some("https");
        let host = uri.host().ok_or_else(|| CallFault::silent("no host in the url"))?.to_owned();
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        let target = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request =
            Request::builder().method(method).uri(target).header(header::HOST, format!("{host}:{port}"));
        if let Some(body) = &body {
            request = request.header(header::CONTENT_TYPE, body.kind);
        }
        let bytes = body.map(|body| body.bytes).unwrap_or_default();
        let mut request = request.body(Full::new(bytes)).map_err(CallFault::silent)?;
        request.headers_mut().extend(self.headers.clone());
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let socket = TcpStream::connect((bare.as_str(), port)).await.map_err(CallFault::silent)?;
        socket.set_nodelay(true).map_err(CallFault::silent)?;
        if !https {
            return exchange(TokioIo::new(socket), request).await;
        }
        let tls = self.tls.as_ref().ok_or_else(|| CallFault::silent("no roots for https"))?;
        let name = ServerName::try_from(bare).map_err(CallFault::silent)?;
        exchange(TokioIo::new(tls.connect(name, socket).await.map_err(CallFault::silent)?), request).await
    }
}

async fn exchange<I>(io: I, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallFault>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(io).await.map_err(CallFault::silent)?;
    // ends once the body was read, or dropped
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(CallFault::lost)
}
