//! JSON Schema 2020-12 as contexts use it: a bounded profile in which objects are closed, compiled once per document.
//!
//! The path of a schema: `check` (vocabulary, bounds, references), `emit` (closing), `work` (bounded work). Then the
//! `jsonschema` crate reads our own tree (`node`) and charges the message for it (`meter`). It calls us for four keywords
//! (`custom`), patterns among them (`matcher`). `docs/spec/context-document.md` lists the schemas that the profile takes and
//! refuses.

mod casing;
mod check;
mod cost;
mod custom;
mod datetime;
mod emit;
mod fault;
mod fields;
mod free_text;
mod limits;
mod matcher;
mod meter;
mod node;
mod one_model;
mod pattern;
mod plain;
mod pointer;
mod source;
mod validator;
mod vocabulary;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use casing::CasingReader;
pub(crate) use casing::{Casing, CasingNode};
pub(crate) use custom::is_refused;
pub use custom::{is_refused as refused_in_free_text, is_unseen};
pub(crate) use fault::LocatedFault;
pub use fault::{ContentFault, SchemaFault};
pub(crate) use fields::bytes as field_bytes;
pub(crate) use free_text::{FreeText, View};
pub use free_text::{Spared, TooManyLooks};
pub use limits::SchemaLimits;
pub use meter::{BudgetExhausted, WorkBudget};
#[doc(hidden)]
pub use plain::{Plain, compile_plain};
pub(crate) use pointer::pointer;
pub(crate) use source::types;
pub(crate) use validator::Validator;
pub(crate) use vocabulary::MUST_BE_SEEN;
pub use vocabulary::{FORMATS, KEYWORDS};
pub(crate) use walk::each_schema;

use crate::field::FieldType;
use crate::vectors::{ModelName, ReferenceFault, References, Spaces};
use matcher::Matchers;
use source::Source;
use validator::{Keywords, Validators};

/// One schema of a document that content can be checked against.
pub(crate) struct SchemaRequest<'d> {
    /// Its location, as segments of a JSON Pointer.
    pub(crate) path: Vec<&'d str>,
    pub(crate) schema: &'d Value,
    /// The schema of a concept (and not of parameters or results).
    pub(crate) concept: bool,
}

/// The compiled parts of one schema.
#[derive(Debug)]
pub(crate) struct CompiledSchema {
    pub(crate) validator: Validator,
    pub(crate) fields: FieldType,
    pub(crate) casing: Casing,
    pub(crate) free_text: FreeText,
    /// Members for [`Shape::never_null`](crate::Shape::never_null), sorted.
    pub(crate) never_null: Vec<String>,
}

impl CompiledSchema {
    /// The same without what checks content: nothing fits it.
    pub(crate) fn retired(&self) -> Self {
        CompiledSchema {
            validator: self.validator.retired(),
            fields: self.fields.clone(),
            casing: Casing::default(),
            free_text: self.free_text.clone(),
            never_null: self.never_null.clone(),
        }
    }
}

/// The parts of a document that schemas refer to.
pub(crate) struct Parts<'d> {
    pub(crate) defs: &'d Map<String, Value>,
    pub(crate) concepts: &'d Map<String, Value>,
    pub(crate) codes: &'d BTreeMap<String, Vec<String>>,
    /// The member `references`: vectors by name and model.
    pub(crate) references: &'d Map<String, Value>,
}

/// The compiled parts of all wanted schemas, in their order, and an estimate of their bytes.
#[derive(Debug)]
pub(crate) struct CompiledSchemas {
    pub(crate) schemas: Vec<CompiledSchema>,
    pub(crate) bytes: u64,
    /// The space of every model that a schema names.
    pub(crate) spaces: Spaces,
    pub(crate) references: Arc<References>,
}

/// Bytes of one name that the rule `case` knows.
const CASE_NAME_BYTES: u64 = 200;

/// Checks all schemas of a document with its reference vectors, and compiles the wanted ones.
pub(crate) fn compile<'d>(
    parts: &Parts<'d>,
    wanted: &[SchemaRequest<'d>],
    limits: &SchemaLimits,
) -> Result<CompiledSchemas, LocatedFault> {
    let source = Source::new(parts);
    let matchers = Matchers::new(limits);
    let checker = check_all(&source, parts, wanted, &matchers);
    let spaces = checker.spaces().clone();
    if let Some(first) = checker.faults().into_iter().next() {
        return Err(first);
    }
    source.refer(read_references(parts, &spaces)?);
    let mut emitter = emit::Emitter::new(&source, limits);
    let mut roots = Vec::with_capacity(wanted.len());
    for want in wanted {
        roots.push(root(&source, &mut emitter, want)?);
    }
    let definitions = emitter.definitions();
    let of_root = |(which, fault): (Option<usize>, SchemaFault)| {
        let path = which.and_then(|which| wanted.get(which)).map(|want| pointer(&want.path));
        LocatedFault { path: path.unwrap_or_default(), fault }
    };
    let measure = cost::bound(&roots, &definitions, &matchers, limits).map_err(of_root)?;
    let bytes = measure.bytes.saturating_add(matchers.bytes());
    let codes = custom::Codes::new(parts.codes);
    let keywords = Keywords { codes: &codes, matchers: &matchers, limits };
    let compile =
        || Validators::compile(roots, definitions, &keywords, measure.member_steps).map_err(of_root);
    let validators = within(bytes, limits).and_then(|()| compile())?;
    let (schemas, bytes) = describe(&source, wanted, validators, bytes, limits)?;
    Ok(CompiledSchemas { schemas, bytes, spaces, references: source.references() })
}

/// The reference vectors of a document, each of a space that its schemas name.
fn read_references(parts: &Parts<'_>, spaces: &Spaces) -> Result<Arc<References>, LocatedFault> {
    References::read(parts.references, spaces).map(Arc::new).map_err(
        |ReferenceFault { path: [name, model], must }| {
            let fault = SchemaFault::KeywordValue { keyword: "references".to_owned(), must };
            LocatedFault { path: pointer(&["references", &name, &model]), fault }
        },
    )
}

/// The closed form of a wanted schema.
fn root(
    source: &Source<'_>,
    emitter: &mut emit::Emitter<'_, '_>,
    want: &SchemaRequest<'_>,
) -> Result<Value, LocatedFault> {
    if source.types(want.schema) != types::OBJECT {
        return Err(located(want, SchemaFault::NotAnObject));
    }
    emitter.root(want.schema, &want.path)
}

fn within(bytes: u64, limits: &SchemaLimits) -> Result<(), LocatedFault> {
    let limit = limits.max_compiled_bytes;
    let fault = SchemaFault::Limit { what: "bytes when it is compiled", limit };
    if bytes > limit { Err(LocatedFault { path: String::new(), fault }) } else { Ok(()) }
}

/// The wanted schemas with what else is known of them; `bytes` is the memory of their validators.
fn describe<'d>(
    source: &Source<'d>,
    wanted: &[SchemaRequest<'d>],
    validators: Vec<Validator>,
    mut bytes: u64,
    limits: &SchemaLimits,
) -> Result<(Vec<CompiledSchema>, u64), LocatedFault> {
    let mut texts = free_text::FreeTextReader::new(source);
    let starts: Vec<usize> = wanted.iter().map(|want| texts.add(want.schema)).collect();
    let map = Arc::new(texts.finish());
    let mut casing = CasingReader::new(source, limits);
    let mut schemas = Vec::with_capacity(wanted.len());
    for ((want, validator), start) in wanted.iter().zip(validators).zip(starts) {
        let fields = fields::describe(source, want.schema);
        bytes = bytes.saturating_add(fields::bytes(&fields));
        within(bytes, limits)?;
        schemas.push(CompiledSchema {
            validator,
            fields,
            casing: casing.read(want.schema).map_err(|fault| located(want, fault))?,
            free_text: FreeText::new(Arc::clone(&map), start),
            never_null: fields::never_null(source, want.schema),
        });
    }
    bytes = bytes.saturating_add(CASE_NAME_BYTES.saturating_mul(casing.names() as u64));
    within(bytes, limits)?;
    Ok((schemas, bytes))
}

/// The schemas that the validator compiles for the wanted ones, and the definitions that they name. The document was checked
/// before. Vectors of the models `apart` differ in them.
pub(crate) fn emitted<'d>(
    parts: &Parts<'d>,
    wanted: &[SchemaRequest<'d>],
    limits: &SchemaLimits,
    apart: &[ModelName],
) -> Result<(Vec<Value>, BTreeMap<String, Value>), LocatedFault> {
    let source = Source::new(parts);
    let mut emitter = emit::Emitter::new(&source, limits).for_comparison(apart);
    let roots = wanted.iter().map(|want| emitter.root(want.schema, &want.path)).collect::<Result<_, _>>()?;
    Ok((roots, emitter.definitions()))
}

/// Every fault of the schemas that one pass finds, in order and at most 256: of vocabulary, bounds, references, and closing.
/// Only [`compile`] finds faults of a document as a whole, such as its bounds on work.
pub(crate) fn faults<'d>(
    parts: &Parts<'d>,
    wanted: &[SchemaRequest<'d>],
    limits: &SchemaLimits,
) -> Vec<LocatedFault> {
    let source = Source::new(parts);
    let matchers = Matchers::new(limits);
    let checker = check_all(&source, parts, wanted, &matchers);
    let spaces = checker.spaces().clone();
    let mut faults = checker.faults();
    if faults.is_empty() {
        faults.extend(read_references(parts, &spaces).err());
    }
    // a reference that leads nowhere, or back to itself, cannot be followed
    let lost = |fault: &SchemaFault| matches!(fault, SchemaFault::Reference { .. } | SchemaFault::Cycle);
    if faults.iter().any(|located| lost(&located.fault)) {
        return faults;
    }
    let mut emitter = emit::Emitter::new(&source, limits).keeping_faults();
    faults.extend(wanted.iter().filter_map(|want| root(&source, &mut emitter, want).err()));
    for closing in emitter.faults() {
        // a schema that is refused for its vocabulary needs no second reason
        if faults.len() < check::MAX_FAULTS && faults.iter().all(|known| known.path != closing.path) {
            faults.push(closing);
        }
    }
    faults
}

fn check_all<'s, 'd>(
    source: &'s Source<'d>,
    parts: &Parts<'d>,
    wanted: &[SchemaRequest<'d>],
    matchers: &'s Matchers,
) -> check::Checker<'s, 'd> {
    let mut checker = check::Checker::new(source, matchers);
    for (name, schema) in parts.defs {
        checker.schema(schema, &["$defs", name], false);
    }
    for want in wanted {
        checker.schema(want.schema, &want.path, want.concept);
    }
    if checker.is_sound() && checker.spaces().len() > 1 {
        let mut search = one_model::OneModel::new(source, matchers.limits().max_compiled_nodes);
        let first = wanted.iter().find_map(|want| search.check(want.schema, &want.path).err());
        checker.add(first);
    }
    checker
}

fn located(want: &SchemaRequest<'_>, fault: SchemaFault) -> LocatedFault {
    LocatedFault { path: pointer(&want.path), fault }
}

#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod steps_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod untyped_tests;
#[cfg(test)]
mod value_tests;
