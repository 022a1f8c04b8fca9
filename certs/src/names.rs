//! URN lines and DNS names: `urn:contexts:acme.logistics` ↔ `logistics.acme.contexts.invalid` (DESIGN §3).

use semgate_contexts::{Line, Prefix};
use std::fmt;

/// The reserved DNS tree that all lines live in. `invalid` is reserved by RFC 6761 §6.4 and never resolves.
pub const CONTEXTS_TREE: &str = "contexts.invalid";

/// Why a name stands for no line, or a line has no DNS form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// A label of more than 63 bytes, or a name of more than 253 (RFC 1035 §2.3.4).
    TooLong,
    /// The name is not one label or more below `contexts.invalid`.
    OutsideTree,
    /// A wildcard.
    Wildcard,
    /// The labels are not those of a line.
    NotALine,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameFault::TooLong => "the line is too long for a dns name",
            NameFault::OutsideTree => "the dns name is not below `contexts.invalid`",
            NameFault::Wildcard => "the dns name is a wildcard",
            NameFault::NotALine => "the dns name does not stand for a line",
        })
    }
}

impl std::error::Error for NameFault {}

/// The DNS form of a line: its labels reversed, in lower case (DNS knows no case), below `contexts.invalid`.
pub fn dns_of_line(_line: &Line) -> Result<String, NameFault> {
    todo!()
}

/// The line, in lower case, whose DNS form this is. Lines that differ only in case share one DNS name.
pub fn line_of_dns(_dns: &str) -> Result<Line, NameFault> {
    todo!()
}

/// The URI form of a line, `urn:contexts:<line>`.
pub fn uri_of_line(_prefix: &Prefix, _line: &Line) -> String {
    todo!()
}
