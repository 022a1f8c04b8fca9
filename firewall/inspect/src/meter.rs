//! Last stage: rate limits.
//!
//! The limit of ten ambiguous questions per minute (F0-36, F0-43) is exact; a token bucket would let 19 pass
//! in the first minute. A message spends from all buckets of policies and `limits.json` at once, or from
//! none.

mod ambiguity;
mod buckets;
mod charges;
mod limited;
mod quota;
mod shards;
mod steps;

pub use ambiguity::{AmbiguityMeter, TooAmbiguous};
pub use buckets::Buckets;
pub use limited::Limited;
pub use quota::{Left, Quota};
pub(crate) use steps::{StepSession, Steps};

use crate::{
    Code, Direction, Facts, InspectLimits, Refusal, approval::step_session, decide::Decided, decide::unmet,
    once, permit::Counted,
};
use buckets::{Charge, Exhausted};
use charges::charges;
use semgate_policies::Obligations;
use std::{sync::Arc, time::Duration};

/// The control vocabulary's question, which costs its receiver inference budget.
pub const AMBIGUOUS: &str = "ambiguous_parameter";

/// The window of the ambiguity meter, in seconds.
const MINUTE: u64 = 60;

/// Every counter, shared by all cores.
#[derive(Debug)]
pub struct Meters {
    ambiguity: AmbiguityMeter,
    buckets: Buckets,
    steps: Steps,
}

/// A message that passed every stage. Only this module builds one.
#[derive(Debug)]
pub struct Metered<'c, 'j> {
    decided: Decided<'c, 'j>,
    quotas: Vec<Quota>,
    spent: Spent,
}

/// Costs of a message, to give back if it does not pass in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent {
    sender: Option<Arc<str>>,
    asked: usize,
    at_ms: u64,
    charges: Vec<Charge>,
    step: Option<Step>,
}

/// The change of a step counter by a message.
#[derive(Clone, Debug)]
enum Step {
    /// One more step.
    Taken(StepSession),
    /// The count began again, at this count before.
    Reset(StepSession, u64),
}

impl Meters {
    /// Meters with nothing counted.
    pub(crate) fn new(limits: &InspectLimits) -> Self {
        Self {
            ambiguity: AmbiguityMeter::new(limits.ambiguous_per_minute, limits.metered_agents),
            buckets: Buckets::new(limits.rate_buckets),
            steps: Steps::new(limits.metered_agents),
        }
    }

    /// Gives back the costs of a message that did not pass in the end.
    pub(crate) fn give_back(&self, spent: &Spent) {
        if let Some(sender) = spent.sender.as_ref().filter(|_| spent.asked > 0) {
            self.ambiguity.give_back(sender, spent.asked, spent.at_ms);
        }
        self.buckets.give_back(&spent.charges);
        match &spent.step {
            Some(Step::Taken(session)) => self.steps.take_back(session, spent.at_ms),
            Some(Step::Reset(session, before)) => self.steps.restore(session, *before, spent.at_ms),
            None => {}
        }
    }

    /// Steps of senders in their sessions.
    pub(crate) const fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Counts the step of a message that passes by a permit with `@steps`. One that a person approved begins the count again.
    fn step(&self, decided: &Decided<'_, '_>) -> Option<Step> {
        let counts = |obligations: &Obligations| obligations.iter().any(|one| one.when.steps.is_some());
        if !decided.obliged().any(|(_, obligations)| counts(obligations)) {
            return None;
        }
        let (case, session) = (decided.case(), step_session(decided.conformed()));
        let now_ms = case.now.monotonic_ms;
        if case.approved.is_some() {
            let before = self.steps.reset(&session, now_ms);
            return Some(Step::Reset(session, before));
        }
        self.steps.add(&session, now_ms);
        Some(Step::Taken(session))
    }
}

/// Counts a decided message against its sender: its ambiguous questions, and the limits of policies and
/// `limits.json`. A message that one limit stops is counted by none. A message that was counted before, with
/// its first permit, is not counted again. Takes a message that counts once.
///
/// # Errors
/// `ambiguity_limited`, then `rate_limited`, with the wait after which it would pass; then `replayed`. `policy_error` for a
/// reply that still holds a redacted member.
pub(crate) fn meter<'c, 'j>(
    decided: Decided<'c, 'j>,
    counted: Option<Counted>,
) -> Result<Metered<'c, 'j>, Refusal> {
    nothing_left(&decided)?;
    if counted.is_some() {
        return Ok(Metered { decided, quotas: Vec::new(), spent: Spent::default() });
    }
    let (case, asked) = (decided.case(), decided.ambiguous());
    let meters = &case.state.meters;
    let charges = charges(&decided, &meters.buckets);
    let mut quotas = Vec::new();
    if asked > 0 {
        match meters.ambiguity.ask(case.sender_key(), asked, case.now.monotonic_ms) {
            Ok(units) => quotas.push(ambiguity(meters, Left { units, more_in: None })),
            Err(TooAmbiguous { wait, left }) => {
                let most = meters.ambiguity.most();
                let wait = (asked <= most).then_some(wait);
                let limited = vec![Limited::plain("ambiguity", format!("{most}/minute"), asked, left, wait)];
                let refusal = too_ambiguous(meters, asked, left, wait);
                return Err(refusal.with_facts(Facts { limited, ..decided.facts() }));
            }
        }
    }
    let sender = (asked > 0).then(|| Arc::clone(case.sender_key()));
    let spent = Spent { sender, asked, at_ms: case.now.monotonic_ms, ..Spent::default() };
    if !charges.is_empty() {
        match meters.buckets.take(&charges, case.now.monotonic_ms) {
            Ok(left) => quotas.extend(Quota::tightest(left)),
            Err(exhausted) => {
                meters.give_back(&spent);
                let limited = Limited::all(&charges, &exhausted);
                return Err(too_often(&charges, exhausted).with_facts(Facts { limited, ..decided.facts() }));
            }
        }
    }
    // a reply spends from the replier's limits, which are not shown to the caller
    if case.direction == Direction::Reply {
        quotas.clear();
    }
    let spent = Spent { charges, ..spent };
    once::take(&decided).inspect_err(|_| meters.give_back(&spent))?;
    let step = meters.step(&decided);
    Ok(Metered { decided, quotas, spent: Spent { step, ..spent } })
}

fn ambiguity(meters: &Meters, left: Left) -> Quota {
    let most = u64::try_from(meters.ambiguity.most()).unwrap_or(u64::MAX);
    Quota { name: "ambiguity".into(), most, window: MINUTE, left: Some(left) }
}

/// The refusal by the ambiguity limit. Without a wait the message asks more than the limit can hold.
fn too_ambiguous(meters: &Meters, asked: usize, left: u64, wait: Option<Duration>) -> Refusal {
    let most = meters.ambiguity.most();
    let left = Left { units: left, more_in: wait.map(seconds) };
    let refusal = Refusal::new(
        Code::AmbiguityLimited,
        format!("this agent asked more than {most} ambiguous questions within 60 seconds"),
    );
    let refusal = match wait {
        Some(wait) => refusal
            .with_hint("ask less often, or ask for all open parameters at once; retry after the time given")
            .with_retry_after(wait),
        None => refusal
            .with_hint("ask fewer questions in one message: this message alone exceeds the limit")
            .with_detail(format!("{asked} questions in one message can never pass: the limit holds {most}"))
            .that_never_passes(),
    };
    refusal.with_quotas(vec![ambiguity(meters, left)])
}

/// The refusal by a rate limit. Its reason names no policy and no numbers; only the operator sees the limit.
fn too_often(charges: &[Charge], exhausted: Exhausted) -> Refusal {
    let Exhausted { wait, never, quotas, short } = exhausted;
    let stopping = || short.iter().filter_map(|at| charges.get(*at));
    let hint = stopping().find_map(|charge| charge.hint.clone());
    let refusal = if never {
        let dear = stopping().filter(|charge| charge.is_never_paid());
        let costs = dear.map(|charge| {
            format!("`{}` holds {} and this costs {}", charge.by, charge.rate.burst, charge.cost)
        });
        Refusal::new(Code::RateLimited, "this message alone costs more than the limit ever allows")
            .with_hint("send less in one message: this message alone exceeds the limit")
            .with_detail(format!("it can never pass: {}", costs.collect::<Vec<_>>().join(", ")))
            .that_never_passes()
    } else {
        let by: Vec<&str> = stopping().map(|charge| &*charge.by).collect();
        let detail = if by.is_empty() {
            "no room for another bucket".to_owned()
        } else {
            format!("`{}`", by.join("`, `"))
        };
        Refusal::new(Code::RateLimited, "this agent sends this more often than its limit allows")
            .with_hint("send this less often; retry after the time given")
            .with_detail(detail)
            .with_retry_after(wait)
    };
    let refusal = match hint {
        Some(hint) => refusal.with_hint(&*hint),
        None => refusal,
    };
    refusal.with_quotas(Quota::tightest(quotas))
}

/// Whole seconds, rounded up.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// Refuses a message that still holds a redacted member.
fn nothing_left(decided: &Decided<'_, '_>) -> Result<(), Refusal> {
    match decided.unredacted() {
        Some(obligation) => Err(unmet(&obligation).with_facts(decided.facts())),
        None => Ok(()),
    }
}

impl<'c, 'j> Metered<'c, 'j> {
    pub(crate) fn decided(&self) -> &Decided<'c, 'j> {
        &self.decided
    }

    /// Limits that concern the message, with the sender's remaining units.
    pub(crate) fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    pub(crate) fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Facts known about the message.
    pub fn facts(&self) -> Facts {
        self.decided.facts()
    }
}
