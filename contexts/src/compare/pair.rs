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
use super::solve::{Solution, Solver};
use crate::json;
use crate::schema::{Casing, ContentFault};
use crate::term::Shape;

/// The result for a pair.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Everything that the first accepts passes the second.
    Within,
    /// The first accepts this content, and the second refuses it.
    Beyond(Value, ContentFault),
    /// Content that is too large to be written is such a case; described in words.
    Described(String),
    /// The search was cut short, for this reason.
    Unclear(String),
}

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
}

impl<'e> Pairs<'e> {
    pub(super) fn new(sides: [&'e Emitted; 2], limits: &CompareLimits, budget: Budget) -> Self {
        let budget = Rc::new(budget);
        let reader = Reader::new(sides, limits.max_pattern_states, Rc::clone(&budget));
        let [old, new] = sides;
        Pairs {
            solver: Solver::new(reader, Rc::new(Formats::default()), *limits, budget),
            names: sides.map(Names::of),
            alike: old.leads_to_the_same(new),
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

    /// Decides if everything that the first accepts passes the second.
    pub(super) fn compare(&mut self, first: Schema<'e>, second: Schema<'e>) -> Outcome {
        self.solver.budget.refill();
        let casing = &second.shape.casing;
        let casing = match first.side {
            OLDER => new_names::without_new_names(casing, &first.shape.casing, &self.solver.budget),
            _ => casing.clone(),
        };
        let (mut question, _) = self.formulas(first, first.shape.casing.clone());
        let (_, refused) = self.formulas(second, casing);
        question.push(refused);
        match self.solver.ask(&question) {
            Solution::Nothing => Outcome::Within,
            Solution::Unclear(why) => Outcome::Unclear(why.to_string()),
            Solution::Described(what) => Outcome::Described(what.to_string()),
            Solution::Value(value) => match (accepts(first.shape, &value), accepts(second.shape, &value)) {
                (Some(Ok(())), Some(Err(fault))) => Outcome::Beyond((*value).clone(), fault),
                _ => Outcome::Unclear("a document that the validators did not confirm".to_owned()),
            },
        }
    }

    /// A value that a shape accepts, confirmed by its validator.
    pub(super) fn example(&mut self, schema: Schema<'e>) -> Solution {
        self.solver.budget.refill();
        let (question, _) = self.formulas(schema, schema.shape.casing.clone());
        match self.solver.ask(&question) {
            Solution::Value(value) if !matches!(accepts(schema.shape, &value), Some(Ok(()))) => {
                Solution::Unclear("a document that the validator did not confirm".into())
            }
            found => found,
        }
    }
}

/// The compiled validator's verdict on content, read as a message is read; none if no message can hold it.
fn accepts(shape: &Shape, content: &Value) -> Option<Result<(), ContentFault>> {
    let text = content.to_string();
    let read = json::read(text.as_bytes(), &json::Limits::default()).ok()?;
    Some(shape.conform(read.as_object()?, None))
}
