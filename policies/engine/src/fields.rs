//! Members within an instance, named from the outside in.

use std::sync::Arc;

use semgate_contexts::json::{Json, Object};

/// A member within an instance: names from the outside in. Arrays on the way stand for all their items.
pub type FieldPath = Arc<[Box<str>]>;

/// Levels of one path: deeper members are not for policies.
pub(crate) const MAX_LEVELS: usize = 8;

/// Returns true if an instance holds the member that a path leads to; `null` is held too.
#[must_use]
pub fn has_field(object: &Object<'_>, path: &[Box<str>]) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    object.get(name).is_some_and(|value| rest.is_empty() || within(value, rest))
}

fn within(value: &Json<'_>, path: &[Box<str>]) -> bool {
    match value {
        Json::Object(object) => has_field(object, path),
        Json::Array(items) => items.iter().any(|item| within(item, path)),
        _ => false,
    }
}

/// A path as annotations write it: dots between levels.
#[must_use]
pub fn dotted(path: &[Box<str>]) -> String {
    path.iter().map(|name| &**name).collect::<Vec<_>>().join(".")
}
