//! JSON Schema 2020-12 as contexts use it: a bounded, closed profile, compiled once.

mod fault;
mod limits;

pub use fault::{ContentFault, SchemaFault};
pub use limits::SchemaLimits;

use crate::json::Object;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Validator;

impl Validator {
    pub(crate) fn conform(&self, instance: &Object<'_>, without: Option<&str>) -> Result<(), ContentFault> {
        let _ = (instance, without);
        todo!()
    }
}

/// Where free text may stand.
#[derive(Debug)]
pub(crate) struct FreeText;

impl FreeText {
    pub(crate) fn found_in(&self, instance: &Object<'_>) -> bool {
        let _ = instance;
        todo!()
    }
}
