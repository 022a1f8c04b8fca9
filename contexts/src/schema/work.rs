//! Bounded work: how many subschema evaluations one value of a message can cause, at worst, and how many nodes the
//! validator builds.
//!
//! For a schema S and k levels below the value that it looks at, `evaluations(S, k)` bounds the evaluations that one
//! value there can cause. At k = 0 it is one for S and the sum over its in-place subschemas; at k > 0 the sum over
//! in-place subschemas and, of the subschemas for values inside, the largest over names (or positions) plus every
//! pattern. A composition that is closed by `unevaluatedProperties` looks at its parts once more to learn which members
//! they vouch for, unless the schema alone says so. All sums saturate.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::source::{branches, in_place, named};
use super::{SchemaFault, SchemaLimits};

/// One subschema, by indices of others.
#[derive(Default)]
struct Node {
    in_place: Vec<usize>,
    /// Closed by `unevaluatedProperties`.
    unevaluated: bool,
    /// Which members it vouches for depends on the instance, and not on the schema alone.
    varies: bool,
    /// Looks at its in-place subschemas a second time: both of the above, in itself or in its parts.
    marks: bool,
    /// At most one of these meets a member.
    one_of_members: Vec<usize>,
    /// All of these may meet the same member.
    all_of_members: Vec<usize>,
    /// At most one of these meets an item.
    one_of_items: Vec<usize>,
    /// All of these may meet the same item.
    all_of_items: Vec<usize>,
    /// Meets the name of a member.
    names: Option<usize>,
    /// Its own patterns, each compiled with it.
    patterns: u64,
    /// Values in the arrays and objects of `enum` and `const`: at worst each is held against the instance.
    listed: u64,
}

/// The emitted schemas of one document as a graph.
struct Graph<'v> {
    nodes: Vec<Node>,
    definitions: &'v BTreeMap<String, Value>,
    known: HashMap<&'v str, usize>,
    waiting: Vec<(&'v str, usize)>,
}

impl<'v> Graph<'v> {
    fn add(&mut self, schema: &'v Value) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        let Value::Object(map) = schema else { return index };
        let node = self.node(map);
        if let Some(place) = self.nodes.get_mut(index) {
            *place = node;
        }
        index
    }

    fn node(&mut self, map: &'v Map<String, Value>) -> Node {
        let mut node = Node {
            unevaluated: map.contains_key("unevaluatedProperties"),
            varies: ["anyOf", "oneOf", "if", "dependentSchemas"]
                .iter()
                .any(|keyword| map.contains_key(*keyword)),
            ..Node::default()
        };
        node.in_place = in_place(map).map(|schema| self.add(schema)).collect();
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            node.in_place.extend(self.definition(target));
        }
        node.one_of_members = named(map, "properties").map(|(_, schema)| self.add(schema)).collect();
        node.one_of_members.extend(map.get("additionalProperties").map(|schema| self.add(schema)));
        node.all_of_members = named(map, "patternProperties").map(|(_, schema)| self.add(schema)).collect();
        node.all_of_members.extend(map.get("unevaluatedProperties").map(|schema| self.add(schema)));
        node.one_of_items = branches(map, "prefixItems").map(|schema| self.add(schema)).collect();
        node.one_of_items.extend(map.get("items").map(|schema| self.add(schema)));
        node.all_of_items.extend(map.get("contains").map(|schema| self.add(schema)));
        node.names = map.get("propertyNames").map(|schema| self.add(schema));
        node.patterns = u64::from(map.contains_key("pattern"))
            .saturating_add(named(map, "patternProperties").count() as u64);
        node.listed = branches(map, "enum").chain(map.get("const")).map(inner_values).sum();
        node
    }

    /// The node of a definition; its content is added later, since definitions may be recursive.
    fn definition(&mut self, target: &'v str) -> Option<usize> {
        let name = target.strip_prefix("#/$defs/")?;
        if let Some(known) = self.known.get(name) {
            return Some(*known);
        }
        let index = self.nodes.len();
        self.nodes.push(Node::default());
        self.known.insert(name, index);
        self.waiting.push((name, index));
        Some(index)
    }

    fn add_waiting(&mut self) {
        while let Some((name, index)) = self.waiting.pop() {
            let Some(Value::Object(map)) = self.definitions.get(name) else { continue };
            let node = self.node(map);
            if let Some(place) = self.nodes.get_mut(index) {
                *place = node;
            }
        }
    }
}

/// Values inside an array or an object, with itself; none in a scalar, which costs one comparison of the evaluation.
fn inner_values(value: &Value) -> u64 {
    let (mut count, mut open) = (0, vec![value]);
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ if count == 0 => return 0,
            _ => {}
        }
        count += 1;
    }
    count
}

/// Finds the schemas that look at their parts a second time. Where the members that parts vouch for are known from
/// the schema alone (`allOf` and `$ref` only), the validator does not look again.
fn mark(nodes: &mut [Node]) {
    let mut varies: Vec<Option<bool>> = vec![None; nodes.len()];
    let marks: Vec<bool> = nodes
        .iter()
        .enumerate()
        .map(|(index, node)| node.unevaluated && varies_below(nodes, index, &mut varies))
        .collect();
    for (node, marks) in nodes.iter_mut().zip(marks) {
        node.marks = marks;
    }
}

fn varies_below(nodes: &[Node], index: usize, known: &mut [Option<bool>]) -> bool {
    if let Some(Some(known)) = known.get(index) {
        return *known;
    }
    let Some(node) = nodes.get(index) else { return false };
    let varies = node.varies
        || node.in_place.iter().any(|part| {
            nodes.get(*part).is_some_and(|part| part.unevaluated) || varies_below(nodes, *part, known)
        });
    if let Some(place) = known.get_mut(index) {
        *place = Some(varies);
    }
    varies
}

/// What was computed for one number of levels: evaluations, and those of looking a second time.
#[derive(Clone, Copy)]
struct Cost {
    evaluations: u64,
    marking: u64,
}

/// Computes costs level by level; within a level, in-place subschemas first (they form no cycle).
struct Costs<'g> {
    nodes: &'g [Node],
    inner: Vec<Cost>,
    level: Vec<Option<Cost>>,
    first: bool,
}

impl Costs<'_> {
    fn of(&mut self, index: usize) -> Cost {
        if let Some(Some(known)) = self.level.get(index) {
            return *known;
        }
        let Some(node) = self.nodes.get(index) else { return Cost { evaluations: 0, marking: 0 } };
        let mut evaluations = if self.first { 1_u64.saturating_add(node.listed) } else { self.inside(node) };
        let mut marking = 0_u64;
        for part in &node.in_place {
            let part = self.of(*part);
            evaluations = evaluations.saturating_add(part.evaluations);
            marking = marking.saturating_add(part.evaluations).saturating_add(part.marking);
        }
        if node.marks {
            evaluations = evaluations.saturating_add(marking);
        }
        let cost = Cost { evaluations, marking };
        if let Some(place) = self.level.get_mut(index) {
            *place = Some(cost);
        }
        cost
    }

    /// Evaluations by subschemas for values inside, one level up from where they were computed.
    fn inside(&self, node: &Node) -> u64 {
        let inner = |index: &usize| self.inner.get(*index).map_or(0, |cost| cost.evaluations);
        let largest = |list: &[usize]| list.iter().map(inner).max().unwrap_or(0);
        let sum = |list: &[usize]| list.iter().map(inner).fold(0_u64, u64::saturating_add);
        let members = largest(&node.one_of_members).saturating_add(sum(&node.all_of_members));
        // Names are no values of the message: they are charged to their members.
        let members = members.saturating_add(node.names.as_ref().map_or(0, inner));
        let items = largest(&node.one_of_items).saturating_add(sum(&node.all_of_items));
        members.max(items)
    }
}

/// Refuses schemas that could cause more than `max_work_per_node` evaluations on one value of a message, or more
/// nodes of the validator than `max_compiled_nodes`; answers which root it was, if it was one.
pub(super) fn bound(
    roots: &[Value],
    definitions: &BTreeMap<String, Value>,
    limits: &SchemaLimits,
) -> Result<(), (Option<usize>, SchemaFault)> {
    let mut graph = Graph { nodes: Vec::new(), definitions, known: HashMap::new(), waiting: Vec::new() };
    let starts: Vec<usize> = roots.iter().map(|root| graph.add(root)).collect();
    graph.add_waiting();
    mark(&mut graph.nodes);
    let count = graph.nodes.len();
    let mut costs = Costs { nodes: &graph.nodes, inner: Vec::new(), level: vec![None; count], first: true };
    for _ in 0..=limits.max_instance_depth {
        costs.level = vec![None; count];
        for index in 0..count {
            costs.of(index);
        }
        costs.inner =
            costs.level.iter().map(|cost| cost.unwrap_or(Cost { evaluations: 0, marking: 0 })).collect();
        costs.first = false;
        for (which, start) in starts.iter().enumerate() {
            let work = costs.inner.get(*start).map_or(0, |cost| cost.evaluations);
            if work > limits.max_work_per_node {
                return Err((Some(which), SchemaFault::Work { work, limit: limits.max_work_per_node }));
            }
        }
    }
    built(&graph.nodes, &starts, limits).map_err(|fault| (None, fault))
}

/// Nodes that the validator builds: for each wanted schema, all that it leads to, each once (definitions are shared).
fn built(nodes: &[Node], starts: &[usize], limits: &SchemaLimits) -> Result<(), SchemaFault> {
    let limit = limits.max_compiled_nodes;
    let (mut total, mut patterns) = (0_u64, 0_u64);
    for start in starts {
        let mut seen = vec![false; nodes.len()];
        let mut open = vec![*start];
        while let Some(index) = open.pop() {
            let (Some(place), Some(node)) = (seen.get_mut(index), nodes.get(index)) else { continue };
            if std::mem::replace(place, true) {
                continue;
            }
            total = total.saturating_add(1);
            patterns = patterns.saturating_add(node.patterns);
            let inside = [&node.one_of_members, &node.all_of_members, &node.one_of_items, &node.all_of_items];
            open.extend(node.in_place.iter().chain(inside.into_iter().flatten()).chain(&node.names));
        }
        if total > limit {
            return Err(SchemaFault::Limit { what: "compiled schemas", limit });
        }
        if patterns > limits.max_compiled_patterns {
            return Err(SchemaFault::Limit {
                what: "compiled patterns",
                limit: limits.max_compiled_patterns,
            });
        }
    }
    Ok(())
}
