//! The client for HTTP requests of the authority: one request a connection, over TLS or on loopback.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use semgate_certs::tls::{DefaultTimeProvider, ExpectedServer, ServerTrust, client_config};
use semgate_contexts::Prefix;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::{RunFault, keys};

/// The longest answer accepted: some signature lines.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// A client of one address.
#[derive(Clone)]
pub(crate) struct HttpClient {
    url: Uri,
    tls: Option<TlsConnector>,
}

impl HttpClient {
    /// A client of `url`. With `https`, the server needs a certificate under the PEM roots in `roots`.
    pub fn new(url: &str, roots: &Path, prefix: &Prefix) -> Result<Self, RunFault> {
        let url: Uri = url.parse().map_err(|e| RunFault::Config(format!("`{url}`: {e}")))?;
        if url.scheme_str() != Some("https") {
            return Ok(Self { url, tls: None });
        }
        let trust = ServerTrust { roots: keys::roots(roots, prefix)?, expected: ExpectedServer::Named };
        let made = client_config(trust, None, Arc::new(DefaultTimeProvider));
        let made = made.map_err(|e| RunFault::keys(roots, e))?;
        Ok(Self { url, tls: Some(TlsConnector::from(Arc::new(made))) })
    }

    /// Posts a body. Returns the status and the text of the answer.
    pub async fn post(&self, body: String) -> Result<(u16, String), String> {
        let host = self.url.host().ok_or("no host")?.to_owned();
        let port = self.url.port_u16().unwrap_or(if self.tls.is_some() { 443 } else { 80 });
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tcp = TcpStream::connect((bare.as_str(), port)).await.map_err(|e| e.to_string())?;
        tcp.set_nodelay(true).map_err(|e| e.to_string())?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(self.url.path())
            .header(header::HOST, format!("{host}:{port}"))
            .body(Full::new(Bytes::from(body)))
            .map_err(|e| e.to_string())?;
        match &self.tls {
            Some(tls) => {
                let name = ServerName::try_from(bare).map_err(|e| e.to_string())?;
                let stream = tls.connect(name, tcp).await.map_err(|e| e.to_string())?;
                exchange(TokioIo::new(stream), request).await
            }
            None => exchange(TokioIo::new(tcp), request).await,
        }
    }
}

async fn exchange<I>(io: I, request: Request<Full<Bytes>>) -> Result<(u16, String), String>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(io).await.map_err(|e| e.to_string())?;
    // ends with the sender
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    let body =
        Limited::new(answer.into_body(), MAX_ANSWER_BYTES).collect().await.map_err(|e| e.to_string())?;
    Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
}
