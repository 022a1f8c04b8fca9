//! Names of contexts in the members of a card that machines read. A public card names the extension only (F0-47).
//!
//! A name is a URN as it is written. Prose is not searched: it passes only where the route says so, and is not inspected there.

use serde_json::Value;

/// Bytes of the name of a member that the operator reads: those that A2A defines have 33 at most.
const MAX_MEMBER: usize = 64;

/// The URN of the extension, and the prefix of every context's URN.
#[derive(Clone, Debug)]
pub(super) struct Extension {
    uri: String,
    /// `urn:contexts:`, in lower case.
    namespace: String,
    /// The rest of the extension's URN, in lower case.
    own: String,
}

/// The member of a card that names a context, as a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedAt(pub(super) String);

impl Extension {
    /// `uri` is that of the extension: LINE:VERSION after the namespace of all contexts.
    pub(super) fn new(uri: String) -> Self {
        let lower = uri.to_ascii_lowercase();
        let own = lower.rmatch_indices(':').nth(1).map_or(lower.len(), |(at, _)| at + 1);
        let (namespace, own) = lower.split_at_checked(own).unwrap_or((&lower, ""));
        Self { namespace: namespace.to_owned(), own: own.to_owned(), uri }
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// True if the text holds the URN of another context than the extension, in whatever case of letters.
    pub(super) fn is_not_alone_in(&self, text: &str) -> bool {
        let lower = text.to_ascii_lowercase();
        let mut rest = lower.as_str();
        while let Some((_, name)) = rest.split_once(&self.namespace) {
            if !name.starts_with(&self.own) {
                return true;
            }
            rest = name;
        }
        false
    }

    /// Demands that a value names no context but the extension, in a text or in the name of a member, however deep.
    ///
    /// # Errors
    /// The first member that does, below `path`.
    pub(super) fn alone_in(&self, value: &Value, path: &str) -> Result<(), NamedAt> {
        match value {
            Value::String(text) if self.is_not_alone_in(text) => Err(NamedAt(path.to_owned())),
            Value::Array(items) => {
                let mut items = items.iter().enumerate();
                items.try_for_each(|(n, item)| self.alone_in(item, &format!("{path}/{n}")))
            }
            Value::Object(members) => members.iter().enumerate().try_for_each(|(n, (name, item))| {
                let path = format!("{path}/{}", step(n, name));
                if self.is_not_alone_in(name) {
                    return Err(NamedAt(path));
                }
                self.alone_in(item, &path)
            }),
            _ => Ok(()),
        }
    }
}

/// The name of a member as an operator may read it. A name that the agent made up is told by its position.
fn step(n: usize, name: &str) -> String {
    let plain = name.len() <= MAX_MEMBER && name.bytes().all(|b| b.is_ascii_alphanumeric());
    if plain { name.to_owned() } else { format!("*{n}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_extension_may_be_named() {
        let extension = Extension::new("urn:contexts:snl:v1.0".to_owned());
        for text in [
            "urn:contexts:snl:v1.0",
            "an agent",
            "payment:v1.1",
            "URN:Contexts:SNL:v1.0, twice urn:contexts:snl:v1.0",
        ] {
            assert!(!extension.is_not_alone_in(text), "{text}");
        }
        for text in [
            "urn:contexts:travel:v2.1",
            "urn:contexts:snl:v1.0,URN:contexts:payment",
            "https://a.test/urn:contexts:",
        ] {
            assert!(extension.is_not_alone_in(text), "{text}");
        }
    }
}
