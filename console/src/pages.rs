//! The pages, one module for each subject.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod assets;
pub(crate) mod contexts;
pub(crate) mod decision;
pub(crate) mod limits;
pub(crate) mod log;
pub(crate) mod login;
pub(crate) mod overview;
pub(crate) mod policies;
pub(crate) mod standing;
pub(crate) mod verdicts;
