//! Whole documents: every concept and both sides of every task, each by its role.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::CompareLimits;
use super::approvals::approvals;
use super::budget::Budget;
use super::cancel::CancelToken;
use super::changes::changes;
use super::embeddings::embeddings;
use super::free_text_marks::free_text_marks;
use super::pair::{Pairs, Schema};
use super::read::Emitted;
use super::solve::NoValue;
use super::verdict::{Comparison, Part, Role, Verdict, Witness};
use crate::document::{Context, SchemaLimits};
use crate::performative::Performative;
use crate::schema::{self, ContentFault, Parts, SchemaRequest, pointer};
use crate::term::{Shape, TermKind};
use crate::urn::Version;
use crate::vectors::{ModelName, VectorFault};

/// The stack of a comparison: choices stand inside one another, so it does not lean on the caller's.
const STACK: usize = 64 << 20;

/// Compares two contexts, each part by its role. The steps alone bound it, so that the same pair has the same answer always.
#[must_use]
pub fn compare(old: &Context, new: &Context, limits: &CompareLimits) -> Comparison {
    compare_as(old, new, None, limits, &CancelToken::default())
}

/// Compares two contexts, all parts by one role if it is given. Ends when it is asked to stop, or when its time is over by
/// the clock of `stop`. Parts that are open then are Unknown.
#[must_use]
pub fn compare_as(
    old: &Context,
    new: &Context,
    role: Option<Role>,
    limits: &CompareLimits,
    stop: &CancelToken,
) -> Comparison {
    let run = || run(old, new, role, limits, stop);
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("compare".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, run).ok().and_then(|thread| thread.join().ok())
    });
    done.unwrap_or_else(|| conclude(old, new, vec![WHOLE.unknown("the comparison could not be run")]))
}

fn run(
    old: &Context,
    new: &Context,
    role: Option<Role>,
    limits: &CompareLimits,
    stop: &CancelToken,
) -> Comparison {
    if old.bytes() == new.bytes() {
        let identical = names(old).map(|(name, _)| name.subject(role).compatible("it is unchanged"));
        return conclude(old, new, identical.collect());
    }
    let apart: BTreeSet<ModelName> = old.spaces().chain(new.spaces()).map(|space| space.model).collect();
    let apart: Vec<ModelName> = apart.into_iter().collect();
    // both end by the same clock
    let [of_form, of_models] = [Budget::new(limits, stop), Budget::new(limits, stop)];
    let by_form = parts([old, new], &[], role, limits, of_form);
    let by_model = match apart.is_empty() {
        true => Some(Vec::new()),
        false => parts([old, new], &apart, role, limits, of_models),
    };
    let (Some(mut parts), Some(by_model)) = (by_form, by_model) else {
        return conclude(old, new, vec![WHOLE.unknown("a document that does not compile again")]);
    };
    hold_apart(&mut parts, by_model);
    conclude(old, new, parts)
}

/// Every part, with vectors of the models `apart` held apart; `None` if a document does not compile again.
fn parts(
    [old, new]: [&Context; 2],
    apart: &[ModelName],
    role: Option<Role>,
    limits: &CompareLimits,
    budget: Budget,
) -> Option<Vec<Part>> {
    let (left, right) = (Side::of(old, apart)?, Side::of(new, apart)?);
    let marks = budget.separate();
    let pairs = Pairs::new([&left.emitted, &right.emitted], apart, limits, budget);
    let mut work = Work { pairs, limits, marks };
    let names: BTreeSet<PartName<'_>> = left.shapes.keys().chain(right.shapes.keys()).copied().collect();
    let part = |name| work.part(&PartName::subject(name, role), left.schema(0, name), right.schema(1, name));
    Some(names.into_iter().map(part).collect())
}

/// Replaces parts that are compatible by form alone: a vector that does not name its model would be read by another one.
fn hold_apart(parts: &mut [Part], by_model: Vec<Part>) {
    for (part, other) in parts.iter_mut().zip(by_model) {
        if part.verdict == Verdict::Compatible && other.verdict != Verdict::Compatible {
            let changes = std::mem::take(&mut part.changes);
            *part = Part { changes, ..other };
        }
    }
}

/// The name of a part in its document.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PartName<'n> {
    kind: TermKind,
    term: &'n str,
    /// The number of the shape: of a task, parameters and then results.
    index: usize,
}

impl PartName<'_> {
    fn path(&self) -> Vec<&str> {
        match (self.kind, self.index) {
            (TermKind::Concept, _) => vec!["concepts", self.term],
            (TermKind::Task, 0) => vec!["tasks", self.term, "parameters"],
            (TermKind::Task, _) => vec!["tasks", self.term, "results"],
        }
    }

    fn subject(self, given: Option<Role>) -> Subject {
        let own = if self.index == 0 { Role::Accepts } else { Role::Answers };
        Subject { pointer: pointer(&self.path()), role: given.unwrap_or(own) }
    }
}

/// The parts of a document with their shapes.
fn names(context: &Context) -> impl Iterator<Item = (PartName<'_>, &Shape)> {
    context.terms().flat_map(|term| {
        let name = |index| PartName { kind: term.kind(), term: term.name(), index };
        term.shapes().enumerate().map(move |(index, shape)| (name(index), shape))
    })
}

/// One document as the validator compiles it.
struct Side<'c> {
    emitted: Emitted,
    /// Each shape with the number of its root.
    shapes: BTreeMap<PartName<'c>, (usize, &'c Shape)>,
}

impl<'c> Side<'c> {
    fn of(context: &'c Context, apart: &[ModelName]) -> Option<Self> {
        let document = context.bundled();
        let empty = Map::new();
        let section = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&empty);
        let codes = context.all_code_lists();
        let mut wanted = Vec::new();
        let mut shapes = BTreeMap::new();
        let parts: Vec<_> = names(context).collect();
        for (name, shape) in &parts {
            shapes.insert(*name, (wanted.len(), *shape));
            let (path, concept) = (name.path(), name.kind == TermKind::Concept);
            wanted.push(SchemaRequest { schema: document.pointer(&pointer(&path))?, path, concept });
        }
        let parts = Parts {
            defs: section("$defs"),
            concepts: section("concepts"),
            codes: &codes,
            references: section("references"),
        };
        // it was compiled within its limits once already
        let limits = SchemaLimits { max_compiled_nodes: u64::MAX, ..SchemaLimits::default() };
        let (roots, definitions) = schema::emitted(&parts, &wanted, &limits, apart).ok()?;
        Some(Side { emitted: Emitted { roots, definitions, codes }, shapes })
    }

    fn schema(&self, side: usize, name: PartName<'_>) -> Option<Schema<'_>> {
        let (root, shape) = self.shapes.get(&name)?;
        Some(Schema { side, root: self.emitted.roots.get(*root)?, shape })
    }
}

/// The schemas that the validator compiles of a document.
#[cfg(test)]
pub(super) fn emitted(context: &Context) -> Option<Emitted> {
    Side::of(context, &[]).map(|side| side.emitted)
}

/// The location and the role of a part.
struct Subject {
    pointer: String,
    role: Role,
}

/// Both documents as a whole.
const WHOLE: Subject = Subject { pointer: String::new(), role: Role::Accepts };

impl Subject {
    fn part(&self, verdict: Verdict, reason: &str) -> Part {
        let (pointer, role, reason) = (self.pointer.clone(), self.role, reason.to_owned());
        Part { pointer, role, verdict, reason, witness: None, described: None, changes: Vec::new() }
    }

    fn compatible(&self, reason: &str) -> Part {
        self.part(Verdict::Compatible, reason)
    }

    fn unknown(&self, reason: &str) -> Part {
        self.part(Verdict::Unknown, reason)
    }

    fn described(&self, reason: &str, what: String) -> Part {
        Part { described: Some(what), ..self.part(Verdict::Breaking, reason) }
    }

    fn breaking(&self, reason: &str, witness: Witness) -> Part {
        Part { witness: Some(witness), ..self.part(Verdict::Breaking, reason) }
    }

    /// The version whose content is examined, and the one that may refuse it.
    const fn sides(&self) -> (&'static str, &'static str) {
        match self.role {
            Role::Accepts => ("older", "newer"),
            Role::Answers => ("newer", "older"),
        }
    }
}

struct Work<'e> {
    pairs: Pairs<'e>,
    limits: &'e CompareLimits,
    /// Steps that are left for the marks of free text, of all parts.
    marks: Budget,
}

impl<'e> Work<'e> {
    fn part(&mut self, subject: &Subject, old: Option<Schema<'e>>, new: Option<Schema<'e>>) -> Part {
        let (first, second) = match subject.role {
            Role::Accepts => (old, new),
            Role::Answers => (new, old),
        };
        match (first, second) {
            (Some(first), Some(second)) => {
                let mut part = self.both(subject, first, second);
                if let (Some(old), Some(new)) = (old, new) {
                    part.changes = changes(&mut self.pairs.solver, &subject.pointer, old, new, self.limits);
                    if part.verdict == Verdict::Compatible
                        && let Err(reason) =
                            free_text_marks(&subject.pointer, old.shape, new.shape, &self.marks)
                    {
                        part.verdict = Verdict::Unknown;
                        part.reason = reason;
                    }
                }
                part
            }
            (None, _) => subject.compatible(match subject.role {
                Role::Accepts => "it is new, and nobody sent it before",
                Role::Answers => "it is no longer answered, and nobody has to read it",
            }),
            (Some(first), None) => self.alone(subject, first),
        }
    }

    /// A part that the other document does not have.
    fn alone(&mut self, subject: &Subject, first: Schema<'e>) -> Part {
        let Some(performative) = first.shape.performatives.iter().next() else {
            return subject.compatible("no performative takes it");
        };
        let part =
            self.by_example(subject, first, performative, "it is no longer there", "concept_undefined");
        match (subject.role, part.verdict) {
            (Role::Answers, Verdict::Breaking) => {
                subject.compatible("the task is new, and no earlier caller asks for it")
            }
            _ => part,
        }
    }

    /// A part whose every content under a performative the other document refuses by one rule.
    fn by_example(
        &mut self,
        subject: &Subject,
        first: Schema<'e>,
        performative: Performative,
        reason: &str,
        rule: &str,
    ) -> Part {
        match self.pairs.example(first) {
            Err(NoValue::Nothing) => subject.compatible("it accepts nothing"),
            Err(NoValue::Unclear(why)) => subject.unknown(&why),
            Err(NoValue::Described(what)) => subject.described(reason, what.to_string()),
            Ok(content) => {
                let refused = ContentFault { path: String::new(), rule: rule.to_owned() };
                subject.breaking(reason, Witness { content: (*content).clone(), performative, refused })
            }
        }
    }

    fn both(&mut self, subject: &Subject, first: Schema<'e>, second: Schema<'e>) -> Part {
        let (left, right) = (first.shape.performatives, second.shape.performatives);
        let Some(performative) = left.iter().next() else {
            return subject.compatible("no performative takes it");
        };
        if let Some(gone) = left.iter().find(|performative| !right.contains(*performative)) {
            // it no longer takes content under a performative, or answers under a new one
            let reason = match subject.role {
                Role::Accepts => format!("it no longer takes `{gone}`"),
                Role::Answers => format!("it now answers under `{gone}`"),
            };
            return self.by_example(subject, first, gone, &reason, "x-performatives");
        }
        let same = left == right && self.pairs.alike && first.root == second.root;
        let (takes, refuses) = subject.sides();
        let breaks = format!("the {takes} version accepts a document that the {refuses} one refuses");
        match self.pairs.compare(first, second) {
            Err(NoValue::Nothing) if same => subject.compatible("it is unchanged"),
            Err(NoValue::Nothing) => subject.compatible(match subject.role {
                Role::Accepts => "the newer version accepts everything that the older one accepts",
                Role::Answers => "the older version accepts everything that the newer one answers",
            }),
            Err(NoValue::Unclear(why)) => subject.unknown(&why),
            Err(NoValue::Described(what)) => {
                let what = what.to_string();
                subject.described(&format!("{breaks}, too large to be shown: {what}"), what)
            }
            Ok((_, refused)) if refused.rule == VectorFault::Session.rule() => {
                let what =
                    format!("any content with a vector at `{}` that does not name its model", refused.path);
                subject
                    .described("both versions accept a vector, and read it by another model or by none", what)
            }
            Ok((content, refused)) => {
                let at = match refused.path.as_str() {
                    "" => "the whole".to_owned(),
                    path => format!("`{path}`"),
                };
                let reason = format!("{breaks}: {at} by `{}`", refused.rule);
                subject.breaking(&reason, Witness { content, performative, refused })
            }
        }
    }
}

fn conclude(old: &Context, new: &Context, mut parts: Vec<Part>) -> Comparison {
    parts.extend(approvals(old, new));
    parts.extend(embeddings(old, new));
    let verdict = parts.iter().map(|part| part.verdict).max().unwrap_or(Verdict::Compatible);
    let version = old.urn().version();
    let next = match verdict {
        Verdict::Compatible => Version { major: version.major, minor: version.minor.saturating_add(1) },
        _ => Version { major: version.major.saturating_add(1), minor: 0 },
    };
    Comparison { old: old.urn().clone(), new: new.urn().clone(), parts, verdict, next }
}
