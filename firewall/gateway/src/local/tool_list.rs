//! Tool lists that the gateway requests for a caller of an MCP server. They are needed before a call after the server
//! reported a change, or after the tool drifted at another address. The operator may also demand them after a maximum age.
//!
//! A client may call before it lists, or may not know of the change, so its call is not refused for that. The list request
//! counts as a message of the caller: it is judged, counted and recorded like any other. It goes to the same server in the
//! same session and version, with the same context and credentials. So neither side learns more than from the caller's own
//! request. The answer is compared with the pins and forwarded to nobody.

mod id;

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt;
use semgate_inspect::{Arrived, Code, Delivered, HeaderClaims, Peer, Permit, Refusal, Remedy};
use semgate_protocol::RpcId;
use semgate_protocol::mcp::{CLAIM, Operation};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use self::id::another;
use crate::config::Limits;
use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::{Answer, AnswerBody};
use crate::pipeline::events::EVENT_STREAM;
use crate::pipeline::events::Item;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::receive::Received;
use crate::pipeline::relay::{Framing, Reader};

/// Pages of a tool list that the gateway reads itself: a thousand tools at 64 a page. A longer list waits for the caller's.
const TOOL_PAGES: usize = 16;

/// Number of draws for an id that the session does not use. With a thousand ids, or texts of a few digits, the fourth is
/// free.
const DRAWS: usize = 4;

/// A message that starts within another's path.
type Nested<'w> = Pin<Box<dyn Future<Output = Result<Answer, Stopped>> + 'w>>;

/// Completeness of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whole {
    Yes,
    No,
}

/// Result of one page.
enum Page {
    /// The list continues at this cursor.
    Next(String),
    /// The last page.
    Last,
    /// The server first demands authorization of the caller.
    Demanded(Stopped),
}

impl Exchange<'_> {
    /// Judges a request again after reading the list that its refusal asked for ([`Remedy::ListTools`]). The caller's other
    /// calls wait for the same list. All of it takes no longer than an answer may.
    ///
    /// # Errors
    /// The server's demand for authorization, as the answer to the call, which was not forwarded. The same refusal, if the
    /// list is unavailable or lacks the tool. Otherwise as [`Inspector::inspect`](semgate_inspect::Inspector::inspect).
    pub(crate) async fn listed(
        &self,
        peer: &Peer,
        admitted: &Admitted,
        again: Arrived,
        refusal: Refusal,
    ) -> Result<Permit, Stopped> {
        if refusal.remedy() != Some(Remedy::ListTools) {
            return Err(refusal.into());
        }
        let worker = self.worker;
        let l9_context: Vec<&str> = admitted.l9_context.iter().map(String::as_str).collect();
        let headers = &HeaderClaims { l9_context: &l9_context };
        let deadline = Instant::now() + worker.shared.limits.upstream_timeout;
        let inspector = &worker.shared.inspector;
        let turn = worker.listings.of(peer.id());
        let Ok(_alone) = timeout_at(deadline, turn.lock()).await else {
            // another call's list may have settled it meanwhile
            return Ok(inspector.inspect(&worker.route, peer, headers, again, worker.shared.now())?);
        };
        let changes = || inspector.tool_changes(&worker.route);
        let (mut cursor, mut of, mut whole) = (None, changes(), Whole::No);
        for left in (0..=TOOL_PAGES).rev() {
            match inspector.inspect(&worker.route, peer, headers, again.clone(), worker.shared.now()) {
                Err(still) if still.remedy() == Some(Remedy::ListTools) => {}
                judged => return Ok(judged?),
            }
            let now = changes();
            // after a complete and current list, the tool is known to be missing
            if left == 0 || (whole == Whole::Yes && now == of) {
                break;
            }
            if cursor.is_none() {
                of = now;
            }
            let page = self.page(peer, admitted, &again, cursor.as_deref());
            match timeout_at(deadline, page).await {
                Ok(Some(Page::Next(next))) => (cursor, whole) = (Some(next), Whole::No),
                Ok(Some(Page::Last)) => (cursor, whole) = (None, Whole::Yes),
                Ok(Some(Page::Demanded(stopped))) => {
                    let demanded = Refusal::demanded(stopped.refusal.status())
                        .with_delivered(Delivered::No)
                        .with_rpc_id(refusal.rpc_id().cloned())
                        .with_facts(refusal.facts().clone());
                    return Err(Stopped { demand: stopped.demand, ..demanded.into() });
                }
                _ => break,
            }
        }
        Err(refusal.into())
    }

    /// Requests one page. `None` for a refusal, except for the server's demand for authorization.
    async fn page(
        &self,
        peer: &Peer,
        admitted: &Admitted,
        again: &Arrived,
        cursor: Option<&str>,
    ) -> Option<Page> {
        let decision = self.worker.decisions.next();
        let exchange = Exchange {
            charge: self.charge.clone(),
            shown: self.shown.clone(),
            trace: self.trace.again(self.worker, decision),
            ..Exchange::new(self.worker, self.identity, self.caller.clone(), self.manner, decision)
        };
        // counts like any other message of the caller
        self.identity.account().arrive(self.worker.shared.now()).ok()?;
        let (inspector, route) = (&self.worker.shared.inspector, &self.worker.route);
        let (id, bytes) = (0..DRAWS).find_map(|_| {
            let mut random = [0; 26];
            let (id, bytes) = question(&again.body, self.worker.decisions.next().text(&mut random), cursor)?;
            inspector.is_free(route, peer, &again.call, &id).then_some((id, bytes))
        })?;
        let received = Received { admitted: head(admitted, again)?, bytes };
        let asking: Nested<'_> = Box::pin(exchange.pass(peer, received));
        match asking.await {
            Ok(answer) => {
                let page = read(answer, &self.worker.shared.limits).await;
                // the client never used this id itself
                inspector.free(route, peer, &again.call, &id);
                page
            }
            Err(stopped) => {
                let _ = exchange.stop(&stopped);
                (stopped.refusal.code() == Code::AuthorizationRequired).then_some(Page::Demanded(stopped))
            }
        }
    }
}

/// Head of the list request: that of the call, with the new body's facts.
fn head(admitted: &Admitted, again: &Arrived) -> Option<Admitted> {
    let mut call = again.call.clone();
    let head = call.mcp.as_deref_mut()?;
    head.method = head.method.as_ref().map(|_| Operation::ListTools.method().to_owned());
    head.name = None;
    head.params.clear();
    Some(admitted.in_place(call))
}

/// `tools/list` with the caller's version, capabilities and context from the call's `_meta`. Members about the call itself
/// are dropped. The bytes were parsed strictly before.
fn question(call: &[u8], random: &str, cursor: Option<&str>) -> Option<(RpcId, Bytes)> {
    let call: Value = serde_json::from_slice(call).ok()?;
    let mut params = Map::new();
    if let Some(Value::Object(meta)) = call.pointer("/params/_meta") {
        let mut meta = meta.clone();
        meta.remove("progressToken");
        if let Some(Value::Object(claim)) = meta.get_mut(CLAIM) {
            claim.remove("performative");
        }
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
    if let Some(cursor) = cursor {
        params.insert("cursor".to_owned(), Value::from(cursor));
    }
    let method = Operation::ListTools.method();
    let id = another(call.get("id")?, random);
    let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let id = match id {
        Value::String(text) => RpcId::Text(text),
        number => RpcId::Integer(number.as_i64()?),
    };
    Some((id, Bytes::from(asked.to_string())))
}

/// Reads a permitted list, whole or from a stream.
async fn read(answer: Answer, limits: &Limits) -> Option<Page> {
    let (head, mut body) = answer.into_parts();
    let framing = match (&body, head.headers.get(CONTENT_TYPE)) {
        (_, Some(kind)) if kind == EVENT_STREAM => Framing::Events,
        (AnswerBody::Stream(_), _) => Framing::Lines,
        (AnswerBody::Whole { .. }, _) => return page(&body.collect().await.ok()?.to_bytes()),
    };
    let mut events = Reader::new(framing, limits);
    while let Some(Ok(frame)) = body.frame().await {
        events.add(frame.into_data().ok()?);
        while let Some(item) = events.next().ok()? {
            let Item::Event(event) = item else { continue };
            if let Some(page) = event.data.as_deref().and_then(page) {
                return Some(page);
            }
        }
    }
    None
}

fn page(answer: &[u8]) -> Option<Page> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let next = answer.get("result")?.get("nextCursor").and_then(Value::as_str);
    Some(next.map_or(Page::Last, |next| Page::Next(next.to_owned())))
}
