//! Address of a route's agent, and the gateway's own requests to it.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use semgate_inspect::{Code, Refusal};
use semgate_protocol::Binding;

use crate::config::Upstream;
use crate::fault::RunFault;
use crate::pipeline::admit::a2a::Target;
use crate::upstream::Speak;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Headers sent to one agent with every message. The list is closed: no other header of the caller is forwarded.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) uri: Uri,
    /// Prefix of a path in a target: empty, or scheme and authority.
    origin: String,
    /// `Host`, if HTTP/1.1 is spoken.
    pub(crate) host: Option<HeaderValue>,
    pub(crate) binding: Binding,
    extension: HeaderValue,
}

impl Address {
    /// # Errors
    /// Returns an error for a path or host that HTTP cannot carry. The configuration has already refused these.
    pub(crate) fn new(
        upstream: &Upstream,
        speak: Speak,
        binding: Binding,
        extension: &str,
    ) -> Result<Self, RunFault> {
        let fault = |e: &dyn std::fmt::Display| RunFault::system("upstream address", e);
        let (scheme, host) = (if upstream.tls { "https" } else { "http" }, upstream.host_header());
        // HTTP/2 takes scheme and authority from the target; HTTP/1.1 has a header for the authority and no place for the
        // scheme
        let (origin, named) = match speak {
            Speak::Http1 | Speak::Upgrade => {
                (String::new(), Some(HeaderValue::try_from(&host).map_err(|e| fault(&e))?))
            }
            Speak::Http2 => (format!("{scheme}://{host}"), None),
        };
        Ok(Self {
            uri: Uri::try_from(format!("{origin}{}", upstream.path)).map_err(|e| fault(&e))?,
            origin,
            host: named,
            binding,
            extension: HeaderValue::try_from(extension).map_err(|e| fault(&e))?,
        })
    }

    /// The path of messages, as configured.
    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// The header value that names our extension.
    pub(crate) fn extension(&self) -> &HeaderValue {
        &self.extension
    }

    /// Target of a request over HTTP+JSON: the received path and query, below the agent's own path.
    ///
    /// # Errors
    /// `malformed` for an invalid target; such a target was already refused.
    pub(crate) fn below(&self, target: &Target) -> Result<Uri, Refusal> {
        let base = self.uri.path().trim_end_matches('/');
        let query = target.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
        Uri::try_from(format!("{}{base}{}{query}", self.origin, target.path))
            .map_err(|_| Refusal::new(Code::Malformed, "the path is not a valid request path"))
    }

    /// Builds a request of the gateway itself to the agent, below the path of messages.
    pub(crate) fn own_question(&self, below: &str, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = self.card_request(&format!("{}{below}", self.uri.path()));
        *request.method_mut() = Method::POST;
        *request.body_mut() = Full::new(body);
        request.headers_mut().insert(CONTENT_TYPE, JSON);
        request
    }

    /// Builds a request for the agent's card. It names no caller, since it belongs to no message.
    pub(crate) fn card_request(&self, path: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::new()));
        if let Ok(uri) = Uri::try_from(format!("{}{path}", self.origin)) {
            *request.uri_mut() = uri;
        }
        if let Some(host) = &self.host {
            request.headers_mut().insert(HOST, host.clone());
        }
        request.headers_mut().insert(ACCEPT, JSON);
        request
    }
}
