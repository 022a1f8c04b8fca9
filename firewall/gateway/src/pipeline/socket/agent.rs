//! The agent's side of a socket, with the gateway as client.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_PROTOCOL, UPGRADE,
};
use http::{HeaderMap, StatusCode};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use ring::rand::{SecureRandom, SystemRandom};
use semgate_inspect::{Delivered, Refusal};
use semgate_protocol::Call;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::pieces::{Pieces, Since};
use super::wanted::{accept, one};
use super::{READ, config};
use crate::pipeline::decision::DecisionId;
use crate::pipeline::forward;
use crate::pipeline::gateway_refusals::{self, invalid, unreachable_agent};
use crate::pipeline::identify::Identity;
use crate::pipeline::upstream_head::UpstreamHead;
use crate::server::account::Charge;
use crate::server::framing::agreed::Agreed;
use crate::server::worker::RouteWorker;
use crate::upstream::{Connected, Met};

/// The socket with the agent.
pub(super) type Agent = WebSocketStream<Pieces<TokioIo<Upgraded>>>;

/// Opens a socket with the route's agent for the caller. Returns it with the agent's identity.
///
/// # Errors
/// `upstream_unavailable` or `upstream_timeout`. `upstream_invalid` for an answer that does not open a socket without
/// extension and subprotocol. No message was delivered.
pub(super) async fn open(
    worker: &RouteWorker,
    identity: &Identity,
    agreed: &Agreed,
    decision: DecisionId,
    since: &Since,
) -> Result<(Agent, Met), Refusal> {
    let mut nonce = [0; 16];
    SystemRandom::new().fill(&mut nonce).map_err(|_| unreachable_agent())?;
    let key = STANDARD.encode(nonce);
    let mut buffer = [0; 26];
    let call = Call::l8();
    let limits = &worker.shared.limits;
    let head = UpstreamHead {
        identity,
        l9_context: None,
        extension: None,
        call: &call,
        target: None,
        typed: None,
        credentials: &agreed.credentials,
        waits: limits.upstream_timeout,
        events: false,
        decision: decision.text(&mut buffer),
        trace: &agreed.trace,
        resealed: None,
    };
    let request = forward::socket_request(&worker.address, &head, &key)?;
    let Connected { mut link, met } =
        worker.pool.upgrading().await.map_err(|fault| gateway_refusals::unreachable(&fault))?;
    let opening = async {
        let mut response = link.try_send(request).await.map_err(|_| unreachable_agent())?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS || !agrees(response.headers(), &key) {
            let detail = format!("status {}", response.status().as_u16());
            return Err(none().with_detail(detail));
        }
        hyper::upgrade::on(&mut response).await.map_err(|_| none())
    };
    let upgraded = match timeout(limits.upstream_timeout, opening).await {
        Ok(upgraded) => upgraded?,
        Err(_) => return Err(gateway_refusals::timeout(Delivered::No)),
    };
    let config = config(limits.event_bytes, limits.body_bytes);
    let charge = Charge::new(identity.account());
    let stream = Pieces::new(TokioIo::new(upgraded), since.clone(), limits.event_bytes, READ, charge);
    Ok((WebSocketStream::from_raw_socket(stream, Role::Client, Some(config)).await, met))
}

fn none() -> Refusal {
    invalid("the upstream agent opens no socket")
        .with_hint("nothing was delivered")
        .with_delivered(Delivered::No)
}

/// Client checks of RFC 6455 §4.1. The gateway requests no extension and no subprotocol, so the answer may name none.
fn agrees(headers: &HeaderMap, key: &str) -> bool {
    let is = |name, wanted: &str| one(headers, &name).is_some_and(|value| value.eq_ignore_ascii_case(wanted));
    is(UPGRADE, "websocket")
        && is(CONNECTION, "upgrade")
        && one(headers, &SEC_WEBSOCKET_ACCEPT) == Some(accept(key).as_str())
        && !headers.contains_key(SEC_WEBSOCKET_EXTENSIONS)
        && !headers.contains_key(SEC_WEBSOCKET_PROTOCOL)
}
