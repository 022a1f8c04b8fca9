//! One policy as it is asked: its scope is the index's to match, its condition is Cedar's to evaluate, but for plain comparisons.

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::{
    AuthorizationError, Authorizer, Effect, Entities, EvalResult, EvaluationError, Expression, PolicySet,
    Request, eval_expression,
};
use semgate_contexts::json::Object;

use crate::annotations::Obligation;
use crate::catalogue::CONTEXT_MEMBERS;
use crate::kinds::Attributes;
use crate::parse::Written;
use crate::plain::Plain;
use crate::reads::Reads;
use crate::rewrite;
use crate::scope::Scope;
use crate::{Texts, Verdict};

/// The inputs of conditions, as far as each question needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Wants {
    /// Any member of the instance.
    pub instance: bool,
    /// An agent that a condition names.
    pub agents: bool,
    /// Credentials of the sender, or of an agent that may be the sender.
    pub credentials: bool,
    /// The trust domain of the sender.
    pub trust_domain: bool,
    /// A bit for each of [`CONTEXT_MEMBERS`].
    members: u32,
}

impl Wants {
    pub(crate) fn of(reads: &Reads) -> Self {
        let wanted = (0_u32..).zip(CONTEXT_MEMBERS).filter(|(_, member)| reads.context.wants(member));
        let agents = !reads.agents.is_empty();
        let others = agents || reads.context.wants("receiver");
        Self {
            instance: !reads.resource.none(),
            agents,
            credentials: others || reads.principal.wants("credentials"),
            trust_domain: reads.principal.wants("trust_domain"),
            members: wanted.fold(0, |set, (bit, _)| set | 1 << bit),
        }
    }

    /// The inputs of either.
    pub const fn and(self, other: Self) -> Self {
        Self {
            instance: self.instance || other.instance,
            agents: self.agents || other.agents,
            credentials: self.credentials || other.credentials,
            trust_domain: self.trust_domain || other.trust_domain,
            members: self.members | other.members,
        }
    }

    /// Returns true if one of these members of the context record is looked at; `members` as [`bit`] makes them.
    pub const fn any(self, members: u32) -> bool {
        self.members & members != 0
    }

    /// Returns true if the receiver is looked at, or an agent that may be the receiver.
    pub const fn receiver(self) -> bool {
        self.agents || self.any(const { bit("receiver") })
    }

    /// Returns true if something is looked at that no verdict is remembered under: the time, the end of the session, the scores.
    pub const fn passing(self) -> bool {
        self.any(const { bit("now") | bit("session") | bit("scores") })
    }

    /// The members of the context record that are looked at.
    pub fn members(self) -> impl Iterator<Item = &'static str> {
        let wanted = move |(bit, _): &(u32, &str)| self.members & 1 << bit != 0;
        (0_u32..).zip(CONTEXT_MEMBERS).filter(wanted).map(|(_, member)| member)
    }
}

#[allow(
    clippy::indexing_slicing,
    reason = "for constants alone, where a bound that is passed does not compile"
)]
/// The bit of a member of the context record. For constants: a name that is none of them does not compile.
pub(crate) const fn bit(name: &str) -> u32 {
    let mut at = 0;
    while !same(CONTEXT_MEMBERS[at].as_bytes(), name.as_bytes()) {
        at += 1;
    }
    1 << at
}

#[allow(clippy::indexing_slicing, reason = "as above")]
const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The condition left to ask once the scope holds.
#[derive(Debug)]
pub(crate) enum Condition {
    /// Nothing.
    Always,
    /// An expression for Cedar's evaluator. Members of the instance stand in the context record as `resource.NAME`, decimals as
    /// ten-thousandths ([`rewrite`]).
    Expression {
        expression: Expression,
        /// The same, if it can be known without an evaluator.
        plain: Option<Plain>,
    },
    /// The policy as it is written, for Cedar's authorizer: it holds a form that could not be rewritten.
    Whole(Box<PolicySet>),
}

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
        EvaluationError::EntityDoesNotExist(_) => "an entity that is not there",
        EvaluationError::EntityAttrDoesNotExist(_) | EvaluationError::RecordAttrDoesNotExist(_) => {
            "a member that is not there"
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
