//! A bounded memory cache of answers from files that never change once they are there. A document is served from here only while its file
//! is the one that was read; checking that asks the file system, not the disk.

#[cfg(test)]
mod tests;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use quick_cache::sync::{self, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use semgate_contexts::prompt::{Budget, PromptStatus};
use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::listing::Span;
use semgate_statement::tiles::TilePath;

use crate::document::Document;

/// The key of a cached answer. None of these ever names something else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// A tile of this exact width: the log only grows.
    Tile(TilePath),
    /// A page of the listing: the publications within a span of log entries.
    Page(Span),
    /// A published document by its payload.
    Digest(Digest),
    /// A published document by its name.
    Name(ContextUrn),
    /// The names of all contexts to which a published document refers, one a line.
    References(Digest),
    /// A published document as a prompt.
    Prompt {
        /// The document.
        digest: Digest,
        /// The bound of the prompt.
        budget: Budget,
        /// The status that the prompt names: the worst of the document and of all that it refers to.
        status: PromptStatus,
    },
}

/// The state of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    path: PathBuf,
    of: [i64; 6],
}

impl Stamp {
    /// The state of the file now; none if it does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        let m = fs::metadata(path).ok()?;
        let (ino, size) = (m.ino().cast_signed(), m.size().cast_signed());
        let of = [ino, size, m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()];
        Some(Self { path: path.to_path_buf(), of })
    }

    fn holds(&self) -> bool {
        Self::of(&self.path).as_ref() == Some(self)
    }
}

/// The bytes that an answer takes.
#[derive(Debug, Clone)]
struct Bytes;

impl Weighter<Key, (Document, Option<Stamp>)> for Bytes {
    fn weight(&self, _: &Key, (document, _): &(Document, Option<Stamp>)) -> u64 {
        (document.bytes.len() + OVERHEAD) as u64
    }
}

/// A bounded number of bytes of answers.
#[derive(Debug)]
pub(crate) struct Cache {
    max: usize,
    answers: Answers,
}

type Answers = sync::Cache<Key, (Document, Option<Stamp>), Bytes>;

/// Bytes that an answer costs beside its body: keys, ETag, table entries.
const OVERHEAD: usize = 512;
/// Parts of the cache with a lock of their own. An answer has to fit into one part.
const SHARDS: usize = 4;
/// Bytes of an answer on average, as an estimate of their number.
const AVERAGE: usize = 8 * 1024;

impl Cache {
    /// An empty one.
    pub fn new(max: usize) -> Self {
        let mut options = OptionsBuilder::new();
        options.shards(SHARDS).estimated_items_capacity(max / AVERAGE).weight_capacity(max as u64);
        let (hasher, lifecycle) = (DefaultHashBuilder::default(), DefaultLifecycle::default());
        let answers = match options.build() {
            Ok(options) => Answers::with_options(options, Bytes, hasher, lifecycle),
            Err(_) => Answers::with_weighter(max / AVERAGE, max as u64, Bytes),
        };
        Self { max, answers }
    }

    /// The answer, if it is cached and its file is unchanged.
    pub fn get(&self, key: &Key) -> Option<Document> {
        let (document, stamp) = self.answers.get(key)?;
        if stamp.is_none_or(|stamp| stamp.holds()) {
            return Some(document);
        }
        self.answers.remove(key);
        None
    }

    /// Keeps an answer. One larger than an eighth of the bound is not kept, so that a few cannot push out all others.
    pub fn keep(&self, key: Key, document: &Document, stamp: Option<Stamp>) {
        if document.bytes.len() + OVERHEAD <= self.max / 8 {
            self.answers.insert(key, (document.clone(), stamp));
        }
    }
}
