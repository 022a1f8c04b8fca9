//! Texts of a request that its answer repeats.

/// Texts of a request that its answer repeats or is compared with, by names that only the request's binding reads.
///
/// It stays with the request until the answer, and with the refusal of either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Echo(Vec<(&'static str, Box<str>)>);

impl Echo {
    /// The text of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| &**text)
    }

    /// Adds a text; the first of a name stays.
    pub fn put(&mut self, name: &'static str, text: &str) {
        if self.get(name).is_none() {
            self.0.push((name, text.into()));
        }
    }

    /// Adds the texts of another request whose names are absent here.
    pub fn fill(&mut self, other: &Self) {
        other.0.iter().for_each(|(name, text)| self.put(name, text));
    }
}
