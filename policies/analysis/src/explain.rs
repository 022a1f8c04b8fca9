//! Explanations of verdicts for operators: the policies that decided, and those that came near, clause by clause. They decide nothing;
//! tests hold them against [`Policies::decide`].

mod digests;
mod line;
mod matrix;
mod recall;
mod recorded;
mod scene;
mod scope;
mod truth;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr};
use semgate_contexts::Context;
use semgate_policies::{
    Location, ParsedPolicy, Policies, PolicyFault, PolicyLimits, PolicySource, Question, TEXT_SCORES,
    TypedShape, Verdict, dotted, parse_set,
};

pub use matrix::{Cell, Matrix, MatrixRow};
pub use recall::Recalled;
pub use recorded::Recorded;

use scene::Scene;
use scope::Fit;
use truth::{Truth, Unknown};

/// A policy set with the text that it came from. Larger than [`Policies`] alone, and slow: for the command line.
#[derive(Debug)]
pub struct Explainer {
    policies: Policies,
    parsed: Vec<ParsedPolicy>,
    /// Agents that policies name.
    named: BTreeSet<String>,
    contexts: Vec<Arc<Context>>,
}

/// The verdict of a question with its reasons.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The verdict, as [`Policies::decide`] gives it; none if it depends on what is not known.
    pub verdict: Option<Verdict>,
    /// The policies that had to do with it: those that decided first, then by id.
    pub policies: Vec<Weighed>,
    /// The reason where no policy was asked; the approval that the signed context requires.
    pub note: Option<String>,
}

/// One policy against one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weighed {
    /// `file#id`.
    pub id: String,
    /// True if it is a `permit`.
    pub permits: bool,
    /// Where it stands.
    pub location: Location,
    /// Its part in the verdict.
    pub part: Part,
    /// Its `@approve` and the words around it: nothing passes by it before a person was asked this.
    pub asks: Option<String>,
    /// The triggers of its `@approve`, in words; none if it asks about every message.
    pub asks_when: Option<String>,
    /// Its `@limit` with what it is counted for: `10/minute, counted for the sender and pair`.
    pub limit: Option<String>,
    /// The members that its `@redact` takes out of replies, with dots between levels.
    pub redacts: Vec<String>,
    /// Parts of its scope that do not fit, as conditions that would have to hold.
    pub out_of_scope: Vec<String>,
    /// Its conditions, in their order.
    pub conditions: Vec<Condition>,
}

/// The part of a policy in a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// It decided.
    Decided,
    /// It applies, and another kind of policy decided: a permit beside a forbid.
    Applies,
    /// It depends on what is not known.
    Open,
    /// Its scope, or its conditions, do not fit.
    Near,
}

/// One condition of a policy: what stands between the `&&` of a `when`, or between the `||` of an `unless`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Where its clause begins.
    pub location: Location,
    /// `when` or `unless`.
    pub clause: &'static str,
    /// The condition, as Cedar writes it.
    pub text: String,
    /// True if it holds.
    pub holds: Holds,
}

/// True if a condition holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It cannot be evaluated: the message is refused.
    Fails,
    /// It depends on these members, which are not known.
    Unknown(Vec<String>),
    /// Nobody looked: the line was refused before any condition.
    Unasked,
}

/// A policy against a scene, before it is put into words.
#[derive(Clone)]
struct Against<'p> {
    parsed: &'p ParsedPolicy,
    scope: [Fit; 2],
    truth: Truth,
}

impl Explainer {
    /// Loads a directory as [`Policies::load`] does, and keeps its text.
    ///
    /// # Errors
    /// As [`Policies::load`].
    pub fn load(
        source: &PolicySource,
        contexts: &[Arc<Context>],
        limits: &PolicyLimits,
    ) -> Result<Self, Vec<PolicyFault>> {
        let policies = Policies::load(source, contexts, limits)?;
        let (parsed, _) = parse_set(source, limits)?;
        let literals = parsed.iter().flat_map(|one| one.policy.entity_literals());
        let agents = literals.filter(|uid| uid.type_name().to_string() == "Agent");
        let named = agents.map(|uid| uid.id().unescaped().to_owned()).collect();
        Ok(Self { policies, parsed, named, contexts: contexts.to_vec() })
    }

    /// The policies.
    #[must_use]
    pub const fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Explains the verdict of a question about a concept of a context.
    #[must_use]
    pub fn explain(&self, question: &Question<'_>) -> Explanation {
        // a text that nobody looked at has no scores, so a policy that reads them has no answer
        let made = question.circumstances.scores.text.made;
        let known = made.covers(self.policies.text_wants(question, false));
        let verdict = known.then(|| self.policies.decide(question));
        let nothing = |verdict| Explanation { verdict, ..Explanation::default() };
        let typed = self.policies.typed_shape(question.context.digest(), question.shape.name());
        let Some(typed) = typed else { return nothing(verdict) };
        match self.scene(question, typed, question.has_free_text(), Unknown::default()) {
            Ok(scene) => {
                let against = self.against(question, typed, &scene);
                self.report(question, verdict, &scene, &against)
            }
            Err(Verdict::Untypable { path, rule }) => recorded::unfit(Some((path, rule))),
            Err(_) => nothing(verdict),
        }
    }

    /// A verdict with the policies around it.
    fn report(
        &self,
        question: &Question<'_>,
        verdict: Option<Verdict>,
        scene: &Scene,
        against: &[Against<'_>],
    ) -> Explanation {
        if self.disabled(question.sender) || self.disabled(question.receiver) {
            let note = Some("an agent is disabled in `entities.json`".to_owned());
            return Explanation { verdict, policies: Vec::new(), note };
        }
        let near = against.iter().filter(|one| one.is_near());
        let mut policies: Vec<Weighed> = near.map(|one| one.weighed(verdict.as_ref(), scene)).collect();
        policies.sort_by(|a, b| (a.part, &a.id).cmp(&(b.part, &b.id)));
        let required = question.shape.requires_approval();
        let required = required.filter(|_| matches!(verdict, Some(Verdict::Permitted { .. })));
        let note = required.map(|text| format!("the signed context asks a person: {text}"));
        Explanation { verdict, policies, note }
    }

    fn disabled(&self, agent: &str) -> bool {
        self.policies.agent(agent).is_some_and(|entry| entry.disabled)
    }

    fn scene(
        &self,
        question: &Question<'_>,
        typed: TypedShape<'_>,
        free_text: bool,
        unknown: Unknown,
    ) -> Result<Scene, Verdict> {
        let made = question.circumstances.scores.text;
        let unmade = TEXT_SCORES.into_iter().filter(|score| !made.made().any(|(name, _)| name == *score));
        let context = unknown.context.clone().without(unmade.map(|score| format!("scores.{score}")));
        let question = self.policies.full_question(question, typed, &self.named, free_text)?;
        Ok(Scene { question, unknown: Unknown { context, ..unknown } })
    }

    /// The policies of the type, each with the parts of its scope that do not fit.
    fn against<'s>(
        &'s self,
        question: &Question<'_>,
        typed: TypedShape<'_>,
        scene: &Scene,
    ) -> Vec<Against<'s>> {
        let entry = self.policies.agent(question.sender);
        let of_type = self.parsed.iter().filter(|parsed| scope::resource(parsed, typed.concept) == Fit::Yes);
        let held = |parsed: &'s ParsedPolicy| {
            let sender = scope::principal(parsed, question.sender, entry);
            Against::new(parsed, [sender, scope::action(parsed, question.action)], scene)
        };
        of_type.map(held).collect()
    }
}

impl Weighed {
    /// A policy with what it asks for; without a scene none of its conditions was looked at.
    fn new(parsed: &ParsedPolicy, part: Part, out_of_scope: Vec<String>, scene: Option<&Scene>) -> Self {
        let obligation = parsed.obligation.as_ref();
        let limit = obligation.and_then(|one| one.limit);
        let redact = obligation.map(|one| &*one.redact).unwrap_or_default();
        Self {
            id: parsed.id.to_string(),
            permits: parsed.permits(),
            location: parsed.location.clone(),
            part,
            asks: obligation.and_then(|one| one.approve.as_deref()).map(ToString::to_string),
            asks_when: obligation.filter(|one| !one.when.is_always()).map(|one| one.when.to_string()),
            limit: limit.map(|(rate, key)| format!("{rate}, counted for {}", key.whom())),
            redacts: redact.iter().map(|path| dotted(path)).collect(),
            out_of_scope,
            conditions: conditions(parsed, scene),
        }
    }
}

/// The conditions of a policy with their locations, and whether they hold.
fn conditions(parsed: &ParsedPolicy, scene: Option<&Scene>) -> Vec<Condition> {
    let mut all = Vec::new();
    for (position, clause) in parsed.clauses.iter().enumerate() {
        let location = parsed.clause_locations.get(position).unwrap_or(&parsed.location);
        let (word, expr, between) = match clause {
            Clause::When(expr) => ("when", expr, BinaryOp::And),
            Clause::Unless(expr) => ("unless", expr, BinaryOp::Or),
        };
        all.extend(parts(expr, between).into_iter().map(|part| Condition {
            location: location.clone(),
            clause: word,
            text: part.to_string(),
            holds: scene.map_or(Holds::Unasked, |scene| Holds::of(truth::truth(part, scene))),
        }));
    }
    all
}

impl<'p> Against<'p> {
    fn new(parsed: &'p ParsedPolicy, scope: [Fit; 2], scene: &Scene) -> Self {
        let holds = parsed
            .clauses
            .iter()
            .fold(Truth::True, |so_far, clause| so_far.and(|| truth::of_clause(clause, scene)));
        let in_scope = scope.iter().all(|fit| *fit == Fit::Yes);
        Self { parsed, scope, truth: if in_scope { holds } else { Truth::False } }
    }

    fn weighed(&self, verdict: Option<&Verdict>, scene: &Scene) -> Weighed {
        let part = match &self.truth {
            _ if verdict.is_some_and(|verdict| self.decided(verdict)) => Part::Decided,
            Truth::True => Part::Applies,
            Truth::Open(_) if self.in_scope() => Part::Open,
            _ => Part::Near,
        };
        let out_of_scope = self.scope.iter().filter_map(Fit::wish).map(str::to_owned).collect();
        Weighed::new(self.parsed, part, out_of_scope, Some(scene))
    }

    fn decided(&self, verdict: &Verdict) -> bool {
        verdict.policies().iter().any(|id| *id == *self.parsed.id)
    }

    fn in_scope(&self) -> bool {
        self.scope.iter().all(|fit| *fit == Fit::Yes)
    }

    /// Returns true if at most one part of its scope does not fit; of a forbid none, since one about somebody else has nothing to do with it.
    fn is_near(&self) -> bool {
        let misfits = self.scope.iter().filter(|fit| **fit != Fit::Yes).count();
        misfits <= usize::from(self.parsed.permits())
    }
}

impl Holds {
    fn of(truth: Truth) -> Self {
        match truth {
            Truth::True => Self::Yes,
            Truth::False => Self::No,
            Truth::Error(_) => Self::Fails,
            Truth::Open(open) => Self::Unknown(open.reads.into_iter().collect()),
        }
    }
}

/// The operands of an operator at the top of an expression.
fn parts(expr: &Arc<Expr>, between: BinaryOp) -> Vec<&Arc<Expr>> {
    match &**expr {
        Expr::BinaryOp { op, left, right } if *op == between => {
            let mut all = parts(left, between);
            all.extend(parts(right, between));
            all
        }
        _ => vec![expr],
    }
}
