//! Plain JSON Schema with our options and our reader, for the published test suite and for nothing else: no profile,
//! no closing.

use serde_json::{Value, json};

use super::node::Node;
use super::validator::Validators;
use super::{ContentFault, SchemaFault, SchemaLimits};
use crate::json::Json;

/// A schema compiled as it is written.
#[derive(Debug)]
pub struct Plain(Validators);

/// Compiles a schema with the options of contexts, but without their profile and without closing objects.
///
/// # Errors
/// [`SchemaFault::Rejected`] if the validator does not compile it.
pub fn compile_plain(schema: &Value) -> Result<Plain, SchemaFault> {
    Validators::compile_as_is(schema, &SchemaLimits::default()).map(Plain)
}

/// Returns true if the validating library takes the pattern for names of members.
pub(super) fn compiles_names(pattern: &str, limits: &SchemaLimits) -> bool {
    let schema = json!({ "patternProperties": { pattern: { "type": "null" } } });
    Validators::compile_as_is(&schema, limits).is_ok()
}

impl Plain {
    /// Checks any value against the schema.
    ///
    /// # Errors
    /// The first [`ContentFault`].
    pub fn accepts(&self, instance: &Json<'_>) -> Result<(), ContentFault> {
        self.0.conform(Node::Value(instance), 0)
    }
}
