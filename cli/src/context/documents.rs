//! Documents that may refer to one another: files given together, and the shipped library.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use semgate_contexts::{Context, ContextUrn, DocumentFault, DocumentLimits, Prefix, json, library};

use super::located::DocumentText;
use crate::fault::Fault;
use crate::system::read_bytes;

/// Bare documents by their own names. Their source need not be trusted: a reference holds the digest.
pub struct Documents {
    known: BTreeMap<ContextUrn, Vec<u8>>,
    read: RefCell<BTreeMap<ContextUrn, Option<Arc<Context>>>>,
    /// Documents under way: those that refer to each other in a circle find nothing.
    open: RefCell<BTreeSet<ContextUrn>>,
}

impl Documents {
    /// The library and these files; a file wins over a shipped document of the same name.
    ///
    /// # Errors
    /// A file cannot be read. Checks find files that are no documents.
    pub fn with_library(files: &[PathBuf]) -> Result<Self, Fault> {
        let mut known = BTreeMap::new();
        for (_, bytes) in library::all() {
            known.extend(name_of(bytes).map(|urn| (urn, bytes.to_vec())));
        }
        for file in files {
            let bytes = read_bytes(file)?;
            known.extend(name_of(&bytes).map(|urn| (urn, bytes)));
        }
        Ok(Self { known, read: RefCell::default(), open: RefCell::default() })
    }

    /// The document of this name, if it is here and valid.
    pub fn find(&self, urn: &ContextUrn) -> Option<Arc<Context>> {
        if let Some(read) = self.read.borrow().get(urn) {
            return read.clone();
        }
        let bytes = self.known.get(urn)?;
        if !self.open.borrow_mut().insert(urn.clone()) {
            return None;
        }
        let context = self.check(bytes).ok().map(Arc::new);
        self.open.borrow_mut().remove(urn);
        self.read.borrow_mut().insert(urn.clone(), context.clone());
        context
    }

    /// Checks a document that may refer to those here.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self, bytes: &[u8]) -> Result<Context, DocumentFault> {
        Context::check_among(bytes, &Prefix::default(), &DocumentLimits::default(), &|urn| self.find(urn))
    }

    /// Checks the document of a file.
    ///
    /// # Errors
    /// Every fault that one look finds, each with its path in the document.
    pub fn file(&self, file: &Path) -> Result<Context, Fault> {
        let bytes = read_bytes(file)?;
        self.check(&bytes).map_err(|first| {
            let find = |urn: &ContextUrn| self.find(urn);
            let faults = Context::faults(&bytes, &Prefix::default(), &DocumentLimits::default(), &find);
            let fault = faults.first().unwrap_or(&first);
            let text = DocumentText::new(&bytes);
            Fault::new(format_args!("`{}`: {}", file.display(), text.describe(fault)))
                .also(faults.iter().skip(1).map(|fault| text.describe(fault)))
                .hint(hint(fault))
        })
    }
}

fn hint(fault: &DocumentFault) -> &'static str {
    match fault {
        DocumentFault::ReferenceMissing { .. } => "give the file of that context too, with `--reference`",
        DocumentFault::TooLarge { .. }
        | DocumentFault::Json(json::Fault::TooLarge | json::Fault::TooDeep | json::Fault::TooComplex) => {
            "a document holds 90,000 bytes at most: split it into several contexts, or leave out terms that no message uses"
        }
        DocumentFault::Json(_) => {
            "a document is JSON read strictly: in UTF-8, each member once, no comments, no comma at the end"
        }
        _ => "docs/spec/context-document.md says what a document may hold",
    }
}

fn name_of(bytes: &[u8]) -> Option<ContextUrn> {
    let document = json::read(bytes, &json::Limits::default()).ok()?;
    ContextUrn::parse(document.as_object()?.get("context")?.as_str()?, &Prefix::default()).ok()
}
