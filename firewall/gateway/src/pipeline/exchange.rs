//! One message in transit: its caller, its charges, its records and its refusals.

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http::request::Parts;
use semgate_inspect::{AnswerRight, Code, Direction, Facts, Now, Quota, Refusal};
use semgate_protocol::RefusedTask;

use crate::clock::unix_now;
use crate::pipeline::admit::Admitted;
use crate::pipeline::answer::Answer;
use crate::pipeline::authorize::Demand;
use crate::pipeline::decision::DecisionId;
use crate::pipeline::identify::{Identity, Shown};
use crate::pipeline::receive::Room;
use crate::pipeline::record::{NotRecorded, Outcome, Record, Recorded};
use crate::pipeline::refuse::{self, Manner, Speaker};
use crate::pipeline::relay::Of;
use crate::pipeline::reply::Stamp;
use crate::pipeline::trace::Trace;
use crate::server::account::{Charge, Recording};
use crate::server::framing::Caller;
use crate::server::worker::RouteWorker;

/// Verified credential tokens of one connection: an agent has one, and renews it now and then.
const CREDENTIALS_REMEMBERED: usize = 8;

/// One message in transit.
pub(crate) struct Exchange<'w> {
    pub(crate) worker: &'w Rc<RouteWorker>,
    pub(crate) identity: &'w Rc<Identity>,
    /// All charges of the request, until the end of its answer.
    pub(crate) charge: Charge,
    /// Delay before the answer to a refused arrival.
    pub(crate) pause: Cell<Duration>,
    pub(crate) caller: Caller,
    /// The head's credentials, once they were read.
    pub(crate) shown: OnceCell<Shown>,
    pub(crate) manner: Manner,
    pub(crate) decision: DecisionId,
    pub(crate) began: Instant,
    pub(crate) trace: Rc<Trace>,
}

/// A refusal, and the direction of the message that it stopped.
pub(crate) struct Stopped {
    pub(crate) direction: Direction,
    pub(crate) refusal: Refusal,
    /// Answer format, if it differs from the request's.
    pub(crate) manner: Option<Manner>,
    /// The agent's demand to the caller.
    pub(crate) demand: Demand,
}

impl Stopped {
    /// Sets the answer format, unless one is set already.
    pub(crate) fn answered_in(self, manner: Manner) -> Self {
        Self { manner: self.manner.or(Some(manner)), ..self }
    }

    /// Makes the refusal the answer to the request. If the request was answered on another stream, the refusal answers
    /// nothing.
    pub(crate) fn answering(self, right: &AnswerRight) -> Self {
        if self.refusal.rpc_id().is_none() || right.take() {
            return self;
        }
        Self { refusal: self.refusal.with_rpc_id(None), ..self }
    }

    /// Adds the remaining quotas of a caller whose message had passed. A refused reply affects only its replier's.
    pub(crate) fn telling(self, quotas: &[Quota]) -> Self {
        Self { refusal: self.refusal.with_quotas(quotas.to_vec()), ..self }
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self { direction: Direction::Request, refusal, manner: None, demand: Demand::default() }
    }
}

impl<'w> Exchange<'w> {
    pub(crate) fn new(
        worker: &'w Rc<RouteWorker>,
        identity: &'w Rc<Identity>,
        caller: Caller,
        manner: Manner,
        decision: DecisionId,
    ) -> Self {
        Self {
            worker,
            identity,
            charge: Charge::new(identity.account()),
            pause: Cell::default(),
            caller,
            shown: OnceCell::new(),
            manner,
            decision,
            began: Instant::now(),
            trace: Rc::default(),
        }
    }
}

impl Exchange<'_> {
    /// The head's credentials; empty before they were read.
    pub(crate) fn shown(&self) -> &Shown {
        self.shown.get_or_init(Shown::default)
    }

    /// Checks that the caller and its credentials still count.
    pub(crate) fn still(&self) -> Result<(), Refusal> {
        self.identity.still(self.shown(), &self.worker.shared.issuers, unix_now())
    }

    /// Checks that the caller may still receive the agent's output.
    pub(crate) fn hears(&self) -> Result<(), Refusal> {
        self.identity.hears(self.shown(), &self.worker.shared.issuers, unix_now())
    }

    /// Headers of the gateway on the answer.
    pub(crate) fn stamp<'s>(&'s self, admitted: &'s Admitted) -> Stamp<'s> {
        let address = &self.worker.address;
        Stamp { echo: admitted.extension.as_ref(), notice: None, address, decision: self.decision }
    }

    /// Reads the credentials in a head, once.
    ///
    /// # Errors
    /// `malformed` for two credential headers; `sender_mismatch` for an invalid token.
    pub(crate) fn shows(&self, parts: &Parts) -> Result<&Shown, Refusal> {
        let shared = &self.worker.shared;
        let shown =
            self.identity.shown(&parts.headers, &shared.issuers, unix_now(), CREDENTIALS_REMEMBERED)?;
        Ok(self.shown.get_or_init(|| shown))
    }

    /// Context of a stream that belongs to this message.
    pub(crate) fn of(&self, facts: Facts) -> Of {
        Of {
            worker: Rc::clone(self.worker),
            identity: Rc::clone(self.identity),
            charge: Charge::new(self.identity.account()),
            caller: self.caller.clone(),
            shown: self.shown().clone(),
            manner: self.manner,
            decision: self.decision,
            began: self.began,
            trace: Rc::clone(&self.trace),
            facts,
            opens: None,
        }
    }

    /// Waits for `what`. If the caller leaves meanwhile, dropping the future writes a record from `facts`.
    pub(crate) async fn attended<T>(&self, facts: impl Fn() -> Facts, what: impl Future<Output = T>) -> T {
        let mut awaiting = Awaiting { exchange: self, facts, done: false };
        let came = what.await;
        awaiting.done = true;
        came
    }

    /// Facts of a message before anything was read.
    pub(crate) fn bare_facts(&self, direction: Direction) -> Facts {
        let (sender, receiver) = (self.identity.id(), self.worker.route.receiver.as_str());
        let (sender, receiver) = match direction {
            Direction::Request => (sender, receiver),
            Direction::Reply => (receiver, sender),
        };
        Facts {
            direction,
            sender: sender.to_owned(),
            receiver: receiver.to_owned(),
            protocol: self.worker.rules.binding.as_str(),
            ..Facts::default()
        }
    }

    pub(crate) fn record(&self, outcome: Outcome, facts: Facts) -> Result<Recorded, NotRecorded> {
        let traced = self.trace.record(&facts);
        let record = Record::of(self.decision, outcome, facts, self.began);
        self.worker.shared.audit.record(Record { traced, ..record })
    }

    /// Space for the body of the request.
    pub(crate) fn room(&self) -> Room<'_> {
        let shared = &*self.worker.shared;
        Room { charge: &self.charge, turns: &self.worker.turns, limits: &shared.limits, now: shared.now() }
    }

    /// Records a refusal at once, and answers after the delay of a refused arrival.
    pub(crate) async fn refuse(&self, stopped: &Stopped) -> Answer {
        let answer = self.stop(stopped);
        if !self.pause.get().is_zero() {
            tokio::time::sleep(self.pause.get()).await;
        }
        answer
    }

    /// Records and answers a refusal. A failed record changes nothing, since the message is refused already.
    pub(crate) fn stop(&self, stopped: &Stopped) -> Answer {
        let Stopped { direction, refusal, manner, demand } = stopped;
        let mut facts = refusal.facts().clone();
        if facts.sender.is_empty() {
            let Facts { sender, receiver, protocol, .. } = self.bare_facts(*direction);
            (facts.sender, facts.receiver, facts.protocol) = (sender, receiver, protocol);
        }
        facts.direction = *direction;
        self.worker.metrics.refused(*direction, refusal.code(), self.began.elapsed().as_secs_f64());
        let shared = &*self.worker.shared;
        if let Recording::Whole { others } = self.identity.account().refusal(refusal.code(), shared.now()) {
            tracing::info!(
                decision = %self.decision, code = %refusal.code(), route = self.worker.route.name, detail = refusal.detail(),
                others, "{}", refusal.reason()
            );
            let traced = self.trace.record(&facts);
            let record = Record::of(self.decision, Outcome::Refused(refusal.code()), facts, self.began);
            if shared.audit.record(Record { others, traced, ..record }).is_err() {
                self.identity.account().not_recorded(refusal.code(), others, shared.now());
            }
        }
        let mut answer = self.refusal_answer(refusal, manner.unwrap_or(self.manner));
        demand.clone().tell(&mut answer);
        answer
    }

    /// The answer for a refusal, in the name of the route's receiver where the protocol asks for one.
    fn refusal_answer(&self, refusal: &Refusal, manner: Manner) -> Answer {
        if manner != Manner::Own {
            return refuse::refuse(refusal, manner, self.decision);
        }
        let (worker, now) = (self.worker, self.worker.shared.now());
        let repeated = self.repeated(refusal, now);
        let refusal = repeated.as_ref().unwrap_or(refusal);
        let (binding, receiver) = (worker.rules.binding, &worker.route.receiver);
        let generation = worker.shared.inspector.generation();
        let named = generation.policies().agent(receiver).and_then(|agent| agent.name_in(binding.as_str()));
        let speaker = Speaker {
            binding,
            name: named.unwrap_or(receiver),
            secret: worker.route.options.dialogue.secret(receiver),
            unix: now.unix,
        };
        refuse::in_own_form(refusal, &speaker, self.decision)
            .unwrap_or_else(|| refuse::refuse(refusal, manner, self.decision))
    }

    /// Remembers the refusal of a task. Returns the earlier one if the request asked about a task that was refused.
    fn repeated(&self, refusal: &Refusal, now: Now) -> Option<Refusal> {
        let echo = refusal.echo()?;
        let (account, route) = (self.identity.account(), &self.worker.route.name);
        match self.worker.rules.binding.protocol().refused_task(echo)? {
            RefusedTask::Begun(task) => {
                // the bytes of a task that came before say nothing about it
                if refusal.code() != Code::Replayed {
                    account.refuse_task(route, task, refusal, now);
                }
                None
            }
            RefusedTask::AskedFor(task) => {
                let earlier = account.refused_task(route, task, now)?;
                Some(earlier.with_facts(refusal.facts().clone()))
            }
        }
    }
}

/// Wait during which the caller may leave.
struct Awaiting<'w, F: Fn() -> Facts> {
    exchange: &'w Exchange<'w>,
    facts: F,
    /// True once the result is known; later code then writes the record.
    done: bool,
}

impl<F: Fn() -> Facts> Drop for Awaiting<'_, F> {
    fn drop(&mut self) {
        if !self.done {
            let facts = (self.facts)();
            self.exchange.worker.metrics.abandoned(facts.direction);
            let _ = self.exchange.record(Outcome::Abandoned, facts);
        }
    }
}

/// The refusal of a reply, with the facts of its message unless it has its own.
pub(crate) fn stopped_reply(refusal: Refusal, facts: Facts) -> Stopped {
    let refusal = if refusal.facts().sender.is_empty() { refusal.with_facts(facts) } else { refusal };
    Stopped { direction: Direction::Reply, ..Stopped::from(refusal) }
}
