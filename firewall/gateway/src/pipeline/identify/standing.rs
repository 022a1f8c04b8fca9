//! Current verdict on the certificate from a connection's opening. It is renewed if the roots or revocation lists of its
//! trust domain were replaced, or when a list expires. Otherwise a check only compares numbers.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use semgate_certs::{CertificateDer, ChainFault, Peer, PeerFault, PeerRoots};

use crate::server::materials::Materials;

/// Verification by the roots of a client's or a server's certificate.
pub(crate) type Identify = fn(&PeerRoots, &[CertificateDer<'_>], u64) -> Result<Peer, PeerFault>;

/// A verified certificate, and the current verdict on it.
pub(crate) struct Standing {
    identify: Identify,
    shown: Vec<CertificateDer<'static>>,
    live: Arc<ArcSwap<Materials>>,
    judged: RefCell<Judged>,
}

impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing").field("judged", &self.judged.borrow().verdict).finish_non_exhaustive()
    }
}

/// A verdict, and its basis.
struct Judged {
    peers: Arc<PeerRoots>,
    /// Edition of the revocation lists.
    edition: u64,
    /// The first second at which a list expires.
    until: Option<u64>,
    /// Last second of the chain's validity, or its fault.
    verdict: Result<u64, PeerFault>,
}

impl Standing {
    /// The peer with these certificates, verified with the current roots and lists.
    ///
    /// # Errors
    /// [`PeerFault`]; the connection is then refused.
    pub(crate) fn begin(
        identify: Identify,
        live: Arc<ArcSwap<Materials>>,
        shown: &[CertificateDer<'_>],
        at: u64,
    ) -> Result<(Peer, Standing), PeerFault> {
        let shown: Vec<_> = shown.iter().map(|der| der.clone().into_owned()).collect();
        let (peer, judged) = Judged::of(identify, Arc::clone(&live.load().peers), &shown, at);
        Ok((peer?, Standing { identify, shown, live, judged: RefCell::new(judged) }))
    }

    /// Checks that the certificate counts at `now`.
    ///
    /// # Errors
    /// [`PeerFault`]: it has expired, was revoked, lacks a current list, or its roots are gone.
    pub(crate) fn still(&self, now: u64) -> Result<(), PeerFault> {
        let live = self.live.load();
        let mut judged = self.judged.borrow_mut();
        if !judged.holds(&live.peers, now) {
            *judged = Judged::of(self.identify, Arc::clone(&live.peers), &self.shown, now).1;
        }
        match judged.verdict {
            Ok(end) if now > end => Err(PeerFault::Chain(ChainFault::Expired)),
            verdict => verdict.map(drop),
        }
    }
}

impl Judged {
    fn of(
        identify: Identify,
        peers: Arc<PeerRoots>,
        shown: &[CertificateDer<'static>],
        at: u64,
    ) -> (Result<Peer, PeerFault>, Judged) {
        // the number comes first: lists that arrive during verification count for the next verdict
        let (edition, until) = (peers.edition(), peers.lists_end(at));
        let peer = identify(&peers, shown, at);
        let verdict = peer.as_ref().map(Peer::not_after).map_err(|fault| *fault);
        (peer, Judged { peers, edition, until, verdict })
    }

    fn holds(&self, peers: &Arc<PeerRoots>, now: u64) -> bool {
        Arc::ptr_eq(&self.peers, peers)
            && self.until.is_none_or(|until| now < until)
            && self.edition == peers.edition()
    }
}
