//! Reads the places of an instance, with the names declared there, off the schemas.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::super::fields::carries;
use super::super::pattern::literal_texts;
use super::super::source::{Source, branches, named, types};
use super::super::{SchemaFault, SchemaLimits};
use super::{Casing, CasingNode, Openness};
use crate::case;

/// The schema holds of the value in every case.
pub(super) const HELD: u8 = 0;
/// It holds in a branch, or where a pattern fits.
const BRANCH: u8 = 1;
/// It tests, or demands a name without constraining its value.
const TESTED: u8 = 2;

/// The schemas that look at one value, each once with its firmness, by their address in memory: they are borrowed while
/// places are read.
type Schemas<'d> = BTreeMap<usize, (&'d Map<String, Value>, u8)>;

/// The schemas that look at one value, and a mark if one of them closes it.
#[derive(Default)]
struct Looking<'d> {
    schemas: Schemas<'d>,
    /// A schema that alone looks at the value does not take every member.
    closed: bool,
}

/// Reads the casing of the shapes of one document, within one bound for all.
pub(in super::super) struct CasingReader<'s, 'd> {
    source: &'s Source<'d>,
    left: usize,
    limit: usize,
    words: HashMap<&'d str, Vec<String>>,
    /// True for schemas whose objects take every member, by address in memory.
    taking: HashMap<usize, bool>,
}

/// One shape in progress.
#[derive(Default)]
struct Shape<'d> {
    known: HashMap<(bool, Vec<(usize, u8)>), usize>,
    waiting: Vec<Looking<'d>>,
}

impl<'d> Shape<'d> {
    /// The number of the place for these schemas.
    fn number(&mut self, looking: Looking<'d>) -> Option<usize> {
        if looking.schemas.is_empty() {
            return None;
        }
        let key = looking.schemas.iter().map(|(at, (_, firm))| (*at, *firm)).collect();
        let key = (looking.closed, key);
        let next = self.known.len();
        let number = *self.known.entry(key).or_insert(next);
        if number == next {
            self.waiting.push(looking);
        }
        Some(number)
    }
}

impl<'s, 'd> CasingReader<'s, 'd> {
    pub(in super::super) fn new(source: &'s Source<'d>, limits: &SchemaLimits) -> Self {
        let limit = limits.max_case_names;
        CasingReader { source, left: limit, limit, words: HashMap::new(), taking: HashMap::new() }
    }

    /// Names read so far, in all shapes, counted as often as schemas lead to them.
    pub(in super::super) fn names(&self) -> usize {
        self.limit.saturating_sub(self.left)
    }

    /// The casing of the shape with this schema.
    ///
    /// # Errors
    /// [`SchemaFault::Limit`] if the document has more places, with the names in them, than allowed.
    pub(in super::super) fn read(&mut self, schema: &'d Value) -> Result<Casing, SchemaFault> {
        let mut shape = Shape::default();
        let mut root = Looking::default();
        self.enter(schema, HELD, &mut root)?;
        shape.number(root);
        let mut nodes = Vec::new();
        while let Some(looking) = shape.waiting.get_mut(nodes.len()).map(std::mem::take) {
            nodes.push(self.node(looking, &mut shape)?);
        }
        Ok(Casing { nodes: pruned(nodes) })
    }

    fn spend(&mut self, steps: usize) -> Result<(), SchemaFault> {
        let what = "names in the places of an instance, each counted as often as schemas lead there";
        let limit = self.limit as u64;
        self.left = self.left.checked_sub(steps).ok_or(SchemaFault::Limit { what, limit })?;
        Ok(())
    }

    /// Adds a schema that is closed by itself, and all that look at the same value with it.
    fn enter(&mut self, schema: &'d Value, firm: u8, looking: &mut Looking<'d>) -> Result<(), SchemaFault> {
        looking.closed |= !self.takes_every_member(schema)?;
        self.look(schema, firm, &mut looking.schemas)
    }

    /// Returns true if closing leaves the objects of a schema open, or if it takes no objects.
    fn takes_every_member(&mut self, schema: &'d Value) -> Result<bool, SchemaFault> {
        let Value::Object(map) = schema else { return Ok(true) };
        let at = std::ptr::from_ref(map) as usize;
        if let Some(known) = self.taking.get(&at) {
            return Ok(*known);
        }
        let opened = |keyword: &str| map.get(keyword) == Some(&Value::Bool(true));
        let mut takes = self.source.types(schema) & types::OBJECT == 0
            || self.source.opens(schema)
            || opened("additionalProperties")
            || opened("unevaluatedProperties");
        if let Some(Value::String(reference)) = map.get("$ref") {
            takes = takes || self.takes_every_member(self.source.resolve(reference)?)?;
        }
        for part in branches(map, "allOf") {
            takes = takes || self.takes_every_member(part)?;
        }
        for keyword in ["anyOf", "oneOf"].into_iter().filter(|keyword| map.contains_key(*keyword)) {
            let mut all = true;
            for part in branches(map, keyword) {
                all = all && self.takes_every_member(part)?;
            }
            takes = takes || all;
        }
        self.taking.insert(at, takes);
        Ok(takes)
    }

    /// Adds a schema and all that look at the same value with it.
    fn look(&mut self, schema: &'d Value, firm: u8, looking: &mut Schemas<'d>) -> Result<(), SchemaFault> {
        let Value::Object(map) = schema else { return Ok(()) };
        let at = std::ptr::from_ref(map) as usize;
        if looking.get(&at).is_some_and(|(_, known)| *known <= firm) {
            return Ok(());
        }
        self.spend(1)?;
        looking.insert(at, (map, firm));
        if let Some(Value::String(reference)) = map.get("$ref") {
            self.look(self.source.resolve(reference)?, firm, looking)?;
        }
        for part in branches(map, "allOf") {
            self.look(part, firm, looking)?;
        }
        let lists = ["anyOf", "oneOf"].into_iter().flat_map(|keyword| branches(map, keyword));
        let depending = named(map, "dependentSchemas").map(|(_, part)| part);
        for part in lists.chain(depending).chain(map.get("then")).chain(map.get("else")) {
            self.look(part, firm.max(BRANCH), looking)?;
        }
        ["if", "not"]
            .iter()
            .filter_map(|keyword| map.get(*keyword))
            .try_for_each(|part| self.look(part, TESTED, looking))
    }

    fn node(&mut self, looking: Looking<'d>, shape: &mut Shape<'d>) -> Result<CasingNode, SchemaFault> {
        let mut node = CasingNode { openness: openness(&looking), ..CasingNode::default() };
        let looking = looking.schemas;
        for name in self.declared(&looking)? {
            let inside = self.member(&looking, Some(&name))?;
            node.names.push((name, shape.number(inside)));
        }
        let folded = node.names.iter().enumerate().map(|(at, (name, _))| (case::folded(name), at));
        node.folded = folded.collect();
        node.folded.sort_unstable();
        node.folded.dedup_by(|later, before| later.0 == before.0);
        let rest = self.member(&looking, None)?;
        node.rest = shape.number(rest);
        let long = looking.values().map(|(map, _)| branches(map, "prefixItems").count()).max().unwrap_or(0);
        for index in 0..long {
            let item = self.item(&looking, Some(index))?;
            node.prefix.push(shape.number(item));
        }
        let items = self.item(&looking, None)?;
        node.items = shape.number(items);
        Ok(node)
    }

    /// The names that these schemas declare. Where other members may come, a name from a branch does not count beside a twin
    /// that always holds: policies know the latter.
    fn declared(&mut self, looking: &Schemas<'d>) -> Result<Vec<String>, SchemaFault> {
        let mut names: BTreeMap<String, u8> = BTreeMap::new();
        for (map, firm) in looking.values() {
            let mut add = |name: &str, firm: u8| {
                let known = names.entry(name.to_owned()).or_insert(firm);
                *known = firm.min(*known);
            };
            named(map, "properties").for_each(|(name, _)| add(name, *firm));
            for (pattern, _) in named(map, "patternProperties") {
                self.literal_names(pattern).iter().for_each(|name| add(name, BRANCH.max(*firm)));
            }
            for keyword in ["dependentRequired", "dependentSchemas"] {
                named(map, keyword).for_each(|(name, _)| add(name, TESTED));
            }
            let depending = named(map, "dependentRequired").filter_map(|(_, list)| list.as_array()).flatten();
            let required = branches(map, "required").chain(depending).filter_map(Value::as_str);
            required.for_each(|name| add(name, TESTED));
        }
        self.spend(names.len())?;
        if looking.values().any(|(map, _)| carries(map)) {
            let mut firmest: HashMap<String, u8> = HashMap::new();
            for (name, firm) in &names {
                let known = firmest.entry(case::folded(name)).or_insert(*firm);
                *known = (*firm).min(*known);
            }
            names.retain(|name, firm| firmest.get(&case::folded(name)) == Some(firm));
        }
        Ok(names.into_keys().collect())
    }

    /// The schemas that may look at a member of this name, or at one that none of them names.
    fn member(&mut self, looking: &Schemas<'d>, name: Option<&str>) -> Result<Looking<'d>, SchemaFault> {
        let mut inside = Looking::default();
        for (map, firm) in looking.values() {
            let own = name.and_then(|name| map.get("properties")?.get(name));
            let mut listed = own.is_some();
            if let Some(schema) = own {
                self.enter(schema, *firm, &mut inside)?;
            }
            for (pattern, schema) in named(map, "patternProperties") {
                let words = self.literal_names(pattern);
                let fits = name.is_some_and(|name| words.iter().any(|word| word == name));
                let open = words.is_empty();
                listed |= fits;
                if fits || open {
                    self.enter(schema, BRANCH.max(*firm), &mut inside)?;
                }
            }
            let others = ["additionalProperties", "unevaluatedProperties"].iter();
            for schema in others.filter_map(|keyword| map.get(*keyword)).filter(|_| !listed) {
                self.enter(schema, *firm, &mut inside)?;
            }
        }
        Ok(inside)
    }

    /// The schemas that may look at the item at this index, or at one behind all that have an index of their own.
    fn item(&mut self, looking: &Schemas<'d>, index: Option<usize>) -> Result<Looking<'d>, SchemaFault> {
        let mut inside = Looking::default();
        for (map, firm) in looking.values() {
            let own = index.and_then(|index| map.get("prefixItems")?.get(index));
            if let Some(schema) = own.or_else(|| map.get("items")) {
                self.enter(schema, *firm, &mut inside)?;
            }
            if let Some(schema) = map.get("contains") {
                self.enter(schema, TESTED, &mut inside)?;
            }
        }
        Ok(inside)
    }

    /// The names that a pattern spells out; none if it fits others too.
    fn literal_names(&mut self, pattern: &'d str) -> &[String] {
        self.words.entry(pattern).or_insert_with(|| literal_texts(pattern))
    }
}

/// The places without edges to places where no name is declared further inside and every object is open.
fn pruned(mut nodes: Vec<CasingNode>) -> Vec<CasingNode> {
    let leads = leading(&nodes, |node| !node.names.is_empty());
    let retained = leading(&nodes, |node| !node.names.is_empty() || node.openness.bounded);
    if retained.first() != Some(&true) {
        return Vec::new();
    }
    for (node, leads) in nodes.iter_mut().zip(leads) {
        node.leads = leads;
        node.children_mut().for_each(|inside| *inside = inside.filter(|to| retained.get(*to) == Some(&true)));
    }
    nodes
}

/// The places for which `is` holds, or that lead to such a place.
fn leading(nodes: &[CasingNode], is: impl Fn(&CasingNode) -> bool) -> Vec<bool> {
    let mut leads: Vec<bool> = nodes.iter().map(is).collect();
    loop {
        let mut changed = false;
        for (number, node) in nodes.iter().enumerate().rev() {
            let inside = node.children().flatten().any(|to| leads.get(to) == Some(&true));
            if let Some(known) = leads.get_mut(number).filter(|known| inside && !**known) {
                *known = true;
                changed = true;
            }
        }
        if !changed {
            return leads;
        }
    }
}

/// The freedom of objects to take members under these schemas.
fn openness(looking: &Looking<'_>) -> Openness {
    let maps = || looking.schemas.values().map(|(map, _)| *map);
    let listed = maps().any(|map| {
        let mut values = branches(map, "enum").chain(map.get("const"));
        values.any(|value| value.is_object() || value.is_array())
    });
    let bounds = |map: &Map<String, Value>| {
        let shut = |keyword: &str| map.get(keyword).is_some_and(|value| value != &Value::Bool(true));
        shut("additionalProperties")
            || shut("unevaluatedProperties")
            || map.contains_key("propertyNames")
            || map.contains_key("patternProperties")
    };
    Openness { bounded: looking.closed || listed || maps().any(bounds), listed }
}
