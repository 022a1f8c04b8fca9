//! Plain JSON Schema with our options and our reader, for the published test suite and for nothing else: no profile,
//! no closing.

use serde_json::Value;

use super::node::Node;
use super::{ContentFault, SchemaFault, SchemaLimits, Validator};
use crate::json::Json;

/// A schema compiled as it is written.
#[derive(Debug)]
pub struct Plain(Validator);

/// Compiles a schema with the options of contexts, but without their profile and without closing objects.
///
/// # Errors
/// [`SchemaFault::Rejected`] if the validator does not compile it.
pub fn compile_plain(schema: &Value) -> Result<Plain, SchemaFault> {
    Validator::compile_as_is(schema, &SchemaLimits::default()).map(Plain)
}

impl Plain {
    /// Holds any value against the schema.
    ///
    /// # Errors
    /// The first [`ContentFault`].
    pub fn accepts(&self, instance: &Json<'_>) -> Result<(), ContentFault> {
        self.0.conform_node(Node::Value(instance))
    }
}
