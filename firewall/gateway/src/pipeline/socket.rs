//! A WebSocket between a caller and the agent (RFC 6455 over HTTP/1.1). Each message in either direction is one whole native
//! L8 message, which is judged and recorded by itself.
//!
//! The gateway has a separate WebSocket with each side. Only the bytes of checked messages pass, but no frames, pings, close
//! reasons or extensions. The gateway connects to the agent at the first permitted message, so a caller without permission
//! never reaches it. A refused message ends the socket: its refusal is the last message, and its code the reason of the
//! close.

mod agent;
mod close;
mod pieces;
mod relay;
pub(crate) mod wanted;

use std::rc::Rc;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use self::pieces::{Pieces, Since};
use crate::pipeline::identify::Identity;
use crate::server::account::Charge;
use crate::server::framing::Paced;
use crate::server::framing::agreed::Agreed;
use crate::server::worker::RouteWorker;

/// Bytes of one read from a socket: several usual messages, and little memory for a silent one.
const READ: usize = 16 * 1024;
/// Bytes that pongs and closes may add to a message in the write buffer.
const CONTROL: usize = 4 * 1024;
/// Maximum bytes of the last problem document. Its texts are the gateway's, with at most sixteen paths of the message.
const PROBLEM: usize = 64 * 1024;

impl Agreed {
    /// Serves the socket until either side ends, a message is refused, or the route drains.
    pub(crate) async fn speak<S>(self, worker: Rc<RouteWorker>, identity: Rc<Identity>, stream: Paced<S>)
    where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let limits = &worker.shared.limits;
        let config = config(limits.body_bytes, limits.event_bytes);
        let written = Since::default();
        let charge = Charge::new(identity.account());
        let stream = Pieces::new(TokioIo::new(stream), written.clone(), limits.body_bytes, READ, charge);
        let caller = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        relay::Socket::new(worker, identity, self, written).run(caller).await;
    }
}

/// Configuration of one side of a socket.
///
/// `hears` limits the bytes of its messages, in any number of fragments. `told` limits the bytes written to it. It equals the
/// other side's limit, so that every permitted and recorded message fits.
fn config(hears: usize, told: usize) -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ)
        .write_buffer_size(0)
        .max_write_buffer_size(told.max(PROBLEM).saturating_add(CONTROL))
        .max_message_size(Some(hears))
        .max_frame_size(Some(hears))
        .accept_unmasked_frames(false)
}

#[cfg(test)]
mod tests;
