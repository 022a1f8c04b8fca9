//! A WebSocket between a caller and the agent behind (RFC 6455 over HTTP/1.1): each message in either direction is one whole message
//! of native L8, read, judged and recorded by itself as it passes.
//!
//! The gateway speaks the protocol with each side by itself: no frame, ping, close reason or extension passes from one to the other,
//! only the bytes of messages that were checked. The agent is connected to when the first message may pass, so a caller who may say
//! nothing never reaches it. Whatever may not pass ends the socket: its refusal is the last message, its code the reason of the close.

mod agent;
mod close;
mod relay;

use std::rc::Rc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ring::digest;
use semgate_inspect::{Code, Refusal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::answer::{Answer, AnswerBody};
use crate::decision::DecisionId;
use crate::framing::{Paced, Serving};
use crate::identify::{Identity, Shown};
use crate::path::Lane;
use crate::refuse::DECISION;

/// RFC 6455 §1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// Bytes read of a socket at a time: several usual messages, and little memory for a silent one.
const READ: usize = 16 * 1024;
/// What pongs and closes may add to a message that waits to be written.
const CONTROL: usize = 4 * 1024;
/// The problem document that ends a socket, at most: its texts are ours, and of the message there are at most sixteen paths.
const PROBLEM: usize = 64 * 1024;

/// A head that asks for a WebSocket as RFC 6455 §4.2.1 has it.
#[derive(Debug)]
pub(crate) struct Wanted {
    accept: HeaderValue,
    l9_context: Vec<String>,
    /// What the route passes on to the agent behind.
    credentials: Vec<(HeaderName, HeaderValue)>,
}

/// A WebSocket was answered: what the connection speaks from then on.
#[derive(Debug)]
pub(crate) struct Agreed {
    l9_context: Vec<String>,
    /// What the caller shows the gateway, with every message.
    shown: Shown,
    credentials: Vec<(HeaderName, HeaderValue)>,
    decision: DecisionId,
}

/// Judges a head that asks for a WebSocket. Extensions and subprotocols that it offers are not taken.
///
/// # Errors
/// `method_unsupported`, or `malformed` for another version, a key that is none, a body, or an `Origin`: a browser adds one, and a page
/// that a person happens to look at must not speak with that person's certificate.
pub(crate) fn wanted(
    parts: &Parts,
    l9_context: Vec<String>,
    credentials: Vec<(HeaderName, HeaderValue)>,
) -> Result<Wanted, Refusal> {
    let malformed = |reason: &str| {
        Err(Refusal::new(Code::Malformed, reason).with_hint("open a socket as RFC 6455 has it, version 13"))
    };
    if parts.method != Method::GET {
        return Err(Refusal::new(Code::MethodUnsupported, "a socket is opened by another method than GET")
            .with_hint("open a socket as RFC 6455 has it, version 13"));
    }
    let headers = &parts.headers;
    if headers.contains_key(ORIGIN) {
        return malformed("a page in a browser asks for a socket");
    }
    if headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|n| n != "0") {
        return malformed("a request for a socket has a body");
    }
    if one(headers, &SEC_WEBSOCKET_VERSION) != Some("13") {
        return malformed("the version of the socket is not 13");
    }
    match one(headers, &SEC_WEBSOCKET_KEY) {
        Some(key) if STANDARD.decode(key).is_ok_and(|key| key.len() == 16) => {
            let accept = HeaderValue::try_from(accept(key));
            let accept =
                accept.map_err(|_| Refusal::new(Code::Malformed, "the key of the socket is none"))?;
            Ok(Wanted { accept, l9_context, credentials })
        }
        _ => malformed("the key of the socket is none"),
    }
}

/// The only value of a header.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?.trim();
    all.next().is_none().then_some(value)
}

/// RFC 6455 §4.2.2: what proves that the key was read.
fn accept(key: &str) -> String {
    let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(GUID);
    STANDARD.encode(hash.finish())
}

impl Wanted {
    /// The answer that opens the socket.
    pub(crate) fn agree(self, serving: &Serving, shown: Shown, decision: DecisionId) -> Answer {
        let mut answer = Response::new(AnswerBody::from(Bytes::new()));
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        if let Ok(text) = HeaderValue::from_str(decision.text(&mut [0; 26])) {
            headers.insert(DECISION, text);
        }
        let Self { l9_context, credentials, .. } = self;
        serving.agree(Agreed { l9_context, shown, credentials, decision });
        answer
    }
}

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
        let stream = WebSocketStream::from_raw_socket(TokioIo::new(stream), Role::Server, Some(config));
        let caller = stream.await;
        relay::Socket::new(lane, identity, self).run(caller, stop).await;
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
