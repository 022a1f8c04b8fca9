//! The caller's credentials besides its certificate: one token of a configured issuer, in its own header
//! (`docs/spec/credentials.md`).

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderName};
use ring::digest;
use semgate_certs::Thumbprint;
use semgate_certs::token::{Bearer, TokenFault, TokenIssuers};
use semgate_inspect::{Code, Peer, Refusal};
use semgate_policies::{Credentials, TOKEN_SPACE};

/// Header of the token; gRPC metadata of the same name. Never forwarded.
pub(crate) const CREDENTIAL: HeaderName = HeaderName::from_static("semgate-credential");

/// Credentials from a valid token, until it expires. Without a token: none, without expiry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    credentials: Credentials,
    expires_at: Option<u64>,
    token: Option<Rc<Token>>,
}

/// A verified token, and the issuers whose keys verified it.
#[derive(Debug)]
struct Token {
    text: Box<str>,
    by: RefCell<Arc<TokenIssuers>>,
}

impl Shown {
    /// Checks the token with the current keys, for work that outlasts a message. A removed key no longer counts.
    ///
    /// # Errors
    /// `sender_mismatch` with the [`TokenFault`] as text.
    pub(crate) fn still(
        &self,
        issuers: &ArcSwap<TokenIssuers>,
        bearer: &Bearer<'_>,
        now: u64,
    ) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let issuers = issuers.load_full();
        if !Arc::ptr_eq(&token.by.borrow(), &issuers) {
            issuers.check(&token.text, bearer, now).map_err(refused)?;
            *token.by.borrow_mut() = issuers;
        }
        Ok(())
    }

    /// Same check if the token may have expired, for credentials that end by themselves.
    ///
    /// # Errors
    /// Same as [`Shown::still`].
    pub(crate) fn outlasts(
        &self,
        issuers: &ArcSwap<TokenIssuers>,
        bearer: &Bearer<'_>,
        now: u64,
    ) -> Result<(), Refusal> {
        if self.lasts(now).is_err() { Ok(()) } else { self.still(issuers, bearer, now) }
    }

    /// Checks that the token, if any, has not expired.
    ///
    /// # Errors
    /// `sender_mismatch`.
    pub(crate) fn lasts(&self, now: u64) -> Result<(), Refusal> {
        match self.expires_at {
            Some(end) if now >= end => Err(refused(TokenFault::Expired)),
            _ => Ok(()),
        }
    }

    /// The peer with its credentials.
    ///
    /// # Errors
    /// Same as [`Shown::lasts`].
    pub(crate) fn by(&self, peer: &Peer, now: u64) -> Result<Peer, Refusal> {
        self.lasts(now)?;
        let peer = peer.clone();
        if self.expires_at.is_none() {
            return Ok(peer);
        }
        let credentials = peer.credentials().and(&self.credentials);
        Ok(peer.showing(credentials))
    }
}

type Known = ([u8; 32], Arc<TokenIssuers>, Shown);

/// Verified tokens of one connection, so that each is verified only once. The oldest makes room.
#[derive(Debug, Default)]
pub(crate) struct Remembered(RefCell<VecDeque<Known>>);

impl Remembered {
    /// Reads the credentials of a head.
    ///
    /// # Errors
    /// `malformed` for two headers; `sender_mismatch` for an invalid token, with its [`TokenFault`] as text.
    pub(crate) fn shown(
        &self,
        headers: &HeaderMap,
        issuers: &ArcSwap<TokenIssuers>,
        bearer: &Bearer<'_>,
        now: u64,
        room: usize,
    ) -> Result<Shown, Refusal> {
        let mut all = headers.get_all(&CREDENTIAL).iter();
        let Some(value) = all.next() else { return Ok(Shown::default()) };
        if all.next().is_some() {
            return Err(Refusal::new(Code::Malformed, "there is more than one `Semgate-Credential` header")
                .with_hint("show one credential"));
        }
        let issuers = &issuers.load_full();
        let hashed = digest::digest(&digest::SHA256, value.as_bytes());
        let hash: [u8; 32] = hashed.as_ref().try_into().unwrap_or_default();
        let mut known = self.0.borrow_mut();
        known.retain(|(_, by, shown)| {
            Arc::ptr_eq(by, issuers) && shown.expires_at.is_some_and(|end| now < end)
        });
        if let Some((.., shown)) = known.iter().find(|(own, ..)| *own == hash) {
            return Ok(shown.clone());
        }
        let token = value.to_str().map_err(|_| refused(TokenFault::Malformed))?;
        let vouched = issuers.check(token, bearer, now).map_err(refused)?;
        let end = vouched.expires_at();
        let named = |name: &String| (format!("{TOKEN_SPACE}{}:{name}", vouched.issuer()), end);
        let credentials = Credentials::new(vouched.names().iter().map(named));
        let token = Token { text: token.into(), by: RefCell::new(Arc::clone(issuers)) };
        let shown = Shown { credentials, expires_at: Some(end), token: Some(Rc::new(token)) };
        if known.len() >= room {
            known.pop_front();
        }
        if room > 0 {
            known.push_back((hash, Arc::clone(issuers), shown.clone()));
        }
        Ok(shown)
    }
}

/// The peer in the form that a token must name.
pub(crate) fn bearer(peer: &Peer, thumbprint: Option<Thumbprint>) -> Bearer<'_> {
    Bearer { id: peer.id(), thumbprint }
}

fn refused(fault: TokenFault) -> Refusal {
    Refusal::new(Code::SenderMismatch, fault.to_string())
        .with_hint("show a current credential that was issued to you for this gateway, or none")
        .with_detail(format!("credential: {}", fault.as_str()))
}
