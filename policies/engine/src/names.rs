//! From URN lines and concept names to Cedar names (`docs/reference/policy.md`).

use semgate_contexts::Line;

/// Words that Cedar keeps for itself in every identifier.
const RESERVED: [&str; 10] = ["true", "false", "if", "then", "else", "in", "is", "like", "has", "__cedar"];

/// Names that a type of a namespace must not take, because they mean something without a namespace (Cedar RFC 70), or
/// because a reader would take them for Cedar's own types.
const TAKEN: [&str; 15] = [
    "Agent",
    "Group",
    "Action",
    "Bool",
    "Boolean",
    "Long",
    "String",
    "Set",
    "Record",
    "Entity",
    "Extension",
    "decimal",
    "ipaddr",
    "datetime",
    "duration",
];

/// The Cedar namespace of a line: `acme.if-then.3d` → `acme::if_then::_3d`.
///
/// A label's hyphens become underscores, a reserved word gets a trailing underscore, and a leading digit a leading
/// one. Labels hold no underscore, so no two lines share a namespace.
pub(crate) fn namespace(line: &Line) -> String {
    line.labels().map(namespace_label).collect::<Vec<_>>().join("::")
}

fn namespace_label(label: &str) -> String {
    let mut out = String::with_capacity(label.len() + 1);
    if label.starts_with(|c: char| c.is_ascii_digit()) {
        out.push('_');
    }
    out.extend(label.chars().map(|c| if c == '-' { '_' } else { c }));
    if RESERVED.contains(&out.as_str()) || out == "Action" {
        out.push('_');
    }
    out
}

/// The Cedar name of a concept, of a task's parameters or of its results, within the namespace of its line.
pub(crate) fn type_name(shape: &str) -> String {
    if RESERVED.contains(&shape) || TAKEN.contains(&shape) { format!("{shape}_") } else { shape.to_owned() }
}

/// The Cedar type of a concept, of a task's parameters or of its results: `acme::tools::add_results`.
#[must_use]
pub fn cedar_type(line: &Line, shape: &str) -> String {
    format!("{}::{}", namespace(line), type_name(shape))
}

#[cfg(test)]
mod tests;
