//! Listeners of signed messages: QUIC, TLS over TCP, or a Unix socket. No certificate of a caller is asked for.

use std::any::Any;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;

use arc_swap::ArcSwap;
use quinn::Incoming;
use semgate_certs::tls::HandshakeFault;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::error::Elapsed;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::speak::Open;
use super::{Listener, Origin, stranger};
use crate::pipeline::bridge::Guest;
use crate::server::account::{Account, Connection};
use crate::server::carrier::Carrier;
use crate::server::materials::{Materials, RouteKey};
use crate::server::quic::{self, Endpoints};

/// Admission of connections that carry signed messages.
pub(crate) struct SignedEntrance {
    /// TLS of byte streams; `None` on a Unix socket.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    /// Configuration of QUIC.
    pub(crate) quic: quinn::ServerConfig,
    /// Endpoints of this core.
    pub(crate) endpoints: Rc<Endpoints>,
    /// Current keys of the gateway, and the route that uses them.
    pub(crate) materials: Arc<ArcSwap<Materials>>,
    pub(crate) route: RouteKey,
}

/// The place of a connection, until its agent is known.
struct GuestPlace {
    account: Arc<Account>,
    reserved: Connection,
    /// Held to the end of the connection.
    held: Box<dyn Any>,
}

impl Listener {
    /// Accepts connections of QUIC until the route drains.
    pub(super) async fn run_quic(self: &Rc<Self>, socket: UdpSocket) -> std::io::Result<()> {
        let super::Entrance::Signed(entrance) = &self.entrance else { return Ok(()) };
        let endpoint = entrance.endpoints.of(socket, entrance.quic.clone())?;
        let mut course = self.worker.course.clone();
        loop {
            let Ok(slot) = Arc::clone(&self.slots).acquire_owned().await else { return Ok(()) };
            let incoming = tokio::select! {
                biased;
                () = course.drains() => return Ok(()),
                incoming = endpoint.accept() => incoming,
            };
            let Some(incoming) = incoming else { return Ok(()) };
            let unproven = !incoming.remote_address_validated() && incoming.may_retry();
            if unproven && (is_crowded(&self.slots) || self.is_busy(&incoming)) {
                let _ = incoming.retry();
                continue;
            }
            self.take_incoming(incoming, Rc::clone(entrance), Box::new((slot, Rc::clone(&endpoint))));
        }
    }

    /// True if an address must prove that it exists: its account has a share that a sender of false addresses could take.
    fn is_busy(&self, incoming: &Incoming) -> bool {
        let shared = &self.worker.shared;
        let account = shared.accounts.of(&stranger(incoming.remote_address().ip()), shared.now());
        account.is_ok_and(|account| account.is_busy())
    }

    /// Finishes a handshake of QUIC in the turns of its address.
    fn take_incoming(self: &Rc<Self>, incoming: Incoming, entrance: Rc<SignedEntrance>, held: Box<dyn Any>) {
        let peer = incoming.remote_address();
        let Some(guest) = self.guest_place(&stranger(peer.ip()), held) else { return incoming.refuse() };
        let this = Rc::clone(self);
        self.worker.turns.spawn(&Arc::clone(guest.account.agent()), async move {
            this.worker.turns.unit().await;
            let time = this.worker.shared.limits.handshake_timeout;
            let opened = timeout(time, incoming).await.map(|opened| opened.map_err(HandshakeFault::other));
            if let Some(connection) = this.opened(opened, &peer.to_string()) {
                this.admit_guest(&entrance, guest, Carrier::quic(connection)).await;
            }
        });
    }

    /// Serves a byte stream in the turns of its address.
    pub(super) fn take_guest<S>(
        self: &Rc<Self>,
        stream: S,
        from: Origin,
        entrance: Rc<SignedEntrance>,
        slot: OwnedSemaphorePermit,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let Some(guest) = self.guest_place(&from.account, Box::new(slot)) else { return };
        let this = Rc::clone(self);
        self.worker.turns.spawn(&from.account, async move {
            let Some(tls) = entrance.tls.clone() else {
                return this.admit_guest(&entrance, guest, Carrier::bytes(stream)).await;
            };
            this.worker.turns.unit().await;
            let time = this.worker.shared.limits.handshake_timeout;
            let opened = timeout(time, TlsAcceptor::from(tls).accept(stream)).await;
            let opened = opened.map(|opened| opened.map_err(|why| HandshakeFault::of(&why)));
            if let Some(stream) = this.opened(opened, &from.peer) {
                this.admit_guest(&entrance, guest, Carrier::bytes(stream)).await;
            }
        });
    }

    /// The result of a handshake; `None`, counted and logged, if it failed.
    fn opened<T>(&self, result: Result<Result<T, HandshakeFault>, Elapsed>, peer: &str) -> Option<T> {
        match result {
            Ok(Ok(opened)) => Some(opened),
            Ok(Err(why)) => self.failed("handshake_failed", peer, &why),
            Err(_) => self.failed("handshake_timeout", peer, &HandshakeFault::timeout()),
        }
    }

    /// Charges a connection to its remote address. `None` if the address has reached its limit.
    fn guest_place(&self, address: &Arc<str>, held: Box<dyn Any>) -> Option<GuestPlace> {
        let shared = &self.worker.shared;
        let account = shared.accounts.of(address, shared.now()).ok();
        let taken = account.and_then(|account| {
            let reserved = account.connect(quic::WINDOW as usize).ok()?;
            Some(GuestPlace { account, reserved, held })
        });
        if taken.is_none() {
            self.worker.metrics.connection("too_many");
        }
        taken
    }

    /// Waits for the first verified message.
    async fn admit_guest(&self, entrance: &SignedEntrance, guest: GuestPlace, carrier: Carrier) {
        let signer = entrance.materials.load().signers.get(&entrance.route).cloned();
        let (Some(signer), Some(signed)) = (signer, self.worker.signed.clone()) else { return };
        let GuestPlace { account, reserved, held } = guest;
        let worker = Rc::clone(&self.worker);
        let held = Box::new((held, Open::count(worker.metrics.open.clone())));
        Guest { worker, signed, signer, carrier, account, reserved, held }.admit().await;
    }
}

/// True if addresses must prove that they exist: few slots are free.
fn is_crowded(slots: &Semaphore) -> bool {
    slots.available_permits() < CROWDED
}

/// Free slots of a listener on a core below which addresses are checked.
const CROWDED: usize = 256;
