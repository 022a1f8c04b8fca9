//! Why a schema is refused, and why content does not fit one.

use std::fmt;

/// Why content does not fit: where and which rule, never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFault {
    /// JSON Pointer (RFC 6901) into the instance; a segment that the schema does not name is written `*`.
    pub path: String,
    /// The keyword that refused, such as `required` or `x-code-list`.
    pub rule: String,
}

impl fmt::Display for ContentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not fit `{}`", self.path, self.rule)
    }
}

impl std::error::Error for ContentFault {}

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaFault {
    /// Neither an object nor a boolean.
    NotASchema,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaFault::NotASchema => f.write_str("a schema is an object, `true` or `false`"),
        }
    }
}

impl std::error::Error for SchemaFault {}
