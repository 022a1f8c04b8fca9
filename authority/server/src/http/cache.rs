//! A bounded memory cache of answers from files that never change once they are there. A document is served from here only while its file
//! is the one that was read; checking that asks the file system, not the disk.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use semgate_contexts::{ContextUrn, Digest};
use semgate_statement::listing::Span;
use semgate_statement::tiles::TilePath;

use crate::publish::Document;

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

#[derive(Debug, Default)]
struct Entries {
    answers: HashMap<Key, (Document, Option<Stamp>)>,
    order: VecDeque<Key>,
    bytes: usize,
}

/// A bounded number of bytes of answers; the oldest make place.
#[derive(Debug)]
pub(crate) struct Cache {
    max: usize,
    entries: Mutex<Entries>,
}

/// Bytes that an answer costs beside its body: keys, ETag, places in two tables.
const OVERHEAD: usize = 512;

impl Cache {
    /// An empty one.
    pub fn new(max: usize) -> Self {
        Self { max, entries: Mutex::default() }
    }

    /// The answer, if it is cached and its file is unchanged.
    pub fn get(&self, key: &Key) -> Option<Document> {
        let (document, stamp) = self.lock().answers.get(key).cloned()?;
        match stamp {
            Some(stamp) if !stamp.holds() => {
                self.forget(key);
                None
            }
            _ => Some(document),
        }
    }

    /// Keeps an answer. One larger than an eighth of the bound is not kept, so that a few cannot push out all others.
    pub fn keep(&self, key: Key, document: &Document, stamp: Option<Stamp>) {
        let size = document.bytes.len() + OVERHEAD;
        if size > self.max / 8 {
            return;
        }
        let mut entries = self.lock();
        match entries.answers.insert(key.clone(), (document.clone(), stamp)) {
            Some((before, _)) => entries.bytes -= before.bytes.len() + OVERHEAD,
            None => entries.order.push_back(key),
        }
        entries.bytes += size;
        while entries.bytes > self.max {
            let Some(oldest) = entries.order.pop_front() else { break };
            if let Some((before, _)) = entries.answers.remove(&oldest) {
                entries.bytes -= before.bytes.len() + OVERHEAD;
            }
        }
    }

    fn forget(&self, key: &Key) {
        let mut entries = self.lock();
        if let Some((before, _)) = entries.answers.remove(key) {
            entries.bytes -= before.bytes.len() + OVERHEAD;
            entries.order.retain(|known| known != key);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
