//! The agent's own notifications: admit → receive → inspect → record → deliver.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use semgate_inspect::{Code, Delivered, Direction, Notification, Peer, Refusal};
use tokio::time::{Instant as Deadline, timeout_at};

use crate::clock::unix_now;
use crate::pipeline::Request;
use crate::pipeline::admit;
use crate::pipeline::admit::headers::Media;
use crate::pipeline::answer::Answer;
use crate::pipeline::exchange::{Exchange, Stopped};
use crate::pipeline::gateway_refusals;
use crate::pipeline::gateway_refusals::no_audit;
use crate::pipeline::identify::Identity;
use crate::pipeline::receive;
use crate::pipeline::record::NotRecorded;
use crate::pipeline::record::Outcome;
use crate::pipeline::refuse::{self, Manner};
use crate::pipeline::trace::Trace;
use crate::server::executor::OnThisCore;
use crate::server::framing::Serving;
use crate::server::worker::RouteWorker;
use crate::upstream::egress::{self, Egress, deliver};

/// Serves one request on the egress listener, including its refusal.
pub(crate) async fn notified(
    worker: Rc<RouteWorker>,
    identity: Rc<Identity>,
    serving: Serving,
    request: Request<'_>,
) -> Answer {
    let decision = worker.decisions.next();
    let trace = Trace::without_spans(&request.parts.headers);
    let exchange = Exchange::new(&worker, &identity, serving.caller(), Manner::Plain, decision);
    let exchange = Exchange { trace, ..exchange };
    match exchange.notification(&serving, request).await {
        Ok(()) => refuse::taken(decision),
        Err(refusal) => {
            exchange.refuse(&Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }).await
        }
    }
}

/// A judged notification of the agent.
struct Posting<'p> {
    judged: Instant,
    body: &'p Bytes,
    media: Media,
}

impl Exchange<'_> {
    async fn notification(
        &self,
        serving: &Serving,
        Request { parts, body }: Request<'_>,
    ) -> Result<(), Refusal> {
        let worker = self.worker;
        let shared = &*worker.shared;
        self.charge_arrival()?;
        if let Some(fault) = serving.fault() {
            return Err(gateway_refusals::framing(fault));
        }
        let now = unix_now();
        let peer = self.identity.peer(now)?;
        let egress = worker.egress.as_ref().ok_or_else(nothing_here)?;
        egress.names.judge(parts)?;
        let token = egress.posted_to(parts.uri.path()).ok_or_else(nothing_here)?;
        let admitted = admit::notification(&worker.rules, parts, &shared.limits)?;
        let peer = &self.shows(parts)?.by(peer, now)?;
        let media = admitted.typed.unwrap_or(Media::Json);
        let room = self.room();
        let receiving = receive::receive(admitted, body, serving, &room);
        let received = self.attended(|| self.bare_facts(Direction::Reply), receiving).await?;
        let (inspector, body) = (&shared.inspector, received.bytes.clone());
        let judged = Instant::now();
        let permit = inspector.inspect_notification(&worker.route, token, peer, body, shared.now())?;
        let posted = permit.posted();
        let posting = Posting { judged, body: &received.bytes, media };
        let outcome = self.sent(permit, &posting, peer, egress).await;
        let arrived = match &outcome {
            Ok(()) => Delivered::Yes,
            Err(refusal) if refusal.delivered() == Delivered::No => Delivered::No,
            // the target may have kept an unconfirmed notification
            Err(_) => Delivered::Unknown,
        };
        inspector.arrived(token, &posted, arrived);
        outcome
    }

    /// Delivers a permitted notification.
    async fn sent(
        &self,
        mut permit: Notification,
        posting: &Posting<'_>,
        peer: &Peer,
        egress: &Egress,
    ) -> Result<(), Refusal> {
        let Posting { judged, body, media } = *posting;
        let worker = self.worker;
        let (shared, inspector) = (&*worker.shared, &worker.shared.inspector);
        let mut facts = permit.facts().clone();
        // the allow-list may have become shorter since the configuration was set
        let target = egress
            .out
            .targets
            .listed(&permit.delivery().url)
            .map_err(|_| egress::refused().with_facts(facts.clone()))?;
        let deadline = Deadline::now() + shared.limits.push_timeout;
        let core = OnThisCore::InTurns(Rc::clone(&worker.turns), Arc::clone(self.identity.account().agent()));
        let opening = timeout_at(deadline, deliver::open(&egress.out, &target, &core));
        let opening = self.attended(|| facts.clone(), opening);
        let open = match opening.await {
            Ok(open) => open.map_err(|refusal| refusal.with_facts(facts.clone()))?,
            Err(_) => return Err(deliver::too_slow(Delivered::No).with_facts(facts)),
        };
        // opening a connection took a while: the current identity and state decide
        self.still().map_err(|refusal| refusal.with_facts(facts.clone()))?;
        let moved = inspector.generation().number() != facts.generation;
        if moved || judged.elapsed().as_secs() >= 1 {
            let now = shared.now();
            permit = inspector.renew_notification(permit, peer, body.clone(), now)?;
            facts = permit.facts().clone();
        }
        let with_facts = |refusal: Refusal| refusal.with_facts(facts.clone());
        if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
            return Err(with_facts(no_audit(Delivered::No)));
        }
        worker.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let (bytes, delivery) = permit.spend();
        let sending = timeout_at(deadline, deliver::send(open, &target, bytes, media, Some(&delivery)));
        match self.attended(|| facts.clone(), sending).await {
            Ok(sent) => sent.map_err(with_facts),
            Err(_) => Err(with_facts(deliver::too_slow(Delivered::Unknown))),
        }
    }
}

/// Refusal with the text of an unknown token.
fn nothing_here() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation with this id")
        .with_hint("post to the address of the push configuration")
}
