//! Whole documents: every concept and both sides of every task, each by its role.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::CompareLimits;
use super::budget::Budget;
use super::cancel::CancelToken;
use super::changes::changes;
use super::free_text_marks::{FreeTextMarks, free_text_marks};
use super::pair::{Outcome, Pairs, Schema};
use super::read::Emitted;
use super::solve::Solution;
use super::verdict::{Comparison, Part, Role, Verdict, Witness};
use crate::document::{Context, SchemaLimits};
use crate::performative::{Performative, PerformativeSet};
use crate::schema::{self, ContentFault, Parts, SchemaRequest};
use crate::term::{Shape, Term, TermKind};
use crate::urn::Version;

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
    let budget = Budget::new(limits, stop);
    let run = || run(old, new, role, limits, budget);
    let done = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("compare".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, run).ok().and_then(|thread| thread.join().ok())
    });
    done.unwrap_or_else(|| {
        conclude(old, new, vec![unknown("", Role::Accepts, "the comparison could not be run")])
    })
}

fn run(
    old: &Context,
    new: &Context,
    role: Option<Role>,
    limits: &CompareLimits,
    budget: Budget,
) -> Comparison {
    if old.bytes() == new.bytes() {
        return conclude(old, new, identical(old, role));
    }
    let (Some(left), Some(right)) = (Side::of(old), Side::of(new)) else {
        return conclude(
            old,
            new,
            vec![unknown("", Role::Accepts, "a document that does not compile again")],
        );
    };
    let marks = budget.separate();
    let pairs = Pairs::new([&left.emitted, &right.emitted], limits, budget);
    let mut work = Work { pairs, left: &left, right: &right, limits, marks };
    let names: BTreeSet<(u8, &str)> =
        old.terms().chain(new.terms()).map(|term| (rank(term.kind()), term.name())).collect();
    let mut parts = Vec::new();
    for (kind, name) in names {
        let pick = |context: &'_ Context| context.term(name).is_some_and(|term| rank(term.kind()) == kind);
        let (before, after) = (
            pick(old).then_some(old).and_then(|c| c.term(name)),
            pick(new).then_some(new).and_then(|c| c.term(name)),
        );
        for index in 0..if kind == rank(TermKind::Concept) { 1 } else { 2 } {
            let shape = |term: Option<&'_ Term>| {
                term.and_then(|term| term.shapes.get(index).map(std::ptr::from_ref)).is_some()
            };
            if shape(before) || shape(after) {
                parts.push(work.part(kind, name, index, before, after, role));
            }
        }
    }
    conclude(old, new, parts)
}

const fn rank(kind: TermKind) -> u8 {
    match kind {
        TermKind::Concept => 0,
        TermKind::Task => 1,
    }
}

fn pointer(kind: u8, name: &str, index: usize) -> String {
    match (kind, index) {
        (0, _) => format!("/concepts/{name}"),
        (_, 0) => format!("/tasks/{name}/parameters"),
        _ => format!("/tasks/{name}/results"),
    }
}

const fn role_of(kind: u8, index: usize, given: Option<Role>) -> Role {
    match given {
        Some(role) => role,
        None if kind == 1 && index == 1 => Role::Answers,
        None => Role::Accepts,
    }
}

/// One document as the validator compiles it.
struct Side {
    emitted: Emitted,
    /// The root of each shape, by term and place.
    places: BTreeMap<(String, usize), usize>,
}

impl Side {
    fn of(context: &Context) -> Option<Side> {
        let document = context.bundled();
        let empty = serde_json::Map::new();
        let section = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&empty);
        let (concepts, tasks, defs) = (section("concepts"), section("tasks"), section("$defs"));
        let codes = context.all_code_lists();
        let mut wanted = Vec::new();
        let mut places = BTreeMap::new();
        for (name, schema) in concepts {
            places.insert((name.clone(), 0), wanted.len());
            wanted.push(SchemaRequest { path: vec!["concepts", name], schema, concept: true });
        }
        for (name, task) in tasks {
            for (index, part) in ["parameters", "results"].into_iter().enumerate() {
                places.insert((name.clone(), index), wanted.len());
                wanted.push(SchemaRequest {
                    path: vec!["tasks", name, part],
                    schema: task.get(part)?,
                    concept: false,
                });
            }
        }
        let parts = Parts { defs, concepts, codes: &codes };
        // it was compiled within its limits once already
        let limits = SchemaLimits { max_compiled_nodes: u64::MAX, ..SchemaLimits::default() };
        let (roots, definitions) = schema::emitted(&parts, &wanted, &limits).ok()?;
        Some(Side { emitted: Emitted { roots, definitions, codes }, places })
    }

    fn schema<'e>(&'e self, side: usize, name: &str, index: usize, shape: &'e Shape) -> Option<Schema<'e>> {
        let root = self.emitted.roots.get(*self.places.get(&(name.to_owned(), index))?)?;
        Some(Schema { side, root, shape })
    }
}

/// The schemas that the validator compiles of a document.
#[cfg(test)]
pub(super) fn emitted(context: &Context) -> Option<Emitted> {
    Side::of(context).map(|side| side.emitted)
}

struct Work<'e> {
    pairs: Pairs<'e>,
    left: &'e Side,
    right: &'e Side,
    limits: &'e CompareLimits,
    /// Steps that are left for the marks of free text, of all parts.
    marks: Budget,
}

impl<'e> Work<'e> {
    /// The reason that a policy could see less free text in the newer shape.
    fn unmarked(&mut self, pointer: &str, old: &Shape, new: &Shape) -> Option<String> {
        match free_text_marks(old, new, &self.marks) {
            FreeTextMarks::Kept => None,
            FreeTextMarks::Lost(path) => Some(format!(
                "`{pointer}{path}` is no longer marked as free text, so what policies ask of free text would not see it"
            )),
            FreeTextMarks::TooMany => Some(format!(
                "the marks of free text stand in more places than may be looked at: {}",
                self.marks.reason()
            )),
        }
    }

    fn part(
        &mut self,
        kind: u8,
        name: &str,
        index: usize,
        before: Option<&'e Term>,
        after: Option<&'e Term>,
        given: Option<Role>,
    ) -> Part {
        let (pointer, role) = (pointer(kind, name, index), role_of(kind, index, given));
        let of = |side: &'e Side, number: usize, term: Option<&'e Term>| {
            let shape = term?.shapes.get(index)?;
            side.schema(number, name, index, shape)
        };
        let old = of(self.left, 0, before);
        let new = of(self.right, 1, after);
        let (first, second) = match role {
            Role::Accepts => (old, new),
            Role::Answers => (new, old),
        };
        match (first, second) {
            (Some(first), Some(second)) => {
                let mut part = self.both(&pointer, role, first, second);
                if let (Some(old), Some(new)) = (old, new) {
                    part.changes = changes(&mut self.pairs.solver, &pointer, old, new, self.limits);
                    if part.verdict == Verdict::Compatible
                        && let Some(reason) = self.unmarked(&pointer, old.shape, new.shape)
                    {
                        part.verdict = Verdict::Unknown;
                        part.reason = reason;
                    }
                }
                part
            }
            (None, _) => match role {
                Role::Accepts => compatible(&pointer, role, "it is new, and nobody sent it before"),
                Role::Answers => {
                    compatible(&pointer, role, "it is no longer answered, and nobody has to read it")
                }
            },
            (Some(first), None) => self.alone(&pointer, role, first),
        }
    }

    /// A part that the other document does not have.
    fn alone(&mut self, pointer: &str, role: Role, first: Schema<'e>) -> Part {
        let Some(performative) = first.shape.performatives.iter().next() else {
            return compatible(pointer, role, "no performative takes it");
        };
        match (role, self.pairs.example(first)) {
            (_, Solution::Nothing) => compatible(pointer, role, "it accepts nothing"),
            (_, Solution::Unclear(why)) => unknown(pointer, role, &why),
            (Role::Answers, Solution::Value(_) | Solution::Described(_)) => {
                compatible(pointer, role, "the task is new, and no earlier caller asks for it")
            }
            (Role::Accepts, Solution::Described(what)) => {
                described(pointer, role, "it is no longer there".to_owned(), what.to_string())
            }
            (Role::Accepts, Solution::Value(content)) => Part {
                pointer: pointer.to_owned(),
                role,
                verdict: Verdict::Breaking,
                reason: "it is no longer there".to_owned(),
                witness: Some(Witness {
                    content: (*content).clone(),
                    performative,
                    refused: ContentFault { path: String::new(), rule: "concept_undefined".to_owned() },
                }),
                described: None,
                changes: Vec::new(),
            },
        }
    }

    /// A part that no longer takes content under a performative, or answers under a new one.
    fn without_performative(
        &mut self,
        pointer: &str,
        role: Role,
        first: Schema<'e>,
        performative: Performative,
    ) -> Part {
        let reason = match role {
            Role::Accepts => format!("it no longer takes `{performative}`"),
            Role::Answers => format!("it now answers under `{performative}`"),
        };
        let content = match self.pairs.example(first) {
            Solution::Nothing => return compatible(pointer, role, "it accepts nothing"),
            Solution::Unclear(why) => return unknown(pointer, role, &why),
            Solution::Described(what) => return described(pointer, role, reason, what.to_string()),
            Solution::Value(content) => (*content).clone(),
        };
        let refused = ContentFault { path: String::new(), rule: "x-performatives".to_owned() };
        let witness = Some(Witness { content, performative, refused });
        Part { reason, verdict: Verdict::Breaking, witness, ..unknown(pointer, role, "") }
    }

    fn both(&mut self, pointer: &str, role: Role, first: Schema<'e>, second: Schema<'e>) -> Part {
        let (left, right) = (first.shape.performatives, second.shape.performatives);
        if left.is_empty() {
            return compatible(pointer, role, "no performative takes it");
        }
        let gone: PerformativeSet =
            left.iter().filter(|performative| !right.contains(*performative)).collect();
        if let Some(performative) = gone.iter().next() {
            return self.without_performative(pointer, role, first, performative);
        }
        let same = left == right && self.pairs.alike && first.root == second.root;
        match self.pairs.compare(first, second) {
            Outcome::Within if same => compatible(pointer, role, "it is unchanged"),
            Outcome::Within => compatible(
                pointer,
                role,
                match role {
                    Role::Accepts => "whatever the older version accepts, the newer one accepts",
                    Role::Answers => "whatever the newer version answers, the older one accepts",
                },
            ),
            Outcome::Unclear(why) => unknown(pointer, role, &why),
            Outcome::Described(what) => {
                let (takes, refuses) = sides(role);
                let reason = format!(
                    "the {takes} version accepts a document that the {refuses} one refuses, too large to be shown: {what}"
                );
                described(pointer, role, reason, what)
            }
            Outcome::Beyond(content, refused) => {
                let Some(performative) = left.iter().next() else {
                    return unknown(pointer, role, "no performative takes it");
                };
                let (takes, refuses) = sides(role);
                let at = if refused.path.is_empty() {
                    "the whole".to_owned()
                } else {
                    format!("`{}`", refused.path)
                };
                Part {
                    pointer: pointer.to_owned(),
                    role,
                    verdict: Verdict::Breaking,
                    reason: format!(
                        "the {takes} version accepts a document that the {refuses} one refuses: {at} by `{}`",
                        refused.rule
                    ),
                    witness: Some(Witness { content, performative, refused }),
                    described: None,
                    changes: Vec::new(),
                }
            }
        }
    }
}

fn compatible(pointer: &str, role: Role, reason: &str) -> Part {
    without(pointer, role, Verdict::Compatible, reason)
}

/// The version whose content is examined, and the one that may refuse it.
const fn sides(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::Accepts => ("older", "newer"),
        Role::Answers => ("newer", "older"),
    }
}

fn described(pointer: &str, role: Role, reason: String, what: String) -> Part {
    Part { reason, described: Some(what), ..without(pointer, role, Verdict::Breaking, "") }
}

fn unknown(pointer: &str, role: Role, reason: &str) -> Part {
    without(pointer, role, Verdict::Unknown, reason)
}

fn without(pointer: &str, role: Role, verdict: Verdict, reason: &str) -> Part {
    let (pointer, reason) = (pointer.to_owned(), reason.to_owned());
    Part { pointer, role, verdict, reason, witness: None, described: None, changes: Vec::new() }
}

/// Two documents of the same bytes.
fn identical(context: &Context, role: Option<Role>) -> Vec<Part> {
    let part = |term: &Term| {
        let kind = rank(term.kind());
        let name = term.name().to_owned();
        (0..term.shapes.len())
            .map(|index| {
                compatible(&pointer(kind, &name, index), role_of(kind, index, role), "it is unchanged")
            })
            .collect::<Vec<_>>()
    };
    context.terms().flat_map(part).collect()
}

fn conclude(old: &Context, new: &Context, parts: Vec<Part>) -> Comparison {
    let verdict = parts.iter().map(|part| part.verdict).max().unwrap_or(Verdict::Compatible);
    let version = old.urn().version();
    let next = match verdict {
        Verdict::Compatible => Version { major: version.major, minor: version.minor.saturating_add(1) },
        _ => Version { major: version.major.saturating_add(1), minor: 0 },
    };
    Comparison { old: old.urn().clone(), new: new.urn().clone(), parts, verdict, next }
}
