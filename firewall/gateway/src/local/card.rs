//! The agent card. The gateway rebuilds it from the agent's own. If the route says so and a listed key signed it, it passes
//! byte for byte.
//!
//! A rebuilt card keeps only the listed members, each within bounds. Addresses, capabilities and signatures are the
//! gateway's, since the agent's are not true of the way through the gateway. Security schemes stay if the route forwards the
//! credentials that they ask for.

mod build;
mod context_names;
mod security;
mod signed;
#[cfg(test)]
pub(crate) mod tests;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG};
use semgate_contexts::json::{self, Json};
use semgate_inspect::{Code, Delivered, Refusal};
use semgate_protocol::{Form, RpcId};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::config::Limits;
use crate::pipeline::admit::CARD_PATH;
use crate::pipeline::answer::Answer;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::forward;
use crate::pipeline::refuse::answer;
use crate::upstream::address::Address;
use crate::upstream::{Allowed, Pool};

pub(crate) use build::Says;
use context_names::NamedAt;
pub(crate) use signed::CardKeys;
use signed::NotSigned;

/// Lifetime of a fetched card. It spares the agent repeated requests, and still follows a deployment.
const KEPT: Duration = Duration::from_secs(60);
/// Lifetime of the bare card, served if the agent's card is unavailable.
const KEPT_BARE: Duration = Duration::from_secs(5);

/// A strong validator: the digest of the served body.
fn tag(body: &[u8]) -> Option<HeaderValue> {
    let digest = ring::digest::digest(&ring::digest::SHA256, body);
    HeaderValue::try_from(format!("\"{}\"", URL_SAFE_NO_PAD.encode(digest))).ok()
}

/// Serves a document of the gateway. A caller that already `has` this version gets 304.
pub(crate) fn conditional(body: Bytes, has: Option<&HeaderValue>, decision: DecisionId) -> Answer {
    let tag = tag(&body);
    let same = tag.as_ref().is_some_and(|tag| has == Some(tag));
    let mut answer = if same {
        let mut answer = answer(decision, 304, "application/json", Bytes::new());
        answer.headers_mut().remove(CONTENT_TYPE);
        answer
    } else {
        answer(decision, 200, "application/json", body)
    };
    let headers = answer.headers_mut();
    // caches ask again each time, so that policies decide each time
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Some(tag) = tag {
        headers.insert(ETAG, tag);
    }
    answer
}

/// The keys that count now. Without keys no card passes.
pub(crate) type KeysNow = Box<dyn Fn() -> Option<Arc<CardKeys>>>;

/// Why a card of the agent is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bad {
    /// The card is unavailable, or no listed key signed it.
    Unsigned,
    /// A public card names a context at this location, and must not be changed.
    TellsContexts(NamedAt),
    /// A public card names a context in its security requirements.
    AsksForContexts(NamedAt),
}

impl Bad {
    fn refusal(self) -> Refusal {
        match self {
            Self::Unsigned => {
                Refusal::new(Code::UpstreamInvalid, "the agent's card has no signature by a known key")
                    .with_hint("ask the operator which keys this gateway knows")
            }
            Self::TellsContexts(NamedAt(at)) => hidden(format!(
                "the agent's public card names contexts at `{at}`, and `card = \"untouched\"` would show them: \
                 name only the extension there and the contexts in the extended card, or let the gateway rebuild the card"
            )),
            Self::AsksForContexts(NamedAt(at)) => hidden(format!(
                "the agent's public card names contexts at `{at}`, where the gateway cannot replace them: callers would \
                 authenticate differently; name security schemes and scopes without contexts"
            )),
        }
    }
}

fn hidden(why: String) -> Refusal {
    Refusal::new(Code::UpstreamInvalid, "the agent's card cannot be shown")
        .with_hint("the operator finds the cause in the log of this gateway")
        .with_detail(why)
}

/// A served card with its expiry, and the keys that verified it.
struct Kept {
    until: Instant,
    body: Result<Bytes, Bad>,
    keys: Option<Arc<CardKeys>>,
}

/// The card of one route on one core.
pub(crate) struct Card {
    says: Says,
    /// Source of the card, if not the address of messages.
    from: Option<(Pool, Address)>,
    /// Keys that must sign an unchanged card; `None` if the card is rebuilt.
    keys: Option<KeysNow>,
    kept: RefCell<Option<Kept>>,
    /// Held by the task that asks the agent; the others wait for its result.
    asking: Mutex<()>,
}

/// Connection and address of a route's own agent.
#[derive(Clone, Copy)]
pub(crate) struct AgentConnection<'b> {
    pub(crate) pool: &'b Pool,
    pub(crate) address: &'b Address,
    pub(crate) limits: &'b Limits,
}

impl Card {
    pub(crate) fn new(says: Says, from: Option<(Pool, Address)>, keys: Option<KeysNow>) -> Self {
        Self { says, from, keys, kept: RefCell::default(), asking: Mutex::new(()) }
    }

    /// The card as an answer. The gateway asks the agent in its own name, at most once in [`KEPT`], for all waiting callers.
    /// A caller that already `has` this version gets 304.
    ///
    /// # Errors
    /// `upstream_invalid` for an unsigned card that must be signed, and for a card that names contexts and cannot be changed
    /// or shown without them.
    pub(crate) async fn answer(
        &self,
        connection: AgentConnection<'_>,
        has: Option<&HeaderValue>,
        decision: DecisionId,
    ) -> Result<Answer, Refusal> {
        let body = match self.fresh() {
            Some(body) => body,
            None => self.renewed(connection).await,
        };
        let body = body.map_err(Bad::refusal)?;
        Ok(conditional(body, has, decision))
    }

    fn fresh(&self) -> Option<Result<Bytes, Bad>> {
        let (kept, keys) = (self.kept.borrow(), self.keys_now());
        let same = |kept: &Kept| kept.keys.as_ref().map(Arc::as_ptr) == keys.as_ref().map(Arc::as_ptr);
        kept.as_ref().filter(|kept| Instant::now() < kept.until && same(kept)).map(|kept| kept.body.clone())
    }

    fn keys_now(&self) -> Option<Arc<CardKeys>> {
        self.keys.as_ref().and_then(|now| now())
    }

    async fn renewed(&self, connection: AgentConnection<'_>) -> Result<Bytes, Bad> {
        let _turn = self.asking.lock().await;
        if let Some(body) = self.fresh() {
            return body;
        }
        let theirs = self.fetch(connection).await;
        let life = if theirs.is_some() { KEPT } else { KEPT_BARE };
        let keys = self.keys_now();
        let body = match (&self.keys, &keys) {
            (None, _) => self.build(theirs.as_deref()),
            (Some(_), keys) => self.untouched(theirs, keys.as_deref()),
        };
        *self.kept.borrow_mut() = Some(Kept { until: Instant::now() + life, body: body.clone(), keys });
        body
    }

    async fn fetch(&self, connection: AgentConnection<'_>) -> Option<Bytes> {
        let (pool, address, path) = match &self.from {
            Some((pool, address)) => (pool, address, address.path()),
            None => (connection.pool, connection.address, CARD_PATH),
        };
        let lease = pool.lease().await.ok()?;
        let request = address.card_request(path);
        let asked = forward::exchange(pool, lease, request, connection.limits, Allowed::ALWAYS);
        let (head, body) = asked.await.ok()?;
        (head.status == 200).then_some(body)
    }

    /// A public card, unchanged and signed by a listed key.
    fn untouched(&self, theirs: Option<Bytes>, keys: Option<&CardKeys>) -> Result<Bytes, Bad> {
        let bytes = theirs.ok_or(Bad::Unsigned)?;
        let card = signed::value(&bytes).ok_or(Bad::Unsigned)?;
        let quiet = self.says.extension.alone_in(&signed::opened(&card), "");
        keys.ok_or(Bad::Unsigned)?.verify(card).map_err(|NotSigned| Bad::Unsigned)?;
        quiet.map_err(Bad::TellsContexts)?;
        Ok(bytes)
    }

    /// The public card from the agent's bytes; without a valid card, the bare one.
    fn build(&self, theirs: Option<&[u8]>) -> Result<Bytes, Bad> {
        let read = theirs.and_then(|bytes| json::read(bytes, &json::Limits::default()).ok());
        let theirs = read.as_ref().and_then(Json::as_object);
        self.says.public(theirs).map_err(Bad::AsksForContexts)
    }

    /// Replacement for a permitted reply that holds the extended card; `None` if the reply passes unchanged. The agent knows
    /// the caller here, so the rebuilt card may name contexts.
    ///
    /// # Errors
    /// `upstream_invalid` over every transport, if cards pass unchanged and no listed key signed this one.
    pub(crate) fn extended(
        &self,
        reply: &[u8],
        form: Form,
        id: Option<&RpcId>,
    ) -> Result<Option<Bytes>, Refusal> {
        if self.keys.is_some() {
            let reply = signed::value(reply);
            let card = match form.is_json_rpc() {
                true => reply.and_then(|mut reply| reply.get_mut("result").map(serde_json::Value::take)),
                false => reply,
            };
            let signed = card.zip(self.keys_now()).is_some_and(|(card, keys)| keys.verify(card).is_ok());
            let unsigned = || Bad::Unsigned.refusal().with_delivered(Delivered::Yes).with_rpc_id(id.cloned());
            return if signed { Ok(None) } else { Err(unsigned()) };
        }
        let read = json::read(reply, &json::Limits::default()).ok();
        let object = read.as_ref().and_then(Json::as_object);
        Ok(Some(match id.filter(|_| form.is_json_rpc()) {
            Some(id) => {
                let card = self.says.card(object.and_then(|reply| reply.get("result")?.as_object()));
                let card = serde_json::Value::Object(card);
                Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{card}}}"#, id.to_json()))
            }
            None => Bytes::from(serde_json::Value::Object(self.says.card(object)).to_string()),
        }))
    }
}
