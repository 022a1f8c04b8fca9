//! The pages, one module for each subject.

pub(crate) mod assets;
pub(crate) mod login;
pub(crate) mod overview;
