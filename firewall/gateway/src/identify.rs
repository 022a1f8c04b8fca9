//! Who is on the other end of a connection. Settled once, when the connection opens; no header ever names a sender
//! (`docs/design/firewall.md` §3). What may end meanwhile is the certificate, by time or because it was taken back, so that is asked for each message.

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

use crate::account::{Account, Accounts, Charge, Connection, NoAccount, TooMany};
use crate::materials::Materials;
use crate::reasons::ONCE;
use shown::Remembered;

/// The peer of one connection, and what the agent behind is told about it.
#[derive(Debug)]
pub(crate) struct Identity {
    peer: Peer,
    account: Arc<Account>,
    /// Whether its certificate still counts; `None` for a configured sender.
    standing: Option<Standing>,
    /// `Client-Cert` (RFC 9440 §2.2): the leaf as a byte sequence of structured fields.
    client_cert: Option<HeaderValue>,
    /// `Semgate-Sender`: the SPIFFE id.
    sender: HeaderValue,
    /// `x5t#S256` of the leaf.
    thumbprint: Option<Thumbprint>,
    remembered: Remembered,
}

impl Identity {
    /// The peer that showed these certificates in a TLS handshake.
    ///
    /// # Errors
    /// [`Unidentified`]: then there is no connection.
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
            client_cert: HeaderValue::try_from(encoded).ok(),
            // a SPIFFE id is visible ASCII, so this is always a header value
            sender: HeaderValue::try_from(peer.id().as_str()).map_err(|_| PeerFault::NoSpiffeId)?,
            account: accounts.of(&peer.id().as_str().into(), now)?,
            thumbprint: Some(peer.thumbprint()),
            remembered: Remembered::default(),
            peer: Peer::certified(&peer),
        })
    }

    /// The one sender of a plain listener.
    ///
    /// # Errors
    /// [`PeerFault::NoSpiffeId`] for a text that is no header value; the configuration has refused it before.
    pub(crate) fn configured(account: Arc<Account>) -> Result<Self, PeerFault> {
        let id = &**account.agent();
        let sender = HeaderValue::try_from(id).map_err(|_| PeerFault::NoSpiffeId)?;
        Ok(Self {
            peer: Peer::configured(id),
            standing: None,
            client_cert: None,
            sender,
            thumbprint: None,
            remembered: Remembered::default(),
            account,
        })
    }

    /// The peer, while its certificate lasts and nobody took it back.
    ///
    /// # Errors
    /// `sender_mismatch` once the certificate of a long connection has run out, or does not count any more under the roots and the
    /// revocation lists that are live.
    pub(crate) fn peer(&self, now: u64) -> Result<&Peer, Refusal> {
        let standing = self.standing.as_ref().map_or(Ok(()), |standing| standing.still(now));
        standing.map(|()| &self.peer).map_err(|fault| {
            let reason = match fault {
                PeerFault::Chain(ChainFault::Expired) => {
                    "the client certificate of this connection is not valid any more"
                }
                _ => "the client certificate of this connection does not count any more",
            };
            Refusal::new(Code::SenderMismatch, reason)
                .with_detail(fault.as_str())
                .with_hint("connect again with a current certificate")
        })
    }

    /// Whether what an agent behind answers may still be handed to the peer, whose message that agent has: by its certificate, and by what
    /// the head of its request showed, whose issuer's key may have been taken away since. A token that only ends gives nothing more.
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

    /// The same of a socket, which the token opened: it ends with the key behind that token, also where the token has ended by itself before.
    /// What `delivered` says is whether the agent has a message of the peer's.
    ///
    /// # Errors
    /// As [`Identity::hears`], with that `delivered`.
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

    /// What the head of a request shows of the peer beside its certificate.
    ///
    /// # Errors
    /// `malformed` for two tokens; `sender_mismatch` for one that is not good: it is never passed by.
    pub(crate) fn shown(
        &self,
        headers: &HeaderMap,
        issuers: &ArcSwap<TokenIssuers>,
        (now, room): (u64, usize),
    ) -> Result<Shown, Refusal> {
        self.remembered.shown(headers, issuers, &shown::bearer(&self.peer, self.thumbprint), (now, room))
    }

    /// Whether what the head of a long connection showed is good by the keys that count now.
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

    /// Whether the peer, and what the head of its request showed, count as they did then: for right before the bytes go, since reading a
    /// body and opening a connection may have taken a while.
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

    /// The SPIFFE id, whether or not it still counts: for the record.
    pub(crate) fn id(&self) -> &str {
        self.peer.id()
    }

    /// The account that everything of the peer is charged to, whether or not its certificate still counts.
    pub(crate) fn account(&self) -> &Arc<Account> {
        &self.account
    }

    /// Counts one more connection of the peer. A plain listener has one sender only, who may have every place.
    ///
    /// # Errors
    /// [`TooMany`].
    pub(crate) fn connect(&self, buffers: usize) -> Result<Connection, TooMany> {
        match self.standing {
            Some(_) => self.account.connect(buffers),
            None => self.account.connect_alone(buffers),
        }
    }

    /// Counts one more request of the peer in flight. A plain listener has one sender only, who may have every place.
    ///
    /// # Errors
    /// [`TooMany`]: it has as many as one agent may.
    pub(crate) fn enter(&self, charge: &Charge) -> Result<(), TooMany> {
        if self.standing.is_some() { charge.enter() } else { Ok(()) }
    }

    pub(crate) fn client_cert(&self) -> Option<&HeaderValue> {
        self.client_cert.as_ref()
    }

    pub(crate) fn sender(&self) -> &HeaderValue {
        &self.sender
    }
}

/// Why a peer has no connection.
#[derive(Debug)]
pub(crate) enum Unidentified {
    /// Its certificate does not say who it is.
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

/// The same, of a caller whose message was delivered.
fn after_delivery(refusal: Refusal) -> Refusal {
    let hint = format!("{}; the message was delivered: {ONCE}", refusal.hint());
    refusal.with_hint(hint).with_delivered(Delivered::Yes)
}
