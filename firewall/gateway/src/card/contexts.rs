//! Which contexts an agent speaks is nobody's business before it is asked: a public card names the extension only (F0-47).
//!
//! [`urns`] finds the names; here stands what becomes of a card that has one. Who wants to tell a
//! context can still do so in words, or in pieces over several members.

mod urns;

use std::collections::HashSet;
use std::ops::Range;

use semgate_inspect::Generation;
use semgate_message::Binding;
use serde_json::{Map, Value};

/// What stands in a text where a name was.
const INSTEAD: &str = "a shared context";
/// Bytes of the name of a member that is told to the operator: those that A2A defines have 33 at most.
const MAX_TOLD: usize = 64;

/// The extension's URN, and what every context's begins with.
#[derive(Clone, Debug)]
pub(super) struct Extension {
    uri: String,
    /// `urn:contexts:`, in lower case.
    namespace: String,
    /// What follows it in the extension's, in lower case.
    own: String,
}

impl Extension {
    /// `uri` is that of the extension, LINE:VERSION behind the namespace of all contexts.
    pub(super) fn new(uri: String) -> Self {
        let lower = uri.to_ascii_lowercase();
        let own = lower.rmatch_indices(':').nth(1).map_or(lower.len(), |(at, _)| at + 1);
        let (namespace, own) = lower.split_at_checked(own).unwrap_or((&lower, ""));
        Self { namespace: namespace.to_owned(), own: own.to_owned(), uri }
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }
}

/// The lines of all contexts that the gateway follows, in lower case; not those of the extension and of the protocols, which are no secret.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownLines(HashSet<Box<str>>);

impl KnownLines {
    /// Those of this generation, whatever their status.
    pub(crate) fn of(generation: &Generation) -> Self {
        let views = generation.views();
        let published = views.iter().flat_map(|view| view.contexts());
        let mut lines: HashSet<Box<str>> =
            published.map(|context| context.urn.line().folded().into()).collect();
        for protocol in [Binding::A2a, Binding::Mcp] {
            if let Some(urn) = generation.protocol_urn(protocol) {
                lines.remove(urn.line().folded().as_str());
            }
        }
        let control = generation.extension().rsplit(':').nth(1).unwrap_or_default();
        lines.remove(control.to_ascii_lowercase().as_str());
        Self(lines)
    }

    #[cfg(test)]
    pub(super) fn these(lines: &[&str]) -> Self {
        Self(lines.iter().map(|line| (*line).into()).collect())
    }

    fn holds(&self, line: &str) -> bool {
        self.0.contains(line)
    }
}

/// The name of a context stands in a member of a card that cannot be shown without it, or must not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToldAt(pub(super) String);

/// What names contexts in a card.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'k> {
    pub(super) extension: &'k Extension,
    pub(super) lines: &'k KnownLines,
}

impl Known<'_> {
    fn named_in(&self, text: &str) -> Vec<Range<usize>> {
        urns::named_in(text, self)
    }

    pub(super) fn names(&self, text: &str) -> bool {
        !self.named_in(text).is_empty()
    }

    /// A card that must not be changed names no context but the extension, in a text or the name of a member, however deep.
    ///
    /// # Errors
    /// The first member that does.
    pub(super) fn not_told(&self, card: &Value) -> Result<(), ToldAt> {
        self.nowhere(card, &mut Vec::new())
    }

    fn nowhere(&self, value: &Value, path: &mut Vec<String>) -> Result<(), ToldAt> {
        let told = |path: &[String]| Err(ToldAt(format!("/{}", path.join("/"))));
        match value {
            Value::String(text) if self.names(text) => return told(path),
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    path.push(n.to_string());
                    self.nowhere(item, path)?;
                    path.pop();
                }
            }
            Value::Object(members) => {
                for (n, (name, item)) in members.iter().enumerate() {
                    path.push(step(n, name));
                    if self.names(name) {
                        return told(path);
                    }
                    self.nowhere(item, path)?;
                    path.pop();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes every name of a context but the extension's out of a card that the gateway wrote: in prose other words stand in its place; a tag
    /// or example that has one is left out, and so are a skill whose `id` has one, a `provider`, and `name` and `version`, for which the
    /// gateway has its own.
    ///
    /// # Errors
    /// One stands in the security schemes or in what is required of them, but in their prose: without it callers would authenticate
    /// otherwise, or not at all.
    pub(super) fn hide(&self, card: &mut Map<String, Value>) -> Result<(), ToldAt> {
        let names = |value: &Value| value.as_str().is_some_and(|text| self.names(text));
        card.retain(|member, value| match member.as_str() {
            "name" | "version" => !names(value),
            "provider" => !value.as_object().is_some_and(|provider| provider.values().any(names)),
            _ => true,
        });
        for (member, value) in card.iter_mut() {
            match (member.as_str(), value) {
                ("description", said) => self.reword(said),
                ("skills", Value::Array(skills)) => {
                    skills.retain(|skill| !skill.get("id").is_some_and(names));
                    let said = skills.iter_mut().filter_map(Value::as_object_mut);
                    said.flat_map(Map::values_mut).for_each(|said| self.reword(said));
                }
                ("securitySchemes", Value::Object(schemes)) => {
                    let schemes = schemes.values_mut().filter_map(Value::as_object_mut);
                    schemes.for_each(|scheme| self.reword_scheme(scheme));
                }
                _ => {}
            }
        }
        // and nothing is left, but where the gateway itself says where it is
        let theirs =
            card.iter().filter(|(member, _)| !matches!(member.as_str(), "url" | "supportedInterfaces"));
        for (member, value) in theirs {
            self.nowhere(value, &mut vec![member.clone()])?;
        }
        Ok(())
    }

    /// Puts other words in the place of names in prose, and leaves texts of a list out that have one.
    fn reword(&self, said: &mut Value) {
        match said {
            Value::String(text) => {
                for place in self.named_in(text).into_iter().rev() {
                    text.replace_range(place, INSTEAD);
                }
            }
            Value::Array(texts) => texts.retain(|text| !text.as_str().is_some_and(|text| self.names(text))),
            _ => {}
        }
    }

    /// The prose of a scheme of 0.3, or of 1.0 with one member around it: its description and those of scopes.
    fn reword_scheme(&self, scheme: &mut Map<String, Value>) {
        for (member, value) in scheme.iter_mut() {
            match (member.as_str(), value) {
                ("description", said) => self.reword(said),
                ("flows", Value::Object(flows)) => {
                    let scopes =
                        flows.values_mut().filter_map(|flow| flow.get_mut("scopes")?.as_object_mut());
                    scopes.flat_map(Map::values_mut).for_each(|said| self.reword(said));
                }
                (_, Value::Object(inner)) => self.reword_scheme(inner),
                _ => {}
            }
        }
    }
}

/// The name of a member as an operator may read it; of one that the agent made up, where it stands.
fn step(n: usize, name: &str) -> String {
    let plain = name.len() <= MAX_TOLD && name.bytes().all(|b| b.is_ascii_alphanumeric());
    if plain { name.to_owned() } else { format!("*{n}") }
}

#[cfg(test)]
mod tests;
