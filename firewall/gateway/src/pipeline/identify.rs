//! Identity of a connection's peer, settled once when the connection opens. No header ever names a sender. The certificate
//! may expire or be revoked later, so it is checked again for each message.

mod shown;
mod standing;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue};
use semgate_certs::token::TokenIssuers;
use semgate_certs::{CertificateDer, ChainFault, PeerFault, PeerRoots, Thumbprint};
use semgate_inspect::{Code, Delivered, Now, Peer, Refusal};

pub(crate) use shown::Shown;
pub(crate) use standing::Standing;

use crate::pipeline::gateway_refusals::ONCE;
use crate::server::account::{Account, Accounts, Charge, Connection, NoAccount, TooMany};
use crate::server::materials::Materials;
use shown::Remembered;

/// The peer of one connection, and the headers that describe it to the agent.
#[derive(Debug)]
pub(crate) struct Identity {
    peer: Peer,
    account: Arc<Account>,
    /// Current verdict on its certificate; `None` for a peer without one.
    standing: Option<Standing>,
    /// True for the only sender of a listener, who may use every place.
    sole: bool,
    /// `Client-Cert` (RFC 9440 §2.2): the leaf as a structured-field byte sequence.
    client_cert: Option<HeaderValue>,
    /// `Semgate-Sender`: the SPIFFE id.
    sender: HeaderValue,
    /// `x5t#S256` of the leaf.
    thumbprint: Option<Thumbprint>,
    remembered: Remembered,
}

impl Identity {
    /// The peer with these certificates from a TLS handshake.
    ///
    /// # Errors
    /// [`Unidentified`]; the connection is then refused.
    pub(crate) fn certified(
        live: &Arc<ArcSwap<Materials>>,
        shown: &[CertificateDer<'_>],
        accounts: &Accounts,
        now: Now,
    ) -> Result<Self, Unidentified> {
        let (peer, standing) = Standing::begin(PeerRoots::identify, Arc::clone(live), shown, now.unix)?;
        let encoded = format!(":{}:", STANDARD.encode(peer.leaf().as_ref()));
        Ok(Self {
            standing: Some(standing),
            sole: false,
            client_cert: HeaderValue::try_from(encoded).ok(),
            // a SPIFFE id is visible ASCII, so it is always a valid header value
            sender: HeaderValue::try_from(peer.id().as_str()).map_err(|_| PeerFault::NoSpiffeId)?,
            account: accounts.of(&peer.id().as_str().into(), now)?,
            thumbprint: Some(peer.thumbprint()),
            remembered: Remembered::default(),
            peer: Peer::certified(&peer),
        })
    }

    /// The only sender of a plain listener.
    ///
    /// # Errors
    /// [`PeerFault::NoSpiffeId`] for an invalid header value; the configuration has already refused it.
    pub(crate) fn configured(account: Arc<Account>) -> Result<Self, PeerFault> {
        Ok(Self { sole: true, ..Self::signed(account)? })
    }

    /// A sender known by the key that verified its messages, or a remote address before the first of them.
    ///
    /// # Errors
    /// [`PeerFault::NoSpiffeId`] for an invalid header value.
    pub(crate) fn signed(account: Arc<Account>) -> Result<Self, PeerFault> {
        let id = &**account.agent();
        let sender = HeaderValue::try_from(id).map_err(|_| PeerFault::NoSpiffeId)?;
        Ok(Self {
            peer: Peer::configured(id),
            standing: None,
            sole: false,
            client_cert: None,
            sender,
            thumbprint: None,
            remembered: Remembered::default(),
            account,
        })
    }

    /// The peer, while its certificate is valid and not revoked.
    ///
    /// # Errors
    /// `sender_mismatch` once the certificate has expired, or no longer counts under the current roots and revocation lists.
    pub(crate) fn peer(&self, now: u64) -> Result<&Peer, Refusal> {
        let standing = self.standing.as_ref().map_or(Ok(()), |standing| standing.still(now));
        standing.map(|()| &self.peer).map_err(|fault| {
            let reason = match fault {
                PeerFault::Chain(ChainFault::Expired) => {
                    "the client certificate of this connection is no longer valid"
                }
                _ => "the client certificate of this connection is no longer accepted",
            };
            Refusal::new(Code::SenderMismatch, reason)
                .with_detail(fault.as_str())
                .with_hint("connect again with a current certificate")
        })
    }

    /// Checks that the peer may still receive an agent's answer to a delivered message. It covers its certificate and the
    /// credentials of its request, whose issuer's key may have been removed. A token's expiry alone does not matter here.
    ///
    /// # Errors
    /// `sender_mismatch`, as [`Identity::peer`] and [`Identity::shown`], with `delivered: yes`.
    pub(crate) fn hears(
        &self,
        shown: &Shown,
        issuers: &ArcSwap<TokenIssuers>,
        now: u64,
    ) -> Result<(), Refusal> {
        let counts = self
            .peer(now)
            .and_then(|_| shown.outlasts(issuers, &shown::bearer(&self.peer, self.thumbprint), now));
        counts.map_err(after_delivery)
    }

    /// Same check for a socket that the token opened. The socket ends with the token's key, even if the token has already
    /// expired. `delivered` is the delivery state of the peer's messages.
    ///
    /// # Errors
    /// Same as [`Identity::hears`], with the given `delivered`.
    pub(crate) fn hears_on(
        &self,
        delivered: Delivered,
        shown: &Shown,
        issuers: &ArcSwap<TokenIssuers>,
        now: u64,
    ) -> Result<(), Refusal> {
        let counts = self.peer(now).and_then(|_| self.still_shows(shown, issuers, now));
        counts.map_err(|refusal| match delivered {
            Delivered::No => refusal,
            Delivered::Yes | Delivered::Unknown => after_delivery(refusal),
        })
    }

    /// Reads the peer's credentials from the head of a request.
    ///
    /// # Errors
    /// `malformed` for two tokens; `sender_mismatch` for an invalid one, which is never ignored.
    pub(crate) fn shown(
        &self,
        headers: &HeaderMap,
        issuers: &ArcSwap<TokenIssuers>,
        now: u64,
        room: usize,
    ) -> Result<Shown, Refusal> {
        self.remembered.shown(headers, issuers, &shown::bearer(&self.peer, self.thumbprint), now, room)
    }

    /// Checks a long connection's credentials with the current keys.
    ///
    /// # Errors
    /// `sender_mismatch`, as [`Identity::shown`].
    pub(crate) fn still_shows(
        &self,
        shown: &Shown,
        issuers: &ArcSwap<TokenIssuers>,
        now: u64,
    ) -> Result<(), Refusal> {
        shown.still(issuers, &shown::bearer(&self.peer, self.thumbprint), now)
    }

    /// Checks the peer and its request's credentials again right before the bytes are sent. Reading a body and opening a
    /// connection may have taken a while.
    ///
    /// # Errors
    /// `sender_mismatch`, as [`Identity::peer`] and [`Identity::shown`].
    pub(crate) fn still(
        &self,
        shown: &Shown,
        issuers: &ArcSwap<TokenIssuers>,
        now: u64,
    ) -> Result<(), Refusal> {
        let _ = self.peer(now)?;
        shown.lasts(now)?;
        self.still_shows(shown, issuers, now)
    }

    /// The SPIFFE id for records, even if it no longer counts.
    pub(crate) fn id(&self) -> &str {
        self.peer.id()
    }

    /// Account of the peer, even if its certificate no longer counts.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Counts one more connection of the peer. The only sender of a plain listener may use every place.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn connect(&self, buffers: usize) -> Result<Connection, TooMany> {
        if self.sole { self.account.connect_alone(buffers) } else { self.account.connect(buffers) }
    }

    /// Counts one more request of the peer in flight. The only sender of a plain listener may use every place.
    ///
    /// # Errors
    /// [`TooMany`] if the agent has reached its limit.
    pub(crate) fn enter(&self, charge: &Charge) -> Result<(), TooMany> {
        if self.sole { Ok(()) } else { charge.enter() }
    }

    pub(crate) fn client_cert(&self) -> Option<&HeaderValue> {
        self.client_cert.as_ref()
    }

    pub(crate) fn sender(&self) -> &HeaderValue {
        &self.sender
    }
}

/// Reason for refusing a peer's connection.
#[derive(Debug)]
pub(crate) enum Unidentified {
    /// Its certificate does not identify it.
    Peer(PeerFault),
    /// Every account is in use.
    NoAccount,
}

impl From<PeerFault> for Unidentified {
    fn from(fault: PeerFault) -> Self {
        Self::Peer(fault)
    }
}

impl From<NoAccount> for Unidentified {
    fn from(NoAccount: NoAccount) -> Self {
        Self::NoAccount
    }
}

impl fmt::Display for Unidentified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer(fault) => fault.fmt(f),
            Self::NoAccount => f.write_str("every account is in use by an active agent"),
        }
    }
}

/// Converts a refusal to one after delivery.
fn after_delivery(refusal: Refusal) -> Refusal {
    let hint = format!("{}; the message was delivered: {ONCE}", refusal.hint());
    refusal.with_hint(hint).with_delivered(Delivered::Yes)
}
