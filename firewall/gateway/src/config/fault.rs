//! Reasons for refusing a configuration.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// Similarity above which a known word counts as the meant one.
const CLOSE: f64 = 0.8;

/// One line for the operator. It names the key and never the value of a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFault {
    /// The file cannot be read.
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The system's error message.
        what: String,
    },
    /// Invalid TOML, an unknown key, an invalid value, or settings that disagree.
    Wrong {
        /// Line number, from 1; 0 if several lines disagree.
        line: usize,
        /// Column in characters, from 1; 0 if several lines disagree.
        column: usize,
        /// The key, and the required form or bounds.
        what: String,
    },
}

impl ConfigFault {
    /// A value in the wrong form or out of bounds.
    pub(super) fn value(key: impl fmt::Display, must: impl fmt::Display) -> Self {
        Self::Wrong { line: 0, column: 0, what: format!("`{key}` must be {must}") }
    }

    /// A setting that another one requires.
    pub(super) fn missing(key: impl fmt::Display, needed: impl fmt::Display) -> Self {
        Self::Wrong { line: 0, column: 0, what: format!("`{key}` is missing: {needed}") }
    }

    /// A listener or upstream without TLS that is not local.
    pub(super) fn plain_text(key: impl fmt::Display) -> Self {
        let what = format!("`{key}` has no tls, and is neither on loopback nor a unix socket");
        Self::Wrong { line: 0, column: 0, what }
    }

    /// A name, address or line of two tables.
    pub(super) fn twice(key: impl fmt::Display, name: impl fmt::Display) -> Self {
        Self::Wrong { line: 0, column: 0, what: format!("`{key}` names `{name}` twice") }
    }

    /// Adds the line of a span in this text.
    pub(super) fn at(self, text: &str, span: &Range<usize>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let line = before.bytes().filter(|b| *b == b'\n').count().saturating_add(1);
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count().saturating_add(1);
        match self {
            Self::Wrong { what, .. } => Self::Wrong { line, column, what },
            read @ Self::Read { .. } => read,
        }
    }

    /// The fault of a parser in this text. `table` stands before the key.
    pub(super) fn parsed(mut fault: toml::de::Error, text: &str, table: &str) -> Self {
        let what = hinted(fault.message().lines().next().unwrap_or_default());
        // without its input, the parser prints the key in place of an extract
        fault.set_input(None);
        let printed = fault.to_string();
        let key = printed.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'));
        let missing = what.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let key = format!("{table}{}", key.or(missing).unwrap_or_default());
        let wrong = match what.strip_prefix("must be ") {
            Some(must) => Self::value(key, must),
            None if key.is_empty() => Self::Wrong { line: 0, column: 0, what },
            None => Self::Wrong { line: 0, column: 0, what: format!("`{key}`: {what}") },
        };
        match fault.span() {
            Some(span) => wrong.at(text, &span),
            None => wrong,
        }
    }
}

/// Puts the closest known word in place of the list of all, which the parser names after an unknown one.
fn hinted(what: &str) -> String {
    let mut words = what.split('`').skip(1).step_by(2);
    let unknown = words.next().filter(|_| what.starts_with("unknown "));
    let close = unknown.and_then(|unknown| closest(unknown, words));
    match (close, what.split_once(',')) {
        (Some(word), Some((unknown, _))) => format!("{unknown}; did you mean `{word}`?"),
        _ => what.to_owned(),
    }
}

/// The known word that is most similar, if any is close.
pub(super) fn closest<'w>(unknown: &str, known: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let similar = known.map(|word| (strsim::jaro_winkler(unknown, word), word));
    let best = similar.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity > CLOSE).map(|(_, word)| word)
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, what } => write!(f, "cannot read `{}`: {what}", path.display()),
            Self::Wrong { line: 0, column: 0, what } => f.write_str(what),
            Self::Wrong { line, what, .. } => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for ConfigFault {}
