//! Walks the schemas of a document as schemas: values of `const` or of a member called `$ref` are no references.

use serde_json::{Map, Value};

use super::vocabulary::{Holds, keyword};

/// The action on the members of a schema at its path.
pub(crate) type SchemaVisitor<'c, E> = dyn FnMut(&mut Map<String, Value>, &[String]) -> Result<(), E> + 'c;

/// Calls `change` on the schema and on every schema inside it, outermost first, with its path. Skips boolean schemas and
/// values that are no schema, which the check refuses later.
///
/// # Errors
/// The first of `change`.
pub(crate) fn each_schema<E>(
    schema: &mut Value,
    path: &mut Vec<String>,
    change: &mut SchemaVisitor<'_, E>,
) -> Result<(), E> {
    let Value::Object(map) = schema else { return Ok(()) };
    change(map, path)?;
    for (name, value) in map {
        path.push(name.clone());
        match (keyword(name), value) {
            (Some(Holds::Schema), value) => each_schema(value, path, change)?,
            (Some(Holds::Schemas), Value::Array(list)) => {
                for (index, schema) in list.iter_mut().enumerate() {
                    path.push(index.to_string());
                    each_schema(schema, path, change)?;
                    path.pop();
                }
            }
            (Some(Holds::NamedSchemas), Value::Object(schemas)) => {
                for (key, schema) in schemas {
                    path.push(key.clone());
                    each_schema(schema, path, change)?;
                    path.pop();
                }
            }
            _ => {}
        }
        path.pop();
    }
    Ok(())
}
