//! URN lines and DNS names: `urn:contexts:acme.logistics` ↔ `logistics.acme.contexts.invalid` (`docs/spec/certificates.md`).
//!
//! X.509 can constrain DNS names but not URNs (RFC 5280 §4.2.1.10). So a delegation of lines is written as one of DNS names,
//! which every stock verifier enforces.

use semgate_contexts::{Line, Prefix};
use std::fmt;

/// The reserved DNS tree that all lines live in. `invalid` is reserved by RFC 6761 §6.4 and never resolves.
pub const CONTEXTS_TREE: &str = "contexts.invalid";

/// The reason that a DNS name stands for no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameFault {
    /// The name is not one label or more below `contexts.invalid`, in lower case.
    OutsideTree,
    /// A wildcard.
    Wildcard,
    /// The labels are not those of a line.
    NotALine,
    /// Not a host name that a server certificate can carry.
    NotAHost,
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameFault::OutsideTree => "the dns name is not below `contexts.invalid`",
            NameFault::Wildcard => "the dns name is a wildcard",
            NameFault::NotALine => "the dns name does not stand for a line",
            NameFault::NotAHost => "the name is not a host name",
        })
    }
}

impl std::error::Error for NameFault {}

/// The DNS form of a line: its labels reversed, in lower case (DNS ignores case), below `contexts.invalid`. The bounds of a
/// line ensure a valid DNS name (RFC 1035 §2.3.4).
pub fn dns_of_line(line: &Line) -> String {
    let mut dns = String::with_capacity(line.as_str().len() + 1 + CONTEXTS_TREE.len());
    for label in line.labels().rev() {
        dns.push_str(&label.to_ascii_lowercase());
        dns.push('.');
    }
    dns.push_str(CONTEXTS_TREE);
    dns
}

/// The line, in lower case, whose DNS form this is. Lines that differ only in case share one DNS name, so this is the
/// inverse of [`dns_of_line`] for lower-case lines only.
///
/// # Errors
/// A wildcard, a name outside `contexts.invalid` or in upper case, and labels that are not a line's.
pub fn line_of_dns(dns: &str) -> Result<Line, NameFault> {
    if dns.contains('*') {
        return Err(NameFault::Wildcard);
    }
    let below = dns.strip_suffix(CONTEXTS_TREE).and_then(|rest| rest.strip_suffix('.'));
    let below = below.ok_or(NameFault::OutsideTree)?;
    if below.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(NameFault::OutsideTree);
    }
    let reversed: Vec<&str> = below.rsplit('.').collect();
    Line::parse(&reversed.join(".")).map_err(|_| NameFault::NotALine)
}

/// The URI form of a line, `urn:contexts:<line>`, case kept.
pub fn uri_of_line(prefix: &Prefix, line: &Line) -> String {
    format!("{}:{line}", prefix.as_str())
}

/// The line whose URI form this is, under just this prefix.
pub(crate) fn line_of_uri(prefix: &Prefix, uri: &str) -> Option<Line> {
    Line::parse(uri.strip_prefix(prefix.as_str())?.strip_prefix(':')?).ok()
}

/// The relation of a DNS name to a subtree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SubtreeRelation {
    Inside,
    Outside,
}

/// The relation of `dns` to the tree of `base` (RFC 5280 §4.2.1.10: labels may be added on the left). Case is ignored in
/// both.
pub(crate) fn relation_to_subtree(dns: &str, base: &str) -> SubtreeRelation {
    let (dns, base) = (dns.as_bytes(), base.as_bytes());
    let Some(cut) = dns.len().checked_sub(base.len()) else { return SubtreeRelation::Outside };
    let (left, right) = dns.split_at(cut);
    match right.eq_ignore_ascii_case(base) && left.last().is_none_or(|b| *b == b'.') {
        true => SubtreeRelation::Inside,
        false => SubtreeRelation::Outside,
    }
}

#[cfg(test)]
mod tests;
