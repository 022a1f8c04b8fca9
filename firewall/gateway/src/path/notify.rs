//! The agent's own notifications: admit → receive → inspect → record → deliver.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::request::Parts;
use semgate_inspect::{Code, Delivered, Direction, Notification, Peer, Refusal};
use tokio::time::{Instant as Deadline, timeout_at};

use super::{NotRecorded, Stopped, Way};
use crate::account::Charge;
use crate::admit;
use crate::admit::headers::Media;
use crate::answer::Answer;
use crate::clock::unix_now;
use crate::egress::{self, Egress, deliver};
use crate::executor::OnThisCore;
use crate::framing::Serving;
use crate::identify::Identity;
use crate::lane::Lane;
use crate::reasons;
use crate::reasons::no_audit;
use crate::receive;
use crate::receive::unread::Unread;
use crate::record::Outcome;
use crate::refuse::{self, Manner};

/// Serves one request on the egress listener, including its refusal.
pub(crate) async fn notified(
    lane: Rc<Lane>,
    identity: Rc<Identity>,
    serving: Serving,
    head_and_body: (&Parts, &mut Unread),
) -> Answer {
    let decision = lane.decisions.next();
    let (manner, shown) = (Manner::Plain, OnceCell::new());
    let (caller, began) = (serving.caller(), Instant::now());
    let charge = Charge::new(identity.account());
    let pause = Cell::default();
    let way = Way { lane: &lane, identity: &identity, charge, pause, caller, shown, manner, decision, began };
    match way.notification(&serving, head_and_body).await {
        Ok(()) => refuse::taken(decision),
        Err(refusal) => way.refuse(&Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }).await,
    }
}

impl Way<'_> {
    async fn notification(
        &self,
        serving: &Serving,
        (parts, body): (&Parts, &mut Unread),
    ) -> Result<(), Refusal> {
        let lane = self.lane;
        let shared = &*lane.shared;
        self.begin()?;
        if let Some(fault) = serving.fault() {
            return Err(reasons::framing(fault));
        }
        let now = unix_now();
        let peer = self.identity.peer(now)?;
        let egress = lane.egress.as_ref().ok_or_else(nothing_here)?;
        egress.names.judge(parts)?;
        let token = egress.posted_to(parts.uri.path()).ok_or_else(nothing_here)?;
        let admitted = admit::notification(&lane.door, parts, &shared.limits)?;
        let room = shared.limits.credentials_remembered;
        let shown = self.identity.shown(&parts.headers, &shared.issuers, (now, room))?;
        let peer = &self.shown.get_or_init(|| shown).by(peer, now)?;
        let media = admitted.typed.unwrap_or(Media::Json);
        let room = self.room();
        let receiving = receive::receive(admitted, body, serving, &room);
        let received = self.attended(|| self.bare_facts(Direction::Reply), receiving).await?;
        let (inspector, body) = (&shared.inspector, received.bytes.clone());
        let judged = Instant::now();
        let permit = inspector.inspect_notification(&lane.route, token, peer, body, shared.now())?;
        let posted = permit.posted();
        let outcome = self.sent(permit, judged, peer, (&received.bytes, media), egress).await;
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
        judged: Instant,
        peer: &Peer,
        (body, media): (&Bytes, Media),
        egress: &Egress,
    ) -> Result<(), Refusal> {
        let lane = self.lane;
        let (shared, inspector) = (&*lane.shared, &lane.shared.inspector);
        let mut facts = permit.facts().clone();
        // the allow-list may have become shorter since the configuration was set
        let target = egress
            .targets
            .listed(&permit.delivery().url)
            .map_err(|_| egress::refused().with_facts(facts.clone()))?;
        let deadline = Deadline::now() + shared.limits.push_timeout;
        let core = OnThisCore::InTurns(Rc::clone(&lane.turns), Arc::clone(self.identity.account().agent()));
        let opening = timeout_at(deadline, deliver::open(egress, &target, &core));
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
        let told = |refusal: Refusal| refusal.with_facts(facts.clone());
        if let Err(NotRecorded) = self.record(Outcome::Allowed, facts.clone()) {
            return Err(told(no_audit(Delivered::No)));
        }
        lane.metrics.allowed(Direction::Reply, self.began.elapsed().as_secs_f64());
        let (bytes, delivery) = permit.spend();
        let sending = timeout_at(deadline, deliver::send(open, &target, (bytes, media), &delivery));
        match self.attended(|| facts.clone(), sending).await {
            Ok(sent) => sent.map_err(told),
            Err(_) => Err(told(deliver::too_slow(Delivered::Unknown))),
        }
    }
}

/// Refusal with the text of an unknown token.
fn nothing_here() -> Refusal {
    Refusal::new(Code::NotFound, "there is no task or conversation of this id")
        .with_hint("post to the address of the push configuration")
}
