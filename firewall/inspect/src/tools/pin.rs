//! Pins: the signed forms of a tool.

use semgate_contexts::{Context, Digest, Term, TermKind, canonical::jcs};
use serde_json::Value;

use super::param_headers::MARK;

/// First word of a pin, in the `$comment` of a task's parameters.
pub const TOOL_MARK: &str = "mcp-tool";

/// Digest of a tool object from `tools/list`; none if it has no canonical form, which no pin can sign.
pub fn digest_of(tool: &Value) -> Option<Digest> {
    jcs(tool).ok().map(|bytes| Digest::of(&bytes))
}

/// Text of a pin. `headers` are the words of [`headers`](super::headers).
pub fn comment(tool: &str, digests: &[Digest], headers: &[String]) -> String {
    let digests = digests.iter().map(ToString::to_string);
    let words: Vec<String> = digests.chain(headers.iter().cloned()).map(|word| format!(" {word}")).collect();
    format!("{TOOL_MARK} {tool}{}", words.concat())
}

/// A task that is a tool, with its signed digests.
#[derive(Debug)]
pub(crate) struct Pinned<'c> {
    pub term: &'c Term,
    digests: Vec<&'c str>,
    /// Headers that repeat arguments: rest of the header name, and pointer to the argument.
    pub headers: Vec<(&'c str, &'c str)>,
}

impl Pinned<'_> {
    /// Digests of all signed forms, as text.
    pub fn forms(&self) -> &[&str] {
        &self.digests
    }
}

/// The task of a context for the tool of this exact name.
pub(crate) fn task_of<'c>(context: &'c Context, tool: &str) -> Option<Pinned<'c>> {
    // most tools share the name of their task
    let own = context.term(tool).and_then(|term| pinned(term, tool));
    own.or_else(|| context.terms().find_map(|term| pinned(term, tool)))
}

fn pinned<'c>(term: &'c Term, tool: &str) -> Option<Pinned<'c>> {
    pins(term).filter(|(name, _)| *name == tool).map(|(_, pinned)| pinned)
}

/// The tool of a term, if it is one.
pub(super) fn pins(term: &Term) -> Option<(&str, Pinned<'_>)> {
    if term.kind() != TermKind::Task {
        return None;
    }
    let parameters = term.shapes().next()?;
    let mut words = parameters.schema().get("$comment")?.as_str()?.split(' ');
    let tool = words.next().filter(|mark| *mark == TOOL_MARK).and_then(|_| words.next())?;
    let (mut digests, mut headers) = (Vec::new(), Vec::new());
    for word in words {
        match word.strip_prefix(MARK) {
            Some(header) => headers.push(header.split_once('=')?),
            None => digests.push(word),
        }
    }
    Some((tool, Pinned { term, digests, headers }))
}
