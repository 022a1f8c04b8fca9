//! One pair of schemas: the question, and the witness checked by both validators.

use std::rc::Rc;

use serde_json::Value;

use super::CompareLimits;
use super::budget::Budget;
use super::case_collisions::{Names, no_collisions};
use super::formats::Formats;
use super::formula::Id;
use super::new_names;
use super::read::{Emitted, Reader};
use super::solve::{NoValue, Solution, Solver, unclear};
use crate::json;
use crate::schema::{Casing, ContentFault, WorkBudget};
use crate::term::{InstanceFault, Shape};
use crate::vectors::ModelName;

/// The side of the older document.
const OLDER: usize = 0;

/// The schema of one shape with the shape itself, which holds the compiled validator.
#[derive(Clone, Copy)]
pub(super) struct Schema<'e> {
    /// 0 for the older document, 1 for the newer.
    pub(super) side: usize,
    pub(super) root: &'e Value,
    pub(super) shape: &'e Shape,
}

/// All pairs of two documents.
pub(super) struct Pairs<'e> {
    pub(super) solver: Solver<'e>,
    /// The names in the definitions of each side.
    names: [Names; 2],
    /// True if the definitions mean the same on both sides.
    pub(super) alike: bool,
    /// The models that the schemas hold apart.
    apart: &'e [ModelName],
}

impl<'e> Pairs<'e> {
    pub(super) fn new(
        sides: [&'e Emitted; 2],
        apart: &'e [ModelName],
        limits: &CompareLimits,
        budget: Budget,
    ) -> Self {
        let budget = Rc::new(budget);
        let reader = Reader::new(sides, limits.max_pattern_states, Rc::clone(&budget));
        let [old, new] = sides;
        Pairs {
            solver: Solver::new(reader, Rc::new(Formats::default()), *limits, budget),
            names: sides.map(Names::of),
            alike: old.leads_to_the_same(new),
            apart,
        }
    }

    /// The formulas of the values that a shape accepts, with the rule `case` for these names, and the formula of those it
    /// refuses.
    fn formulas(&mut self, schema: Schema<'e>, casing: Casing) -> (Vec<Id>, Id) {
        let reader = &mut self.solver.reader;
        let (holds, fails) = reader.schema(schema.side, schema.root);
        let Some(names) = self.names.get(schema.side) else { return (vec![holds], fails) };
        let (none, some) = no_collisions(reader, names, schema.root, casing);
        let refuses = reader.arena.or([fails, some]);
        (vec![holds, none], refuses)
    }

    /// Content that the first accepts, with its refusal by the second; [`NoValue::Nothing`] if everything that the first accepts
    /// passes the second.
    pub(super) fn compare(
        &mut self,
        first: Schema<'e>,
        second: Schema<'e>,
    ) -> Result<(Value, ContentFault), NoValue> {
        self.solver.budget.refill();
        let casing = &second.shape.compiled.casing;
        let casing = match first.side {
            OLDER => new_names::without_new_names(casing, &first.shape.compiled.casing, &self.solver.budget),
            _ => casing.clone(),
        };
        let (mut question, _) = self.formulas(first, first.shape.compiled.casing.clone());
        let (_, refused) = self.formulas(second, casing);
        question.push(refused);
        let value = self.solver.ask(&question)?;
        match (accepts(first.shape, &value), accepts(second.shape, &value)) {
            (Some(Ok(())), Some(Err(fault))) => Ok(((*value).clone(), fault)),
            (Some(Ok(())), Some(Ok(()))) if !self.apart.is_empty() => {
                match self.read_apart([first.shape, second.shape], &value) {
                    Some(fault) => Ok(((*value).clone(), fault)),
                    None => Err(NoValue::Unclear("content whose vectors may be of other models".into())),
                }
            }
            _ => Err(NoValue::Unclear("a document that the validators did not confirm".into())),
        }
    }

    /// The refusal by a session of one model, which shows that the shapes read some vector of this content by other models. Both
    /// accept the content in no session.
    fn read_apart(&self, shapes: [&Shape; 2], content: &Value) -> Option<ContentFault> {
        let text = content.to_string();
        let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
        let instance = read.as_object()?;
        // in a session with a model of neither document, a vector of any model is refused
        let mut names =
            (0..=self.apart.len()).filter_map(|index| ModelName::parse(&format!("m{index}")).ok());
        let neither = names.find(|model| !self.apart.contains(model));
        self.apart.iter().copied().chain(neither).find_map(|model| {
            let judge = |shape: &Shape| {
                let session = WorkBudget::unbounded().of_session(Some(model));
                shape.conform_within(instance, None, &session)
            };
            match shapes.map(judge) {
                [first, second] if first == second => None,
                [_, Err(InstanceFault::Content(fault))] | [Err(InstanceFault::Content(fault)), _] => {
                    Some(fault)
                }
                _ => None,
            }
        })
    }

    /// A value that a shape accepts, confirmed by its validator.
    pub(super) fn example(&mut self, schema: Schema<'e>) -> Solution {
        self.solver.budget.refill();
        let (question, _) = self.formulas(schema, schema.shape.compiled.casing.clone());
        let value = self.solver.ask(&question)?;
        match accepts(schema.shape, &value) {
            Some(Ok(())) => Ok(value),
            _ => unclear("a document that the validator did not confirm"),
        }
    }
}

/// The compiled validator's verdict on content, read as a message is read; none if no message can hold it.
fn accepts(shape: &Shape, content: &Value) -> Option<Result<(), ContentFault>> {
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    Some(shape.conform(read.as_object()?, None))
}
