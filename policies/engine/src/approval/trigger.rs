//! `@confidence` and `@steps`: the messages for which an `@approve` asks at all.

use std::fmt;
use std::num::NonZeroU32;

use semgate_contexts::json::{Json, Number, Object};

use crate::fields::{FieldPath, MAX_LEVELS, dotted};

/// The triggers of an `@approve`. Without any, it asks about every message; with both, either asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApproveWhen {
    /// `@confidence`: asks about an instance that is not as sure as this.
    pub confidence: Option<ConfidenceFloor>,
    /// `@steps`: asks once the sender made so many permitted steps in its session.
    pub steps: Option<NonZeroU32>,
}

impl ApproveWhen {
    /// True without a trigger.
    #[must_use]
    pub const fn is_always(&self) -> bool {
        self.confidence.is_none() && self.steps.is_none()
    }

    /// Returns true if a person must decide about this instance. `without` names the member that is no content; `steps` counts the
    /// sender's steps, and is asked only where that matters.
    #[must_use]
    pub fn asks(&self, instance: &Object<'_>, without: Option<&str>, steps: &dyn Fn() -> u64) -> bool {
        let unsure = |floor: &ConfidenceFloor| !floor.is_met_by(instance, without);
        self.is_always()
            || self.confidence.as_ref().is_some_and(unsure)
            || self.steps.is_some_and(|most| steps() >= u64::from(most.get()))
    }
}

impl fmt::Display for ApproveWhen {
    /// The triggers as half a sentence, such as `after 50 steps of a session`; `always` without any.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unsure = |floor: &ConfidenceFloor| {
            format!("where `{}` is absent or below {}", dotted(&floor.path), floor.least)
        };
        let steps = self.steps.map(|most| format!("after {most} steps of a session"));
        let all: Vec<String> = self.confidence.as_ref().map(unsure).into_iter().chain(steps).collect();
        if all.is_empty() { f.write_str("always") } else { f.write_str(&all.join(", or ")) }
    }
}

/// `@confidence("confidence_score 0.8")`: a member and the least number that needs no approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfidenceFloor {
    /// The member, from the outside in. An array on the way stands for all its items.
    pub path: FieldPath,
    /// The text of the number, compared by its digits.
    least: Box<str>,
}

impl ConfidenceFloor {
    /// Reads a member and a JSON number, separated by one blank.
    ///
    /// # Errors
    /// Anything else, in words for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "a floor is a member and a number, as in `confidence_score 0.8`";
        let (member, least) = text.split_once(' ').ok_or(form)?;
        let names: Vec<Box<str>> = member.split('.').map(Box::from).collect();
        if names.iter().any(|name| name.is_empty()) || names.len() > MAX_LEVELS {
            return Err(form.to_owned());
        }
        Number::parse(least).map_err(|why| format!("{form}: `{least}`: {why}"))?;
        Ok(Self { path: names.into(), least: least.into() })
    }

    /// The number, as the policy writes it.
    #[must_use]
    pub fn least(&self) -> &str {
        &self.least
    }

    /// Returns true if the instance holds the member as a number of at least the floor, exactly. Of several items each must. An absent
    /// member, `null`, an empty array and any other type do not meet it.
    #[must_use]
    pub fn is_met_by(&self, instance: &Object<'_>, without: Option<&str>) -> bool {
        let Some((first, rest)) = self.path.split_first() else { return false };
        let Ok(least) = Number::parse(&self.least) else { return false };
        let content = without != Some(&**first);
        content && instance.get(first).is_some_and(|value| meets(value, rest, &least))
    }
}

fn meets(value: &Json<'_>, rest: &[Box<str>], least: &Number<'_>) -> bool {
    match (value, rest.split_first()) {
        (Json::Array(items), _) => !items.is_empty() && items.iter().all(|item| meets(item, rest, least)),
        (Json::Object(object), Some((name, rest))) => {
            object.get(name).is_some_and(|value| meets(value, rest, least))
        }
        (Json::Number(number), None) => number >= least,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
