//! Authorization in MCP (its specification, "Authorization"; RFC 6750, RFC 9449, RFC 9728) on routes that pass the callers' credentials
//! on: what the server behind demands of a caller, and where it says that tokens are to be had. Both are read and written anew in the
//! members and parameters that are named here; nothing passes as it stands.

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

use crate::address::Address;
use crate::admit::door::is_authorized;
use crate::answer::Answer;
use crate::config::{Limits, RouteConfig};
use crate::forward;
use crate::reasons::{invalid, unreachable};
use crate::upstream::{Allowed, Pool};

use places::Places;

/// Where a protected resource says which authorization servers it trusts (RFC 9728 §3); the path of the resource follows.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The proof of a token's key in a request (RFC 9449 §4.1).
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
/// What the next proof has to hold (RFC 9449 §8.1, §9).
pub(crate) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Where a server last said that its metadata are, if not at the well-known path: one for all cores.
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

/// What one route passes of authorization, on one core.
pub(crate) struct Authorization {
    places: Places,
    /// The only authorization servers that may be named; `None`: any that is safe to go to.
    servers: Option<Vec<String>>,
    elsewhere: Elsewhere,
    /// Bytes of a server's challenges.
    challenge_bytes: usize,
    /// Those of the route, with the bytes of a document of metadata in place of those of a reply.
    limits: Limits,
}

/// What an answer says of authorization beside its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Demand {
    challenges: Vec<HeaderValue>,
    nonce: Option<HeaderValue>,
}

impl Demand {
    /// Adds it to an answer.
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
    /// That of a route of MCP whose callers' credentials are passed on; nothing for any other. `url` is where callers reach it; behind the
    /// gateway are all of `routes`.
    pub(crate) fn of(
        (route, routes): (&RouteConfig, &[RouteConfig]),
        url: &str,
        elsewhere: Elsewhere,
        limits: &Limits,
    ) -> Option<Self> {
        if !is_authorized(route) {
            return None;
        }
        let reply_bytes = limits.reply_bytes.min(limits.metadata_bytes);
        Some(Self {
            places: Places::of(route, routes, url),
            servers: route.choices.authorization_servers.clone(),
            elsewhere,
            challenge_bytes: limits.challenge_bytes,
            limits: Limits { reply_bytes, ..limits.clone() },
        })
    }

    /// The nonce of an answer, if it has one and one only in the form that RFC 9449 gives it; another is left out.
    pub(crate) fn nonce(&self, head: &Parts) -> Demand {
        let mut all = head.headers.get_all(DPOP_NONCE).iter();
        let fits = |value: &&HeaderValue| {
            (1..=self.challenge_bytes).contains(&value.len())
                && value.as_bytes().iter().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\\'))
        };
        let nonce = all.next().filter(fits).filter(|_| all.next().is_none()).cloned();
        Demand { challenges: Vec::new(), nonce }
    }

    /// What an answer demands of the caller, if its status is one that does and a challenge says it in a scheme that is carried.
    ///
    /// # Errors
    /// `upstream_invalid` for challenges that have no one reading, are larger than `challenge_bytes`, or say that the metadata are at
    /// another address than the server's own.
    pub(crate) fn demand(&self, head: &Parts) -> Result<Option<Demand>, Refusal> {
        let status = head.status.as_u16();
        if !matches!(status, 400 | 401 | 403) {
            return Ok(None);
        }
        let lines = head.headers.get_all(WWW_AUTHENTICATE);
        if lines.iter().map(HeaderValue::len).sum::<usize>() > self.challenge_bytes {
            return Err(invalid("the challenge of the agent behind is larger than the limit"));
        }
        let unreadable = || invalid("the challenge of the agent behind has no one reading");
        // a character for each byte: beyond ASCII they may stand in what is left out (RFC 9110 §5.6.4, `obs-text`), and in nothing that is carried
        let text = |line: &HeaderValue| line.as_bytes().iter().copied().map(char::from).collect();
        let lines: Vec<String> = lines.iter().map(text).collect();
        let mut challenges = Vec::new();
        for challenge in challenge::read(&lines).ok_or_else(unreadable)? {
            // RFC 6750 §3.1 has this status for one error; without any it is about something else
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

    /// The gateway's address for the metadata that a challenge points at; nothing where callers have no address of the route.
    fn pointed(&self, stated: &str) -> Result<Option<String>, Refusal> {
        let path = self.places.own_path(stated).ok_or_else(|| {
            invalid("the challenge of the agent behind names metadata at another address than its own")
        })?;
        self.elsewhere.set(Some(path).filter(|path| *path != self.places.usual()));
        Ok(self.places.metadata_url())
    }

    /// The metadata of the server behind as callers of the gateway may know them. `asked` is the path of the resource.
    ///
    /// # Errors
    /// `not_found` where the server has none; `upstream_unavailable`, `upstream_timeout`, `upstream_invalid`; `reply_refused` for an
    /// authorization server that may not be named.
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
            .with_hint("go on without them"))
    }

    /// Asked by the gateway in its own name; nothing for a document that is not there.
    async fn fetch(&self, (pool, address): (&Pool, &Address), path: &str) -> Result<Option<Bytes>, Refusal> {
        let lease = pool.lease().await.map_err(|fault| unreachable(&fault))?;
        let request = address.card_request(path);
        let (head, body) = forward::exchange(pool, lease, request, &self.limits, Allowed::ALWAYS).await?;
        match head.status.as_u16() {
            200 => {}
            400..500 => return Ok(None),
            status => {
                return Err(invalid(
                    "the server answered a question for its metadata with a status that does not pass",
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
