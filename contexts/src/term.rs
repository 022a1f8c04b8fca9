//! The definitions of a document: concepts and tasks, and the shapes that their instances must fit.

use std::sync::Arc;

use serde_json::Value;

use crate::field::{FieldType, Members};
use crate::json::{Json, Object};
use crate::performative::{Performative, PerformativeSet};
use crate::schema::{
    BudgetExhausted, CompiledSchema, ContentFault, Spared, TooManyLooks, WorkBudget, pointer,
};

/// The members that name the type of an instance where its binding does not: in native L8 and A2A. They are not part of the
/// instance.
pub const NAMING_MEMBERS: [&str; 3] = ["concept_type", "concept", "task"];

/// The two kinds of term; both live in one namespace of their document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TermKind {
    /// A coordinative statement, with one shape.
    Concept,
    /// A transactional job, with parameters that ask and results that answer.
    Task,
}

/// A concept or a task of one document.
#[derive(Debug)]
pub struct Term {
    pub(crate) name: String,
    pub(crate) kind: TermKind,
    /// One shape of a concept; parameters, then results, of a task.
    pub(crate) shapes: Vec<Shape>,
}

/// The term does not declare that it takes this performative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the performative `{performative}` is not taken here")]
pub struct PerformativeNotTaken {
    /// The refused performative.
    pub performative: Performative,
}

impl Term {
    pub(crate) fn retired(&self) -> Self {
        Term {
            name: self.name.clone(),
            kind: self.kind,
            shapes: self.shapes.iter().map(Shape::retired).collect(),
        }
    }

    /// The name that `concept_type`, `concept` or `task` carries.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Concept or task.
    pub fn kind(&self) -> TermKind {
        self.kind
    }

    /// Every shape of the term: one of a concept; parameters, then results, of a task.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        self.shapes.iter()
    }

    /// The question to a person who must approve requests of this task: `x-require-approval` of the signed document. None for a concept.
    pub fn requires_approval(&self) -> Option<&Arc<str>> {
        self.shapes.iter().find_map(Shape::requires_approval)
    }

    /// The shape that an instance under `performative` must fit: of a task, its parameters for an asking
    /// performative and its results for an answering one.
    ///
    /// # Errors
    /// [`PerformativeNotTaken`] if the term does not declare the performative.
    pub fn side(&self, performative: Performative) -> Result<&Shape, PerformativeNotTaken> {
        self.shapes
            .iter()
            .find(|shape| shape.performatives.contains(performative))
            .ok_or(PerformativeNotTaken { performative })
    }
}

/// The reason that an instance was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceFault {
    /// It does not fit the schema.
    Content(ContentFault),
    /// Judging it takes more work than a message may cause.
    Spent,
}

/// One compiled schema: of a concept, of a task's parameters, or of a task's results.
#[derive(Debug)]
pub struct Shape {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) performatives: PerformativeSet,
    pub(crate) approval: Option<Arc<str>>,
    pub(crate) compiled: CompiledSchema,
}

impl Shape {
    /// The same with nothing compiled: no instance conforms.
    fn retired(&self) -> Self {
        let (name, schema, compiled) = (self.name.clone(), self.schema.clone(), self.compiled.retired());
        let approval = self.approval.clone();
        Shape { name, schema, performatives: self.performatives, approval, compiled }
    }

    /// The name by which policies know it: `transfer`, `bookFlight`, `bookFlight_results`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The schema as the document has it, references still inside.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The performatives under which this shape is used.
    pub fn performatives(&self) -> PerformativeSet {
        self.performatives
    }

    /// The question to a person who must approve each instance: of the parameters of a task with `x-require-approval`. Its results and
    /// concepts have none.
    pub fn requires_approval(&self) -> Option<&Arc<str>> {
        self.approval.as_ref()
    }

    /// The members as far as they can be typed without reading the schema again: references resolved, `allOf`
    /// merged. [`FieldType::Record`] unless nothing can be said about the members.
    pub fn fields(&self) -> &FieldType {
        &self.compiled.fields
    }

    /// Returns true if the schema declares a member of this name, as far as [`Shape::fields`] tells.
    pub fn declares(&self, member: &str) -> bool {
        matches!(&self.compiled.fields, FieldType::Record(members) if members.contains_key(member))
    }

    /// Checks an instance, without its member `without` (the one that names the type), against the schema. The work is
    /// unbounded, so it is not for messages.
    ///
    /// # Errors
    /// The first [`ContentFault`] by the order of the schema's keywords: where and which rule, never a value.
    pub fn conform(&self, instance: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        self.conform_within(instance, without, &WorkBudget::unbounded()).map_err(|unfit| match unfit {
            InstanceFault::Content(fault) => fault,
            InstanceFault::Spent => ContentFault { path: String::new(), rule: "schema".to_owned() },
        })
    }

    /// As [`Shape::conform`], within the rest of a message's work budget.
    ///
    /// # Errors
    /// [`InstanceFault::Spent`] if the budget does not suffice, whatever was seen of the instance; else the first [`ContentFault`].
    pub fn conform_within(
        &self,
        instance: &Object<'_>,
        without: Option<&str>,
        budget: &WorkBudget,
    ) -> Result<(), InstanceFault> {
        let judge = || {
            self.compiled.validator.conform(instance, without)?;
            self.compiled.casing.conform(instance, without)
        };
        let judged = budget.run(self.compiled.validator.member_steps(), judge);
        judged.map_err(|BudgetExhausted| InstanceFault::Spent)?.map_err(InstanceFault::Content)
    }

    /// The members that the schema demands of every instance and this one lacks, as JSON Pointers (RFC 6901). Outer ones come
    /// first, at most `most`, so that all missing members are known at once (F0-63). They hold only names of the schema.
    /// Conditional demands are not included, so the list may be empty where [`Shape::conform`] refuses by `required`.
    pub fn gaps(&self, instance: &Object<'_>, without: Option<&str>, most: usize) -> Vec<String> {
        let mut gaps = Gaps { most, paths: Vec::new() };
        if let FieldType::Record(fields) = &self.compiled.fields {
            gaps.object(fields, instance, without, "");
        }
        gaps.paths
    }

    /// Returns true if `null` under this name can only have been meant as an absent member. The schema names it at the top
    /// (also through `$ref` and `allOf`) and demands it in no instance without a condition. It takes the member with some
    /// value but never with null. So no instance that holds it as null conforms; [`Shape::conform`] decides about one without
    /// it.
    pub fn never_null(&self, member: &str) -> bool {
        self.compiled.never_null.binary_search_by(|name| name.as_str().cmp(member)).is_ok()
    }

    /// Returns true if a member that the schema marks `x-free-text`, at any depth, holds a string that is not empty. Errs on
    /// the side of `true`: a mark in any branch of a union counts.
    pub fn has_free_text(&self, instance: &Object<'_>) -> bool {
        self.compiled.free_text.is_in(instance)
    }

    /// The number of characters (Unicode scalar values) in members that the schema marks `x-free-text`, at any depth, without
    /// member names. As in [`Shape::has_free_text`], a mark in any branch of a union counts, and a string counts once.
    pub fn free_text_length(&self, instance: &Object<'_>) -> u64 {
        self.compiled.free_text.length_in(instance)
    }

    /// Hands over each string in a member that the schema marks `x-free-text`, at any depth, with its position: member names of the
    /// schema from the outside in, and `*` for an item of an array or a member that no schema names. As with
    /// [`Shape::free_text_length`], all strings are handed over where deciding takes too many looks; then no position is known, and `*`
    /// alone stands for it.
    pub fn each_free_text<'i>(&'i self, instance: &'i Object<'_>, mut each: impl FnMut(&[&'i str], &'i str)) {
        self.compiled.free_text.each_in(instance, &mut each);
    }

    /// Hands over each string that can be prose, with its position as in [`Shape::each_free_text`]: what the schema marks `x-free-text`,
    /// each string without `pattern`, `enum`, `const`, `format` or code list, also inside of values of which the schema says nothing, and
    /// each name of a member that the schema neither lists nor bounds by `propertyNames`, with the position of its object. Where a branch of a union leaves a string free,
    /// it counts as free.
    ///
    /// # Errors
    /// [`TooManyLooks`] if deciding takes too many looks; some strings were not handed over then.
    pub fn each_loose_text<'i>(
        &'i self,
        instance: &'i Object<'_>,
        spared: &Spared<'_>,
        mut each: impl FnMut(&[&'i str], &'i str),
    ) -> Result<(), TooManyLooks> {
        self.compiled.free_text.each_loose(instance, spared, &mut each)
    }

    /// The positions of free text that the schema marks, as JSON Pointers with `*` for any item or any member that no schema names: at
    /// most `most`, sorted.
    pub fn free_text_positions(&self, most: usize) -> Vec<String> {
        self.compiled.free_text.positions(most)
    }

    /// Returns true if [`Shape::has_free_text`] could be true of any instance.
    pub fn may_have_free_text(&self) -> bool {
        self.compiled.free_text.anywhere()
    }
}

/// The members that an instance lacks, as JSON Pointers, at most `most`.
struct Gaps {
    most: usize,
    paths: Vec<String>,
}

impl Gaps {
    /// Adds the members that are missing here, and then in the objects that are present.
    fn object(&mut self, fields: &Members, object: &Object<'_>, without: Option<&str>, path: &str) {
        let has = |name: &str| without != Some(name) && object.get(name).is_some();
        let missing = fields.iter().filter(|(name, field)| field.required && !has(name));
        let missing = missing.map(|(name, _)| path.to_owned() + &pointer(&[name]));
        self.paths.extend(missing.take(self.most.saturating_sub(self.paths.len())));
        for (name, value) in object.iter().filter(|(name, _)| without != Some(*name)) {
            if let Some(field) = fields.get(name) {
                self.value(&field.kind, value, &(path.to_owned() + &pointer(&[name])));
            }
        }
    }

    fn value(&mut self, kind: &FieldType, value: &Json<'_>, path: &str) {
        if self.paths.len() >= self.most {
            return;
        }
        match (kind.present(), value) {
            (FieldType::Record(fields), Json::Object(object)) => self.object(fields, object, None, path),
            (FieldType::Array(items), Json::Array(values)) => {
                for (index, value) in values.iter().enumerate() {
                    self.value(items, value, &format!("{path}/{index}"));
                }
            }
            _ => {}
        }
    }
}
