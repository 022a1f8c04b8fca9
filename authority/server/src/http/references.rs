//! The contexts to which a submitted document refers. Each must be published here with the named digest. For a new document, none may be
//! revoked or suspended.
//!
//! The sequencer checks again at the place in the log where the document is to be published. A published document stays published: a
//! resubmission is answered as before, even if a context to which it refers was revoked since.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use semgate_contexts::{Context, ContextUrn, DocumentFault};
use semgate_statement::context;
use semgate_statement::jws::General;

use super::App;
use super::problem::{Code, Problem, reference_counts};
use super::storage::{broken, read_document};
use crate::submit::index_of;

/// Finds contexts for one submission; reads each at most once.
pub(super) struct References<'a> {
    app: &'a App,
    loaded: RefCell<BTreeMap<ContextUrn, Option<Arc<Context>>>>,
    /// The problem in reading a published context: no fault of the document.
    problem: RefCell<Option<Problem>>,
}

impl<'a> References<'a> {
    pub(super) fn new(app: &'a App) -> Self {
        Self { app, loaded: RefCell::default(), problem: RefCell::default() }
    }

    /// The published context of this name, whatever its status. The caller must compare the digest.
    pub(super) fn find(&self, urn: &ContextUrn) -> Option<Arc<Context>> {
        if let Some(loaded) = self.loaded.borrow().get(urn) {
            return loaded.clone();
        }
        let loaded = self.read(urn).unwrap_or_else(|problem| {
            self.problem.borrow_mut().get_or_insert(problem);
            None
        });
        self.loaded.borrow_mut().insert(urn.clone(), loaded.clone());
        loaded
    }

    /// A context that the index lists as published.
    ///
    /// # Errors
    /// Its document cannot be read.
    pub(super) fn published(&self, urn: &ContextUrn) -> Result<Arc<Context>, Problem> {
        self.find(urn).ok_or_else(|| Problem::new(Code::Internal, "a published document is missing"))
    }

    fn read(&self, urn: &ContextUrn) -> Result<Option<Arc<Context>>, Problem> {
        let app = self.app;
        let record = index_of(&app.index).get(urn).map_err(|fault| broken(app, &fault))?;
        let Some(record) = record else { return Ok(None) };
        let bytes = read_document(app, &record.digest)?;
        let signed =
            General::read(&bytes, context::TYPE, app.keys.anchors().roots(), context::MAX_SIGNED_BYTES)
                .map_err(|fault| Problem::new(Code::Internal, fault))?;
        // it was verified at publication, and each reading checks the file against its digest
        let context = Context::from_canonical(
            signed.unverified_payload(),
            &app.config.prefix,
            &app.document_limits,
            &|other| self.find(other),
        );
        context.map(|context| Some(Arc::new(context))).map_err(|fault| Problem::new(Code::Internal, fault))
    }

    /// The problem for a refused document.
    pub(super) fn problem(&self, code: Code, fault: &DocumentFault) -> Problem {
        match (fault, self.problem.borrow_mut().take()) {
            (DocumentFault::ReferenceMissing { .. }, Some(problem)) => problem,
            (DocumentFault::ReferenceMissing { urn, .. }, None) => Problem::new(
                code,
                format_args!("it refers to `{urn}`, which is not published here; publish that first"),
            ),
            _ => Problem::new(code, fault),
        }
    }

    /// Checks that everything to which a new document refers, directly or indirectly, counts now.
    pub(super) fn count(&self, document: &Context) -> Result<(), Problem> {
        for other in document.references() {
            let urn = other.urn();
            let record = index_of(&self.app.index).get(urn).map_err(|fault| broken(self.app, &fault))?;
            reference_counts(urn, record.map(|record| record.status))?;
        }
        Ok(())
    }
}

/// The code for a refused document.
pub(super) fn document_code(fault: &DocumentFault) -> Code {
    use DocumentFault as F;
    use semgate_contexts::json::Fault;
    match fault {
        F::Json(Fault::DuplicateKey { .. }) => Code::DuplicateKey,
        F::Json(Fault::Malformed { .. }) => Code::Malformed,
        F::Json(Fault::TooLarge) | F::TooLarge { .. } => Code::TooLarge,
        _ => Code::DocumentInvalid,
    }
}
