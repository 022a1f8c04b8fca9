//! Requests for a WebSocket, and the answer that opens it.

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
use ring::digest;
use semgate_inspect::{Code, Refusal};

use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::decision::DecisionId;
use crate::pipeline::identify::Shown;
use crate::pipeline::refuse::DECISION;
use crate::pipeline::trace::Trace;
use crate::server::account::Charge;
use crate::server::framing::Serving;
use crate::server::framing::agreed::Agreed;

/// GUID of RFC 6455 §1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A valid request for a WebSocket (RFC 6455 §4.2.1).
#[derive(Debug)]
pub(crate) struct Wanted {
    accept: HeaderValue,
    l9_context: Vec<String>,
    /// Credentials that the route forwards to the agent.
    credentials: Vec<(HeaderName, HeaderValue)>,
    /// Trace headers, for the agent and for the records of all messages.
    trace: Rc<Trace>,
}

/// Judges the head of a request for a WebSocket. Offered extensions and subprotocols are not accepted.
///
/// # Errors
/// `method_unsupported`, or `malformed` for another version, an invalid key, a body, or an `Origin`. Browsers add `Origin`,
/// and a web page must not use its visitor's certificate.
pub(crate) fn wanted(
    parts: &Parts,
    l9_context: Vec<String>,
    credentials: Vec<(HeaderName, HeaderValue)>,
) -> Result<Wanted, Refusal> {
    let malformed = |reason: &str| {
        Err(Refusal::new(Code::Malformed, reason).with_hint("open a socket by RFC 6455, version 13"))
    };
    if parts.method != Method::GET {
        return Err(Refusal::new(Code::MethodUnsupported, "a socket is opened by another method than GET")
            .with_hint("open a socket by RFC 6455, version 13"));
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
                accept.map_err(|_| Refusal::new(Code::Malformed, "the key of the socket is not valid"))?;
            Ok(Wanted { accept, l9_context, credentials, trace: Trace::without_spans(headers) })
        }
        _ => malformed("the key of the socket is not valid"),
    }
}

/// The only value of a header.
pub(super) fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?.trim();
    all.next().is_none().then_some(value)
}

/// Value that proves that the key was read (RFC 6455 §4.2.2).
pub(super) fn accept(key: &str) -> String {
    let mut hash = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    hash.update(key.as_bytes());
    hash.update(GUID);
    STANDARD.encode(hash.finish())
}

impl Wanted {
    /// The answer that opens the socket. The request stays in flight until the socket ends.
    pub(crate) fn agree(
        self,
        serving: &Serving,
        shown: Shown,
        decision: DecisionId,
        charge: &Charge,
    ) -> Answer {
        let mut answer = Response::new(AnswerBody::from(Bytes::new()));
        *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = answer.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept.clone());
        if let Ok(text) = HeaderValue::from_str(decision.text(&mut [0; 26])) {
            headers.insert(DECISION, text);
        }
        let Self { l9_context, credentials, trace, .. } = self;
        let _charge = charge.clone();
        serving.agree(Agreed { l9_context, shown, credentials, trace, decision, _charge });
        answer
    }
}
