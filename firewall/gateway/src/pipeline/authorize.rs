//! Authorization in MCP (its specification, "Authorization"; RFC 6750, RFC 9449, RFC 9728) on routes that forward callers'
//! credentials. The gateway reads the server's challenges and its metadata of authorization servers. It rewrites both from
//! the members and parameters listed here; nothing passes verbatim.

mod challenge;
mod places;
mod resource;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::response::Parts;
use http::{HeaderName, HeaderValue};
use semgate_inspect::{Code, Refusal};

use crate::config::{Limits, RouteConfig};
use crate::pipeline::admit::rules::is_authorized;
use crate::pipeline::answer::Answer;
use crate::pipeline::forward;
use crate::pipeline::gateway_refusals::{invalid, unreachable};
use crate::upstream::address::Address;
use crate::upstream::internal_addresses::InternalAddresses;
use crate::upstream::{Allowed, Pool};

use places::Places;

/// Bytes of a server's `WWW-Authenticate`, and of a DPoP nonce: a challenge has about 300.
const CHALLENGE_BYTES: usize = 4096;
/// Bytes of the metadata of a protected resource: a hundred scopes take 4 KiB.
const METADATA_BYTES: usize = 64 * 1024;

/// Path of a protected resource's metadata, which names its authorization servers (RFC 9728 §3). The resource's path follows.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The proof of a token's key in a request (RFC 9449 §4.1).
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
/// Nonce for the next proof (RFC 9449 §8.1, §9).
pub(crate) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// The server's last stated address of its metadata, if not the well-known path. All cores share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elsewhere(Arc<Mutex<Option<String>>>);

impl Elsewhere {
    fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, path: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }
}

/// Authorization of one route, on one core.
pub(crate) struct Authorization {
    places: Places,
    /// The only authorization servers that may be named; `None` allows any safe one.
    servers: Option<Vec<String>>,
    elsewhere: Elsewhere,
    /// Limits of the route. The limit on a reply's bytes is replaced by that on a metadata document.
    limits: Limits,
}

/// Authorization facts in an answer, besides its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    challenges: Vec<HeaderValue>,
    nonce: Option<HeaderValue>,
}

impl Demand {
    /// Adds the demand to an answer.
    pub(crate) fn tell(self, answer: &mut Answer) {
        let headers = answer.headers_mut();
        for challenge in self.challenges {
            headers.append(WWW_AUTHENTICATE, challenge);
        }
        if let Some(nonce) = self.nonce {
            headers.insert(DPOP_NONCE, nonce);
        }
    }
}

impl Authorization {
    /// Authorization of an MCP route that forwards callers' credentials; `None` for any other route. `url` is the callers'
    /// address of the route; `inside` are the internal addresses of all routes.
    pub(crate) fn of(
        route: &RouteConfig,
        inside: &InternalAddresses,
        url: &str,
        elsewhere: Elsewhere,
        limits: &Limits,
    ) -> Option<Self> {
        if !is_authorized(route) {
            return None;
        }
        let reply_bytes = limits.reply_bytes.min(METADATA_BYTES);
        Some(Self {
            places: Places::of(route, inside, url),
            servers: route.mcp.authorization_servers.clone(),
            elsewhere,
            limits: Limits { reply_bytes, ..limits.clone() },
        })
    }

    /// The nonce of an answer, if there is exactly one in the form of RFC 9449. Any other is dropped.
    pub(crate) fn nonce(&self, head: &Parts) -> Demand {
        let mut all = head.headers.get_all(DPOP_NONCE).iter();
        let fits = |value: &&HeaderValue| {
            (1..=CHALLENGE_BYTES).contains(&value.len())
                && value.as_bytes().iter().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'))
        };
        let nonce = all.next().filter(fits).filter(|_| all.next().is_none()).cloned();
        Demand { challenges: Vec::new(), nonce }
    }

    /// The demand of an answer, if its status and a challenge in a supported scheme both state one.
    ///
    /// # Errors
    /// `upstream_invalid` for ambiguous challenges, for more than `challenge_bytes`, and for metadata at another server's
    /// address.
    pub(crate) fn demand(&self, head: &Parts) -> Result<Option<Demand>, Refusal> {
        let status = head.status.as_u16();
        if !matches!(status, 400 | 401 | 403) {
            return Ok(None);
        }
        let lines = head.headers.get_all(WWW_AUTHENTICATE);
        if lines.iter().map(HeaderValue::len).sum::<usize>() > CHALLENGE_BYTES {
            return Err(invalid("the challenge of the upstream agent is larger than the limit"));
        }
        let unreadable = || invalid("the challenge of the upstream agent is ambiguous");
        // one character for each byte: bytes beyond ASCII (RFC 9110 §5.6.4, `obs-text`) can occur only in dropped parts
        let text = |line: &HeaderValue| line.as_bytes().iter().copied().map(char::from).collect();
        let lines: Vec<String> = lines.iter().map(text).collect();
        let mut challenges = Vec::new();
        for challenge in challenge::read(&lines).ok_or_else(unreadable)? {
            // RFC 6750 §3.1 uses this status for one error; without an error it means something else
            if status == 400 && challenge.error.is_none() {
                continue;
            }
            let pointed = match &challenge.resource_metadata {
                Some(stated) => self.pointed(stated)?,
                None => None,
            };
            let written = challenge.write(pointed.as_deref());
            challenges.push(HeaderValue::try_from(written).map_err(|_| unreadable())?);
        }
        let Demand { nonce, .. } = self.nonce(head);
        Ok((!challenges.is_empty()).then_some(Demand { challenges, nonce }))
    }

    /// The gateway's address for the metadata in a challenge; `None` if callers have no address of the route.
    fn pointed(&self, stated: &str) -> Result<Option<String>, Refusal> {
        let path = self.places.own_path(stated).ok_or_else(|| {
            invalid("the challenge of the upstream agent names metadata at another address than its own")
        })?;
        self.elsewhere.set(Some(path).filter(|path| *path != self.places.usual()));
        Ok(self.places.metadata_url())
    }

    /// The server's metadata, rewritten for callers of the gateway. `asked` is the path of the resource.
    ///
    /// # Errors
    /// `not_found` if the server has none; `upstream_unavailable`, `upstream_timeout`, `upstream_invalid`. `reply_refused`
    /// for an authorization server that may not be named.
    pub(crate) async fn metadata(
        &self,
        (pool, address): (&Pool, &Address),
        asked: &str,
    ) -> Result<Bytes, Refusal> {
        let mut paths = self.places.documents(asked);
        if let Some(path) = self.elsewhere.get().filter(|_| !self.places.is_other_root(asked)) {
            paths.insert(0, path);
        }
        for path in paths {
            if let Some(theirs) = self.fetch((pool, address), &path).await? {
                return resource::rebuilt(&theirs, &self.places, asked, self.servers.as_deref())
                    .map(Bytes::from);
            }
        }
        Err(Refusal::new(Code::NotFound, "the server has no metadata of a protected resource here")
            .with_hint("continue without them"))
    }

    /// Fetches a document on the gateway's own behalf; `None` if it does not exist.
    async fn fetch(&self, (pool, address): (&Pool, &Address), path: &str) -> Result<Option<Bytes>, Refusal> {
        let lease = pool.lease().await.map_err(|fault| unreachable(&fault))?;
        let request = address.card_request(path);
        let (head, body) = forward::exchange(pool, lease, request, &self.limits, Allowed::ALWAYS).await?;
        match head.status.as_u16() {
            200 => {}
            400..500 => return Ok(None),
            status => {
                return Err(invalid(
                    "the server answered the metadata request with a status that does not pass",
                )
                .with_detail(format!("status {status}")));
            }
        }
        let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let plain = head.headers.get_all(CONTENT_ENCODING).iter().all(|value| value == "identity");
        if !plain || !kind.eq_ignore_ascii_case("application/json") {
            return Err(invalid("the metadata of the server are not json"));
        }
        Ok(Some(body))
    }
}
