//! Builds the terms of a document from its parts: performatives, compiled shapes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::envelope::{Envelope, Task};
use super::{DocumentFault, DocumentLimits};
use crate::performative::{Performative, PerformativeSet};
use crate::schema::{self, LocatedFault, SchemaFault, SchemaRequest};
use crate::term::{Shape, Term, TermKind};
use crate::vectors::{References, Spaces};

/// The properties of a planned shape.
struct Plan<'d> {
    term: &'d str,
    kind: TermKind,
    name: String,
    performatives: PerformativeSet,
    approval: Option<Arc<str>>,
}

/// A planned shape with its schema.
type Planned<'d> = (SchemaRequest<'d>, Plan<'d>);

/// The compiled terms of a document.
pub(super) struct Terms {
    pub(super) terms: BTreeMap<String, Term>,
    /// Their estimated bytes.
    pub(super) bytes: u64,
    pub(super) spaces: Spaces,
    pub(super) vectors: Arc<References>,
}

/// Compiles every term of a document.
pub(super) fn compile(envelope: &Envelope<'_>, limits: &DocumentLimits) -> Result<Terms, DocumentFault> {
    let parts = envelope.parts();
    let (wanted, plans): (Vec<_>, Vec<_>) = plans(envelope)?.into_iter().unzip();
    let compiled = schema::compile(&parts, &wanted, &limits.schema).map_err(of_schema)?;

    let mut terms = BTreeMap::new();
    let (bytes, spaces, vectors) = (compiled.bytes, compiled.spaces, compiled.references);
    for ((want, compiled), plan) in wanted.iter().zip(compiled.schemas).zip(plans) {
        let Plan { term, kind, name, performatives, approval } = plan;
        let shape = Shape { name, schema: want.schema.clone(), performatives, approval, compiled };
        let entry = terms.entry(term.to_owned());
        entry.or_insert_with(|| Term { name: term.to_owned(), kind, shapes: Vec::new() }).shapes.push(shape);
    }
    Ok(Terms { terms, bytes, spaces, vectors })
}

/// Every fault of the terms that one pass finds.
pub(super) fn faults(envelope: &Envelope<'_>, limits: &DocumentLimits) -> Vec<DocumentFault> {
    let parts = envelope.parts();
    match plans(envelope) {
        Err(fault) => vec![fault],
        Ok(plans) => {
            let wanted: Vec<_> = plans.into_iter().map(|(wanted, _)| wanted).collect();
            schema::faults(&parts, &wanted, &limits.schema).into_iter().map(of_schema).collect()
        }
    }
}

fn of_schema(located: LocatedFault) -> DocumentFault {
    DocumentFault::Schema { path: located.path, fault: located.fault }
}

fn plans<'d>(envelope: &'d Envelope<'d>) -> Result<Vec<Planned<'d>>, DocumentFault> {
    let mut plans = Vec::new();
    for (name, schema) in envelope.concepts {
        let given = schema.get("x-performatives");
        let performatives = match given {
            None => PerformativeSet::ALL,
            Some(list) => performatives(list, &["concepts", name, "x-performatives"])?,
        };
        let wanted = SchemaRequest { path: vec!["concepts", name], schema, concept: true };
        let kind = TermKind::Concept;
        plans.push((wanted, Plan { term: name, kind, name: name.clone(), performatives, approval: None }));
    }
    for (name, task) in &envelope.tasks {
        plans.extend(task_plans(name, task)?);
    }
    Ok(plans)
}

fn task_plans<'d>(name: &'d str, task: &Task<'d>) -> Result<[Planned<'d>; 2], DocumentFault> {
    let all = match task.performatives {
        None => PerformativeSet::ALL,
        Some(list) => performatives(list, &["tasks", name, "performatives"])?,
    };
    let side = |asking: bool| all.iter().filter(|performative| performative.is_asking() == asking).collect();
    let plan = |part: &'static str, schema: &'d Value, shape: String, performatives: PerformativeSet| {
        // answers need no approval: the request was approved
        let approval = task.approval.clone().filter(|_| part == "parameters");
        let plan = Plan { term: name, kind: TermKind::Task, name: shape, performatives, approval };
        (SchemaRequest { path: vec!["tasks", name, part], schema, concept: false }, plan)
    };
    Ok([
        plan("parameters", task.parameters, name.to_owned(), side(true)),
        plan("results", task.results, format!("{name}_results"), side(false)),
    ])
}

fn performatives(list: &Value, path: &[&str]) -> Result<PerformativeSet, DocumentFault> {
    let wrong = || DocumentFault::Schema { path: schema::pointer(path), fault: SchemaFault::Performatives };
    let names = list.as_array().filter(|names| !names.is_empty()).ok_or_else(wrong)?;
    let mut set = PerformativeSet::default();
    for name in names {
        let performative: Performative =
            name.as_str().and_then(|name| name.parse().ok()).ok_or_else(wrong)?;
        if set.contains(performative) {
            return Err(wrong());
        }
        set = set.with(performative);
    }
    Ok(set)
}
