//! May an instance carry members that a shape's fields do not list?
//!
//! Such members are invisible to policies. Where another version lists one of them, the two must not be one type: asking
//! `resource has amount` would be answered `false` for an instance that has an amount. Whatever is not recognised here
//! counts as open, which can only tell versions apart that need not be.

use serde_json::Value;

/// Schemas that may lie behind one another by `$ref`; more is a circle.
const MAX_HOPS: usize = 16;

/// Keywords that bring no member of their own into an object.
const HARMLESS: [&str; 21] = [
    "type",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "propertyNames",
    "dependentRequired",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
    "title",
    "description",
    "$comment",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "const",
    "enum",
];

/// A schema within its document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaNode<'v> {
    document: &'v Value,
    schema: &'v Value,
}

impl<'v> SchemaNode<'v> {
    pub const fn new(document: &'v Value, schema: &'v Value) -> Self {
        Self { document, schema }
    }

    const fn at(self, schema: &'v Value) -> Self {
        Self { schema, ..self }
    }

    /// True unless every member that an instance can have is listed.
    pub fn open(self) -> bool {
        self.open_within(MAX_HOPS)
    }

    fn open_within(self, hops: usize) -> bool {
        let (Some(map), Some(hops)) = (self.schema.as_object(), hops.checked_sub(1)) else {
            return true;
        };
        map.iter().any(|(keyword, value)| match keyword.as_str() {
            "additionalProperties" | "unevaluatedProperties" => value != &Value::Bool(false),
            // What a branch of a union names is listed unless some branch is open.
            "allOf" | "anyOf" | "oneOf" => self.parts(value).any(|part| part.open_in_place(hops)),
            "$ref" => self.target().is_none_or(|target| target.open_within(hops)),
            other => !HARMLESS.contains(&other) && !other.starts_with("x-"),
        })
    }

    /// A part of a composition; `true` brings no member, and the whole is closed besides.
    fn open_in_place(self, hops: usize) -> bool {
        !self.schema.is_boolean() && self.open_within(hops)
    }

    /// Returns true if it may name members of its own.
    pub fn brings_members(self) -> bool {
        let named = self.schema.get("properties").and_then(Value::as_object);
        named.is_some_and(|named| !named.is_empty())
            || ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| self.schema.get(keyword).is_some())
    }

    fn parts(self, list: &'v Value) -> impl Iterator<Item = Self> {
        list.as_array().into_iter().flatten().map(move |part| self.at(part))
    }

    fn target(self) -> Option<Self> {
        let pointer = self.schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.document.pointer(pointer).map(|schema| self.at(schema))
    }

    /// The schema of a member, if one place alone speaks of it.
    pub fn member(self, name: &str) -> Option<Self> {
        self.one(MAX_HOPS, &|schema| schema.get("properties")?.get(name))
    }

    /// Every schema that an instance here must fit, found through references and `allOf`; a circle is gone round a few times.
    pub fn all_of(self) -> Vec<&'v Value> {
        let mut all = Vec::new();
        self.gather(MAX_HOPS, &mut all);
        all
    }

    fn gather(self, hops: usize, all: &mut Vec<&'v Value>) {
        let Some(hops) = hops.checked_sub(1) else { return };
        all.push(self.schema);
        let parts = self.schema.get("allOf").into_iter().flat_map(|list| self.parts(list));
        self.target().into_iter().chain(parts).for_each(|part| part.gather(hops, all));
    }

    /// The schema of an array's items, if one place alone speaks of them.
    pub fn items(self) -> Option<Self> {
        self.one(MAX_HOPS, &|schema| schema.get("items"))
    }

    fn one(self, hops: usize, find: &dyn Fn(&'v Value) -> Option<&'v Value>) -> Option<Self> {
        let hops = hops.checked_sub(1)?;
        let own = find(self.schema).map(|schema| self.at(schema));
        let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|list| self.schema.get(list));
        let parts = lists.flat_map(|list| self.parts(list));
        let elsewhere = self.target().into_iter().chain(parts).filter_map(|part| part.one(hops, find));
        let mut all = own.into_iter().chain(elsewhere);
        let first = all.next();
        if all.next().is_some() { None } else { first }
    }
}

#[cfg(test)]
mod tests;
