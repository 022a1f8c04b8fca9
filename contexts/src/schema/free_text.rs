//! Where free text may stand in an instance, so that a policy can ask whether there is any.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::source::{Source, branches, in_place, named};
use crate::json::{Json, Object};

/// Places of one subschema, by indices.
#[derive(Debug, Default)]
struct Place {
    text: bool,
    takes: Takes,
    in_place: Vec<usize>,
    properties: BTreeMap<String, usize>,
    others: Vec<usize>,
    items: Vec<usize>,
}

/// What a subschema lets be by itself.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    #[default]
    Some,
    Anything,
}

/// The places of a place and of all that look at the same value, merged.
#[derive(Debug, Default)]
struct Merged {
    text: bool,
    /// One of them takes whatever there is.
    open: bool,
    /// It takes nothing.
    never: bool,
    /// Some text stands here or further inside.
    leads: bool,
    properties: BTreeMap<String, Vec<usize>>,
    others: Vec<usize>,
    items: Vec<usize>,
}

/// All places of a document.
#[derive(Debug)]
pub(super) struct FreeTextMap {
    places: Vec<Merged>,
}

/// Free text of one shape.
#[derive(Debug)]
pub(crate) struct FreeText {
    map: Arc<FreeTextMap>,
    root: usize,
}

impl FreeText {
    pub(super) fn new(map: Arc<FreeTextMap>, root: usize) -> Self {
        FreeText { map, root }
    }

    /// Whether a string that is not empty stands where the schema has free text.
    pub(crate) fn found_in(&self, instance: &Object<'_>) -> bool {
        self.map.in_object(&[self.root], instance)
    }

    /// The characters of all strings that stand where the schema has free text.
    pub(crate) fn length_in(&self, instance: &Object<'_>) -> u64 {
        self.map.length_in_object(&[self.root], instance)
    }

    /// Whether any instance could hold some.
    pub(crate) fn anywhere(&self) -> bool {
        self.map.leading(&[self.root]).next().is_some()
    }

    /// What is seen of a whole instance.
    pub(crate) fn view(&self) -> View<'_> {
        View { map: &self.map, places: BTreeSet::from([self.root]), open: false }
    }
}

/// What is seen of one value of an instance: the places that look at it.
#[derive(Debug, Clone)]
pub(crate) struct View<'m> {
    map: &'m FreeTextMap,
    places: BTreeSet<usize>,
    /// Something around it takes whatever there is.
    open: bool,
}

impl<'m> View<'m> {
    fn merged(&self) -> impl Iterator<Item = &'m Merged> {
        self.places.iter().filter_map(|place| self.map.places.get(*place))
    }

    /// What tells it from the others of the same document.
    pub(crate) fn key(&self) -> (BTreeSet<usize>, bool) {
        (self.places.clone(), self.open)
    }

    /// Whether a string is free text here.
    pub(crate) fn is_text(&self) -> bool {
        self.merged().any(|place| place.text)
    }

    /// Whether some is here or further inside.
    pub(crate) fn leads(&self) -> bool {
        self.merged().any(|place| place.leads)
    }

    /// Whether nothing can stand here.
    pub(crate) fn is_nothing(&self) -> bool {
        !self.open && self.merged().all(|place| place.never)
    }

    /// The members that are named here.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'m str> {
        self.merged().flat_map(|place| place.properties.keys().map(String::as_str))
    }

    /// A member; of none that is named where there is no name.
    pub(crate) fn member(&self, name: Option<&str>) -> Self {
        let of = |place: &'m Merged| {
            let named = name.and_then(|name| place.properties.get(name)).into_iter().flatten();
            named.chain(&place.others).copied()
        };
        self.inside(self.merged().flat_map(of).collect(), false)
    }

    /// Any item; where the schema says nothing of items, all are taken.
    pub(crate) fn item(&self) -> Self {
        let places: BTreeSet<usize> = self.merged().flat_map(|place| place.items.iter().copied()).collect();
        let free = places.is_empty();
        self.inside(places, free)
    }

    fn inside(&self, places: BTreeSet<usize>, free: bool) -> Self {
        let open = free || self.open || self.merged().any(|place| place.open);
        Self { map: self.map, places, open }
    }
}

impl FreeTextMap {
    fn leading<'m>(&'m self, places: &'m [usize]) -> impl Iterator<Item = &'m Merged> {
        places.iter().filter_map(|place| self.places.get(*place)).filter(|place| place.leads)
    }

    fn in_object(&self, places: &[usize], object: &Object<'_>) -> bool {
        object.iter().any(|(name, value)| {
            self.leading(places).any(|place| {
                place.properties.get(name).is_some_and(|inside| self.in_value(inside, value))
                    || self.in_value(&place.others, value)
            })
        })
    }

    fn in_value(&self, places: &[usize], value: &Json<'_>) -> bool {
        match value {
            Json::String(text) => !text.is_empty() && self.leading(places).any(|place| place.text),
            Json::Object(object) => self.leading(places).next().is_some() && self.in_object(places, object),
            Json::Array(items) => {
                self.leading(places).any(|place| items.iter().any(|item| self.in_value(&place.items, item)))
            }
            _ => false,
        }
    }

    fn length_in_object(&self, places: &[usize], object: &Object<'_>) -> u64 {
        let length = |(name, value): (&str, &Json<'_>)| {
            let inside = |place: &'_ Merged| {
                let named = place.properties.get(name).into_iter().flatten();
                named.chain(&place.others).copied().collect::<Vec<_>>()
            };
            let inside: BTreeSet<usize> = self.leading(places).flat_map(inside).collect();
            self.length_in_value(&Vec::from_iter(inside), value)
        };
        object.iter().map(length).fold(0, u64::saturating_add)
    }

    fn length_in_value(&self, places: &[usize], value: &Json<'_>) -> u64 {
        match value {
            Json::String(text) if self.leading(places).any(|place| place.text) => text.chars().count() as u64,
            Json::Object(object) => self.length_in_object(places, object),
            Json::Array(items) => {
                let inside: BTreeSet<usize> =
                    self.leading(places).flat_map(|place| &place.items).copied().collect();
                let inside = Vec::from_iter(inside);
                items.iter().map(|item| self.length_in_value(&inside, item)).fold(0, u64::saturating_add)
            }
            _ => 0,
        }
    }
}

/// Collects the places of a document, shape by shape.
pub(super) struct Places<'s, 'd> {
    source: &'s Source<'d>,
    places: Vec<Place>,
    known: HashMap<String, usize>,
    waiting: Vec<(usize, &'d Value)>,
}

impl<'s, 'd> Places<'s, 'd> {
    pub(super) fn new(source: &'s Source<'d>) -> Self {
        Places { source, places: Vec::new(), known: HashMap::new(), waiting: Vec::new() }
    }

    /// Adds the schema of a shape and answers its place.
    pub(super) fn add(&mut self, schema: &'d Value) -> usize {
        let root = self.place(schema);
        while let Some((index, schema)) = self.waiting.pop() {
            let place = match schema {
                Value::Object(map) => self.read(schema, map),
                Value::Bool(false) => Place { takes: Takes::Nothing, ..Place::default() },
                _ => Place { takes: Takes::Anything, ..Place::default() },
            };
            if let Some(slot) = self.places.get_mut(index) {
                *slot = place;
            }
        }
        root
    }

    fn place(&mut self, schema: &'d Value) -> usize {
        let index = self.places.len();
        self.places.push(Place::default());
        self.waiting.push((index, schema));
        index
    }

    fn target(&mut self, reference: &str) -> Option<usize> {
        if let Some(known) = self.known.get(reference) {
            return Some(*known);
        }
        let schema = self.source.resolve(reference).ok()?;
        let index = self.place(schema);
        self.known.insert(reference.to_owned(), index);
        Some(index)
    }

    fn read(&mut self, schema: &Value, map: &'d Map<String, Value>) -> Place {
        let takes = if self.source.opens(schema) { Takes::Anything } else { Takes::Some };
        let text = map.get("x-free-text") == Some(&Value::Bool(true));
        let mut place = Place { text, takes, ..Place::default() };
        place.in_place = in_place(map).map(|schema| self.place(schema)).collect();
        if let Some(Value::String(reference)) = map.get("$ref") {
            place.in_place.extend(self.target(reference));
        }
        place.properties =
            named(map, "properties").map(|(name, schema)| (name.clone(), self.place(schema))).collect();
        place.others = named(map, "patternProperties").map(|(_, schema)| self.place(schema)).collect();
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            place.others.extend(map.get(keyword).map(|schema| self.place(schema)));
        }
        place.items = branches(map, "prefixItems").map(|schema| self.place(schema)).collect();
        place.items.extend(map.get("items").map(|schema| self.place(schema)));
        place
    }

    /// Merges what looks at the same value and marks what leads to text.
    pub(super) fn finish(self) -> FreeTextMap {
        let mut places: Vec<Merged> = (0..self.places.len()).map(|index| self.merged(index)).collect();
        loop {
            let leading: Vec<bool> = places.iter().map(|place| place.leads).collect();
            let leads = |indices: &[usize]| indices.iter().any(|index| leading.get(*index) == Some(&true));
            let mut changed = false;
            for place in &mut places {
                let now = place.leads
                    || leads(&place.others)
                    || leads(&place.items)
                    || place.properties.values().any(|inside| leads(inside));
                changed |= now != place.leads;
                place.leads = now;
            }
            if !changed {
                return FreeTextMap { places };
            }
        }
    }

    fn merged(&self, index: usize) -> Merged {
        let mut merged = Merged::default();
        let mut seen = Vec::new();
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            let Some(place) = self.places.get(index).filter(|_| !seen.contains(&index)) else { continue };
            seen.push(index);
            merged.text |= place.text;
            merged.open |= place.takes == Takes::Anything;
            merged.never |= place.takes == Takes::Nothing && seen.len() == 1;
            for (name, inside) in &place.properties {
                merged.properties.entry(name.clone()).or_default().push(*inside);
            }
            merged.others.extend(&place.others);
            merged.items.extend(&place.items);
            open.extend(&place.in_place);
        }
        merged.leads = merged.text;
        merged
    }
}
