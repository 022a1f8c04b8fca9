//! What pairs will not go below (F0-39), over a restart: each handshake becomes a line of a file, written behind by a thread of its own.
//!
//! Nothing waits for it. A line that is lost forgets what one pair stated last; the floors of authority and operator hold regardless.

use super::{append, rewrite};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use semgate_negotiation::{PairMinimums, Sessions, Stated};

use super::lines;
use crate::fault::RunFault;

#[cfg(test)]
mod tests;

/// Lines that wait for the thread: as many as handshakes wait for their LOCK.
const QUEUE: usize = 4_096;
/// Bytes of one line: two ids of at most 2,048 bytes, and two times 64 lines with their versions.
const MAX_LINE: u64 = 64 * 1024;
/// Lines beyond twice what is remembered before the file is written anew.
const SLACK: usize = 1_024;

enum Word {
    Line(Box<Stated>),
    End,
}

/// The thread that writes. Dropped, it writes what is still waiting, and ends.
pub(crate) struct MinimumsKeeper {
    words: SyncSender<Word>,
    thread: Option<JoinHandle<()>>,
}

impl MinimumsKeeper {
    /// Reads what the last run wrote, writes the file anew, and goes on writing.
    ///
    /// # Errors
    /// The file cannot be read or written. Lines that are none do not stop a start: the file is set aside as `minimums.damaged`.
    pub(crate) fn start(sessions: &Arc<Sessions>, state: &Path) -> Result<Self, RunFault> {
        let path = state.join("minimums.jsonl");
        let fault =
            |why: io::Error| RunFault::File { path: path.clone(), what: "minimums", why: why.to_string() };
        restore(&sessions.minimums, &path).map_err(fault)?;
        let file = rewrite(sessions.minimums.export(), &path).map_err(fault)?;
        let (words, heard) = sync_channel(QUEUE);
        let told = words.clone();
        // a full queue loses the line, and what that means stands above
        let journal = move |stated: &Stated| drop(told.try_send(Word::Line(Box::new(stated.clone()))));
        let _ = sessions.minimums.set_journal(Box::new(journal));
        let (sessions, path) = (Arc::clone(sessions), path.clone());
        let thread = std::thread::Builder::new()
            .name("semgate-minimums".to_owned())
            .spawn(move || write(&heard, &sessions.minimums, &path, file))
            .map_err(|why| RunFault::system("thread", why))?;
        Ok(Self { words, thread: Some(thread) })
    }
}

impl Drop for MinimumsKeeper {
    fn drop(&mut self) {
        let _ = self.words.send(Word::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn restore(minimums: &PairMinimums, path: &Path) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why),
    };
    let (records, mut whole) = read(BufReader::new(file))?;
    for record in records {
        whole &= minimums.import([record]).is_ok();
    }
    if !whole {
        tracing::warn!(path = %path.display(), "the memory of minimums is damaged; what could be read of it counts, and the file is set aside");
        std::fs::copy(path, path.with_extension("damaged"))?;
    }
    Ok(())
}

/// The last line of each pair, in the order of the lines, and whether every whole line could be read.
fn read(file: impl BufRead) -> io::Result<(Vec<Stated>, bool)> {
    let mut order: BTreeMap<u64, Stated> = BTreeMap::new();
    let mut places: BTreeMap<[String; 2], u64> = BTreeMap::new();
    let mut number = 0_u64;
    let whole = lines(file, MAX_LINE, |line| {
        let stated = serde_json::from_slice::<Stated>(line).ok()?;
        number = number.saturating_add(1);
        if let Some(before) = places.insert(stated.pair.clone(), number) {
            order.remove(&before);
        }
        order.insert(number, stated);
        Some(())
    })?;
    Ok((order.into_values().collect(), whole))
}

/// Writes until it is told to end. What cannot be written is said, and tried again with the next file.
fn write(heard: &Receiver<Word>, minimums: &PairMinimums, path: &Path, file: BufWriter<File>) {
    let (mut file, mut lines) = (Some(file), minimums.len());
    while let Ok(first) = heard.recv() {
        let mut ends = false;
        for word in std::iter::once(first).chain(heard.try_iter()) {
            match word {
                Word::Line(stated) => {
                    lines = lines.saturating_add(1);
                    file = file.and_then(|mut file| append(&mut file, &stated).is_ok().then_some(file));
                }
                Word::End => ends = true,
            }
        }
        file = file.and_then(|mut file| file.flush().is_ok().then_some(file));
        if file.is_none() || lines > minimums.len().saturating_mul(2).saturating_add(SLACK) {
            lines = minimums.len();
            file = match rewrite(minimums.export(), path) {
                Ok(file) => Some(file),
                Err(why) => {
                    tracing::error!(%why, path = %path.display(), "minimums cannot be kept over a restart");
                    None
                }
            };
        }
        if ends {
            return;
        }
    }
}
