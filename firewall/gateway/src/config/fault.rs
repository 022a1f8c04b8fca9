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
    /// Invalid TOML, an unknown key, a missing key or a value of the wrong type.
    Syntax {
        /// Line number, from 1; 0 if unknown.
        line: usize,
        /// The parser's message.
        what: String,
    },
    /// A value in the wrong form or out of bounds.
    Value {
        /// Line number, from 1; 0 if several keys disagree.
        line: usize,
        /// Key with the table's name.
        key: String,
        /// Required form or bounds.
        must: String,
    },
    /// A key of an earlier version, whose value is a constant now.
    Fixed {
        /// Line number, from 1.
        line: usize,
        /// Key with the table's name.
        key: String,
        /// The constant.
        bound: &'static str,
    },
    /// A listener or upstream without TLS that is not local.
    PlainText {
        /// Key of the address.
        key: String,
    },
    /// Two tables with the same name, address or line.
    Twice {
        /// Key of the second value.
        key: String,
        /// The repeated value.
        what: String,
    },
    /// A setting that another setting requires is missing.
    Missing {
        /// Key of the missing setting.
        key: String,
        /// The setting that requires it.
        needed: String,
    },
}

impl ConfigFault {
    pub(super) fn value(key: impl Into<String>, must: impl Into<String>) -> Self {
        Self::Value { line: 0, key: key.into(), must: must.into() }
    }

    pub(super) fn missing(key: impl Into<String>, needed: impl Into<String>) -> Self {
        Self::Missing { key: key.into(), needed: needed.into() }
    }

    /// The fault of a parser in this text. `table` stands before the key.
    pub(super) fn parsed(mut fault: toml::de::Error, text: &str, table: &str) -> Self {
        let line = fault.span().map_or(0, |span| line(text, &span));
        let what = hinted(fault.message().lines().next().unwrap_or_default());
        // without its input, the parser prints the key in place of an extract
        fault.set_input(None);
        let printed = fault.to_string();
        let key = printed.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'));
        let key = format!("{table}{}", key.unwrap_or_default());
        match what.strip_prefix("must be ") {
            Some(must) => Self::Value { line, key, must: must.to_owned() },
            None if key.is_empty() => Self::Syntax { line, what },
            None => Self::Syntax { line, what: format!("`{key}`: {what}") },
        }
    }
}

/// Line number of the start of a span, from 1.
pub(super) fn line(text: &str, span: &Range<usize>) -> usize {
    let before = text.get(..span.start).unwrap_or_default();
    before.bytes().filter(|b| *b == b'\n').count().saturating_add(1)
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
            Self::Value { line, .. } | Self::Fixed { line, .. } if *line > 0 => write!(f, "line {line}: ")?,
            _ => {}
        }
        match self {
            Self::Read { path, what } => write!(f, "cannot read `{}`: {what}", path.display()),
            Self::Syntax { line, what } => write!(f, "line {line}: {what}"),
            Self::Value { key, must, .. } => write!(f, "`{key}` must be {must}"),
            Self::Fixed { key, bound, .. } => {
                write!(f, "`{key}` is no longer configurable: the bound is {bound}")
            }
            Self::PlainText { key } => {
                write!(f, "`{key}` is without tls and not on loopback or a unix socket")
            }
            Self::Twice { key, what } => write!(f, "`{key}` names `{what}` twice"),
            Self::Missing { key, needed } => write!(f, "`{key}` is missing: {needed}"),
        }
    }
}

impl std::error::Error for ConfigFault {}
