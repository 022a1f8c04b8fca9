//! Connections to agents whose messages are signed, with the gateway as client.

use std::path::PathBuf;
use std::time::Duration;

use semgate_inspect::Refusal;
use tokio::net::UnixStream;

use crate::config::{Endpoint, Limits, RouteConfig};
use crate::fault::RunFault;
use crate::pipeline::gateway_refusals::unreachable_agent;
use crate::server::carrier::Carrier;
use crate::server::quic::QuicConnector;

/// Opens connections to the agent of one route.
#[derive(Debug)]
pub(crate) enum AgentOpener {
    /// Over QUIC.
    Quic(QuicConnector),
    /// Over a Unix socket, within this time.
    Unix(PathBuf, Duration),
}

impl AgentOpener {
    /// # Errors
    /// [`RunFault::System`] for an address over HTTP, which the configuration has already refused.
    pub(crate) fn new(route: &RouteConfig, limits: &Limits) -> Result<Self, RunFault> {
        match &route.upstream.endpoint {
            Endpoint::Quic(host, port) => {
                Ok(Self::Quic(QuicConnector::new(host, *port, &route.iac, limits)?))
            }
            Endpoint::Unix(path) => Ok(Self::Unix(path.clone(), limits.connect_timeout)),
            Endpoint::Tcp(..) => Err(RunFault::system("upstream address", "it is of HTTP")),
        }
    }

    /// True if the agent gets its messages compressed.
    pub(crate) const fn compresses(&self) -> bool {
        matches!(self, Self::Quic(_))
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// Describes the reason for the operator.
    pub(crate) async fn connect(&self) -> Result<Carrier, String> {
        match self {
            Self::Quic(connector) => connector.connect().await.map(Carrier::quic),
            Self::Unix(path, time) => {
                let stream = tokio::time::timeout(*time, UnixStream::connect(path)).await;
                let stream = stream.map_err(|_| "connecting took too long".to_owned())?;
                stream.map(Carrier::bytes).map_err(|why| why.to_string())
            }
        }
    }

    /// Opens a connection for a message.
    ///
    /// # Errors
    /// `upstream_unavailable`; nothing was delivered.
    pub(crate) async fn open(&self) -> Result<Carrier, Refusal> {
        self.connect().await.map_err(|why| unreachable_agent().with_detail(why))
    }
}
