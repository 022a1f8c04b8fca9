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
    /// Every string and every member name of the document that can hold words: with a blank, or at least 16 bytes long, since words are
    /// read without blanks too. So titles, descriptions, comments, reasons, labels, names, codes and relations. The limits of a document
    /// bound their number.
    #[must_use]
    pub fn wordings(&self) -> Vec<Wording> {
        let mut all = Vec::new();
        if let Ok(document) = serde_json::from_slice::<Value>(self.bytes()) {
            add(&document, &mut Vec::new(), &mut all);
        }
        all
    }
}

/// Bytes of a text without blanks that may hold words.
const LONG: usize = 16;

fn note(text: &str, path: &[String], into: &mut Vec<Wording>) {
    if text.len() >= LONG || text.contains(char::is_whitespace) {
        into.push(Wording { pointer: pointer(path), text: text.to_owned() });
    }
}

fn add(value: &Value, path: &mut Vec<String>, into: &mut Vec<Wording>) {
    match value {
        Value::String(text) => note(text, path, into),
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
                note(name, path, into);
                add(member, path, into);
                path.pop();
            }
        }
        _ => {}
    }
}
