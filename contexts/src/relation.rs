//! Relations between the names of a document: for readers, for models and for exports. They judge no message.

use std::fmt;

use crate::field::FieldType;
use crate::term::Term;

/// The kind of a relation. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelationKind {
    /// The subject has no meaning without the object.
    Requires,
    /// The subject is a part of the object.
    PartOf,
    /// Both mean the same. The object may be an IRI of somebody else's vocabulary.
    SameAs,
}

impl RelationKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Requires, Self::PartOf, Self::SameAs];

    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requires => "requires",
            Self::PartOf => "part_of",
            Self::SameAs => "same_as",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

impl fmt::Display for RelationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One relation. A name is a concept or task (`bookFlight`), or one with a parameter (`bookFlight/dest_code`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Relation {
    /// A name of the document.
    pub subject: String,
    /// The kind.
    pub kind: RelationKind,
    /// Another name of the document; with [`RelationKind::SameAs`] also an absolute IRI.
    pub object: String,
}

/// Returns true if the term has a parameter of this name, at any depth.
pub(crate) fn has_parameter(term: &Term, name: &str) -> bool {
    term.shapes().next().is_some_and(|shape| holds(shape.fields(), name))
}

fn holds(kind: &FieldType, name: &str) -> bool {
    match kind.present() {
        FieldType::Record(fields) => {
            fields.contains_key(name) || fields.values().any(|field| holds(&field.kind, name))
        }
        FieldType::Array(items) => holds(items, name),
        _ => false,
    }
}
