//! The rule `case`: which names are declared where, read off the schemas and not off the types that policies see.
//!
//! A place is all the schemas that may look at one value, with those that stand beside them in place; from it lead ways to its members and
//! items. Which branch holds and which pattern fits is not asked: the names of all count, so that the rule refuses too much rather than
//! too little. Places that the same schemas look at are one, so that a schema that leads back to itself ends.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::fields::carries;
use super::meter::charge_text;
use super::pattern::literal_texts;
use super::source::{Source, branches, named, types};
use super::{ContentFault, SchemaFault, SchemaLimits, pointer};
use crate::case;
use crate::json::{Json, Object};

/// What a schema says, holds of the value whatever else does.
const HELD: u8 = 0;
/// It holds in a branch, or where a pattern fits.
const BRANCH: u8 = 1;
/// It tests, or asks for a name without saying what it holds.
const TESTED: u8 = 2;

/// Names that are declared in the instances of one shape, by place; the first place is the whole, and there is none where no name is
/// declared and all objects are open. Two that are equal refuse the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Casing {
    nodes: Vec<CasingNode>,
}

/// One place of an instance; places inside it by number, none where no name is declared further inside and all objects are open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CasingNode {
    /// The declared names, sorted, with what is inside.
    names: Vec<(String, Option<usize>)>,
    /// The same folded, sorted, with where they stand among the names.
    folded: Vec<(String, usize)>,
    /// Inside members of other names.
    rest: Option<usize>,
    /// The first items.
    prefix: Vec<Option<usize>>,
    /// The items behind them.
    items: Option<usize>,
    openness: Openness,
    /// Names are declared here or further inside.
    leads: bool,
}

/// How freely objects take members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Openness {
    /// Some schema bounds the names or the values of further members here.
    bounded: bool,
    /// Some schema lists objects or arrays, so it bounds all that is inside them too.
    listed: bool,
}

impl CasingNode {
    /// The declared names with what is inside them.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        self.names.iter().map(|(name, inside)| (name.as_str(), *inside))
    }

    /// The declared names whose twins are refused, folded and as they are written.
    pub(crate) fn watched(&self) -> impl Iterator<Item = (&str, &str)> {
        self.folded
            .iter()
            .filter_map(|(folded, which)| Some((folded.as_str(), self.names.get(*which)?.0.as_str())))
    }

    /// Inside a member of this name.
    pub(crate) fn inside(&self, name: &str) -> Option<usize> {
        let known = self.names.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok();
        known.and_then(|at| self.names.get(at)).map_or(self.rest, |(_, inside)| *inside)
    }

    /// Inside members of all other names.
    pub(crate) fn rest(&self) -> Option<usize> {
        self.rest
    }

    /// Inside the first items, and inside those behind them.
    pub(crate) fn items(&self) -> (&[Option<usize>], Option<usize>) {
        (&self.prefix, self.items)
    }

    /// Returns true if an object here takes a member of any further name with any value.
    pub(crate) fn is_open(&self) -> bool {
        !self.openness.bounded
    }

    /// Returns true if a schema here lists objects or arrays as they are.
    pub(crate) fn is_listed(&self) -> bool {
        self.openness.listed
    }

    /// Returns true if names are declared here or further inside.
    pub(crate) fn leads_to_names(&self) -> bool {
        self.leads
    }

    /// The declared name that is this one but for case.
    fn collision(&self, name: &str) -> Option<&str> {
        let folded = || name.chars().map(case::fold);
        let at = self.folded.binary_search_by(|(known, _)| known.chars().cmp(folded())).ok()?;
        let (_, which) = self.folded.get(at)?;
        self.names.get(*which).map(|(name, _)| name.as_str())
    }

    /// The places inside this one.
    pub(crate) fn children(&self) -> impl Iterator<Item = Option<usize>> {
        let names = self.names.iter().map(|(_, inside)| *inside);
        names.chain(self.prefix.iter().copied()).chain([self.rest, self.items])
    }

    fn children_mut(&mut self) -> impl Iterator<Item = &mut Option<usize>> {
        let names = self.names.iter_mut().map(|(_, inside)| inside);
        names.chain(&mut self.prefix).chain([&mut self.rest, &mut self.items])
    }
}

impl Casing {
    /// Refuses twins of the names alone for which `keep` holds, by the number of their place and folded.
    pub(crate) fn retain_watched(&mut self, mut keep: impl FnMut(usize, &str) -> bool) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            node.folded.retain(|(folded, _)| keep(number, folded));
        }
    }

    /// A place by its number.
    pub(crate) fn node(&self, number: usize) -> Option<&CasingNode> {
        self.nodes.get(number)
    }

    /// Refuses, at every depth, a member whose name is not declared in its place and differs from one that is only in case (DESIGN §2.1):
    /// an open object would take `Amount` beside `amount`, policies would read the one, and a reader that folds case the other.
    ///
    /// # Errors
    /// [`ContentFault`] with the rule `case` and the path of the declared name; items have no segment in it.
    pub(crate) fn conform(&self, object: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        self.node(0).map_or(Ok(()), |node| self.object(node, object, without))
    }

    fn object(
        &self,
        node: &CasingNode,
        object: &Object<'_>,
        without: Option<&str>,
    ) -> Result<(), ContentFault> {
        for (name, value) in object.iter().filter(|(name, _)| Some(*name) != without) {
            if !charge_text(name) {
                return Ok(());
            }
            let known = node.names.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok();
            let inside = match known.and_then(|at| node.names.get(at)) {
                Some((_, inside)) => *inside,
                None => match node.collision(name) {
                    Some(declared) => {
                        return Err(ContentFault { path: pointer(&[declared]), rule: "case".to_owned() });
                    }
                    None => node.rest,
                },
            };
            self.value(inside, value).map_err(|mut fault| {
                let segment = if known.is_some() { pointer(&[name]) } else { "/*".to_owned() };
                fault.path = segment + &fault.path;
                fault
            })?;
        }
        Ok(())
    }

    fn value(&self, number: Option<usize>, value: &Json<'_>) -> Result<(), ContentFault> {
        let node = number.and_then(|number| self.node(number)).filter(|node| node.leads);
        let Some(node) = node else { return Ok(()) };
        match value {
            Json::Object(object) => self.object(node, object, None),
            Json::Array(values) => values.iter().enumerate().try_for_each(|(index, value)| {
                self.value(node.prefix.get(index).copied().unwrap_or(node.items), value)
            }),
            _ => Ok(()),
        }
    }
}

/// The schemas that look at one value, each once and as firmly as it does, by where they stand in memory: they are borrowed for as long as
/// places are read.
type Schemas<'d> = BTreeMap<usize, (&'d Map<String, Value>, u8)>;

/// The schemas that look at one value, and whether one of them closes it.
#[derive(Default)]
struct Looking<'d> {
    schemas: Schemas<'d>,
    /// A schema that alone looks at the value does not take every member.
    closed: bool,
}

/// Reads the casing of the shapes of one document, within one bound for all.
pub(super) struct CasingReader<'s, 'd> {
    source: &'s Source<'d>,
    left: usize,
    limit: usize,
    words: HashMap<&'d str, Vec<String>>,
    /// Whether the objects of a schema, by where it stands in memory, take every member.
    taking: HashMap<usize, bool>,
}

/// One shape on the way.
#[derive(Default)]
struct Shape<'d> {
    known: HashMap<(bool, Vec<(usize, u8)>), usize>,
    waiting: Vec<Looking<'d>>,
}

impl<'d> Shape<'d> {
    /// The place at which these look.
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
    pub(super) fn new(source: &'s Source<'d>, limits: &SchemaLimits) -> Self {
        let limit = limits.max_case_names;
        CasingReader { source, left: limit, limit, words: HashMap::new(), taking: HashMap::new() }
    }

    /// Names that were read so far, in all shapes, as often as schemas lead to them.
    pub(super) fn names(&self) -> usize {
        self.limit.saturating_sub(self.left)
    }

    /// The casing of the shape with this schema.
    ///
    /// # Errors
    /// [`SchemaFault::Limit`] if the document has more places and names in them than may be.
    pub(super) fn read(&mut self, schema: &'d Value) -> Result<Casing, SchemaFault> {
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

    /// Whether closing leaves the objects of a schema open; true where it takes none.
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

    /// The names that are declared where these look. Where members may come that none of them names, one that holds in a branch only does
    /// not count beside its twin that always holds: policies know the latter.
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

    /// What may look at a member of this name, or of one that none of them names.
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

    /// What may look at the item there, or at one behind all that have a place of their own.
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

/// The places without ways to where no name is declared further inside and every object is open.
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

/// The places that are such, or lead to one that is.
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

/// How freely objects take members where these look.
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

#[cfg(test)]
mod tests;
