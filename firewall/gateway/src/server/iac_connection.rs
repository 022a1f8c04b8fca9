//! Connections of IAC for the programs around the gateway: the sample agent, and the caller of `demo`.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use quinn::Endpoint;
use semgate_protocol::iac::{FrameLimits, deflate, inflate};

use crate::config::{IacOptions, Limits};
use crate::fault::RunFault;
use crate::server::carrier::{Carrier, FrameBounds};
use crate::server::quic::{self, QuicConnector};

/// Bounds of a message, as those of a route by default.
const BOUNDS: FrameBounds =
    FrameBounds { compressed: 64 << 10, plain: 1 << 20, time: Duration::from_secs(20) };
/// Time for the last message to leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// A connection over QUIC, with a message on each stream.
pub struct IacConnection(Carrier);

impl IacConnection {
    /// Connects to a listener on this machine, which may show any certificate.
    ///
    /// # Errors
    /// Describes why there is no connection.
    pub async fn connect(address: SocketAddr) -> Result<Self, String> {
        let (host, options, limits) = (address.ip().to_string(), IacOptions::default(), Limits::default());
        let connector = QuicConnector::new(&host, address.port(), &options, &limits);
        let connector = connector.map_err(|why| why.to_string())?;
        connector.connect().await.map(|connection| Self(Carrier::quic(connection)))
    }

    /// Sends the protobuf of a message. False if the connection has ended.
    pub async fn send(&self, message: &[u8]) -> bool {
        self.0.writer.send(&deflate(message), BOUNDS.time).await.is_ok()
    }

    /// The protobuf of the next message; `None` at the end, or for bytes that are no frame.
    pub async fn receive(&mut self) -> Option<Bytes> {
        let carried = self.0.reader.next(&BOUNDS).await.ok()?;
        inflate(&carried.bytes, &FrameLimits::default()).ok().map(Bytes::from)
    }

    /// Ends the connection after its last message.
    pub async fn close(self) {
        self.0.writer.close(0, "", FAREWELL).await;
    }
}

/// A listener over QUIC, with a certificate of its own.
pub struct IacListener(Endpoint);

impl IacListener {
    /// Binds an address of UDP.
    ///
    /// # Errors
    /// The address is taken, or the random source fails.
    pub fn bind(address: SocketAddr) -> Result<Self, RunFault> {
        let server = quic::listening(&quic::listener_tls()?, &IacOptions::default(), &Limits::default())?;
        let fault =
            |why: std::io::Error| RunFault::Bind { address: address.to_string(), why: why.to_string() };
        Endpoint::server(server, address).map(Self).map_err(fault)
    }

    /// The next connection; `None` once the listener is closed. A failed handshake is none.
    pub async fn accept(&self) -> Option<IacConnection> {
        loop {
            if let Ok(connection) = self.0.accept().await?.await {
                return Some(IacConnection(Carrier::quic(connection)));
            }
        }
    }
}
