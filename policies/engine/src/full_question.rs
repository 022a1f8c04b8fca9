//! Questions to a loaded set for offline tools: each with all of its members, so that any part of any policy can be evaluated alone.

use std::collections::BTreeSet;

use cedar_policy::pst::Expr;
use cedar_policy::{Entities, EvalResult, Request, eval_expression};
use semgate_contexts::{Digest, Line, PerformativeSet};

use crate::ask::Resolved;
use crate::catalogue::{Catalogue, ShapeInfo, TypeInfo};
use crate::reads::{Attributes, Reads};
use crate::{Policies, Question, Verdict, rewrite};

/// A concept as policies name it.
#[derive(Debug, Clone, Copy)]
pub struct ConceptType<'p> {
    pub(crate) info: &'p TypeInfo,
}

impl<'p> ConceptType<'p> {
    /// The full Cedar name, `payment::transfer`.
    #[must_use]
    pub fn name(self) -> &'p str {
        &self.info.name
    }

    /// The line of its contexts.
    #[must_use]
    pub const fn line(self) -> &'p Line {
        &self.info.line
    }

    /// The performatives under which some version uses it.
    #[must_use]
    pub const fn performatives(self) -> PerformativeSet {
        self.info.performatives
    }

    /// True for a learnt term, which no context defines.
    #[must_use]
    pub fn is_learnt(self) -> bool {
        self.info.is_learnt()
    }
}

/// A shape of one version of a context, with its type.
#[derive(Debug, Clone, Copy)]
pub struct TypedShape<'p> {
    /// The type.
    pub concept: ConceptType<'p>,
    shape: &'p ShapeInfo,
}

/// A question as Cedar takes it, with all of its members.
#[derive(Debug)]
pub struct FullQuestion {
    request: Request,
    entities: Entities,
}

impl FullQuestion {
    /// The value of an expression of type Bool; `None` if it cannot be evaluated.
    #[must_use]
    pub fn holds(&self, expr: &Expr) -> Option<bool> {
        match eval_expression(&self.request, &self.entities, &rewrite::as_expression(expr.clone())) {
            Ok(EvalResult::Bool(holds)) => Some(holds),
            _ => None,
        }
    }
}

impl Policies {
    /// The types of all concepts, in the order of their lines.
    pub fn concept_types(&self) -> impl Iterator<Item = ConceptType<'_>> {
        self.asker().catalogue.types.iter().map(|info| ConceptType { info })
    }

    /// The shape of that name in the context of that digest; none if the context is left out.
    #[must_use]
    pub fn typed_shape(&self, digest: &Digest, name: &str) -> Option<TypedShape<'_>> {
        let catalogue = &self.asker().catalogue;
        typed(catalogue, catalogue.shape(digest, name)?)
    }

    /// The shape of a learnt term; none if no policy names it.
    #[must_use]
    pub fn learnt_shape(&self, name: &str) -> Option<TypedShape<'_>> {
        let catalogue = &self.asker().catalogue;
        typed(catalogue, catalogue.learnt(name)?)
    }

    /// Prepares a question for any expression. `agents` are those that expressions name; `free_text` is the value of `context.free_text`.
    ///
    /// # Errors
    /// [`Verdict::Untypable`] or [`Verdict::Errored`], as [`Policies::decide`] gives it.
    pub fn full_question(
        &self,
        question: &Question<'_>,
        typed: TypedShape<'_>,
        agents: &BTreeSet<String>,
        free_text: bool,
    ) -> Result<FullQuestion, Verdict> {
        let all = || Attributes { all: true, ..Attributes::default() };
        let (resource, principal, context) = (all(), all(), all());
        let scores = all();
        let reads =
            Reads { resource, principal, context, scores, agents: agents.clone(), ..Reads::default() };
        let mut question = *question;
        // whoever did not look at the text does not ask about its scores either
        question.circumstances.scores.text = question.circumstances.scores.text.filled();
        let asker = self.asker();
        let resolved = Resolved {
            shape: typed.shape,
            info: typed.concept.info,
            sender: asker.agents.list.position(question.sender),
            receiver: asker.agents.list.position(question.receiver),
            free_text,
        };
        let (request, entities) = asker.whole(&question, &resolved, &reads)?;
        Ok(FullQuestion { request, entities })
    }
}

fn typed<'p>(catalogue: &'p Catalogue, shape: &'p ShapeInfo) -> Option<TypedShape<'p>> {
    Some(TypedShape { concept: ConceptType { info: catalogue.types.get(shape.of_type)? }, shape })
}
