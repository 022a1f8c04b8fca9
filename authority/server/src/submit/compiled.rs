//! The memory that compiled documents take in each gateway. The authority bounds the sum for each line.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use semgate_contexts::{Digest, Line};

/// The compiled size of published documents, by digest. Filled line by line, at the first publication on a line after a start: compiling
/// everything at the start would delay a large log.
#[derive(Debug, Default)]
pub(crate) struct Compiled(Mutex<Sizes>);

#[derive(Debug, Default)]
struct Sizes {
    lines: HashSet<Line>,
    documents: HashMap<Digest, u64>,
}

impl Compiled {
    fn sizes(&self) -> MutexGuard<'_, Sizes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `true` once every version of the line has its size here.
    pub fn has_line(&self, line: &Line) -> bool {
        self.sizes().lines.contains(line)
    }

    /// Takes the sizes of all versions of a line that count.
    pub fn take_line(&self, line: &Line, documents: Vec<(Digest, u64)>) {
        let mut sizes = self.sizes();
        sizes.documents.extend(documents);
        sizes.lines.insert(line.clone());
    }

    /// Takes the size of a document that was published.
    pub fn take(&self, document: Digest, bytes: u64) {
        self.sizes().documents.insert(document, bytes);
    }

    /// The sum of these documents.
    pub fn sum(&self, documents: impl Iterator<Item = Digest>) -> u64 {
        let sizes = self.sizes();
        documents
            .filter_map(|digest| sizes.documents.get(&digest))
            .fold(0, |sum, one| sum.saturating_add(*one))
    }
}
