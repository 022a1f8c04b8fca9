//! Refusals of schemas, and of content that does not fit one.

use std::fmt;

/// The reason that content does not fit: location and rule, never a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentFault {
    /// JSON Pointer (RFC 6901) into the instance. A segment that is no index and that the schema does not name is written
    /// `*`, since names of members are content too.
    pub path: String,
    /// The keyword that refused, such as `required` or `x-code-list`.
    pub rule: String,
}

impl fmt::Display for ContentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` does not fit the rule `{}`", self.path, self.rule)
    }
}

impl std::error::Error for ContentFault {}

/// The reason that a schema is refused. It holds no value of a message: documents are public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaFault {
    /// Neither an object nor a boolean.
    NotASchema,
    /// A keyword that this profile does not know; a typo would silently do nothing.
    UnknownKeyword {
        /// The keyword, at most 64 characters of it.
        keyword: String,
    },
    /// A keyword of JSON Schema that contexts do not use.
    RefusedKeyword {
        /// The keyword.
        keyword: String,
        /// The reason.
        why: &'static str,
    },
    /// The value of a keyword is not of the demanded form.
    KeywordValue {
        /// The keyword.
        keyword: String,
        /// The demand on it.
        must: &'static str,
    },
    /// A `$ref` that leads nowhere, or out of the document.
    Reference {
        /// The reason.
        why: &'static str,
    },
    /// References that lead back to the same value of an instance: validation would never end.
    Cycle,
    /// The schema of a concept, of parameters or of results takes something else than objects.
    NotAnObject,
    /// `x-code-list` names a list that `codes` does not have.
    UnknownCodeList,
    /// A performative that does not exist, twice, or none at all.
    Performatives,
    /// More of something than allowed.
    Limit {
        /// The counted things.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// One value of a message could cause more subschema evaluations than allowed.
    Work {
        /// Evaluations, worst case.
        work: u64,
        /// The bound.
        limit: u64,
    },
    /// One value of a message could take more steps of patterns than allowed.
    Steps {
        /// Steps, worst case.
        steps: u64,
        /// The bound.
        limit: u64,
    },
    /// A closed object must have a member that it does not take: no content would ever fit.
    Undeclared {
        /// The member, at most 64 characters of it.
        name: String,
    },
    /// A pattern that is not matched in linear time, is none, or is too large.
    Pattern {
        /// The reason.
        why: &'static str,
    },
    /// The validator refuses to compile it.
    Rejected {
        /// The keyword at fault.
        keyword: String,
    },
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASchema => f.write_str("a schema is an object, `true` or `false`"),
            Self::UnknownKeyword { keyword } => write!(f, "unknown keyword `{keyword}`"),
            Self::RefusedKeyword { keyword, why } => write!(f, "`{keyword}` is not used in contexts: {why}"),
            Self::KeywordValue { keyword, must } => write!(f, "`{keyword}` must be {must}"),
            Self::Reference { why } => write!(f, "`$ref` {why}"),
            Self::Cycle => f.write_str("references lead back to the same value"),
            Self::NotAnObject => f.write_str("must describe an object: write `\"type\": \"object\"`"),
            Self::UnknownCodeList => f.write_str("`x-code-list` names no list of `codes`"),
            Self::Performatives => f.write_str("must be a list of performatives, each once"),
            Self::Limit { what, limit } => write!(f, "more than {limit} {what}"),
            Self::Work { work, limit } => {
                write!(f, "one value could cause {work} evaluations of subschemas, more than {limit}")
            }
            Self::Steps { steps, limit } => write!(
                f,
                "matching one value could take {steps} steps, more than {limit}: shorten `maxLength`, or bound fewer repetitions"
            ),
            Self::Undeclared { name } => {
                write!(f, "`{name}` is required and not declared, and the object is closed")
            }
            Self::Pattern { why } => write!(f, "the pattern does not compile: {why}"),
            Self::Rejected { keyword } => write!(f, "does not compile: `{keyword}`"),
        }
    }
}

impl std::error::Error for SchemaFault {}

/// A fault and its location in the document.
#[derive(Debug)]
pub(crate) struct LocatedFault {
    pub(crate) path: String,
    pub(crate) fault: SchemaFault,
}
