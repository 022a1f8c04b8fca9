//! The members of a shape as policies are typed by them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::vectors::VectorType;

/// The members of an object, by name.
pub(crate) type Members = BTreeMap<String, Field>;

/// The type of a member, without references: the view from which policies are typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldType {
    /// A string.
    Text {
        /// `x-free-text`: prose, not a name or a code.
        free_text: bool,
        /// The code list (`x-code-list`) that its value is in.
        code_list: Option<String>,
        /// The `format` that is asserted of every value, where policies have a type for it.
        format: Option<Format>,
        /// All values that it can have (`enum`, `const`, a code list); `None` if the schema does not list them.
        values: Option<Arc<BTreeSet<String>>>,
    },
    /// `true` or `false`.
    Boolean,
    /// An integral number, however written.
    Integer,
    /// A number whose `multipleOf` is a multiple of 0.0001: exact in four decimals.
    Decimal,
    /// Any other number; policies do not see it.
    OtherNumber,
    /// An array whose items all have this type.
    Array(Box<FieldType>),
    /// A vector of an embedding model (`x-embedding`): policies see its model and its similarity to reference vectors, and no number of it.
    Vector(VectorType),
    /// An object with these named members, including those in the branches of its unions. Other members of an open object are
    /// not listed.
    Record(BTreeMap<String, Field>),
    /// Null, or this type.
    Nullable(Box<FieldType>),
    /// A union of types, a recursive or untyped schema: it guarantees nothing.
    Opaque,
}

/// A format that says more than its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// `date`: a day (RFC 3339, full-date).
    Date,
    /// `date-time`: an instant (RFC 3339).
    DateTime,
    /// `duration` (RFC 3339, Appendix A).
    Duration,
    /// `ipv4` or `ipv6`.
    IpAddress,
}

impl FieldType {
    /// A string about which nothing more is known.
    #[must_use]
    pub const fn text() -> Self {
        Self::Text { free_text: false, code_list: None, format: None, values: None }
    }

    /// The type where it is not null.
    #[must_use]
    pub fn present(&self) -> &Self {
        match self {
            Self::Nullable(inner) => inner.present(),
            other => other,
        }
    }
}

/// One member of a [`FieldType::Record`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The type.
    pub kind: FieldType,
    /// True if every instance has it.
    pub required: bool,
}
