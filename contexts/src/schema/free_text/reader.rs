//! Reading of the places of free text from the schemas of a document.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::loose::Ties;
use super::{FreeTextMap, Position};
use crate::schema::source::{Source, branches, in_place, named};

/// One subschema alone, and those that look at the same value.
#[derive(Default)]
struct TextNode {
    position: Position,
    in_place: Vec<usize>,
    /// Those of `in_place` that hold of every value.
    surely: Vec<usize>,
}

/// Collects the places of a document, shape by shape.
pub(in crate::schema) struct FreeTextReader<'s, 'd> {
    source: &'s Source<'d>,
    ties: Ties<'s, 'd>,
    nodes: Vec<TextNode>,
    known: HashMap<String, usize>,
    waiting: Vec<(usize, &'d Value)>,
}

impl<'s, 'd> FreeTextReader<'s, 'd> {
    pub(in crate::schema) fn new(source: &'s Source<'d>) -> Self {
        let ties = Ties::new(source);
        FreeTextReader { source, ties, nodes: Vec::new(), known: HashMap::new(), waiting: Vec::new() }
    }

    /// Adds the schema of a shape and answers its place.
    pub(in crate::schema) fn add(&mut self, schema: &'d Value) -> usize {
        let root = self.add_node(schema);
        while let Some((index, schema)) = self.waiting.pop() {
            let node = match schema {
                Value::Object(map) => self.read(schema, map),
                _ => {
                    let never = schema == &Value::Bool(false);
                    let position = Position { never, open: !never, tied: never, ..Position::default() };
                    TextNode { position, ..TextNode::default() }
                }
            };
            if let Some(slot) = self.nodes.get_mut(index) {
                *slot = node;
            }
        }
        root
    }

    fn add_node(&mut self, schema: &'d Value) -> usize {
        let index = self.nodes.len();
        self.nodes.push(TextNode::default());
        self.waiting.push((index, schema));
        index
    }

    fn target(&mut self, reference: &str) -> Option<usize> {
        if let Some(known) = self.known.get(reference) {
            return Some(*known);
        }
        let schema = self.source.resolve(reference).ok()?;
        let index = self.add_node(schema);
        self.known.insert(reference.to_owned(), index);
        Some(index)
    }

    fn read(&mut self, schema: &'d Value, map: &'d Map<String, Value>) -> TextNode {
        let mut in_place: Vec<usize> = in_place(map).map(|schema| self.add_node(schema)).collect();
        // `in_place` begins with `allOf`
        let mut surely: Vec<usize> = in_place.iter().take(branches(map, "allOf").count()).copied().collect();
        if let Some(Value::String(reference)) = map.get("$ref") {
            let target = self.target(reference);
            in_place.extend(target);
            surely.extend(target);
        }
        let properties = named(map, "properties");
        let properties =
            properties.map(|(name, schema)| (name.clone(), vec![self.add_node(schema)])).collect();
        let others = named(map, "patternProperties").map(|(_, schema)| schema);
        let others = others.chain(map.get("additionalProperties")).chain(map.get("unevaluatedProperties"));
        let others = others.map(|schema| self.add_node(schema)).collect();
        let items = branches(map, "prefixItems").chain(map.get("items"));
        let items = items.map(|schema| self.add_node(schema)).collect();
        let text = map.get("x-free-text") == Some(&Value::Bool(true));
        let (open, never, leads) = (self.source.opens(schema), false, false);
        let (tied, names_tied) = (self.ties.string(schema), self.ties.names(schema));
        let sure = Vec::new();
        let position =
            Position { text, open, never, leads, properties, others, items, tied, names_tied, sure };
        TextNode { position, in_place, surely }
    }

    /// Merges the places of each value and marks those that lead to text.
    pub(in crate::schema) fn finish(self) -> FreeTextMap {
        let mut nodes: Vec<Position> = (0..self.nodes.len()).map(|index| self.merged(index)).collect();
        loop {
            let leading: Vec<bool> = nodes.iter().map(|node| node.leads).collect();
            let leads = |indices: &[usize]| indices.iter().any(|index| leading.get(*index) == Some(&true));
            let mut changed = false;
            for node in &mut nodes {
                let now = node.leads
                    || leads(&node.others)
                    || leads(&node.items)
                    || node.properties.values().any(|inside| leads(inside));
                changed |= now != node.leads;
                node.leads = now;
            }
            if !changed {
                return FreeTextMap { nodes };
            }
        }
    }

    /// The subschemas that look at every value that this one looks at.
    fn sure(&self, index: usize) -> Vec<usize> {
        let (mut sure, mut open) = (Vec::new(), vec![index]);
        while let Some(index) = open.pop() {
            let Some(node) = self.nodes.get(index).filter(|_| !sure.contains(&index)) else { continue };
            sure.push(index);
            open.extend(&node.surely);
        }
        sure
    }

    fn merged(&self, index: usize) -> Position {
        let mut merged = Position::default();
        let mut seen = Vec::new();
        let mut open = vec![index];
        let sure = self.sure(index);
        while let Some(index) = open.pop() {
            let Some(node) = self.nodes.get(index).filter(|_| !seen.contains(&index)) else { continue };
            seen.push(index);
            let position = &node.position;
            merged.text |= position.text;
            merged.open |= position.open;
            merged.never |= position.never && seen.len() == 1;
            merged.tied |= position.tied && seen.len() == 1;
            merged.names_tied |= position.names_tied && seen.len() == 1;
            for (name, inside) in &position.properties {
                merged.properties.entry(name.clone()).or_default().extend(inside);
                merged.sure.extend(inside.iter().filter(|_| sure.contains(&index)));
            }
            merged.others.extend(&position.others);
            merged.items.extend(&position.items);
            open.extend(&node.in_place);
        }
        merged.leads = merged.text;
        merged
    }
}
