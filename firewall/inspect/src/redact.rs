//! Members that policies take out of replies (`@redact`), a named transformation (DESIGN §2.1).

use semgate_contexts::json::{Json, Object};

/// Whether the object holds the member that a path leads to; arrays on the way stand for all their items.
pub(crate) fn holds(object: &Object<'_>, path: &[Box<str>]) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    object.get(name).is_some_and(|value| rest.is_empty() || within(value, rest))
}

fn within(value: &Json<'_>, path: &[Box<str>]) -> bool {
    match value {
        Json::Object(object) => holds(object, path),
        Json::Array(items) => items.iter().any(|item| within(item, path)),
        _ => false,
    }
}
