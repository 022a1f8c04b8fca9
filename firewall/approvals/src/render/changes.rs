//! The difference between two canonical forms.

use std::collections::BTreeMap;

use serde_json::Value;

/// Depth of nesting that is compared member by member. Deeper values are compared as a whole.
const MAX_DEPTH: usize = 32;

/// One value that differs between the last approved action and this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer of the value in the canonical form.
    pub pointer: String,
    /// The earlier value as JSON; `None` if there was none.
    pub before: Option<String>,
    /// The value as JSON; `None` if there is none.
    pub after: Option<String>,
}

/// Every value that differs, by pointer. Texts that are not JSON differ as a whole, at the empty pointer.
pub fn changes(before: &str, after: &str) -> Vec<Change> {
    let (mut old, mut new) = (leaves(before), leaves(after));
    let pointers: Vec<String> = old.keys().chain(new.keys()).cloned().collect();
    let mut all = Vec::new();
    for pointer in pointers {
        let (before, after) = (old.remove(&pointer), new.remove(&pointer));
        if before != after {
            all.push(Change { pointer, before, after });
        }
    }
    all.sort_by(|one, other| one.pointer.cmp(&other.pointer));
    all
}

/// Every scalar and every empty container, by pointer.
fn leaves(canonical: &str) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    match serde_json::from_str::<Value>(canonical) {
        Ok(value) => collect(&value, String::new(), 0, &mut leaves),
        Err(_) => drop(leaves.insert(String::new(), canonical.to_owned())),
    }
    leaves
}

fn collect(value: &Value, pointer: String, depth: usize, leaves: &mut BTreeMap<String, String>) {
    let deeper = depth.saturating_add(1);
    match value {
        Value::Object(members) if !members.is_empty() && depth < MAX_DEPTH => {
            for (name, inner) in members {
                let step = name.replace('~', "~0").replace('/', "~1");
                collect(inner, format!("{pointer}/{step}"), deeper, leaves);
            }
        }
        Value::Array(entries) if !entries.is_empty() && depth < MAX_DEPTH => {
            for (n, inner) in entries.iter().enumerate() {
                collect(inner, format!("{pointer}/{n}"), deeper, leaves);
            }
        }
        _ => drop(leaves.insert(pointer, value.to_string())),
    }
}
