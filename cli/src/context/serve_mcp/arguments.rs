//! Arguments of tools: closed, each read once.

use serde_json::{Map, Value};

use super::outcome::Refused;

/// The arguments of a call that are not read yet.
pub struct Arguments(Map<String, Value>);

impl Arguments {
    pub fn new(arguments: Map<String, Value>) -> Self {
        Self(arguments)
    }

    /// A text that may be missing.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refused::new("malformed", format!("`{name}` is a string"))),
        }
    }

    /// A text that must be there.
    pub fn required(&mut self, name: &str) -> Result<String, Refused> {
        self.text(name)?.ok_or_else(|| Refused::new("malformed", format!("`{name}` is missing")))
    }

    /// A count that may be missing.
    pub fn count(&mut self, name: &str) -> Result<Option<u64>, Refused> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(count) => Ok(Some(count)),
                None => Err(Refused::new("malformed", format!("`{name}` is a whole number, not negative"))),
            },
        }
    }

    /// Any value.
    pub fn value(&mut self, name: &str) -> Result<Value, Refused> {
        self.0.remove(name).ok_or_else(|| Refused::new("malformed", format!("`{name}` is missing")))
    }

    /// Refuses what nobody read.
    pub fn end(self) -> Result<(), Refused> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Refused::new("malformed", "an argument is unknown: see the schema of the tool"))
        }
    }
}
