//! The contexts that a submitted document refers to: published here, and neither revoked nor suspended.
//!
//! One that is revoked between this look and the append changes nothing: gateways ask again for every message.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use semgate_contexts::{Context, ContextUrn};
use semgate_statement::jws::General;
use semgate_statement::{Status, context};

use super::App;
use crate::submit::index_of;

/// Finds contexts for one submission; what was read once is not read again.
pub(super) struct Referred<'a> {
    app: &'a App,
    found: RefCell<BTreeMap<ContextUrn, Option<Arc<Context>>>>,
}

impl<'a> Referred<'a> {
    pub(super) fn new(app: &'a App) -> Self {
        Self { app, found: RefCell::default() }
    }

    /// The published context of this name; none also while its file is not good here. The digest is for the caller to compare.
    pub(super) fn find(&self, urn: &ContextUrn) -> Option<Arc<Context>> {
        if let Some(found) = self.found.borrow().get(urn) {
            return found.clone();
        }
        let found = self.read(urn);
        self.found.borrow_mut().insert(urn.clone(), found.clone());
        found
    }

    fn read(&self, urn: &ContextUrn) -> Option<Arc<Context>> {
        let app = self.app;
        let record = index_of(&app.index).get(urn).ok().flatten()?;
        if !matches!(record.status, Status::Valid | Status::Deprecated) {
            return None;
        }
        let bytes = app.documents.read(&record.digest).ok().flatten()?;
        let signed = General::read(&bytes, context::TYPE, &app.keys.roots, context::MAX_SIGNED_BYTES).ok()?;
        // what is published was verified then, and its file is held against its digest at each reading
        let context = Context::from_canonical(
            signed.unverified_payload(),
            &app.config.prefix,
            &app.document_limits,
            &|other| self.find(other),
        );
        context.ok().map(Arc::new)
    }
}
