//! Refusals of schemas, and of content that does not fit one.

/// The reason that content does not fit: location and rule, never a value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, thiserror::Error)]
#[error("`{path}` does not fit the rule `{rule}`")]
pub struct ContentFault {
    /// JSON Pointer (RFC 6901) into the instance. A segment that is no index and that the schema does not name is written
    /// `*`, since names of members are content too.
    pub path: String,
    /// The keyword that refused, such as `required` or `x-code-list`.
    pub rule: String,
}

/// The reason that a schema is refused. It holds no value of a message: documents are public.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// Neither an object nor a boolean.
    #[error("a schema is an object, `true` or `false`")]
    NotASchema,
    /// A keyword that this profile does not know; a typo would silently do nothing.
    #[error("unknown keyword `{keyword}`")]
    UnknownKeyword {
        /// The keyword, at most 64 characters of it.
        keyword: String,
    },
    /// A keyword of JSON Schema that contexts do not use.
    #[error("`{keyword}` is not used in contexts: {why}")]
    RefusedKeyword {
        /// The keyword.
        keyword: String,
        /// The reason.
        why: &'static str,
    },
    /// The value of a keyword is not of the demanded form.
    #[error("`{keyword}` must be {must}")]
    KeywordValue {
        /// The keyword.
        keyword: String,
        /// The demand on it.
        must: &'static str,
    },
    /// A `$ref` that leads nowhere, or out of the document.
    #[error("`$ref` {why}")]
    Reference {
        /// The reason.
        why: &'static str,
    },
    /// References that lead back to the same value of an instance: validation would never end.
    #[error("references lead back to the same value")]
    Cycle,
    /// The schema of a concept, of parameters or of results takes something else than objects.
    #[error("must describe an object: write `\"type\": \"object\"`")]
    NotAnObject,
    /// `x-code-list` names a list that `codes` does not have.
    #[error("`x-code-list` names no list of `codes`")]
    UnknownCodeList,
    /// A performative that does not exist, twice, or none at all.
    #[error("must be a list of performatives, each once")]
    Performatives,
    /// More of something than allowed.
    #[error("more than {limit} {what}")]
    Limit {
        /// The counted things.
        what: &'static str,
        /// The bound.
        limit: u64,
    },
    /// One value of a message could cause more subschema evaluations than allowed.
    #[error("one value could cause {work} evaluations of subschemas, more than {limit}")]
    Work {
        /// Evaluations, worst case.
        work: u64,
        /// The bound.
        limit: u64,
    },
    /// One value of a message could take more steps of patterns than allowed.
    #[error(
        "matching one value could take {steps} steps, more than {limit}: shorten `maxLength`, or bound fewer repetitions"
    )]
    Steps {
        /// Steps, worst case.
        steps: u64,
        /// The bound.
        limit: u64,
    },
    /// A closed object must have a member that it does not take: no content would ever fit.
    #[error("`{name}` is required and not declared, and the object is closed")]
    Undeclared {
        /// The member, at most 64 characters of it.
        name: String,
    },
    /// A pattern that is not matched in linear time, is none, or is too large.
    #[error("the pattern does not compile: {why}")]
    Pattern {
        /// The reason.
        why: &'static str,
    },
    /// The validator refuses to compile it.
    #[error("does not compile: `{keyword}`")]
    Rejected {
        /// The keyword at fault.
        keyword: String,
    },
}

/// A fault and its location in the document.
#[derive(Debug)]
pub(crate) struct LocatedFault {
    pub(crate) path: String,
    pub(crate) fault: SchemaFault,
}
