//! Content outside the message's context that a route may admit.

use crate::Pointer;
use std::fmt;

/// Parts outside the message's context that a route admits. All are refused by default. An admitted part is an instance of
/// the protocol's own context, so policy must still permit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextParts {
    /// Admit `text` parts, and names and descriptions of artifacts.
    pub text: bool,
    /// Admit `raw` (file) parts.
    pub raw: bool,
    /// Admit `url` parts.
    pub url: bool,
    /// Admit data that names no concept, metadata besides the claim, and other extensions.
    pub data: bool,
}

/// A value of the route's `admit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admit {
    /// `text`: texts.
    Text,
    /// `file`: files and URLs.
    File,
    /// `data`: data that names no concept, and metadata.
    Data,
}

impl Admit {
    /// The value as configurations write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::File => "file",
            Self::Data => "data",
        }
    }

    /// The kinds of content that the value admits, as words of a sentence.
    pub const fn kinds(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::File => "a file or a url",
            Self::Data => "data or metadata without a concept",
        }
    }
}

/// Content that the route does not admit.
#[derive(Clone, Debug)]
pub struct Unadmitted<'j> {
    /// The position in the message.
    pub pointer: Pointer<'j>,
    /// The value of `admit` that would take it.
    pub admit: Admit,
}

impl fmt::Display for Unadmitted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pointer.fmt(f)
    }
}
