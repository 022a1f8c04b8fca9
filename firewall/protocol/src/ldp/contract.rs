//! Contracts of delegation: the bounds that the gateway holds a task to.

use super::envelope::instant_ms;
use crate::{
    Bounds, MessageFault,
    member::{Read, at, object, string},
};
use semgate_contexts::json::{Json, Object};

/// The bounds of a contract. Its schema judges the rest.
///
/// # Errors
/// `malformed` for a bound without a single reading: it would be a bound that nobody holds.
pub(super) fn bounds(contract: &Object<'_>) -> Read<Bounds> {
    let path = "/body/contract";
    let mut bounds = Bounds::default();
    if let Some(deadline) = contract.get("deadline") {
        bounds.deadline_ms = Some(instant_ms(string(deadline, path, "deadline")?, path, "deadline")?);
    }
    let Some(policy) = contract.get("policy") else { return Ok(bounds) };
    let path = "/body/contract/policy";
    let policy = object(policy, path)?;
    bounds.depth =
        policy.get("max_delegation_depth").map(|n| count(n, path, "max_delegation_depth")).transpose()?;
    let Some(budget) = policy.get("budget") else { return Ok(bounds) };
    let path = "/body/contract/policy/budget";
    let budget = object(budget, path)?;
    bounds.tokens = budget.get("max_tokens").map(|n| count(n, path, "max_tokens")).transpose()?;
    // a bound is rounded down, a cost up
    bounds.micro_usd =
        budget.get("max_cost_usd").map(|n| usd(n, path, "max_cost_usd", f64::floor)).transpose()?;
    Ok(bounds)
}

/// A whole number from 0 on.
pub(super) fn count(json: &Json<'_>, path: &str, member: &str) -> Read<u64> {
    let exact = match json {
        Json::Number(number) => number.as_i64_exact().and_then(|n| u64::try_from(n).ok()),
        _ => None,
    };
    exact.ok_or_else(|| MessageFault::malformed(at(path, member), "is not a whole number from 0 on"))
}

/// An amount in US dollars, as millionths.
pub(super) fn usd(json: &Json<'_>, path: &str, member: &str, round: fn(f64) -> f64) -> Read<u64> {
    let fault = || MessageFault::malformed(at(path, member), "is not an amount from 0 to 1e9");
    let Json::Number(number) = json else { return Err(fault()) };
    let amount = number.as_f64();
    if !(0.0..=1e9).contains(&amount) {
        return Err(fault());
    }
    Ok(round(amount * 1e6) as u64)
}
