//! Faults of a policy directory, in words for the operator.

use std::fmt;

use semgate_contexts::ContextUrn;

use crate::check::location_in;
use crate::{PolicySource, negotiated_terms};

/// Where in a policy file something is wrong: both counted from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// File name within the policy directory.
    pub file: String,
    /// Line, from 1; 0 where the fault has no place of its own.
    pub line: usize,
    /// Column in characters, from 1; 0 where the fault has no place of its own.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            f.write_str(&self.file)
        } else {
            write!(f, "{}:{}:{}", self.file, self.line, self.column)
        }
    }
}

/// Why a policy directory is not loaded. Nothing of a directory with a fault goes live.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyFault {
    /// The directory or a file in it cannot be read.
    Unreadable {
        /// The path.
        path: String,
        /// The system's reason.
        why: String,
    },
    /// A file beside the set whose name is one slip of typing away from one that is read: it would be ignored in silence.
    NearlyNamed {
        /// Its name.
        name: String,
        /// The name that was probably meant.
        meant: String,
    },
    /// A bound of [`PolicyLimits`](crate::PolicyLimits) is passed.
    TooLarge {
        /// The part that is too large.
        what: String,
        /// The bound.
        limit: usize,
    },
    /// There is no policy at all: absent is not "allow" (and not "deny in silence" either).
    Empty,
    /// A policy file without a policy, as a save that was cut or a full disk leaves one: what it forbade would be gone in silence.
    EmptyFile {
        /// Its name.
        name: String,
    },
    /// A policy file does not parse, or holds a template.
    Syntax {
        /// Where.
        location: Location,
        /// The reason.
        why: String,
    },
    /// A policy does not fit the schema generated from the loaded contexts: it names something that does not exist,
    /// compares the wrong type, or can never match.
    Invalid {
        /// Where.
        location: Location,
        /// The policy, `file#id`.
        policy: String,
        /// The reason.
        why: String,
        /// The likely intent, where it can be told.
        hint: Option<String>,
    },
    /// A policy names an agent or a group that `entities.json` does not have.
    UnknownEntity {
        /// Where.
        location: Location,
        /// The policy, `file#id`.
        policy: String,
        /// The name as Cedar writes it, such as `Group::"x"`.
        entity: String,
        /// The likely intent, where it can be told.
        hint: Option<String>,
    },
    /// No context is known that has a type of this name space: told once for all policies that speak of it.
    UnknownLine {
        /// The first policy that does.
        location: Location,
        /// The name space, as policies write it.
        space: String,
        /// How many policies do.
        policies: usize,
    },
    /// `entities.json` or `limits.json` is not strict JSON of the documented form.
    Json {
        /// Where the member stands, or what lacks it.
        location: Location,
        /// JSON Pointer of the member, or empty for the whole document.
        pointer: String,
        /// The reason.
        why: String,
    },
    /// `limits.json` names a line, a concept or a performative of it that no context has.
    UnknownToContexts {
        /// Where it names it.
        location: Location,
        /// The missing thing, as in `no context has the line ...`.
        why: String,
        /// The likely intent, where it can be told.
        hint: Option<String>,
    },
    /// The generated Cedar schema is not accepted: a fault of this program, kept as an error and not as a panic.
    Schema {
        /// Cedar's words.
        why: String,
    },
}

impl PolicyFault {
    /// Returns true if more contexts may mend it: a policy that does not fit the known ones, or a name that none of them has.
    #[must_use]
    pub const fn is_about_contexts(&self) -> bool {
        matches!(self, Self::Invalid { .. }) || self.waits_for_contexts()
    }

    /// Returns true if it waits for contexts that are not known: it names something that none of those has.
    #[must_use]
    pub const fn waits_for_contexts(&self) -> bool {
        matches!(self, Self::UnknownLine { .. } | Self::UnknownToContexts { .. })
    }
}

impl PolicyFault {
    /// The place that the fault is about, if it has one.
    #[must_use]
    pub const fn location(&self) -> Option<&Location> {
        location_in(self)
    }

    /// The line of the source that the fault is about, with a caret below its column.
    #[must_use]
    pub fn excerpt(&self, source: &PolicySource) -> Option<String> {
        let Location { file, line, column } = location_in(self)?;
        let json = std::str::from_utf8(&source.entities).ok().filter(|_| file == "entities.json");
        let policies = || source.files.iter().find(|(name, _)| name == file).map(|(_, text)| text.as_str());
        let text = json.or_else(policies)?.lines().nth(line.checked_sub(1)?)?;
        // a tab is as wide as the tab above it
        let before = text.chars().take(column.saturating_sub(1));
        let indent: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        Some(format!("    {text}\n    {indent}^"))
    }
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_hint = |f: &mut fmt::Formatter<'_>, hint: &Option<String>| match hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        };
        match self {
            Self::Unreadable { path, why } => write!(f, "`{path}` cannot be read: {why}"),
            Self::NearlyNamed { name, meant } => {
                write!(f, "`{}` is not read (did you mean `{meant}`?)", crate::source::spelt_out(name))
            }
            Self::TooLarge { what, limit } => write!(f, "{what}: more than {limit}"),
            Self::Empty => f.write_str("no policy: an empty policy set permits nothing and is never loaded"),
            Self::EmptyFile { name } => write!(
                f,
                "`{name}` holds no policy: an interrupted save leaves such a file, without the forbids that it held (put back what it held, \
                 or remove the file)"
            ),
            Self::Syntax { location, why } => write!(f, "{location}: {why}"),
            Self::Invalid { location, policy, why, hint } => {
                write!(f, "{location}: policy `{policy}`: {why}")?;
                with_hint(f, hint)
            }
            Self::UnknownEntity { location, policy, entity, hint } => {
                write!(f, "{location}: policy `{policy}`: `{entity}` is not in entities.json")?;
                with_hint(f, hint)
            }
            Self::UnknownLine { location, space, policies } => {
                let others = match policies.saturating_sub(1) {
                    0 => String::new(),
                    1 => " (one more policy names it)".to_owned(),
                    others => format!(" ({others} more policies name it)"),
                };
                if space == negotiated_terms::SPACE {
                    return write!(
                        f,
                        "{location}: no permit names a type of `{space}`{others}: a learnt term exists only when the \
                         scope of a permit names it; no authority and no `--context` adds it"
                    );
                }
                write!(
                    f,
                    "{location}: no known context has types of `{space}`{others}: they come with the authority that serves the line, \
                     or with `--context FILE` of `semgate policy check`"
                )
            }
            Self::Json { location, pointer, why } => {
                write!(f, "{location}: ")?;
                if !pointer.is_empty() {
                    write!(f, "at `{pointer}`: ")?;
                }
                f.write_str(why)
            }
            Self::UnknownToContexts { location, why, hint } => {
                write!(f, "{location}: {why}")?;
                with_hint(f, hint)
            }
            Self::Schema { why } => write!(f, "the generated schema is not accepted: {why}"),
        }
    }
}

impl std::error::Error for PolicyFault {}

/// A context that went live without the policies knowing it, so that every message under it is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The context.
    pub urn: ContextUrn,
    /// Why it cannot stand beside the others, or which policy it would have made invalid.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is left out: {}", self.urn, self.why)
    }
}
