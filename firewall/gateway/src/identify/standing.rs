//! Whether the certificate that a peer showed when its connection opened still counts. The verdict is made anew when what it hangs on was
//! replaced, the roots or the revocation lists of its trust domain, and when one of the lists ends; in between it costs a comparison of numbers.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use semgate_certs::{CertificateDer, ChainFault, Peer, PeerFault, PeerRoots};

use crate::materials::Materials;

/// What roots are asked: for a client's certificate, or for a server's.
pub(crate) type Identify = fn(&PeerRoots, &[CertificateDer<'_>], u64) -> Result<Peer, PeerFault>;

/// A certificate that was verified once, and the verdict on it as it is now.
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

/// A verdict, and what it was made under.
struct Judged {
    peers: Arc<PeerRoots>,
    /// Of the revocation lists.
    edition: u64,
    /// The first second at which one of them ends.
    until: Option<u64>,
    /// The last second at which the chain is valid.
    verdict: Result<u64, PeerFault>,
}

impl Standing {
    /// The peer that shows these certificates, verified under the roots and lists that are live.
    ///
    /// # Errors
    /// [`PeerFault`]: then there is no connection.
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

    /// That it counts at `now`.
    ///
    /// # Errors
    /// [`PeerFault`]: it has expired, was taken back, nothing current speaks for it any more, or its roots are gone.
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
        // the number first: lists that come while the verdict is made are for the next one
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
