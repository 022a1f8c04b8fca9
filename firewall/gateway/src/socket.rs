//! A WebSocket between a caller and the agent behind (RFC 6455 over HTTP/1.1): each message in either direction is one whole message
//! of native L8, read, judged and recorded by itself as it passes.
//!
//! The gateway speaks the protocol with each side by itself: no frame, ping, close reason or extension passes from one to the other,
//! only the bytes of messages that were checked. The agent is connected to when the first message may pass, so a caller who may say
//! nothing never reaches it. Whatever may not pass ends the socket: its refusal is the last message, its code the reason of the close.

mod agent;
mod close;
mod pieces;
mod relay;
pub(crate) mod wanted;

use std::rc::Rc;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use self::pieces::{Pieces, Since};
use crate::account::Charge;
use crate::framing::Paced;
use crate::framing::agreed::Agreed;
use crate::identify::Identity;
use crate::lane::Lane;

/// Bytes read of a socket at a time: several usual messages, and little memory for a silent one.
const READ: usize = 16 * 1024;
/// What pongs and closes may add to a message that waits to be written.
const CONTROL: usize = 4 * 1024;
/// The problem document that ends a socket, at most: its texts are ours, and of the message there are at most sixteen paths.
const PROBLEM: usize = 64 * 1024;

impl Agreed {
    /// Speaks until either side is done, something may not pass, or the gateway drains.
    pub(crate) async fn speak<S>(
        self,
        lane: Rc<Lane>,
        identity: Rc<Identity>,
        stream: Paced<S>,
        stop: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + 'static,
    {
        let limits = &lane.shared.limits;
        let config = config(limits.body_bytes, limits.event_bytes);
        let said = Since::default();
        let charge = Charge::new(identity.account());
        let stream = Pieces::new(TokioIo::new(stream), said.clone(), (limits.body_bytes, READ), charge);
        let caller = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
        relay::Socket::new(lane, identity, self, said).run(caller, stop).await;
    }
}

/// What one side of a socket says and is told.
///
/// `hears` bounds its messages in bytes, in however many fragments, and `told` what is written to it: the other side's bound, so that
/// nothing that was let pass and recorded finds no room here.
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
