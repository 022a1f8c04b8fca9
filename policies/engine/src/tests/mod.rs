//! The room as a whole: from files and documents to verdicts.

mod apart;
mod approvals;
mod around;
mod beside;
mod cedar;
mod circumstances;
mod crowds;
mod docs;
mod escapes;
mod generated;
mod hard;
mod hidden;
mod house;
mod learnt;
mod lines;
mod literals;
mod load;
mod may;
mod obligations;
mod paper;
mod parts;
mod remembered;
mod scores;
mod spaces;
mod suspended;
mod unions;
mod vectors;
mod versions;

pub(crate) use house::*;

use crate::{Obligations, PolicySource, Verdict};

impl House {
    pub fn shipped() -> Self {
        Self::load(&PolicySource::shipped(), shipped_contexts()).unwrap()
    }

    /// These policies in one file `p.cedar`, with the shipped agents and contexts.
    pub fn with(policies: &str) -> Result<Self, Vec<String>> {
        Self::load(&one_file(policies), shipped_contexts())
    }
}

/// In one file, exactly.
pub(super) fn alone(policies: &str) -> PolicySource {
    PolicySource { files: vec![("p.cedar".to_owned(), policies.to_owned())], ..PolicySource::shipped() }
}

pub(super) fn permitted(by: &[&str]) -> Verdict {
    Verdict::Permitted { policies: by.iter().copied().collect(), obligations: Obligations::default() }
}

pub(super) fn denied(by: &[&str], notices: &[&str]) -> Verdict {
    Verdict::Denied { policies: by.iter().copied().collect(), notices: notices.iter().copied().collect() }
}

/// What keeps this one file from being loaded.
pub(super) fn faults(text: &str) -> Vec<String> {
    House::with(text).err().unwrap_or_default()
}

#[track_caller]
pub(super) fn refused(text: &str, expected: &[&str]) {
    assert_eq!(faults(text), expected, "{text}");
}

#[track_caller]
pub(super) fn loads(text: &str) {
    assert_eq!(faults(text), Vec::<String>::new(), "{text}");
}
