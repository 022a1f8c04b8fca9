//! Addresses of one authority, and the one that answers.

use std::cell::Cell;
use std::rc::Rc;

use crate::config::{AuthorityConfig, Upstream};

/// The addresses in configuration order. Requests and event stream share the choice.
#[derive(Clone)]
pub(in crate::control) struct Addresses {
    all: Rc<[Upstream]>,
    current: Rc<Cell<usize>>,
}

impl Addresses {
    /// Begins with the first.
    pub(super) fn of(authority: &AuthorityConfig) -> Self {
        Self { all: authority.addresses().cloned().collect(), current: Rc::default() }
    }

    /// The one address of a server that is no authority.
    pub(in crate::control) fn one(url: &Upstream) -> Self {
        Self { all: [url.clone()].into(), current: Rc::default() }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Upstream] {
        &self.all
    }

    /// Position of the one to ask.
    pub(super) fn current(&self) -> usize {
        self.current.get()
    }

    /// The one to ask, as the operator wrote it.
    pub(super) fn shown(&self) -> Option<String> {
        self.all.get(self.current()).map(ToString::to_string)
    }

    /// Turns to the next, since `failed` did not answer. Does nothing if that is no longer the one to ask.
    pub(super) fn after(&self, failed: usize) {
        if self.current() == failed {
            self.current.set((failed + 1) % self.all.len().max(1));
        }
    }
}
