//! What can be wrong with a policy directory, in words for the operator.

use std::fmt;

use semgate_contexts::ContextUrn;

use crate::learnt;

/// Where in a policy file something is wrong: both counted from 1, the column in characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// File name within the policy directory.
    pub file: String,
    /// Line, from 1; 0 where the fault has no place of its own.
    pub line: usize,
    /// Column in characters, from 1; 0 where the fault has no place of its own.
    pub column: usize,
}

impl fmt::Display for Place {
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
        /// What is too large.
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
    /// There is no `permit`, and no `forbid` of everything that says so: nothing could ever pass.
    NoPermit {
        /// The first policy.
        place: Place,
    },
    /// A policy file does not parse, or holds a template.
    Syntax {
        /// Where.
        place: Place,
        /// What is wrong.
        why: String,
    },
    /// Two policies have the same id.
    DuplicatePolicy {
        /// The second one.
        place: Place,
        /// The id.
        id: String,
    },
    /// A policy does not fit the schema generated from the loaded contexts: it names something that does not exist,
    /// compares the wrong type, or can never match.
    Invalid {
        /// Where.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// What is wrong.
        why: String,
        /// What was probably meant, where that can be told.
        hint: Option<String>,
    },
    /// All versions that a policy can match are below the floor of their line, so that none of their messages comes to be judged.
    BelowFloor {
        /// Where.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// Which versions, and which floor.
        why: String,
    },
    /// All whom a policy is about never come: they are disabled, or of a trust domain that no configuration has. Never a reason not to
    /// load a set, since disabling somebody must take effect; `policy check` refuses it.
    NobodyComes {
        /// Where.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// Who does not come, and why.
        why: String,
    },
    /// Permits beside a `forbid` of everything: they permit nothing for as long as it stands. Never a reason not to load a set, since
    /// whoever stops everything must have it stopped; told once, and `policy check` refuses it.
    Stopped {
        /// Where the forbid stands.
        place: Place,
        /// The forbid, `file#id`.
        policy: String,
        /// How many permits it leaves nothing.
        permits: usize,
    },
    /// A forbid that names majors of a concept, beside a permit that names none and lets another major pass, now or once it is published.
    /// Advice: it may be meant, so that neither a load nor `policy check` ends with it.
    OtherMajor {
        /// Where the forbid stands.
        place: Place,
        /// The forbid, `file#id`.
        policy: String,
        /// Which major passes, and by which permit.
        why: String,
    },
    /// A policy is about no message that the routes of the configuration carry. Advice, like [`Self::OtherMajor`].
    OffRoutes {
        /// Where its condition begins, or itself.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// What no route has.
        why: String,
    },
    /// A text has signs of the patterns of another language, which stand for themselves. Advice, like [`Self::OtherMajor`].
    PlainSigns {
        /// Where it stands.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// Which, and what is written instead.
        why: String,
    },
    /// A policy asks for a question about a parameter that no loaded context has. Advice, like [`Self::OtherMajor`].
    NoParameter {
        /// Where the parameter stands.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// The parameter.
        name: String,
        /// What was probably meant.
        hint: Option<String>,
    },
    /// A forbid keeps away from MCP what is no tool of it. Advice, like [`Self::OtherMajor`].
    NoTool {
        /// Where its condition begins.
        place: Place,
        /// The forbid, `file#id`.
        policy: String,
    },
    /// A `@limit` or `@redact` beside `@approve`, which does nothing until somebody can be asked. Advice, like [`Self::OtherMajor`].
    Waiting {
        /// Where the annotation stands.
        place: Place,
        /// The permit, `file#id`.
        policy: String,
        /// Which of the two.
        why: String,
    },
    /// A policy names an agent or a group that `entities.json` does not have.
    UnknownEntity {
        /// Where.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// The name as Cedar writes it, such as `Group::"x"`.
        entity: String,
        /// What was probably meant, where that can be told.
        hint: Option<String>,
    },
    /// A policy asks for a credential of an issuer of tokens that the gateway does not configure, so that nobody ever shows it.
    UnknownIssuer {
        /// Where.
        place: Place,
        /// The policy, `file#id`.
        policy: String,
        /// The credential, `token:ISSUER:NAME`.
        credential: String,
        /// What was probably meant, or which issuers there are.
        hint: String,
    },
    /// No context is known that has a type of this name space: told once for all policies that speak of it.
    UnknownLine {
        /// The first policy that does.
        place: Place,
        /// The name space, as policies write it.
        space: String,
        /// How many policies do.
        policies: usize,
    },
    /// `entities.json` is not strict JSON of the documented form.
    Entities {
        /// Where the member stands, or what lacks it.
        place: Place,
        /// JSON Pointer of the member, or empty for the whole document.
        pointer: String,
        /// What is wrong with it.
        why: String,
    },
    /// `limits.json` is not strict JSON of the documented form, or names what `entities.json` does not have.
    Limits {
        /// Where the member stands, or what lacks it.
        place: Place,
        /// JSON Pointer of the member, or empty for the whole document.
        pointer: String,
        /// What is wrong with it.
        why: String,
    },
    /// `limits.json` names a line, a concept or a performative of it that no context has.
    UnknownToContexts {
        /// Where it names it.
        place: Place,
        /// What there is not, as in `no context has the line ...`.
        why: String,
        /// What was probably meant, where that can be told.
        hint: Option<String>,
    },
    /// The generated Cedar schema is not accepted: a fault of this program, kept as an error and not as a panic.
    Schema {
        /// Cedar's words.
        why: String,
    },
}

impl PolicyFault {
    /// Whether it may be gone once more contexts are known: a policy that does not fit those that there are or could match none of them from
    /// its floor on, or a name that none of them has.
    #[must_use]
    pub const fn is_about_contexts(&self) -> bool {
        matches!(self, Self::Invalid { .. } | Self::BelowFloor { .. }) || self.waits_for_contexts()
    }

    /// Whether it waits for contexts that are not known: it names something that none of those has.
    #[must_use]
    pub const fn waits_for_contexts(&self) -> bool {
        matches!(self, Self::UnknownLine { .. } | Self::UnknownToContexts { .. })
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
                write!(f, "`{}` would not be read (did you mean `{meant}`?)", crate::source::spelt_out(name))
            }
            Self::TooLarge { what, limit } => write!(f, "{what}: more than {limit}"),
            Self::Empty => f.write_str("no policy: an empty policy set permits nothing and is never loaded"),
            Self::EmptyFile { name } => write!(
                f,
                "`{name}` holds no policy: a save that was cut leaves such a file, and nobody misses what it forbade (put back what it held, \
                 or remove the file)"
            ),
            Self::NoPermit { place } => write!(
                f,
                "{place}: no policy of the set is a `permit`, so that nothing can ever pass (permit what may; a set that is to stop \
                 everything says `forbid (principal, action, resource);`)"
            ),
            Self::Syntax { place, why } => write!(f, "{place}: {why}"),
            Self::DuplicatePolicy { place, id } => {
                write!(f, "{place}: a second policy with the id `{id}`")
            }
            Self::Invalid { place, policy, why, hint } => {
                write!(f, "{place}: policy `{policy}`: {why}")?;
                with_hint(f, hint)
            }
            Self::BelowFloor { place, policy, why }
            | Self::NobodyComes { place, policy, why }
            | Self::PlainSigns { place, policy, why }
            | Self::Waiting { place, policy, why } => {
                write!(f, "{place}: policy `{policy}`: {why}")
            }
            Self::NoParameter { place, policy, name, hint } => {
                write!(
                    f,
                    "{place}: policy `{policy}`: no known context has a parameter `{name}`, so that such a message is refused before policies are \
                     asked"
                )?;
                with_hint(f, hint)
            }
            Self::NoTool { place, policy } => write!(
                f,
                "{place}: policy `{policy}`: it does nothing before a version makes a tool of it: MCP says tools of signed contexts alone"
            ),
            Self::OffRoutes { place, policy, why } => {
                write!(
                    f,
                    "{place}: policy `{policy}`: it is about no message on the routes of the configuration: {why}"
                )
            }
            Self::OtherMajor { place, policy, why } => write!(
                f,
                "{place}: policy `{policy}`: {why} (a forbid with an open `resource` reaches every major: `context.line == \"…\"`; a permit \
                 that names the type says that it is meant)"
            ),
            Self::Stopped { place, policy, permits } => {
                let permits = match permits {
                    1 => "1 permit permits".to_owned(),
                    more => format!("{more} permits permit"),
                };
                write!(f, "{place}: policy `{policy}`: {permits} nothing while it forbids everything")
            }
            Self::UnknownEntity { place, policy, entity, hint } => {
                write!(f, "{place}: policy `{policy}`: `{entity}` is not in entities.json")?;
                with_hint(f, hint)
            }
            Self::UnknownIssuer { place, policy, credential, hint } => {
                write!(
                    f,
                    "{place}: policy `{policy}`: nobody can show `{credential}`: no issuer of that name is configured ({hint})"
                )
            }
            Self::UnknownLine { place, space, policies } => {
                let others = match policies.saturating_sub(1) {
                    0 => String::new(),
                    1 => " (one more policy speaks of it)".to_owned(),
                    others => format!(" ({others} more policies speak of it)"),
                };
                if space == learnt::SPACE {
                    return write!(
                        f,
                        "{place}: no permit names a type of `{space}`{others}: what two agents settle between themselves is there once the \
                         scope of a permit names it, and comes with no authority and no `--context`"
                    );
                }
                write!(
                    f,
                    "{place}: no context is known that has types of `{space}`{others}: they come with the authority that serves the line, \
                     or with `--context FILE` of `semgate policy check`"
                )
            }
            Self::Entities { place, pointer, why } | Self::Limits { place, pointer, why } => {
                write!(f, "{place}: ")?;
                if !pointer.is_empty() {
                    write!(f, "at `{pointer}`: ")?;
                }
                f.write_str(why)
            }
            Self::UnknownToContexts { place, why, hint } => {
                write!(f, "{place}: {why}")?;
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
