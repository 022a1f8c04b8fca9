//! The agent that `up` puts behind the gateway. It speaks native L8, A2A 1.0 (`SendMessage` over JSON-RPC) and LDP over plain HTTP on loopback, and IAC
//! over QUIC. It
//! counts the messages that reach it.
//!
//! It holds no secret and decides nothing. It restates messages, answers the questions of the control vocabulary, and books the flight of
//! the paper. The gateway judges its replies like any others.

mod a2a;
mod answer;
mod l8;
mod ldp;
mod signed;
mod sstp;

pub use ldp::card as delegate_card;
pub use signed::SignedAgent;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use crate::fault::{Doing, Fault};
use crate::system::ring_random;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SecureRandom;

/// The largest message that it reads; the gateway's own limit (1 MiB) protects it, this is twice that.
const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Its memory: the number of messages that reached it, and its identity.
#[derive(Debug)]
pub struct Agent {
    id: String,
    /// Its A2A address.
    url: String,
    /// Its LDP address.
    delegate_url: String,
    /// Distinguishes its names from those before a restart.
    born: String,
    named: AtomicU64,
    received: AtomicU64,
}

impl Agent {
    fn count(&self) {
        self.received.fetch_add(1, Ordering::SeqCst);
    }

    /// A unique name: a task or conversation belongs to its creator.
    fn fresh(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.born, self.named.fetch_add(1, Ordering::SeqCst))
    }
}

/// The address of the delegate at a sample agent.
pub fn delegate_url(agent: SocketAddr) -> String {
    format!("http://{agent}/delegate")
}

/// Serves until `stop` ends.
///
/// # Errors
/// The fault of the listener.
pub async fn serve(
    listener: TcpListener,
    id: String,
    signed: Option<SignedAgent>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Fault> {
    let address = listener.local_addr().doing("sample agent")?;
    let (url, delegate_url) = (format!("http://{address}/a2a"), delegate_url(address));
    let mut born = [0; 8];
    ring_random().fill(&mut born).map_err(|_| Fault::new("the system's random source failed"))?;
    let born = URL_SAFE_NO_PAD.encode(born);
    let agent = Arc::new(Agent {
        id,
        url,
        delegate_url,
        born,
        named: AtomicU64::new(1),
        received: AtomicU64::new(0),
    });
    let app = Router::new()
        .route("/l8", post(l8::receive))
        .route("/a2a", post(a2a::receive))
        .route("/.well-known/agent-card.json", get(a2a::card))
        .route("/a2a/.well-known/agent-card.json", get(a2a::card))
        .route("/delegate/ldp/messages", post(ldp::receive))
        .route("/delegate/ldp/identity", get(ldp::identity))
        .route("/delegate/.well-known/ldp-identity", get(ldp::identity))
        .route("/delegate/ldp/capabilities", get(ldp::manifest))
        .route("/received", get(received))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .with_state(Arc::clone(&agent));
    let http = axum::serve(listener, app).with_graceful_shutdown(stop).into_future();
    let signed = async move {
        match signed {
            Some(signed) => signed.serve(agent).await,
            None => std::future::pending().await,
        }
    };
    let local = LocalSet::new();
    tokio::select! {
        ended = http => ended.doing("sample agent"),
        () = local.run_until(signed) => Ok(()),
    }
}

async fn received(State(agent): State<Arc<Agent>>) -> axum::Json<serde_json::Value> {
    axum::Json(serde_json::json!({ "received": agent.received.load(Ordering::SeqCst) }))
}
