//! Strings that no schema ties to a form, and member names that none lists: those that can hold prose, marked or not.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{ANY, FreeText, FreeTextMap, Position};
use crate::json::{Json, Object};
use crate::schema::source::{Source, branches, types};

/// The walk took too many looks of schemas at values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many schemas look at one value")]
pub struct TooManyLooks;

/// The objects that a walk leaves out.
pub struct Spared<'s> {
    /// A member at the top.
    pub member: Option<&'s str>,
    /// True of an object inside to leave out whole.
    pub object: &'s dyn Fn(&Object<'_>) -> bool,
}

impl FreeText {
    /// Hands over each marked string, each string that no schema ties, and each name of a member that no schema lists.
    ///
    /// # Errors
    /// [`TooManyLooks`] if more schemas look at the values than a walk may take; then some strings were not handed over.
    pub(crate) fn each_loose<'i>(
        &'i self,
        instance: &'i Object<'_>,
        spared: &Spared<'_>,
        each: &mut dyn FnMut(&[&'i str], &'i str),
    ) -> Result<(), TooManyLooks> {
        let mut walk = Walk { map: &self.map, looks: LOOKS, spared, each, at: Vec::new() };
        walk.object(&[Look { node: self.root, sure: true }], false, instance)
    }
}

/// Free looks for each instance.
const LOOKS: usize = 4_096;
/// Looks that each value adds.
const LOOKS_A_VALUE: usize = 64;

/// A schema that looks at a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    node: usize,
    /// It holds of the value whichever branches of unions do.
    sure: bool,
}

struct Walk<'m, 'f, 'i> {
    map: &'m FreeTextMap,
    looks: usize,
    spared: &'f Spared<'f>,
    each: &'f mut dyn FnMut(&[&'i str], &'i str),
    at: Vec<&'i str>,
}

type Walked = Result<(), TooManyLooks>;

impl<'m: 'i, 'i> Walk<'m, '_, 'i> {
    fn position(&self, look: Look) -> Option<&'m Position> {
        self.map.nodes.get(look.node)
    }

    /// `open`: a schema around it takes any value.
    fn object(&mut self, looks: &[Look], open: bool, object: &'i Object<'_>) -> Walked {
        let outer: Vec<(Look, &'m Position)> =
            looks.iter().filter_map(|look| Some((*look, self.position(*look)?))).collect();
        let open = open || outer.iter().any(|(_, position)| position.open);
        let names_tied = outer.iter().any(|(look, position)| look.sure && position.names_tied)
            || (!open && !outer.is_empty() && outer.iter().all(|(_, position)| position.names_tied));
        for (name, value) in object.iter() {
            if self.at.is_empty() && self.spared.member == Some(name) {
                continue;
            }
            let named = outer.iter().any(|(_, position)| position.properties.contains_key(name));
            if !named && !names_tied {
                (self.each)(&self.at, name);
            }
            self.at.push(if named { name } else { ANY });
            let inside = outer.iter().flat_map(|(look, position)| {
                let sure = |node: usize| look.sure && position.sure.contains(&node);
                let listed = position.properties.get(name).into_iter().flatten();
                let listed = listed.map(move |node| Look { node: *node, sure: sure(*node) });
                listed.chain(position.others.iter().map(|node| Look { node: *node, sure: false }))
            });
            let walked = self.value(once_each(inside), open, value);
            self.at.pop();
            walked?;
        }
        Ok(())
    }

    fn value(&mut self, looks: Vec<Look>, open: bool, value: &'i Json<'_>) -> Walked {
        self.looks = self.looks.saturating_add(LOOKS_A_VALUE).saturating_sub(looks.len());
        if self.looks == 0 {
            return Err(TooManyLooks);
        }
        let live: Vec<(Look, &'m Position)> = looks
            .iter()
            .filter_map(|look| Some((*look, self.position(*look)?)))
            .filter(|(_, position)| !position.never)
            .collect();
        let sure = live.iter().any(|(look, _)| look.sure);
        let open = live.is_empty() || (open && !sure);
        match value {
            Json::String(text) => {
                let tied = live.iter().any(|(look, position)| look.sure && position.tied)
                    || (!open && live.iter().all(|(_, position)| position.tied));
                if !tied || live.iter().any(|(_, position)| position.text) {
                    (self.each)(&self.at, text);
                }
            }
            Json::Object(object) if !(self.spared.object)(object) => self.object(&looks, open, object)?,
            Json::Array(items) => {
                let open = open || live.iter().any(|(_, position)| position.open);
                let inside = live.iter().flat_map(|(_, position)| &position.items);
                let inside = once_each(inside.map(|node| Look { node: *node, sure: false }));
                self.at.push(ANY);
                for item in items.iter() {
                    self.value(inside.clone(), open, item)?;
                }
                self.at.pop();
            }
            _ => {}
        }
        Ok(())
    }
}

/// The looks in order, each schema once.
fn once_each(looks: impl Iterator<Item = Look>) -> Vec<Look> {
    let mut looks: Vec<Look> = looks.collect();
    looks.sort_unstable_by_key(|look| (look.node, !look.sure));
    looks.dedup_by_key(|look| look.node);
    looks
}

/// Finds the schemas that tie strings to a form.
pub(super) struct Ties<'s, 'd> {
    source: &'s Source<'d>,
    strings: HashMap<String, bool>,
    names: HashMap<String, bool>,
}

/// Keywords that tie a string.
const TYING: [&str; 4] = ["pattern", "enum", "const", "x-code-list"];
/// Formats that take prose: a pointer is made of any member names.
const FREE_FORMATS: [&str; 2] = ["json-pointer", "relative-json-pointer"];

impl<'s, 'd> Ties<'s, 'd> {
    pub(super) fn new(source: &'s Source<'d>) -> Self {
        Self { source, strings: HashMap::new(), names: HashMap::new() }
    }

    /// True if a string that fits the schema has a form, or if no string fits.
    pub(super) fn string(&mut self, schema: &'d Value) -> bool {
        let Value::Object(map) = schema else { return schema == &Value::Bool(false) };
        let format = map.get("format").and_then(Value::as_str);
        TYING.iter().any(|keyword| map.contains_key(*keyword))
            || format.is_some_and(|format| !FREE_FORMATS.contains(&format))
            || self.source.types(schema) & types::STRING == 0
            || branches(map, "allOf").any(|part| self.string(part))
            || ["anyOf", "oneOf"]
                .iter()
                .any(|union| map.contains_key(*union) && branches(map, union).all(|part| self.string(part)))
            || self.target(map).is_some_and(|(reference, target)| {
                if let Some(known) = self.strings.get(reference) {
                    return *known;
                }
                let tied = self.string(target);
                self.strings.insert(reference.to_owned(), tied);
                tied
            })
    }

    /// True if each name of a member of an object that fits the schema has a form.
    pub(super) fn names(&mut self, schema: &'d Value) -> bool {
        let Value::Object(map) = schema else { return false };
        map.get("propertyNames").is_some_and(|names| self.string(names))
            || branches(map, "allOf").any(|part| self.names(part))
            || self.target(map).is_some_and(|(reference, target)| {
                if let Some(known) = self.names.get(reference) {
                    return *known;
                }
                let tied = self.names(target);
                self.names.insert(reference.to_owned(), tied);
                tied
            })
    }

    fn target(&self, map: &'d Map<String, Value>) -> Option<(&'d str, &'d Value)> {
        let reference = map.get("$ref").and_then(Value::as_str)?;
        Some((reference, self.source.resolve(reference).ok()?))
    }
}

#[cfg(test)]
mod tests;
