//! Sequential requests to one authority over a kept connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, ETAG, HOST, IF_NONE_MATCH};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full};
use semgate_statement::Answer;
use semgate_statement::follower::Request as Wanted;
use tokio_rustls::rustls::ClientConfig;

use super::addresses::Addresses;
use crate::config::Upstream;
use crate::upstream::{ConnectFault, Connector, Link};

/// Reason for a failed request.
#[derive(Debug)]
pub(in crate::control) enum FetchFault {
    Connect(ConnectFault),
    /// The follower asked for a path that HTTP cannot express.
    Path,
    /// The HTTP exchange failed.
    Http(hyper::Error),
    Timeout,
}

impl fmt::Display for FetchFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(why) => why.fmt(f),
            Self::Path => f.write_str("the path is not a valid request path"),
            Self::Http(why) => write!(f, "the exchange failed: {why}"),
            Self::Timeout => f.write_str("the answer took too long"),
        }
    }
}

pub(in crate::control) struct Fetcher {
    addresses: Addresses,
    /// For each address, its connector and `Host`.
    targets: Vec<Target>,
    timeout: Duration,
    /// A kept connection to the address at this position.
    kept: Option<Kept>,
}

struct Target {
    connector: Connector,
    host: String,
}

struct Kept {
    at: usize,
    link: Link,
}

impl Fetcher {
    /// Requests to these addresses. Only plain local ones need no TLS.
    pub(in crate::control) fn new(
        addresses: Addresses,
        tls: Option<&Arc<ClientConfig>>,
        timeout: Duration,
    ) -> Self {
        let target = |url: &Upstream| Target {
            connector: Connector::fixed(url, tls.cloned(), timeout),
            host: url.host_header(),
        };
        let targets = addresses.all().iter().map(target).collect();
        Self { addresses, targets, timeout, kept: None }
    }

    /// The address that answered last.
    pub(super) fn address(&self) -> Option<String> {
        self.addresses.shown()
    }

    /// Sends one GET to the address that answered last, and to the others in turn while none answers. Follows no redirects,
    /// and reads at most one byte of the body more than requested.
    ///
    /// # Errors
    /// [`FetchFault`] of the last address; its connection is then dropped, and the next call opens another.
    pub(super) async fn get(&mut self, wanted: &Wanted) -> Result<Answer, FetchFault> {
        let request = request(wanted)?;
        self.send(request, wanted.max_bytes).await
    }

    /// Sends one request, with the host added, as [`Fetcher::get`] does. Reads at most one byte of the body more than `most`.
    ///
    /// # Errors
    /// As [`Fetcher::get`].
    pub(in crate::control) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        most: u64,
    ) -> Result<Answer, FetchFault> {
        let mut outcome = Err(FetchFault::Path);
        for _ in 0..self.targets.len() {
            let at = self.addresses.current();
            outcome = self.send_to(at, request.clone(), most).await;
            match &outcome {
                Ok(answer) if answer.status < 500 => break,
                _ => self.addresses.after(at),
            }
        }
        outcome
    }

    async fn send_to(
        &mut self,
        at: usize,
        mut request: Request<Full<Bytes>>,
        most: u64,
    ) -> Result<Answer, FetchFault> {
        let target = self.targets.get(at).ok_or(FetchFault::Path)?;
        let host = HeaderValue::try_from(target.host.as_str()).map_err(|_| FetchFault::Path)?;
        request.headers_mut().insert(HOST, host);
        let kept = self.kept.take().filter(|kept| kept.at == at).map(|kept| kept.link);
        let whole = tokio::time::timeout(self.timeout, target.exchange(kept, request, most)).await;
        let (answer, link) = whole.map_err(|_| FetchFault::Timeout)??;
        self.kept = link.map(|link| Kept { at, link });
        Ok(answer)
    }
}

impl Target {
    async fn exchange(
        &self,
        kept: Option<Link>,
        request: Request<Full<Bytes>>,
        most: u64,
    ) -> Result<(Answer, Option<Link>), FetchFault> {
        let kept = match kept {
            Some(mut link) => link.ready().await.is_ok().then_some(link),
            None => None,
        };
        let mut link = match kept {
            Some(link) => link,
            None => self.connector.connect().await.map_err(FetchFault::Connect)?.link,
        };
        let sent = link.try_send(request).await;
        let response = sent.map_err(|fault| FetchFault::Http(fault.into_error()))?;
        let status = response.status().as_u16();
        let etag = response.headers().get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let mut stream = response.into_body();
        let limit = usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1);
        let mut body = Vec::new();
        while let Some(frame) = stream.frame().await {
            let Ok(data) = frame.map_err(FetchFault::Http)?.into_data() else { continue };
            let room = limit.saturating_sub(body.len());
            body.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
            if body.len() >= limit {
                // too large: the follower refuses it, and the rest of this connection is not worth reading
                return Ok((Answer { status, etag, body }, None));
            }
        }
        Ok((Answer { status, etag, body }, Some(link)))
    }
}

fn request(wanted: &Wanted) -> Result<Request<Full<Bytes>>, FetchFault> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.uri_mut() = Uri::try_from(wanted.path.as_str()).map_err(|_| FetchFault::Path)?;
    let headers = request.headers_mut();
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(etag) = &wanted.if_none_match {
        headers.insert(IF_NONE_MATCH, HeaderValue::try_from(etag).map_err(|_| FetchFault::Path)?);
    }
    Ok(request)
}
