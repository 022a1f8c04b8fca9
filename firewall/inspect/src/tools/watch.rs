//! Which tools drifted, as their server described them last.

use semgate_contexts::Digest;
use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// Tools that drifted, for all cores: route, context and name. Names are those of pinned tasks only, so what servers say
/// cannot fill it. A tool that is described as signed again is no longer one.
#[derive(Debug, Default)]
pub struct ToolWatch {
    drifted: Mutex<HashSet<(String, Digest, String)>>,
}

/// A tool was last described otherwise than it was signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HasDrifted;

impl ToolWatch {
    pub(crate) fn drifted(&self, route: &str, context: &Digest, tool: &str) {
        let mut all = self.drifted.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert((route.to_owned(), *context, tool.to_owned()));
    }

    pub(crate) fn as_signed(&self, route: &str, context: &Digest, tool: &str) {
        let mut all = self.drifted.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.is_empty() {
            all.remove(&(route.to_owned(), *context, tool.to_owned()));
        }
    }

    pub(crate) fn stands(&self, route: &str, context: &Digest, tool: &str) -> Result<(), HasDrifted> {
        let all = self.drifted.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.is_empty() && all.contains(&(route.to_owned(), *context, tool.to_owned())) {
            return Err(HasDrifted);
        }
        Ok(())
    }
}
