//! A small HTTP client for MCP, which answers with a header (`Mcp-Session-Id`) and with events. The other client does not read these.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use semgate_certs::tls::{self, DefaultTimeProvider, ServerTrust};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::fault::{Doing, Fault};
use crate::system::{read, read_roots};

/// The largest answer accepted: the longest known list of tools has 1.1 MB.
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server to ask.
pub(super) struct HttpEndpoint {
    uri: Uri,
    tls: Option<TlsConnector>,
    /// Header of each request: sent to this server alone, and redirects are not followed.
    authorization: Option<HeaderValue>,
}

/// The server's answer.
pub(super) struct HttpReply {
    pub status: u16,
    pub session: Option<String>,
    pub events: bool,
    pub body: Bytes,
}

impl HttpEndpoint {
    /// # Errors
    /// No URL, http to another machine, or https without roots.
    pub fn new(url: &str, roots: Option<&Path>) -> Result<Self, Fault> {
        let uri: Uri = url.parse().map_err(|_| {
            Fault::new(format_args!("`{url}` is no url")).hint("for instance `https://host/mcp`")
        })?;
        let host = uri.host().unwrap_or_default();
        let tls = match (uri.scheme_str(), roots) {
            (Some("https"), Some(roots)) => {
                let trust = ServerTrust { roots: read_roots(roots)?, expected: tls::ExpectedServer::Named };
                let config = tls::client_config(trust, None, Arc::new(DefaultTimeProvider)).doing("tls")?;
                Some(TlsConnector::from(Arc::new(config)))
            }
            (Some("https"), None) => {
                return Err(
                    Fault::new("https needs the roots of the server").hint("give them with `--roots`")
                );
            }
            (Some("http"), _) if matches!(host, "127.0.0.1" | "[::1]" | "localhost") => None,
            _ => {
                return Err(Fault::new(format_args!("`{url}` is neither https nor http on loopback"))
                    .hint("what is drafted is signed later: it must not be changed on its way"));
            }
        };
        Ok(Self { uri, tls, authorization: None })
    }

    /// Adds the bearer token in this file (RFC 6750 §2.1).
    ///
    /// # Errors
    /// It cannot be read, or does not hold exactly one token.
    pub fn with_token(mut self, file: Option<&Path>) -> Result<Self, Fault> {
        let Some(file) = file else { return Ok(self) };
        let text = read(file)?;
        let token = text.trim();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        let value = HeaderValue::try_from(format!("Bearer {token}")).ok();
        let value = value.filter(|_| !token.is_empty() && token.bytes().all(plain));
        let none = || Fault::new(format_args!("`{}` holds no token", file.display()));
        let mut value = value.ok_or_else(|| none().hint("it has to hold the token and nothing else"))?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// Returns true if requests carry a token.
    pub fn shows_token(&self) -> bool {
        self.authorization.is_some()
    }

    /// One request.
    ///
    /// # Errors
    /// No answer in 20 seconds; an error status is an answer.
    pub async fn ask(
        &self,
        method: Method,
        path: Option<&str>,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpReply, Fault> {
        match tokio::time::timeout(PATIENCE, self.exchange(method, path, headers, body)).await {
            Ok(Ok(said)) => Ok(said),
            Ok(Err(what)) => Err(Fault::new(format_args!("no answer from `{}`: {what}", self.uri))
                .hint("is it running, and is this its address?")),
            Err(_) => Err(Fault::new(format_args!("no answer from `{}` within 20 s", self.uri))
                .hint("is it running, and is this its address?")),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: Option<&str>,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<HttpReply, String> {
        let host = self.uri.host().ok_or("no host in the url")?;
        let port = self.uri.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let own = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(method).uri(path.unwrap_or(own));
        request = request.header("host", format!("{host}:{port}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|e| e.to_string())?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let tcp = TcpStream::connect((bare, port)).await.map_err(|e| e.to_string())?;
        match &self.tls {
            None => roundtrip(TokioIo::new(tcp), request).await,
            Some(connector) => {
                let name = ServerName::try_from(bare.to_owned()).map_err(|e| e.to_string())?;
                let tls = connector.connect(name, tcp).await.map_err(|e| e.to_string())?;
                roundtrip(TokioIo::new(tls), request).await
            }
        }
    }
}

async fn roundtrip<I>(io: I, request: Request<Full<Bytes>>) -> Result<HttpReply, String>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(io).await.map_err(|e| e.to_string())?;
    let driver = tokio::spawn(connection);
    let response = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await.map_err(|e| e.to_string())?.to_bytes();
    driver.abort();
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let events = text("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let session = text("mcp-session-id").map(str::to_owned);
    Ok(HttpReply { status: head.status.as_u16(), session, events, body })
}
