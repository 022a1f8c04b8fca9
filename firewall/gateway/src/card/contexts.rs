//! Which contexts an agent speaks is nobody's business before it is asked: a public card names the extension only (F0-47).
//!
//! What is looked for are URNs as they are written, in any case of letters; who wants to tell a context can still do so in words.

use std::ops::Range;

use serde_json::Value;

/// What stands in a text where a URN was.
const INSTEAD: &str = "a shared context";

/// The extension's URN, and what every context's begins with.
#[derive(Clone, Debug)]
pub(super) struct Extension {
    uri: String,
    /// `urn:contexts:`, in lower case.
    namespace: String,
}

impl Extension {
    /// `uri` is that of the extension, LINE:VERSION behind the namespace of all contexts.
    pub(super) fn new(uri: String) -> Self {
        let namespace: String = uri.split_inclusive(':').take(2).collect();
        Self { uri, namespace: namespace.to_ascii_lowercase() }
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Where a text names contexts other than the extension.
    fn named_in(&self, text: &str) -> Vec<Range<usize>> {
        let part = |c: char| c.is_ascii_alphanumeric() || ":._-+%/@#~".contains(c);
        // of the same length in bytes
        let lower = text.to_ascii_lowercase();
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(start) = lower.get(from..).and_then(|rest| rest.find(&self.namespace)) {
            let start = start + from;
            let rest = text.get(start..).unwrap_or_default();
            // a sentence may end right behind it
            let name = rest.find(|c| !part(c)).and_then(|end| rest.get(..end)).unwrap_or(rest);
            let name = name.trim_end_matches(['.', ':']);
            from = start + name.len().max(self.namespace.len());
            if name.len() > self.namespace.len() && name != self.uri {
                found.push(start..start + name.len());
            }
        }
        found
    }

    fn names(&self, text: &str) -> bool {
        !self.named_in(text).is_empty()
    }

    /// Whether a card names a context other than the extension, in a text or the name of a member.
    pub(super) fn tells(&self, card: &Value) -> bool {
        match card {
            Value::String(text) => self.names(text),
            Value::Array(items) => items.iter().any(|item| self.tells(item)),
            Value::Object(members) => {
                members.iter().any(|(name, value)| self.names(name) || self.tells(value))
            }
            _ => false,
        }
    }

    /// Takes every name of a context but the extension's out of a card: in a text other words stand in its place; a tag or example, a
    /// member of that name, and a skill whose id is or has one are left out.
    pub(super) fn hide(&self, card: &mut Value) {
        match card {
            Value::String(text) => {
                for at in self.named_in(text).into_iter().rev() {
                    text.replace_range(at, INSTEAD);
                }
            }
            Value::Array(items) => {
                let told = |item: &Value| {
                    let id = item.get("id").unwrap_or(item);
                    id.as_str().is_some_and(|text| self.names(text))
                };
                items.retain(|item| !told(item));
                items.iter_mut().for_each(|item| self.hide(item));
            }
            Value::Object(members) => {
                members.retain(|name, _| !self.names(name));
                members.values_mut().for_each(|value| self.hide(value));
            }
            _ => {}
        }
    }
}
