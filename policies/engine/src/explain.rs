//! Why a question is answered as it is: for operators, on their machine. Nothing here decides anything; [`Policies::decide`] does, and
//! what is said here is held against it in tests.

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

use std::sync::Arc;

use cedar_policy::pst::{BinaryOp, Clause, Expr};
use semgate_contexts::{Context, Performative};

pub use matrix::{Cell, Matrix, MatrixRow};
pub use recall::{Parties, Recalled};
pub use recorded::Recorded;

use crate::ask::Resolved;
use crate::fields::dotted;
use crate::parse::{self, Written};
use crate::policy_text;
use crate::reads::{self, Reads};
use crate::{Location, Policies, PolicyFault, PolicyLimits, PolicySource, Question, Texts, Verdict};
use scene::Scene;
use scope::Fit;
use truth::{Truth, Unknown};

/// A policy set with the text that it came from. Larger than [`Policies`] alone, and slow: for the command line.
#[derive(Debug)]
pub struct Explainer {
    policies: Policies,
    written: Vec<Written>,
    files: Vec<(String, String)>,
    contexts: Vec<Arc<Context>>,
}

/// Why a question got its verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The verdict, as [`Policies::decide`] gives it; none if it depends on what is not known.
    pub verdict: Option<Verdict>,
    /// The policies that had to do with it: those that decided first, then by id.
    pub policies: Vec<Weighed>,
    /// Why no policy was asked, where none was.
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
    /// The text of its `@approve`: nothing passes by it before a human was asked this.
    pub asks: Option<String>,
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
struct Against<'w> {
    written: &'w Written,
    scope: [Fit; 3],
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
        let written = parse::parse(&source.files, limits)?;
        Ok(Self { policies, written, files: source.files.clone(), contexts: contexts.to_vec() })
    }

    /// The policies.
    #[must_use]
    pub const fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Why a question about a concept of a context is answered as it is.
    #[must_use]
    pub fn explain(&self, question: &Question<'_>) -> Explanation {
        let verdict = Some(self.policies.decide(question));
        let asker = self.policies.asker();
        let nothing = |verdict| Explanation { verdict, ..Explanation::default() };
        let shape = asker.catalogue.shape(question.context.digest(), question.shape.name());
        let typed = shape.and_then(|shape| Some((shape, asker.catalogue.types.get(shape.of_type)?)));
        let Some((shape, info)) = typed else { return nothing(verdict) };
        let resolved = Resolved {
            shape,
            info,
            sender: asker.agents.list.position(question.sender),
            receiver: asker.agents.list.position(question.receiver),
            free_text: question.has_free_text(),
        };
        match self.scene(question, &resolved, Unknown::default()) {
            Ok(scene) => {
                let against = self.against((question.sender, question.action), &resolved, &scene);
                self.report(&resolved, verdict, &scene, &against)
            }
            Err(Verdict::Untypable { path, rule }) => recorded::unfit(Some((path, rule))),
            Err(_) => nothing(verdict),
        }
    }

    /// A verdict with the policies around it.
    fn report(
        &self,
        resolved: &Resolved<'_>,
        verdict: Option<Verdict>,
        scene: &Scene,
        against: &[Against<'_>],
    ) -> Explanation {
        if self.disabled(resolved) {
            let note = Some("an agent is disabled in `entities.json`".to_owned());
            return Explanation { verdict, policies: Vec::new(), note };
        }
        let deciding = verdict.as_ref().map(deciding).unwrap_or_default();
        let near = against.iter().filter(|one| one.is_near());
        let mut policies: Vec<Weighed> = near.map(|one| self.weighed(one, &deciding, scene)).collect();
        policies.sort_by(|a, b| (a.part, &a.id).cmp(&(b.part, &b.id)));
        Explanation { verdict, policies, note: None }
    }

    fn disabled(&self, resolved: &Resolved<'_>) -> bool {
        let agents = &self.policies.asker().agents;
        [resolved.sender, resolved.receiver].into_iter().any(|agent| agents.disabled(agent))
    }

    fn scene(
        &self,
        question: &Question<'_>,
        resolved: &Resolved<'_>,
        unknown: Unknown,
    ) -> Result<Scene, Verdict> {
        let all = || reads::Attributes { all: true, ..reads::Attributes::default() };
        let agents = self.written.iter().flat_map(|written| written.reads.agents.iter().cloned()).collect();
        let reads = Reads { resource: all(), context: all(), principal: all(), agents, ..Reads::default() };
        Ok(Scene::new(self.policies.asker().whole(question, resolved, &reads)?, unknown))
    }

    /// The policies of the type, each with what of its scope does not fit.
    fn against<'s>(
        &'s self,
        (sender, action): (&str, Performative),
        resolved: &Resolved<'_>,
        scene: &Scene,
    ) -> Vec<Against<'s>> {
        let entry = resolved.sender.and_then(|position| self.policies.asker().agents.list.at(position));
        let of_type =
            self.written.iter().filter(|written| scope::resource(written, resolved.info) == Fit::Yes);
        let held = |written: &'s Written| {
            let scope = [scope::principal(written, sender, entry), scope::action(written, action), Fit::Yes];
            Against::new(written, scope, scene)
        };
        of_type.map(held).collect()
    }

    fn weighed(&self, one: &Against<'_>, deciding: &Texts, scene: &Scene) -> Weighed {
        let decided = deciding.iter().any(|id| *id == *one.written.id);
        let part = match &one.truth {
            _ if decided => Part::Decided,
            Truth::True => Part::Applies,
            Truth::Open(_) if one.in_scope() => Part::Open,
            _ => Part::Near,
        };
        let out_of_scope = one.scope.iter().filter_map(Fit::wish).map(str::to_owned).collect();
        self.told_of(one.written, part, out_of_scope, Some(scene))
    }

    /// A policy with what it asks for; without a scene none of its conditions was looked at.
    fn told_of(
        &self,
        written: &Written,
        part: Part,
        out_of_scope: Vec<String>,
        scene: Option<&Scene>,
    ) -> Weighed {
        let (file, text) = self.files.get(written.file).map_or(("", ""), |(name, text)| (name, text));
        let obligation = written.obligation.as_ref();
        let limit = obligation.and_then(|one| one.limit);
        let redact = obligation.map(|one| &*one.redact).unwrap_or_default();
        Weighed {
            id: written.id.to_string(),
            permits: written.permits(),
            location: parse::location(file, text, written.start),
            part,
            asks: obligation.and_then(|one| one.approve.as_deref()).map(str::to_owned),
            limit: limit.map(|(rate, key)| format!("{rate}, counted for {}", key.whom())),
            redacts: redact.iter().map(|path| dotted(path)).collect(),
            out_of_scope,
            conditions: conditions(written, (file, text), scene),
        }
    }
}

/// The conditions of a policy with their places, and whether they hold.
fn conditions(written: &Written, (file, text): (&str, &str), scene: Option<&Scene>) -> Vec<Condition> {
    let own = policy_text::of(text.get(written.start..).unwrap_or_default());
    let starts = policy_text::clauses(&own);
    let mut all = Vec::new();
    for (position, clause) in written.clauses.iter().enumerate() {
        let location =
            parse::location(file, text, written.start + starts.get(position).copied().unwrap_or_default());
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

impl<'w> Against<'w> {
    fn new(written: &'w Written, scope: [Fit; 3], scene: &Scene) -> Self {
        let holds = written
            .clauses
            .iter()
            .fold(Truth::True, |so_far, clause| so_far.and(|| truth::of_clause(clause, scene)));
        let in_scope = scope.iter().all(|fit| *fit == Fit::Yes);
        Self { written, scope, truth: if in_scope { holds } else { Truth::False } }
    }

    fn in_scope(&self) -> bool {
        self.scope.iter().all(|fit| *fit == Fit::Yes)
    }

    /// Returns true if at most one part of its scope does not fit; of a forbid none, since one about somebody else has nothing to do with it.
    fn is_near(&self) -> bool {
        let misfits = self.scope.iter().filter(|fit| **fit != Fit::Yes).count();
        misfits <= usize::from(self.written.permits())
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

/// The policies that settled a verdict.
pub(crate) fn deciding(verdict: &Verdict) -> Texts {
    match verdict {
        Verdict::Permitted { policies, .. }
        | Verdict::Denied { policies, .. }
        | Verdict::Errored { policies, .. } => policies.clone(),
        Verdict::Untypable { .. } => Texts::default(),
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
