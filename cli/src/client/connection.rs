//! One connection to a server, and the reasons for a missing answer.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::fault::Fault;

/// Time for a cancelled connection to report its fault: it has ended already.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A connection, and its end.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    ended: Option<JoinHandle<Result<(), hyper::Error>>>,
}

impl Connection {
    /// True if the server still takes requests on it.
    pub async fn is_ready(&mut self) -> bool {
        self.sender.ready().await.is_ok()
    }

    /// Sends one request.
    ///
    /// # Errors
    /// The cause of the missing answer, also where only the connection knows it.
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, ConnectionFault> {
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
pub struct ConnectionFault {
    what: String,
    /// The error of TLS.
    tls: Option<rustls::Error>,
}

impl ConnectionFault {
    /// Looks for an error of TLS below that of HTTP.
    pub fn of(fault: &(dyn std::error::Error + 'static)) -> Self {
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

/// Connects to the server of a URL; for `https` with this connector.
///
/// # Errors
/// The server is unreachable, or its certificate is not trusted.
pub async fn connect(uri: &Uri, connector: Option<&TlsConnector>) -> Result<Connection, ConnectionFault> {
    let (host, port, https) = address(uri)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let tcp = TcpStream::connect((host, port)).await.map_err(|e| e.to_string())?;
    tcp.set_nodelay(true).map_err(|e| e.to_string())?;
    if !https {
        return handshake(TokioIo::new(tcp)).await;
    }
    let connector = connector.ok_or_else(|| "no roots for https".to_owned())?;
    let name = ServerName::try_from(host.to_owned()).map_err(|e| e.to_string())?;
    let tls = connector.connect(name, tcp).await.map_err(|e| ConnectionFault::of(&e))?;
    handshake(TokioIo::new(tls)).await
}

/// The fault of a request without an answer, with its remedy.
pub fn unreachable(url: &str, broken: &ConnectionFault) -> Fault {
    let what = &broken.what;
    match &broken.tls {
        None => Fault::new(format_args!("no answer from `{url}`: {what}"))
            .hint("check that it runs, and that this is its address"),
        Some(rustls::Error::AlertReceived(_)) => {
            Fault::new(format_args!("`{url}` refused the connection: {what}")).hint(
                "check that the certificate is neither expired nor revoked, and that the server admits its issuer",
            )
        }
        Some(_) => Fault::new(format_args!("no secure connection to `{url}`: {what}"))
            .hint("check that the server's certificate names this address, and that `--roots` (or `--tls-roots`) are its roots"),
    }
}

/// Host as the URL writes it, port, and true for TLS.
fn address(uri: &Uri) -> Result<(&str, u16, bool), String> {
    let host = uri.host().ok_or("no host in the url")?;
    let https = uri.scheme_str() == Some("https");
    Ok((host, uri.port_u16().unwrap_or(if https { 443 } else { 80 }), https))
}

/// A request with these headers beside `host`.
///
/// # Errors
/// A URL without a host, or a malformed header.
pub fn request(
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
