//! One value has one list of models: two `x-embedding` with others on it would leave open by which model a bare array is read.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::fault::LocatedFault;
use super::source::{Source, branches, in_place, named};
use super::{SchemaFault, pointer};
use crate::vectors::{ModelName, VectorType};

const USE_THE_LIST: &str = "one for each value: another `x-embedding` on this value, in another branch or behind a reference, names other models; \
     use the list of both models instead";

/// A schema with its path.
#[derive(Clone)]
struct Located<'d> {
    schema: &'d Value,
    path: String,
}

/// An object schema with its path.
struct Part<'d> {
    map: &'d Map<String, Value>,
    path: String,
}

/// The search through the values that a shape describes. Each is a set of schemas that look at it.
pub(super) struct OneModel<'s, 'd> {
    source: &'s Source<'d>,
    /// Sets that were looked at, by the addresses of their schemas.
    seen: HashSet<BTreeSet<usize>>,
    /// Looks of schemas at values that are left.
    left: u64,
    most: u64,
}

impl<'s, 'd> OneModel<'s, 'd> {
    /// A search of at most this many looks.
    pub(super) fn new(source: &'s Source<'d>, left: u64) -> Self {
        OneModel { source, seen: HashSet::new(), left, most: left }
    }

    /// Checks every value below a shape. A pattern of names counts for each name, and any two branches count as one value.
    ///
    /// # Errors
    /// Two lists of models for one value, or more looks than are left.
    pub(super) fn check(&mut self, schema: &'d Value, path: &[&str]) -> Result<(), LocatedFault> {
        let mut open = vec![vec![Located { schema, path: pointer(path) }]];
        while let Some(value) = open.pop() {
            let at = value.first().map(|first| first.path.clone()).unwrap_or_default();
            let parts = self.parts(value);
            self.left = self.left.saturating_sub(parts.len() as u64);
            if self.left == 0 {
                let fault = SchemaFault::Limit { what: "looks for models of vectors", limit: self.most };
                return Err(LocatedFault { path: at, fault });
            }
            if self.seen.insert(parts.iter().map(|part| std::ptr::from_ref(part.map).addr()).collect()) {
                self.agree(&parts)?;
                open.extend(members(&parts));
                open.extend(items(&parts));
            }
        }
        Ok(())
    }

    /// The schemas with all that look at the same value.
    fn parts(&self, mut open: Vec<Located<'d>>) -> Vec<Part<'d>> {
        let (mut parts, mut known) = (Vec::new(), HashSet::new());
        while let Some(Located { schema, path }) = open.pop() {
            let Value::Object(map) = schema else { continue };
            if !known.insert(std::ptr::from_ref(map).addr()) {
                continue;
            }
            open.extend(in_place(map).map(|schema| Located { schema, path: path.clone() }));
            if let Some(reference) = map.get("$ref").and_then(Value::as_str)
                && let Ok(schema) = self.source.resolve(reference)
            {
                open.push(Located { schema, path: path.clone() });
            }
            parts.push(Part { map, path });
        }
        parts
    }

    fn agree(&self, parts: &[Part<'d>]) -> Result<(), LocatedFault> {
        let mut first: Option<BTreeSet<ModelName>> = None;
        for part in parts {
            let Some(value) = part.map.get("x-embedding") else { continue };
            let Ok(vector) = VectorType::of(value, false, Arc::default()) else { continue };
            let models = vector.spaces().iter().map(|space| space.model).collect();
            if first.get_or_insert_with(|| BTreeSet::clone(&models)) != &models {
                let fault =
                    SchemaFault::KeywordValue { keyword: "x-embedding".to_owned(), must: USE_THE_LIST };
                return Err(LocatedFault { path: part.path.clone(), fault });
            }
        }
        Ok(())
    }
}

impl<'d> Part<'d> {
    fn at(&self, keyword: &str, name: &str, schema: &'d Value) -> Located<'d> {
        Located { schema, path: format!("{}{}", self.path, pointer(&[keyword, name])) }
    }

    /// The schema of one named member.
    fn member(&self, name: &str) -> Option<Located<'d>> {
        let schema = self.map.get("properties")?.as_object()?.get(name)?;
        Some(self.at("properties", name, schema))
    }

    fn patterns(&self) -> impl Iterator<Item = Located<'d>> {
        named(self.map, "patternProperties").map(|(name, schema)| self.at("patternProperties", name, schema))
    }

    /// The schemas of members that nothing here names.
    fn others(&self) -> impl Iterator<Item = Located<'d>> {
        ["additionalProperties", "unevaluatedProperties"].into_iter().filter_map(|keyword| {
            let schema = self.map.get(keyword)?;
            Some(Located { schema, path: format!("{}{}", self.path, pointer(&[keyword])) })
        })
    }
}

/// Every member, as the schemas that look at it: each named one, and those without a name here.
fn members<'d>(parts: &[Part<'d>]) -> Vec<Vec<Located<'d>>> {
    let patterns = || parts.iter().flat_map(Part::patterns);
    let mut all: BTreeMap<&str, Vec<Located<'d>>> = BTreeMap::new();
    let names: BTreeSet<&str> =
        parts.iter().flat_map(|part| named(part.map, "properties").map(|(name, _)| name.as_str())).collect();
    for name in names {
        let mut value: Vec<Located<'d>> = patterns().collect();
        for part in parts {
            match part.member(name) {
                Some(own) => value.insert(0, own),
                None => value.extend(part.others()),
            }
        }
        all.insert(name, value);
    }
    let mut all: Vec<_> = all.into_values().collect();
    // a name that fits a pattern is none of the others of the same schema
    for (index, part) in parts.iter().enumerate() {
        if part.patterns().next().is_some() {
            let elsewhere = parts.iter().enumerate().filter(|(other, _)| *other != index);
            all.push(patterns().chain(elsewhere.flat_map(|(_, part)| part.others())).collect());
        }
    }
    all.push(parts.iter().flat_map(Part::others).collect());
    all
}

/// Every item, as the schemas that look at it: each of a prefix, and those after it.
fn items<'d>(parts: &[Part<'d>]) -> Vec<Vec<Located<'d>>> {
    let longest = parts.iter().map(|part| branches(part.map, "prefixItems").count()).max().unwrap_or(0);
    let item = |part: &Part<'d>, index: usize| match branches(part.map, "prefixItems").nth(index) {
        Some(schema) => Some(part.at("prefixItems", &index.to_string(), schema)),
        None => {
            let schema = part.map.get("items")?;
            Some(Located { schema, path: format!("{}/items", part.path) })
        }
    };
    (0..=longest).map(|index| parts.iter().filter_map(|part| item(part, index)).collect()).collect()
}
