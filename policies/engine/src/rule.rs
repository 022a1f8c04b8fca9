//! One policy as it is asked: its scope is the index's to match, its condition is Cedar's to evaluate, but for plain comparisons.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Effect, Entities, EvalResult, EvaluationError, PolicySet, Request,
    eval_expression,
};
use semgate_contexts::json::Object;

use crate::annotations::Obligation;
use crate::kinds::Attributes;
use crate::parse::Written;
use crate::reads::Reads;
use crate::rewrite::{self, Condition};
use crate::scope::Scope;
use crate::wants::Wants;
use crate::{Texts, Verdict};

/// True if a policy applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applies {
    Yes,
    No,
    /// It could not be evaluated, and why: the kind alone, for Cedar's own words hold operands, which may come from the message.
    Failed(&'static str),
}

/// One policy.
#[derive(Debug)]
pub(crate) struct Rule {
    /// `file#id`.
    pub id: Arc<str>,
    pub effect: Effect,
    /// The notice that a refusal by it may show outsiders.
    pub notice: Option<Arc<str>>,
    /// Its obligation beyond letting the message pass.
    pub obligation: Option<Arc<Obligation>>,
    pub scope: Scope,
    pub condition: Condition,
    pub reads: Reads,
    pub wants: Wants,
    /// Its id, as the only one of a verdict.
    alone: Texts,
}

impl Rule {
    /// A policy ready to be asked.
    pub fn new(written: &Written) -> Result<Self, String> {
        let policy = &written.policy;
        Ok(Self {
            id: Arc::clone(&written.id),
            effect: policy.effect(),
            notice: written.notice.clone(),
            obligation: written.obligation.clone(),
            scope: Scope::of(policy),
            condition: condition(written)?,
            reads: written.reads.clone(),
            wants: Wants::of(&written.reads),
            alone: Texts::from_iter([Arc::clone(&written.id)]),
        })
    }

    /// Returns true if it applies, where that can be known without Cedar's evaluator.
    pub fn plainly(&self, shape: &Attributes, object: &Object<'_>, without: Option<&str>) -> Option<Applies> {
        let holds = match &self.condition {
            Condition::Always => true,
            Condition::Expression { plain: Some(plain), .. } => plain.holds(shape, object, without)?,
            _ => return None,
        };
        Some(if holds { Applies::Yes } else { Applies::No })
    }

    /// Asks the condition; `whole` makes the request and the entities for a policy as it is written.
    pub fn applies(
        &self,
        request: &Request,
        entities: &Entities,
        whole: impl FnOnce() -> Result<(Request, Entities), Verdict>,
    ) -> Result<Applies, Verdict> {
        Ok(match &self.condition {
            // `plainly` has answered it before
            Condition::Always => Applies::Yes,
            Condition::Expression { expression, .. } => {
                match eval_expression(request, entities, expression) {
                    Ok(EvalResult::Bool(true)) => Applies::Yes,
                    Ok(EvalResult::Bool(false)) => Applies::No,
                    Ok(_) => Applies::Failed("a condition that is not a boolean"),
                    Err(error) => Applies::Failed(kind(&error)),
                }
            }
            Condition::Whole(set) => {
                let (request, entities) = whole()?;
                authorized(set, &request, &entities)
            }
        })
    }
}

fn condition(written: &Written) -> Result<Condition, String> {
    if let Some(condition) = rewrite::condition(&written.clauses) {
        return Ok(condition);
    }
    let set = PolicySet::from_policies([written.policy.clone()]).map_err(|e| e.to_string())?;
    Ok(Condition::Whole(Box::new(set)))
}

/// Returns true if the one policy of a set applies: it is then what determines the decision, whatever its effect.
fn authorized(set: &PolicySet, request: &Request, entities: &Entities) -> Applies {
    let response = Authorizer::new().is_authorized(request, set, entities);
    let failed = response.diagnostics().errors().next().map(|error| match error {
        AuthorizationError::PolicyEvaluationError(error) => kind(error.inner()),
    });
    match failed {
        Some(why) => Applies::Failed(why),
        None if response.diagnostics().reason().next().is_some() => Applies::Yes,
        None => Applies::No,
    }
}

const fn kind(error: &EvaluationError) -> &'static str {
    match error {
        EvaluationError::IntegerOverflow(_) => "integer overflow",
        EvaluationError::EntityDoesNotExist(_) => "a missing entity",
        EvaluationError::EntityAttrDoesNotExist(_) | EvaluationError::RecordAttrDoesNotExist(_) => {
            "a missing member"
        }
        EvaluationError::TypeError(_) => "a value of another type",
        EvaluationError::FailedExtensionFunctionExecution(_) => "an extension function that failed",
        EvaluationError::RecursionLimit(_) => "nested too deeply",
        _ => "an evaluation error",
    }
}

/// Cedar's decision out of what applies, as its documentation defines it: a `forbid` overrides every `permit`, and without either
/// it is a denial. Other than Cedar, which skips a policy that errs, any error is a refusal.
#[derive(Debug, Default)]
pub(crate) struct Tally<'r> {
    permits: Vec<&'r Rule>,
    forbids: Vec<&'r Rule>,
    failed: Vec<&'r Rule>,
    why: BTreeSet<&'static str>,
}

impl<'r> Tally<'r> {
    /// Counts one policy.
    pub fn add(&mut self, rule: &'r Rule, applies: Applies) {
        match (applies, rule.effect) {
            (Applies::No, _) => {}
            (Applies::Yes, Effect::Permit) => self.permits.push(rule),
            (Applies::Yes, Effect::Forbid) => self.forbids.push(rule),
            (Applies::Failed(why), _) => {
                self.failed.push(rule);
                self.why.insert(why);
            }
        }
    }

    /// The verdict.
    pub fn verdict(self) -> Verdict {
        if !self.failed.is_empty() {
            let why = self.why.into_iter().collect::<Vec<_>>().join(", ").into();
            return Verdict::Errored { policies: ids(&self.failed), why };
        }
        if !self.forbids.is_empty() || self.permits.is_empty() {
            let notices = self.forbids.iter().filter_map(|rule| rule.notice.clone()).collect();
            return Verdict::Denied { policies: ids(&self.forbids), notices };
        }
        let obligations = self.permits.iter().filter_map(|rule| rule.obligation.clone()).collect();
        Verdict::Permitted { policies: ids(&self.permits), obligations }
    }
}

fn ids(rules: &[&Rule]) -> Texts {
    match rules {
        [one] => one.alone.clone(),
        many => many.iter().map(|rule| Arc::clone(&rule.id)).collect(),
    }
}
