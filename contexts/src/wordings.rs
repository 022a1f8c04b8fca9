//! The texts of a document that a reader meets, so that others can look at what they say.

use serde_json::Value;

use crate::document::Context;
use crate::schema::pointer;

/// A text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    /// JSON Pointer into the document.
    pub pointer: String,
    /// The text.
    pub text: String,
}

impl Context {
    /// Every string of the document that holds a blank: titles, descriptions, comments, reasons, and codes of several words. The limits of
    /// a document bound their number.
    #[must_use]
    pub fn wordings(&self) -> Vec<Wording> {
        let mut all = Vec::new();
        if let Ok(document) = serde_json::from_slice::<Value>(self.bytes()) {
            add(&document, &mut Vec::new(), &mut all);
        }
        all
    }
}

fn add(value: &Value, path: &mut Vec<String>, into: &mut Vec<Wording>) {
    match value {
        Value::String(text) if text.contains(char::is_whitespace) => {
            into.push(Wording { pointer: pointer(path), text: text.clone() });
        }
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                path.push(n.to_string());
                add(item, path, into);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                path.push(name.clone());
                add(member, path, into);
                path.pop();
            }
        }
        _ => {}
    }
}
