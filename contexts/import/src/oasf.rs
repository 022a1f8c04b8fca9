//! Contexts from the classes of the Open Agentic Schema Framework: skills and domains become code lists (F0-58).
//!
//! Source: <https://github.com/agntcy/oasf>, `schema/skills` and `schema/domains`, a file for each class.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::schema::legible;
use crate::terms::{ContextDraft, Terms};

/// The advice for a source that is too large.
const CHOOSE: &str = "give the files of some categories alone";

/// The roots of the taxonomies, with the concept and the code list of each.
const ROOTS: [[&str; 3]; 2] = [["base_skill", "skill", "skills"], ["base_domain", "domain", "domains"]];

/// Steps from a class to its root.
const MAX_STEPS: usize = 8;

/// Drafts a context from the classes of these files. The name of a class within its taxonomy, `finance/payments`, is a code; the concept
/// `skill` or `domain` holds one code.
///
/// # Errors
/// No class, a class whose root is neither skills nor domains, or a draft that is too large.
pub fn draft(classes: &[Value], naming: &Naming<'_>) -> Result<ContextDraft, ImportFault> {
    let mut terms = Terms::default();
    let mut by_name: BTreeMap<&str, &Value> = BTreeMap::new();
    for class in classes {
        let name = text(class, "name");
        if name.is_empty() || class.get("caption").is_none() {
            return Err(ImportFault::new("no class of OASF: `name` or `caption` is missing"));
        }
        if by_name.insert(name, class).is_some() {
            return Err(ImportFault::new(format_args!("two classes have the name `{}`", legible(name))));
        }
    }
    let mut codes: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, class) in &by_name {
        if ROOTS.iter().any(|[root, ..]| root == name) {
            continue;
        }
        let Some((root, path)) = path(name, &by_name) else {
            terms.remark(
                legible(name),
                "is left out: its chain of `extends` leads to no base class of these files",
            );
            continue;
        };
        codes.entry(root).or_default().push(path);
        if class.get("attributes").and_then(Value::as_object).is_some_and(|own| !own.is_empty()) {
            terms.remark(legible(name), "has attributes of its own, which are left out");
        }
    }
    for [root, concept, list] in ROOTS {
        let Some(all) = codes.remove(root) else { continue };
        terms.codes.insert(list.to_owned(), json!(all));
        let member = json!({"type": "string", "x-code-list": list});
        terms.concepts.insert(
            concept.to_owned(),
            json!({"type": "object", "properties": {"name": member}, "required": ["name"]}),
        );
        terms.remark(
            concept,
            "holds the name of a class alone: numbers of classes (`id`) and annotations are left out",
        );
    }
    terms.remark("", "captions and descriptions of classes are left out: a code has no words");
    terms.finish(naming, CHOOSE)
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// The root of a class, and its name below the root.
fn path<'v>(name: &'v str, all: &BTreeMap<&'v str, &'v Value>) -> Option<(&'v str, String)> {
    let mut pieces = vec![name];
    for _ in 0..MAX_STEPS {
        let parent = text(all.get(pieces.last()?)?, "extends");
        if ROOTS.iter().any(|[root, ..]| *root == parent) {
            pieces.reverse();
            return Some((parent, pieces.join("/")));
        }
        pieces.push(parent);
    }
    None
}

#[cfg(test)]
mod tests;
