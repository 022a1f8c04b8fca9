//! The pages, one module for each subject.

pub(crate) mod assets;
pub(crate) mod decision;
pub(crate) mod login;
pub(crate) mod overview;
pub(crate) mod verdicts;
