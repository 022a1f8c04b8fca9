//! The rule `case`: in an open object no member may differ from a declared one only in case.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use serde_json::{Map, Value};

use super::formula::{FALSE, Pair, Scope, TRUE};
use super::read::{Emitted, Reader};
use crate::case;
use crate::schema::{Casing, CasingNode};

/// The names in the definitions of one side, collected once for all parts.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// An object is open, or two names differ only in case.
    may_collide: bool,
    /// Names as they are compared, with how they are written.
    folded: HashMap<String, String>,
}

impl Names {
    pub(super) fn of(side: &Emitted) -> Self {
        let mut names = Names::default();
        names.may_collide = side.definitions.values().any(is_open)
            || side.definitions.values().any(|schema| {
                named(schema).into_iter().any(|name| {
                    let known = names.folded.entry(case::folded(name)).or_insert_with(|| name.to_owned());
                    known != name
                })
            });
        names
    }

    /// Returns true if a root with these definitions has two names that differ only in case.
    fn has_collision(&self, root: &Value) -> bool {
        let mut own: HashMap<String, &str> = HashMap::new();
        named(root).into_iter().any(|name| {
            let key = case::folded(name);
            self.folded.get(&key).is_some_and(|known| known != name)
                || *own.entry(key).or_insert(name) != name
        })
    }
}

/// Two formulas: an instance has no such member, at any depth, and it has one. Nothing where no object of the side is open.
pub(super) fn no_collisions(reader: &mut Reader<'_>, names: &Names, root: &Value, casing: Casing) -> Pair {
    if names.may_collide || is_open(root) || names.has_collision(root) {
        let casing = Rc::new(casing);
        let which = reader.casing(&casing);
        of_node(reader, which, &casing, 0)
    } else {
        (TRUE, FALSE)
    }
}

/// The same for a place that leads back to itself.
pub(super) fn of_node(reader: &mut Reader<'_>, which: usize, casing: &Casing, node: usize) -> Pair {
    CollisionReader { which, casing, on_the_way: BTreeSet::new() }.inside(reader, Some(node))
}

/// The most places that are read inside one another; places further down are referred to by number. No message nests deeper
/// than half of this.
const MOST_NESTED: usize = 64;

struct CollisionReader<'e> {
    which: usize,
    casing: &'e Casing,
    /// Places around the one that is read.
    on_the_way: BTreeSet<usize>,
}

impl CollisionReader<'_> {
    fn inside(&mut self, reader: &mut Reader<'_>, number: Option<usize>) -> Pair {
        let numbered = number.and_then(|number| Some((number, self.casing.node(number)?)));
        let Some((number, node)) = numbered.filter(|(_, node)| node.leads_to_names()) else {
            return (TRUE, FALSE);
        };
        if let Some(known) = reader.cased.get(&(self.which, number)) {
            return *known;
        }
        if !reader.budget.spend(1) {
            return (TRUE, FALSE);
        }
        if self.on_the_way.len() >= MOST_NESTED || !self.on_the_way.insert(number) {
            return reader.casing_node(self.which, number);
        }
        let pair = self.node(reader, node);
        self.on_the_way.remove(&number);
        if !reader.budget.spent_out() {
            reader.cased.insert((self.which, number), pair);
        }
        pair
    }

    fn node(&mut self, reader: &mut Reader<'_>, node: &CasingNode) -> Pair {
        let names: BTreeSet<String> = node.names().map(|(name, _)| name.to_owned()).collect();
        reader.budget.spend((names.len() + node.items().0.len()) as u64);
        let mut parts = Vec::new();
        if node.watched().next().is_some() {
            let folded: Vec<String> = node.watched().map(|(_, name)| fold(name)).collect();
            let within = Some(reader.own_pattern(&format!("^(?:{})$", folded.join("|"))));
            let twins = Scope { within, names: names.clone(), patterns: BTreeSet::new() };
            parts.push(reader.arena.every(twins, (FALSE, TRUE)));
        }
        for (name, inside) in node.names() {
            let inside = self.inside(reader, inside);
            if inside.0 != TRUE {
                parts.push(reader.arena.member(name, inside));
            }
        }
        let rest = self.inside(reader, node.rest());
        if rest.0 != TRUE {
            parts.push(reader.arena.every(Scope { names, ..Scope::default() }, rest));
        }
        let (prefix, items) = node.items();
        for (at, inside) in prefix.iter().enumerate() {
            let inside = self.inside(reader, *inside);
            if inside.0 != TRUE {
                parts.push(reader.arena.item(at, inside));
            }
        }
        let inside = self.inside(reader, items);
        if inside.0 != TRUE {
            parts.push(reader.arena.items(prefix.len(), inside));
        }
        reader.arena.all(&parts)
    }
}

/// A pattern for the name in any case.
fn fold(name: &str) -> String {
    let mut pattern = String::new();
    for c in name.chars() {
        match case::variants(c) {
            [] => pattern.push_str(&regex_syntax::escape(&c.to_string())),
            together => {
                pattern.push('[');
                pattern.extend(together);
                pattern.push(']');
            }
        }
    }
    pattern
}

/// Returns true if some value may hold members that no schema names: in an opened object, or under a schema `true`.
fn is_open(schema: &Value) -> bool {
    let Value::Object(map) = schema else { return schema == &Value::Bool(true) };
    map.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
        ("patternProperties", _) => true,
        ("additionalProperties" | "unevaluatedProperties", value) => value != &Value::Bool(false),
        ("uniqueItems" | "x-free-text" | "const" | "enum", _) => false,
        ("properties" | "dependentSchemas", Value::Object(named)) => named.values().any(is_open),
        (_, Value::Array(list)) => list.iter().any(is_open),
        (_, value) => is_open(value),
    })
}

/// Every name that a schema gives a member or demands.
fn named(schema: &Value) -> Vec<&str> {
    let (mut names, mut open) = (Vec::new(), vec![schema]);
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(map) => {
                for keyword in ["properties", "dependentSchemas", "dependentRequired"] {
                    let named = map.get(keyword).and_then(Value::as_object).into_iter().flat_map(Map::keys);
                    names.extend(named.map(String::as_str));
                }
                open.extend(map.values());
            }
            Value::Array(list) => {
                // the names in `required` and `dependentRequired`, and values of `enum`, which do no harm
                names.extend(list.iter().filter_map(Value::as_str));
                open.extend(list);
            }
            _ => {}
        }
    }
    names
}
