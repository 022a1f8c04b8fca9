//! Remarks for the reviewer of a draft.

/// One thing that a source says and its draft does not, or says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// The part of the source: a JSON Pointer, or a full name. Empty for the whole.
    pub at: String,
    /// The difference, and its effect.
    pub what: String,
}

impl Remark {
    /// A remark on this part.
    pub fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self { at: at.into(), what: what.into() }
    }
}
