//! References within one schema of a tool: JSON Pointers, percent-encoded or not, and names of anchors.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Members that hold values instead of schemas: a `$ref` in them is no reference.
const VALUES: [&str; 4] = ["enum", "const", "default", "examples"];

/// The definitions made from the references of one schema, by the JSON Pointer of their targets.
#[derive(Default)]
pub struct Targets {
    names: BTreeMap<String, String>,
}

impl Targets {
    /// The targets of all references reachable from these schemas of the document. `name` gives each definition its name, from the pointer
    /// and a readable word.
    pub fn of<'v>(
        root: &'v Value,
        starts: impl IntoIterator<Item = &'v Value>,
        name: &mut dyn FnMut(&str, &str) -> String,
    ) -> Self {
        let mut pointers = BTreeSet::new();
        let mut waiting: Vec<&Value> = starts.into_iter().collect();
        while let Some(value) = waiting.pop() {
            let top = std::ptr::eq(value, root);
            references(value, top, &mut |reference| {
                if let Some((pointer, target)) = resolve(root, reference)
                    && pointers.insert(pointer)
                {
                    waiting.push(target);
                }
            });
        }
        let named = |pointer: String| {
            let own = name(&pointer, &slug(&pointer));
            (pointer, own)
        };
        Self { names: pointers.into_iter().map(named).collect() }
    }

    /// The name of the definition for the target at this pointer.
    pub fn at(&self, pointer: &str) -> Option<&str> {
        self.names.get(pointer).map(String::as_str)
    }

    /// All targets with the names of their definitions.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(pointer, name)| (pointer.as_str(), name.as_str()))
    }
}

/// The schema that a local reference names, with its JSON Pointer; `None` for a reference to another document or to no schema.
pub fn resolve<'v>(root: &'v Value, reference: &str) -> Option<(String, &'v Value)> {
    let own = root.get("$id").and_then(Value::as_str).unwrap_or_default();
    let local = reference.strip_prefix(own).filter(|rest| rest.is_empty() || rest.starts_with('#'));
    let local = local.or_else(|| reference.starts_with('#').then_some(reference))?;
    let fragment = decoded(local.strip_prefix('#').unwrap_or_default())?;
    let pointer = match fragment.as_str() {
        "" => String::new(),
        pointer if pointer.starts_with('/') => fragment,
        anchor => anchored(root, anchor, "")?,
    };
    let target = root.pointer(&pointer)?;
    (target.is_object() || target.is_boolean()).then_some((pointer, target))
}

/// True if an inner schema has a base of its own, so that `#` below it points elsewhere.
pub fn has_inner_base(root: &Value) -> bool {
    fn inside(value: &Value) -> bool {
        match value {
            Value::Object(map) => map.iter().any(|(key, value)| match value {
                Value::String(text) => key == "$id" && !text.starts_with('#'),
                value => !VALUES.contains(&key.as_str()) && inside(value),
            }),
            Value::Array(items) => items.iter().any(inside),
            _ => false,
        }
    }
    root.as_object().into_iter().flatten().any(|(_, value)| inside(value))
}

fn references<'v>(value: &'v Value, top: bool, visit: &mut impl FnMut(&'v str)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref", Value::String(reference)) => visit(reference),
                    // a definition counts only where something refers to it
                    ("$defs" | "definitions", _) if top => {}
                    (key, _) if VALUES.contains(&key) => {}
                    (_, value) => references(value, false, visit),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, false, visit)),
        _ => {}
    }
}

fn anchored(value: &Value, anchor: &str, at: &str) -> Option<String> {
    let below = |key: &str, value| {
        anchored(value, anchor, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")))
    };
    match value {
        Value::Object(map) => {
            let is = |key: &str, text: &str| map.get(key).and_then(Value::as_str) == Some(text);
            if is("$anchor", anchor) || is("$id", &format!("#{anchor}")) {
                return Some(at.to_owned());
            }
            let schemas = map.iter().filter(|(key, _)| !VALUES.contains(&key.as_str()));
            schemas.into_iter().find_map(|(key, value)| below(key, value))
        }
        Value::Array(items) => items.iter().enumerate().find_map(|(n, item)| below(&n.to_string(), item)),
        _ => None,
    }
}

/// A readable name for a target: `Point` for `/$defs/Point`, `properties_a` for `/properties/a`.
fn slug(pointer: &str) -> String {
    let whole = pointer.trim_start_matches('/').replace("~1", "_").replace("~0", "_");
    let plain = whole.strip_prefix("$defs/").or_else(|| whole.strip_prefix("definitions/"));
    let plain = plain.or_else(|| whole.strip_prefix("components/schemas/")).unwrap_or(&whole);
    if plain.is_empty() { "root".to_owned() } else { plain.to_owned() }
}

/// RFC 3986 §2.1.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}
