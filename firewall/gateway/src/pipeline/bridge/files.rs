//! Totals of the files that one side sends in chunks.

use std::cell::RefCell;
use std::collections::HashMap;

use semgate_contexts::json::{self, Json};
use semgate_inspect::{Code, Delivered, Refusal};

use crate::pipeline::gateway_refusals::no_room;
use crate::server::account::{Charge, NoRoom};

/// Files of one side at once. A sender rarely has more than a few.
const FILES: usize = 64;
/// Most chunks of one file: 4 GiB in chunks that fill a frame.
const CHUNKS: u64 = 65_536;

/// The files that are under way from one side of a connection.
pub(super) struct FileTotals {
    files: RefCell<HashMap<Box<str>, FileTotal>>,
    /// The bytes of the files' indices.
    held: Charge,
}

/// The chunks of one file so far.
struct FileTotal {
    total: u64,
    bytes: u64,
    count: u64,
    /// One bit for each index.
    came: Box<[u64]>,
}

impl FileTotals {
    /// No files. Their indices are charged to `held`.
    pub(super) fn new(held: Charge) -> Self {
        Self { files: RefCell::default(), held }
    }

    /// Checks that a chunk may pass. It counts once it was delivered, by [`FileTotals::add`].
    ///
    /// # Errors
    /// `too_large` if the file exceeds `most` bytes. `too_complex` for too many chunks or files at once. `malformed` for an
    /// index that came before or is not below `total`, and for another `total`. `rate_limited` without room for the indices.
    pub(super) fn admit(&self, chunk: Option<&FileChunk>, most: u64) -> Result<(), Refusal> {
        let Some(chunk) = chunk else { return Ok(()) };
        let files = self.files.borrow();
        let known = files.get(chunk.name.as_str());
        if chunk.total > CHUNKS {
            return Err(Refusal::new(Code::TooComplex, "a file has too many chunks")
                .with_hint(format!("send a file in at most {CHUNKS} chunks")));
        }
        if chunk.index >= chunk.total || known.is_some_and(|file| !file.takes(chunk)) {
            return Err(Refusal::new(Code::Malformed, "a chunk does not continue its file")
                .with_hint("send each index below `total` once, with the same `total` in each chunk"));
        }
        if known.map_or(0, |file| file.bytes).saturating_add(chunk.size) > most {
            return Err(Refusal::new(Code::TooLarge, "a file is larger than the limit over all its chunks")
                .with_hint(format!("send at most {most} bytes in one file")));
        }
        if known.is_some() {
            return Ok(());
        }
        if files.len() >= FILES {
            return Err(Refusal::new(Code::TooComplex, "too many files are under way on this connection")
                .with_hint("finish a file before the next, or open another connection"));
        }
        let held = files.values().map(FileTotal::weight).sum::<usize>();
        let held = self.held.hold_only(held.saturating_add(FileTotal::new(chunk).weight()));
        held.map_err(|NoRoom| no_room(Delivered::No))
    }

    /// Counts a delivered chunk. A file is forgotten once all its chunks came.
    pub(super) fn add(&self, chunk: Option<FileChunk>) {
        let Some(chunk) = chunk else { return };
        let mut files = self.files.borrow_mut();
        let file = files.entry(chunk.name.as_str().into()).or_insert_with(|| FileTotal::new(&chunk));
        if file.add(&chunk) {
            files.remove(chunk.name.as_str());
        }
        let held = files.values().map(FileTotal::weight).sum();
        // never more than was admitted
        let _ = self.held.hold_only(held);
    }
}

impl FileTotal {
    fn new(chunk: &FileChunk) -> Self {
        let words = usize::try_from(chunk.total.min(CHUNKS).div_ceil(64)).unwrap_or_default();
        Self { total: chunk.total, bytes: 0, count: 0, came: vec![0; words].into() }
    }

    /// Number of bytes that the indices take.
    fn weight(&self) -> usize {
        size_of_val(&*self.came)
    }

    /// True of a new index of a file with the same number of chunks.
    fn takes(&self, chunk: &FileChunk) -> bool {
        let (at, bit) = chunk.bit();
        chunk.total == self.total && self.came.get(at).is_some_and(|word| word & bit == 0)
    }

    /// Adds a chunk. Returns true once all came.
    fn add(&mut self, chunk: &FileChunk) -> bool {
        let (at, bit) = chunk.bit();
        if let Some(word) = self.came.get_mut(at) {
            *word |= bit;
        }
        self.bytes = self.bytes.saturating_add(chunk.size);
        self.count = self.count.saturating_add(1);
        self.count >= self.total
    }
}

/// One chunk, as its judged JSON describes it.
pub(super) struct FileChunk {
    name: String,
    index: u64,
    total: u64,
    size: u64,
}

impl FileChunk {
    /// None for a message that is no chunk of a file.
    pub(super) fn read(judged: &[u8], limits: &json::Limits) -> Option<Self> {
        let read = json::read(judged, limits).ok()?;
        let chunk = read.as_object()?.get("file_chunk")?.as_object()?;
        let count = |name: &str| {
            let number = chunk.get(name).and_then(Json::as_number).and_then(|n| n.as_i64_exact());
            number.and_then(|number| u64::try_from(number).ok())
        };
        let (index, total, size) = (count("index")?, count("total")?, count("size")?);
        Some(Self { name: chunk.get("filename")?.as_str()?.to_owned(), index, total, size })
    }

    /// The word and the bit of its index.
    fn bit(&self) -> (usize, u64) {
        (usize::try_from(self.index / 64).unwrap_or(usize::MAX), 1 << (self.index % 64))
    }
}

#[cfg(test)]
mod tests {
    use semgate_inspect::Now;

    use super::*;
    use crate::config::Limits;
    use crate::server::account::Accounts;

    fn totals() -> FileTotals {
        let now = Now { unix: 0, monotonic_ms: 0 };
        let account = Accounts::new(&Limits::default()).of(&"one".into(), now).unwrap();
        FileTotals::new(Charge::new(&account))
    }

    fn read(name: &str, index: u64, total: u64, size: u64) -> Option<FileChunk> {
        let text = format!(
            r#"{{"file_chunk":{{"filename":"{name}","index":{index},"total":{total},"checksum":"","size":{size}}}}}"#
        );
        FileChunk::read(text.as_bytes(), &json::Limits::default())
    }

    fn chunk(name: &str, index: u64, size: u64) -> Option<FileChunk> {
        Some(read(name, index, 3, size).unwrap())
    }

    fn deliver(totals: &FileTotals, chunk: Option<FileChunk>) -> Result<(), Code> {
        totals.admit(chunk.as_ref(), 100).map_err(|refusal| refusal.code())?;
        totals.add(chunk);
        Ok(())
    }

    #[test]
    fn a_file_has_a_limit_over_all_its_chunks() {
        let totals = totals();
        deliver(&totals, chunk("a", 0, 60)).unwrap();
        deliver(&totals, chunk("b", 0, 100)).unwrap();
        assert_eq!(deliver(&totals, chunk("a", 1, 41)), Err(Code::TooLarge));
        deliver(&totals, chunk("a", 1, 20)).unwrap();
        deliver(&totals, chunk("a", 2, 20)).unwrap();
        deliver(&totals, chunk("a", 0, 100)).unwrap();
        deliver(&totals, None).unwrap();
    }

    #[test]
    fn attack_the_last_chunk_is_repeated_to_start_the_count_again() {
        let totals = totals();
        deliver(&totals, chunk("a", 0, 90)).unwrap();
        deliver(&totals, chunk("a", 2, 0)).unwrap();
        assert_eq!(deliver(&totals, chunk("a", 2, 0)), Err(Code::Malformed));
        assert_eq!(deliver(&totals, chunk("a", 0, 10)), Err(Code::Malformed));
        assert_eq!(deliver(&totals, chunk("a", 1, 11)), Err(Code::TooLarge));
    }

    #[test]
    fn attack_another_total_forgets_the_file() {
        let totals = totals();
        deliver(&totals, chunk("a", 0, 90)).unwrap();
        assert_eq!(deliver(&totals, read("a", 1, 2, 0)), Err(Code::Malformed));
        assert_eq!(deliver(&totals, read("a", 3, 3, 0)), Err(Code::Malformed));
        assert_eq!(deliver(&totals, chunk("a", 1, 11)), Err(Code::TooLarge));
    }

    #[test]
    fn an_undelivered_chunk_is_not_counted() {
        let totals = totals();
        totals.admit(chunk("a", 0, 90).as_ref(), 100).unwrap();
        deliver(&totals, chunk("a", 0, 90)).unwrap();
    }

    #[test]
    fn files_without_an_end_are_bounded_and_charged() {
        let totals = totals();
        assert_eq!(deliver(&totals, read("a", 0, CHUNKS + 1, 1)), Err(Code::TooComplex));
        for n in 0..FILES {
            deliver(&totals, read(&n.to_string(), 0, CHUNKS, 1)).unwrap();
        }
        assert_eq!(deliver(&totals, chunk("more", 0, 1)), Err(Code::TooComplex));
        assert_eq!(totals.held.held(), FILES * 8192);
        assert_eq!(deliver(&totals, read("b", 0, 0, 1)), Err(Code::Malformed));
    }
}
