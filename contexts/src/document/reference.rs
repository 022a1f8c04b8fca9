//! References to other contexts, by URN and digest. Borrowed schemas become definitions of the document before it is checked
//! and compiled. So closing, bounded work, types and free text hold for them as for the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Context, ContextResolver, DocumentFault, DocumentLimits};
use crate::digest::Digest;
use crate::schema::{SchemaFault, each_schema, pointer};
use crate::urn::{ContextUrn, Prefix};

const FORM: &str = "must be `#/$defs/NAME`, `#/concepts/NAME`, or `URN#/concepts/NAME` of another context with `x-digest` next to it";

/// A document with the borrowed schemas among its definitions.
pub(super) struct Bundle {
    pub(super) document: Value,
    /// Code lists of others, by the names that the borrowed schemas have for them.
    pub(super) codes: BTreeMap<String, Vec<String>>,
    /// Every context that is referred to, directly or by one that is.
    pub(super) references: Vec<Arc<Context>>,
}

/// Replaces the references to other contexts; `None` if there are none.
pub(super) fn bundle(
    document: &Value,
    own: &ContextUrn,
    prefix: &Prefix,
    limits: &DocumentLimits,
    others: &ContextResolver<'_>,
) -> Result<Option<Bundle>, DocumentFault> {
    let mut bundled = document.clone();
    let mut borrower = Borrower {
        own,
        prefix,
        limit: limits.max_references,
        others,
        contexts: Vec::new(),
        wanted: Vec::new(),
        known: BTreeSet::new(),
    };
    borrower.rewrite_own(&mut bundled)?;
    if borrower.contexts.is_empty() {
        return Ok(None);
    }
    let (borrowed, codes) = borrower.collect()?;
    if let Value::Object(map) = &mut bundled
        && let Value::Object(defs) = map.entry("$defs").or_insert_with(|| Value::Object(Map::new()))
    {
        defs.extend(borrowed);
    }
    Ok(Some(Bundle { document: bundled, codes, references: borrower.contexts }))
}

/// One schema of another context: the index of the context, its section, and its name.
type Part = (usize, &'static str, String);

struct Borrower<'a, 'o> {
    own: &'a ContextUrn,
    prefix: &'a Prefix,
    limit: usize,
    others: &'a ContextResolver<'o>,
    contexts: Vec<Arc<Context>>,
    wanted: Vec<Part>,
    known: BTreeSet<Part>,
}

impl Borrower<'_, '_> {
    fn rewrite_own(&mut self, document: &mut Value) -> Result<(), DocumentFault> {
        let mut replace = |map: &mut Map<String, Value>, path: &[String]| self.replace_foreign(map, path);
        for section in ["concepts", "$defs"] {
            for (name, schema) in members(document, section) {
                each_schema(schema, &mut vec![section.to_owned(), name.clone()], &mut replace)?;
            }
        }
        for (name, task) in members(document, "tasks") {
            for part in ["parameters", "results"] {
                if let Some(schema) = task.get_mut(part) {
                    let mut path = vec!["tasks".to_owned(), name.clone(), part.to_owned()];
                    each_schema(schema, &mut path, &mut replace)?;
                }
            }
        }
        Ok(())
    }

    /// A reference of this document into another one becomes a reference to the definition that will hold it.
    fn replace_foreign(
        &mut self,
        map: &mut Map<String, Value>,
        path: &[String],
    ) -> Result<(), DocumentFault> {
        // no name has a `#` but those of borrowed lists, which no document may lean on
        if map.get("x-code-list").and_then(Value::as_str).is_some_and(|list| list.contains('#')) {
            return Err(DocumentFault::Schema { path: pointer(path), fault: SchemaFault::UnknownCodeList });
        }
        let Some(reference) = map.get("$ref").and_then(Value::as_str) else { return Ok(()) };
        let fault = |what| DocumentFault::Reference { path: pointer(path), what };
        if reference.starts_with('#') {
            // no name has a `.` but those of borrowed definitions, which no document may lean on
            return if reference.contains('.') {
                Err(fault("names nothing in this document"))
            } else {
                Ok(())
            };
        }
        let (urn, name) = reference.split_once("#/concepts/").ok_or_else(|| fault(FORM))?;
        let urn = ContextUrn::parse(urn, self.prefix).map_err(|_| fault(FORM))?;
        if urn == *self.own {
            return Err(fault("to its own context must be `#/concepts/NAME`"));
        }
        let digest = map.get("x-digest").and_then(Value::as_str).and_then(|text| Digest::parse(text).ok());
        let digest = digest.ok_or_else(|| {
            fault("to another context needs `x-digest` next to it, `sha-256:` and 64 hex digits")
        })?;
        let context =
            (self.others)(&urn).ok_or(DocumentFault::ReferenceMissing { urn: urn.clone(), digest })?;
        if *context.digest() != digest || *context.urn() != urn {
            return Err(DocumentFault::ReferenceDigest { urn });
        }
        if context.terms.get(name).is_none_or(|term| term.kind != crate::term::TermKind::Concept) {
            return Err(fault("names no concept of the other context"));
        }
        let part = (self.add(&context, path)?, "concepts", name.to_owned());
        let target = local(&part);
        map.insert("$ref".to_owned(), Value::String(format!("#/$defs/{target}")));
        map.remove("x-digest");
        self.want(part);
        Ok(())
    }

    /// Adds a context and all that it refers to; returns its index.
    fn add(&mut self, context: &Arc<Context>, path: &[String]) -> Result<usize, DocumentFault> {
        for one in std::iter::once(context).chain(&context.references) {
            match self.contexts.iter().find(|known| known.urn == one.urn) {
                Some(known) if known.digest != one.digest => {
                    return Err(DocumentFault::ReferenceDigest { urn: one.urn.clone() });
                }
                Some(_) => {}
                None if one.urn == *self.own => {
                    let what = "leads back to this context";
                    return Err(DocumentFault::Reference { path: pointer(path), what });
                }
                None if self.contexts.len() == self.limit => {
                    let what = "referenced contexts";
                    return Err(DocumentFault::TooMany { path: pointer(path), what, limit: self.limit });
                }
                None => self.contexts.push(Arc::clone(one)),
            }
        }
        self.index_of(context.urn())
    }

    fn index_of(&self, urn: &ContextUrn) -> Result<usize, DocumentFault> {
        let index = self.contexts.iter().position(|known| known.urn == *urn);
        index.ok_or_else(|| DocumentFault::Reference { path: String::new(), what: FORM })
    }

    fn want(&mut self, part: Part) {
        if self.known.insert(part.clone()) {
            self.wanted.push(part);
        }
    }

    /// The wanted schemas and all that they lead to, under their names here, with the code lists that they use.
    #[expect(
        clippy::type_complexity,
        reason = "definitions and code lists, taken apart at once by the one caller"
    )]
    fn collect(&mut self) -> Result<(Map<String, Value>, BTreeMap<String, Vec<String>>), DocumentFault> {
        let mut documents: BTreeMap<usize, Value> = BTreeMap::new();
        let (mut borrowed, mut codes) = (Map::new(), BTreeMap::new());
        while let Some(part) = self.wanted.pop() {
            let (which, section, name) = &part;
            let Some(context) = self.contexts.get(*which).map(Arc::clone) else { continue };
            let document = documents.entry(*which).or_insert_with(|| original(&context));
            let schema = document.get(*section).and_then(|schemas| schemas.get(name));
            let mut schema = schema.cloned().ok_or(DocumentFault::Reference {
                path: pointer(&[section, &name.as_str()]),
                what: "names nothing in the other context",
            })?;
            if let Value::Object(map) = &mut schema {
                map.remove("x-performatives");
            }
            let mut path = vec![(*section).to_owned(), name.clone()];
            each_schema(&mut schema, &mut path, &mut |map, _| {
                self.replace_in(*which, map)?;
                if let Some(Value::String(list)) = map.get_mut("x-code-list") {
                    let own = list.clone();
                    *list = format!("{}#/codes/{own}", context.urn());
                    codes.extend(context.codes.get(&own).map(|codes| (list.clone(), codes.clone())));
                }
                Ok(())
            })?;
            borrowed.insert(local(&part), schema);
        }
        Ok((borrowed, codes))
    }

    /// The references of a borrowed schema: into its own document, or into one that it refers to, which is found already.
    fn replace_in(&mut self, which: usize, map: &mut Map<String, Value>) -> Result<(), DocumentFault> {
        let Some(reference) = map.get("$ref").and_then(Value::as_str) else { return Ok(()) };
        let part = if let Some(name) = reference.strip_prefix("#/$defs/") {
            (which, "$defs", name.to_owned())
        } else if let Some(name) = reference.strip_prefix("#/concepts/") {
            (which, "concepts", name.to_owned())
        } else {
            let split = reference.split_once("#/concepts/");
            let (urn, name) = split.ok_or(DocumentFault::Reference { path: String::new(), what: FORM })?;
            let urn = ContextUrn::parse(urn, self.prefix).map_err(DocumentFault::Urn)?;
            (self.index_of(&urn)?, "concepts", name.to_owned())
        };
        map.insert("$ref".to_owned(), Value::String(format!("#/$defs/{}", local(&part))));
        map.remove("x-digest");
        self.want(part);
        Ok(())
    }
}

fn members<'v>(document: &'v mut Value, section: &str) -> impl Iterator<Item = (&'v String, &'v mut Value)> {
    document.get_mut(section).and_then(Value::as_object_mut).into_iter().flatten()
}

fn original(context: &Context) -> Value {
    // the bytes were written from a JSON value
    serde_json::from_slice(&context.bytes).unwrap_or(Value::Null)
}

/// The name of a borrowed definition: names of a document hold no `.`, so it is none of its own.
fn local((which, section, name): &Part) -> String {
    format!("{which}.{}.{name}", section.trim_start_matches('$'))
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
