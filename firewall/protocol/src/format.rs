//! Formats: content with a header and a vocabulary of its own, which messages of another binding carry.

use crate::Vocabulary;
use semgate_contexts::Version;

/// A format of content that a route may admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContentFormat {
    /// SSTP L9, in data parts of A2A.
    Sstp,
}

impl ContentFormat {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Sstp];

    /// The line of the context that defines the format, and the key of an agent's name in it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sstp => "sstp",
        }
    }

    /// The line and version of the context that defines the format.
    pub const fn vocabulary(self) -> (&'static str, Version) {
        match self {
            Self::Sstp => (self.as_str(), Version::new(1, 0)),
        }
    }
}

/// An agent that content names as a party of its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party<'j> {
    /// The name as written.
    pub name: &'j str,
    /// The side that the name must belong to.
    pub side: PartySide,
    /// The key of such names in `names` of `entities.json`: that of the binding or of the format.
    pub names: &'static str,
}

/// The side of a [`Party`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartySide {
    /// The verified sender of the message.
    Sender,
    /// The receiver of the message, or a group that has it as a member.
    Receiver,
}

impl PartySide {
    /// The other side.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }
}

/// An instance that names a term of the message's context only if that context defines the name. Otherwise a term of
/// another vocabulary judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Otherwise {
    /// Its index in [`crate::Message::instances`].
    pub instance: usize,
    /// The other vocabulary.
    pub of: Vocabulary,
    /// Its term.
    pub term: &'static str,
}
