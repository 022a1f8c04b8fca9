//! Bytes of the files that a connection carries in chunks.

use std::collections::HashMap;

use semgate_contexts::json::{self, Json};
use semgate_inspect::{Code, Refusal};

/// Files of one connection at once. A sender rarely has more than a few.
const FILES: usize = 64;

/// Sums of the chunks so far, by file name.
#[derive(Debug, Default)]
pub(super) struct FileTotals(HashMap<Box<str>, u64>);

impl FileTotals {
    /// Adds a chunk. The last chunk of a file, by its index, forgets the file.
    ///
    /// # Errors
    /// `too_large` if the file exceeds `most` bytes; `too_complex` for too many files at once.
    pub(super) fn add(&mut self, judged: &[u8], limits: &json::Limits, most: u64) -> Result<(), Refusal> {
        let Some(chunk) = Chunk::read(judged, limits) else { return Ok(()) };
        let sum = self.0.get(chunk.name.as_str()).copied().unwrap_or(0).saturating_add(chunk.size);
        if sum > most {
            return Err(Refusal::new(Code::TooLarge, "a file is larger than the limit over all its chunks")
                .with_hint(format!("send at most {most} bytes in one file")));
        }
        if self.0.len() >= FILES && !self.0.contains_key(chunk.name.as_str()) {
            return Err(Refusal::new(Code::TooComplex, "too many files are under way on this connection")
                .with_hint("finish a file before the next, or open another connection"));
        }
        if chunk.is_last {
            self.0.remove(chunk.name.as_str());
        } else {
            self.0.insert(chunk.name.into(), sum);
        }
        Ok(())
    }
}

/// One chunk, as its judged JSON describes it.
struct Chunk {
    name: String,
    size: u64,
    is_last: bool,
}

impl Chunk {
    /// None for a message that is no chunk of a file.
    fn read(judged: &[u8], limits: &json::Limits) -> Option<Self> {
        let read = json::read(judged, limits).ok()?;
        let chunk = read.as_object()?.get("file_chunk")?.as_object()?;
        let count = |name: &str| chunk.get(name).and_then(Json::as_number).and_then(|n| n.as_i64_exact());
        let (index, total) = (count("index")?, count("total")?);
        Some(Self {
            name: chunk.get("filename")?.as_str()?.to_owned(),
            size: u64::try_from(count("size")?).ok()?,
            is_last: index.saturating_add(1) >= total,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(name: &str, index: u64, size: u64) -> String {
        format!(
            r#"{{"file_chunk":{{"filename":"{name}","index":{index},"total":3,"checksum":"","size":{size}}}}}"#
        )
    }

    #[test]
    fn a_file_has_a_limit_over_all_its_chunks() {
        let (mut totals, limits) = (FileTotals::default(), json::Limits::default());
        let mut add = |text: String| totals.add(text.as_bytes(), &limits, 100);
        add(chunk("a", 0, 60)).unwrap();
        add(chunk("b", 0, 100)).unwrap();
        let refused = add(chunk("a", 1, 41)).unwrap_err();
        assert_eq!(refused.code(), Code::TooLarge);
        add(chunk("a", 2, 40)).unwrap();
        add(chunk("a", 0, 100)).unwrap();
        add(r#"{"ping":{}}"#.to_owned()).unwrap();
    }

    #[test]
    fn files_without_an_end_are_bounded() {
        let (mut totals, limits) = (FileTotals::default(), json::Limits::default());
        for n in 0..FILES {
            totals.add(chunk(&n.to_string(), 0, 1).as_bytes(), &limits, 100).unwrap();
        }
        let refused = totals.add(chunk("more", 0, 1).as_bytes(), &limits, 100).unwrap_err();
        assert_eq!(refused.code(), Code::TooComplex);
    }
}
