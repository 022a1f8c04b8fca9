//! Bounded work: the most that one value of a message can cause, in evaluations of subschemas and in steps of patterns. It
//! also bounds the nodes that the validator builds.
//!
//! For a schema S and k levels below the value that it looks at, `evaluations(S, k)` bounds the evaluations that one value
//! there can cause:
//! - At k = 0 it is one for S and the sum over its in-place subschemas.
//! - At k > 0 it is the sum over in-place subschemas, plus the load of values inside. That load is the largest over names (or
//!   positions), plus every pattern.
//!
//! A composition closed by `unevaluatedProperties` looks at its parts once more, to learn which members they vouch for. It
//! does not if the schema alone tells this. Steps are summed in the same way. At k = 0 they are those of `pattern` on the
//! longest string that `maxLength` takes, else that a message holds. A member adds those of its name, which every pattern of
//! `patternProperties` reads. All sums saturate.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::matcher::Matchers;
use super::meter::MemberSteps;
use super::source::{branches, in_place, named};
use super::{SchemaFault, SchemaLimits, custom};

/// One subschema, by indices of others.
#[derive(Default)]
struct Node {
    in_place: Vec<usize>,
    /// Closed by `unevaluatedProperties`.
    unevaluated: bool,
    /// The members that it vouches for depend on the instance, and not on the schema alone.
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
    /// Steps of its own pattern on the longest string.
    steps: u64,
    /// Steps of its patterns of names, for each byte of a name.
    name_steps: u64,
    /// Bytes that its patterns of names take.
    name_bytes: u64,
    /// Members that it declares.
    declared: usize,
    /// Values in the arrays and objects of `enum` and `const`: at worst each is compared with the instance.
    listed: u64,
}

/// The emitted schemas of one document as a graph.
struct Graph<'v> {
    matchers: &'v Matchers,
    limits: &'v SchemaLimits,
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
        if let Some(slot) = self.nodes.get_mut(index) {
            *slot = node;
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
        self.patterns(map, &mut node);
        node.declared = named(map, "properties").count();
        node.listed = branches(map, "enum").chain(map.get("const")).map(inner_values).sum();
        node
    }

    fn patterns(&self, map: &Map<String, Value>, node: &mut Node) {
        let pattern =
            map.get("pattern").and_then(Value::as_str).and_then(|pattern| self.matchers.get(pattern));
        if let Some(matcher) = pattern {
            let most = self.limits.max_string_bytes;
            node.steps = matcher.steps(custom::most_bytes(map).map_or(most, |bytes| bytes.min(most)));
        }
        for matcher in named(map, "patternProperties").filter_map(|(pattern, _)| self.matchers.get(pattern)) {
            node.name_steps = node.name_steps.saturating_add(matcher.steps_a_byte());
            node.name_bytes = node.name_bytes.saturating_add(matcher.name_bytes(self.limits.max_table_bytes));
        }
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
            if let Some(slot) = self.nodes.get_mut(index) {
                *slot = node;
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

/// Finds the schemas that look at their parts a second time. The validator does not look again if the schema alone tells
/// which members the parts vouch for (`allOf` and `$ref` only).
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
    if let Some(slot) = known.get_mut(index) {
        *slot = Some(varies);
    }
    varies
}

/// The work that one value causes.
#[derive(Clone, Copy, Default)]
struct Load {
    evaluations: u64,
    steps: u64,
}

impl Load {
    fn plus(self, other: Self) -> Self {
        Self {
            evaluations: self.evaluations.saturating_add(other.evaluations),
            steps: self.steps.saturating_add(other.steps),
        }
    }

    fn most(self, other: Self) -> Self {
        Self { evaluations: self.evaluations.max(other.evaluations), steps: self.steps.max(other.steps) }
    }
}

/// The loads computed for one number of levels: of a look, and of a second look.
#[derive(Clone, Copy, Default)]
struct Cost {
    load: Load,
    marking: Load,
}

/// Computes costs level by level; within a level, in-place subschemas first (they form no cycle).
struct Costs<'g> {
    nodes: &'g [Node],
    inner: Vec<Cost>,
    level: Vec<Option<Cost>>,
    /// The number of levels below.
    depth: usize,
    max_name_bytes: u64,
}

impl Costs<'_> {
    fn of(&mut self, index: usize) -> Cost {
        if let Some(Some(known)) = self.level.get(index) {
            return *known;
        }
        let Some(node) = self.nodes.get(index) else { return Cost::default() };
        let mut load = match self.depth {
            0 => Load { evaluations: 1_u64.saturating_add(node.listed), steps: node.steps },
            _ => self.inside(node),
        };
        let mut marking = Load::default();
        for part in &node.in_place {
            let part = self.of(*part);
            load = load.plus(part.load);
            marking = marking.plus(part.load).plus(part.marking);
        }
        if node.marks {
            load = load.plus(marking);
        }
        let cost = Cost { load, marking };
        if let Some(slot) = self.level.get_mut(index) {
            *slot = Some(cost);
        }
        cost
    }

    /// The load by subschemas for values inside, one level up from where they were computed.
    fn inside(&self, node: &Node) -> Load {
        let inner = |index: &usize| self.inner.get(*index).map_or(Load::default(), |cost| cost.load);
        let largest = |list: &[usize]| list.iter().map(inner).fold(Load::default(), Load::most);
        let sum = |list: &[usize]| list.iter().map(inner).fold(Load::default(), Load::plus);
        let mut members = largest(&node.one_of_members).plus(sum(&node.all_of_members));
        // Names are no values of the message: they are charged to their members.
        members = members.plus(node.names.as_ref().map_or(Load::default(), inner));
        if self.depth == 1 {
            members.steps = members.steps.saturating_add(node.name_steps.saturating_mul(self.max_name_bytes));
        }
        let items = largest(&node.one_of_items).plus(sum(&node.all_of_items));
        members.most(items)
    }
}

/// The memory of a document's schemas, and the work of each message under them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MeasuredCost {
    /// The cost of members, by the schemas that take the most.
    pub(super) member_steps: MemberSteps,
    /// Bytes of the nodes that the validator builds, and of its patterns of names.
    pub(super) bytes: u64,
}

/// Refuses schemas that exceed a limit for one value of a message: `max_work_per_node` evaluations or `max_steps_per_node`
/// steps. Also refuses more validator nodes than `max_compiled_nodes`. The fault names its root, if it has one.
pub(super) fn bound(
    roots: &[Value],
    definitions: &BTreeMap<String, Value>,
    matchers: &Matchers,
    limits: &SchemaLimits,
) -> Result<MeasuredCost, (Option<usize>, SchemaFault)> {
    let (nodes, known, waiting) = (Vec::new(), HashMap::new(), Vec::new());
    let mut graph = Graph { matchers, limits, nodes, definitions, known, waiting };
    let starts: Vec<usize> = roots.iter().map(|root| graph.add(root)).collect();
    graph.add_waiting();
    mark(&mut graph.nodes);
    let count = graph.nodes.len();
    let max_name_bytes = limits.max_name_bytes;
    let mut costs =
        Costs { nodes: &graph.nodes, inner: Vec::new(), level: vec![None; count], depth: 0, max_name_bytes };
    for depth in 0..=limits.max_instance_depth {
        (costs.level, costs.depth) = (vec![None; count], depth);
        for index in 0..count {
            costs.of(index);
        }
        costs.inner = costs.level.iter().map(|cost| cost.unwrap_or_default()).collect();
        for (which, start) in starts.iter().enumerate() {
            let load = costs.inner.get(*start).map_or(Load::default(), |cost| cost.load);
            within(load, limits).map_err(|fault| (Some(which), fault))?;
        }
    }
    built(&graph.nodes, limits).map_err(|fault| (None, fault))
}

fn within(load: Load, limits: &SchemaLimits) -> Result<(), SchemaFault> {
    let (most, limit) = (limits.max_work_per_node, limits.max_steps_per_node);
    match load {
        Load { evaluations: work, .. } if work > most => Err(SchemaFault::Work { work, limit: most }),
        Load { steps, .. } if steps > limit => Err(SchemaFault::Steps { steps, limit }),
        _ => Ok(()),
    }
}

/// The schemas and definitions that the validator builds, each once.
fn built(nodes: &[Node], limits: &SchemaLimits) -> Result<MeasuredCost, SchemaFault> {
    let (count, limit) = (nodes.len() as u64, limits.max_compiled_nodes);
    if count > limit {
        return Err(SchemaFault::Limit { what: "compiled schemas", limit });
    }
    let names = nodes.iter().map(|node| node.name_bytes).fold(0, u64::saturating_add);
    Ok(MeasuredCost {
        member_steps: MemberSteps {
            name_byte: nodes.iter().map(|node| node.name_steps).max().unwrap_or(0),
            member: MemberSteps::of_members(nodes.iter().map(|node| node.declared).max().unwrap_or(0)),
        },
        bytes: names.saturating_add(count.saturating_mul(NODE_BYTES)),
    })
}

/// Bytes of one node of the validator, measured over documents of many small schemas.
const NODE_BYTES: u64 = 1_024;
