//! Charges of a message: by the limits of the deciding permits, and by the budgets of `limits.json`.

use super::buckets::{Buckets, Charge};
use crate::{Direction, conform::Definition, decide::Decided};
use semgate_policies::{Budget, Rate, RateKey, Spoken};
use semgate_protocol::Instance;
use std::sync::Arc;

/// All charges of a decided message, one per bucket.
///
/// A policy limit counts each concept that the policy permitted, in both directions. A budget counts cost
/// units of requests alone, since a replier was asked.
pub(crate) fn charges(decided: &Decided<'_, '_>, buckets: &Buckets) -> Vec<Charge> {
    let mut all = Vec::new();
    let case = decided.case();
    for ((definition, instance), obligations) in decided.obliged() {
        for obligation in obligations.iter() {
            let Some((rate, key)) = obligation.limit else { continue };
            let bucket =
                bucket(decided, ("policy", &obligation.bucket), rate, key, &spoken(definition, instance));
            add(
                &mut all,
                Charge {
                    key: buckets.key(bucket),
                    rate,
                    cost: 1,
                    name: Arc::clone(&obligation.quota),
                    by: Arc::clone(&obligation.policy),
                    kind: "policy",
                    per: key,
                    hint: obligation.notice.clone(),
                },
            );
        }
    }
    let policies = case.generation.policies();
    let budgets = match case.direction {
        Direction::Request => policies.budgets_of(case.sender.id()),
        Direction::Reply => &[],
    };
    for (budget, (definition, instance)) in
        budgets.iter().flat_map(|budget| decided.instances().map(move |definition| (budget, definition)))
    {
        let spoken = spoken(definition, instance);
        let cost = u64::from(policies.budgets().cost(&spoken));
        if cost > 0 && budget.pays(&spoken) {
            add(&mut all, of_budget(decided, buckets, budget, &spoken, cost));
        }
    }
    all
}

fn of_budget(
    decided: &Decided<'_, '_>,
    buckets: &Buckets,
    budget: &Budget,
    spoken: &Spoken<'_>,
    cost: u64,
) -> Charge {
    let bucket = bucket(decided, ("budget", &budget.name), budget.rate, budget.key, spoken);
    Charge {
        key: buckets.key(bucket),
        rate: budget.rate,
        cost,
        name: Arc::clone(&budget.name),
        by: Arc::clone(&budget.name),
        kind: "budget",
        per: budget.key,
        hint: None,
    }
}

/// The kind and name of a limit.
type LimitName<'b> = (&'static str, &'b str);

/// The parts that distinguish a bucket. The limit is one of them: a changed limit starts anew, and an
/// unchanged one keeps its count over reloads.
type Bucket<'b> =
    (LimitName<'b>, (Rate, RateKey), &'b str, Option<&'b str>, Option<(&'b str, &'b str)>, Option<&'b str>);

fn bucket<'b>(
    decided: &'b Decided<'_, '_>,
    limit: LimitName<'b>,
    rate: Rate,
    key: RateKey,
    spoken: &Spoken<'b>,
) -> Bucket<'b> {
    let case = decided.case();
    (
        limit,
        (rate, key),
        case.sender.id(),
        // replies to one caller do not reduce the budget for others
        (key.receiver || case.direction == Direction::Reply).then_some(case.receiver),
        key.concept.then_some((spoken.line, spoken.concept)),
        key.line.then_some(spoken.line),
    )
}

fn spoken<'s>(definition: &'s Definition<'_>, instance: &Instance<'_>) -> Spoken<'s> {
    Spoken { line: definition.line(), concept: definition.term.name(), performative: instance.performative }
}

/// Adds a charge to that of the same bucket, if there is one.
fn add(all: &mut Vec<Charge>, charge: Charge) {
    match all.iter_mut().find(|one| one.key == charge.key) {
        Some(one) => one.cost = one.cost.saturating_add(charge.cost),
        None => all.push(charge),
    }
}
