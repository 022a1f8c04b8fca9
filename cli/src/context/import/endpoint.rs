//! The server of an import: https, or http on loopback, since its answer is signed later.

use std::path::Path;
use std::time::Duration;

use http::{Method, Uri};

use crate::client::{Client, Reply};
use crate::fault::Fault;
use crate::system::read;

/// The largest answer accepted: the longest known list of tools has 1.1 MB.
pub(super) const MAX_ANSWER_BYTES: usize = 4 * 1024 * 1024;
/// Time for one request.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server to ask.
pub(super) struct HttpEndpoint {
    client: Client,
    uri: Uri,
    /// Value of the header `authorization`: sent to this server alone, and redirects are not followed.
    authorization: Option<String>,
}

impl HttpEndpoint {
    /// # Errors
    /// No URL, http to another machine, or https without roots.
    pub fn new(url: &str, roots: Option<&Path>) -> Result<Self, Fault> {
        let uri: Uri = url.parse().map_err(|_| {
            Fault::new(format_args!("`{url}` is not a url")).hint("for instance `https://host/mcp`")
        })?;
        let host = uri.host().unwrap_or_default();
        let client = match (uri.scheme_str(), roots) {
            (Some("https"), Some(roots)) => Client::new(roots, None)?,
            (Some("https"), None) => {
                return Err(
                    Fault::new("https needs the roots of the server").hint("give them with `--roots`")
                );
            }
            (Some("http"), _) if matches!(host, "127.0.0.1" | "[::1]" | "localhost") => Client::plain(),
            _ => {
                return Err(Fault::new(format_args!("`{url}` is neither https nor http on loopback"))
                    .hint("the draft is signed later, so it must not change on its way"));
            }
        };
        Ok(Self { client: client.bounded(MAX_ANSWER_BYTES, PATIENCE), uri, authorization: None })
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
        if token.is_empty() || !token.bytes().all(plain) {
            return Err(Fault::new(format_args!("`{}` holds no token", file.display()))
                .hint("it must hold the token and nothing else"));
        }
        self.authorization = Some(format!("Bearer {token}"));
        Ok(self)
    }

    /// Returns true if requests carry a token.
    pub fn shows_token(&self) -> bool {
        self.authorization.is_some()
    }

    /// One request, to the path of the URL or to another one of its server.
    ///
    /// # Errors
    /// No answer in 20 seconds; an error status is an answer.
    pub async fn ask(
        &self,
        method: Method,
        path: Option<&str>,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Reply, Fault> {
        let url = match path {
            None => self.uri.to_string(),
            Some(path) => {
                let authority = self.uri.authority().map_or("", |authority| authority.as_str());
                format!("{}://{authority}{path}", self.uri.scheme_str().unwrap_or_default())
            }
        };
        let token = self.authorization.as_deref().map(|token| ("authorization", token));
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain(token).collect();
        self.client.send(method, &url, &headers, body.into()).await
    }
}
