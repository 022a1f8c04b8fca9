//! The stages of a message. A message passes these modules in order:
//!
//! `identify` → `admit` → `receive` → the inspector → `ask` → `forward` → `reply` → `record`
//!
//! The inspector's stages are parse → resolve → conform → decide → meter. Each stage takes a value that only the stage before
//! can build. Only [`refuse`] turns a [`Refusal`](semgate_inspect::Refusal) into an answer.

pub(crate) mod admit;
pub(crate) mod answer;
pub(crate) mod arrive;
pub(crate) mod ask;
pub(crate) mod authorize;
pub(crate) mod bridge;
pub(crate) mod decision;
pub(crate) mod events;
pub(crate) mod exchange;
pub(crate) mod forward;
pub(crate) mod gateway_refusals;
pub(crate) mod grpc;
pub(crate) mod identify;
pub(crate) mod mcp;
pub(crate) mod notify;
pub(crate) mod protocol;
pub(crate) mod push;
pub(crate) mod quota;
pub(crate) mod ready;
pub(crate) mod receive;
pub(crate) mod record;
pub(crate) mod refuse;
pub(crate) mod relay;
pub(crate) mod reply;
pub(crate) mod round_trip;
pub(crate) mod socket;
pub(crate) mod trace;
pub(crate) mod upstream_head;

use std::rc::Rc;

use http::header::{CONNECTION, UPGRADE};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use semgate_inspect::{Clarification, Direction, Peer};

use admit::Arrival;
use answer::Answer;
use exchange::{Exchange, Stopped};
use identify::Identity;
use receive::Received;
use receive::unread::Unread;
use trace::Trace;

use crate::server::framing::Serving;
use crate::server::worker::RouteWorker;

/// A request as it arrives: its head, and the body that was not read yet.
pub(crate) struct Request<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) body: &'r mut Unread,
}

/// Serves one request of a connection, including its refusal.
pub(crate) async fn serve(
    worker: Rc<RouteWorker>,
    identity: Rc<Identity>,
    serving: Serving,
    request: Request<'_>,
) -> Answer {
    let parts = request.parts;
    let manner = protocol::manner(&worker.rules, &parts.method, parts.uri.path(), &parts.headers);
    let decision = worker.decisions.next();
    let trace = Trace::of(&worker, decision, parts);
    let exchange =
        Exchange { trace, ..Exchange::new(&worker, &identity, serving.caller(), manner, decision) };
    let mut answer = match exchange.run(&serving, request).await {
        Ok(answer) => answer.map(|body| body.holding(serving, exchange.charge.clone())),
        Err(stopped) => exchange.refuse(&stopped).await,
    };
    exchange.trace.answered(answer.status());
    if parts.method == Method::HEAD {
        answer = answer::head_of(answer);
    }
    if parts.headers.contains_key(UPGRADE) && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        // the guard reads nothing after such a head, and would hold the connection for ever
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

impl Exchange<'_> {
    /// identify → admit → receive, then [`pass`](Self::pass) or an answer of the gateway's own.
    async fn run(&self, serving: &Serving, request: Request<'_>) -> Result<Answer, Stopped> {
        self.charge_arrival()?;
        let (peer, arrival) = self.admit(serving, request.parts).await?;
        let admitted = match arrival {
            Arrival::Message(admitted) => admitted,
            local => return self.answer_locally(&peer, local, serving, request.parts).await,
        };
        let received = self.receive(admitted, request.body, serving).await?;
        if received.admitted.handshake {
            return Box::pin(self.handshake(&peer, received)).await;
        }
        if let Some(group) = &self.worker.group {
            return Ok(Box::pin(self.gather(group, received)).await);
        }
        let manner = self.manner.read();
        self.pass(&peer, received).await.map_err(|stopped| stopped.answered_in(manner))
    }

    /// inspect → forward → reply → record.
    pub(crate) async fn pass(&self, peer: &Peer, received: Received) -> Result<Answer, Stopped> {
        let (admitted, arrived) = self.arrived(received)?;
        let permit = self.inspect(peer, &admitted, arrived).await?;
        if self.worker.rules.binding.protocol().traits().answered_here {
            return Box::pin(self.about_people(permit, &admitted)).await;
        }
        let inspector = &self.worker.shared.inspector;
        let permit = match inspector.clarify(permit, self.decision, self.worker.shared.now()) {
            Ok(Clarification::Forward(permit)) => permit,
            Ok(Clarification::Answered { sent, reply }) => return self.clarified(&sent, *reply, &admitted),
            Err(refusal) => return Err(Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }),
        };
        let permit = self.redirected(permit, &admitted)?;
        let sets = permit.sets_push();
        let ready = self.ready(permit).await.inspect_err(|_| {
            // the agent never received the address
            sets.iter().for_each(|sent| inspector.declined(sent));
        })?;
        let (quotas, right) = (ready.permit.quotas().to_vec(), ready.permit.right());
        let answered = self.round_trip(ready, &admitted).await;
        let mut answer = answered.map_err(|stopped| stopped.telling(&quotas).answering(&right))?;
        quota::tell(&mut answer, quotas);
        Ok(answer)
    }
}
