//! Minimum versions of pairs across a restart. A thread of its own writes each handshake as a line of a file.
//!
//! Nothing waits for the write. A lost line forgets one pair's last statement; the floors of authority and operator still
//! apply.

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

/// Lines waiting for the thread: as many as handshakes wait for their LOCK.
const QUEUE: usize = 4_096;
/// Maximum bytes of a line: two ids of at most 2,048 bytes, and two times 64 lines with versions.
const MAX_LINE: u64 = 64 * 1024;
/// Lines beyond twice the remembered ones before the file is rewritten.
const SLACK: usize = 1_024;

enum Word {
    Line(Box<Stated>),
    End,
}

/// The writing thread. Dropping the value writes the remaining lines and ends the thread.
pub(crate) struct MinimumsKeeper {
    words: SyncSender<Word>,
    thread: Option<JoinHandle<()>>,
}

impl MinimumsKeeper {
    /// Restores the last run's file, rewrites it, and starts the thread.
    ///
    /// # Errors
    /// An unreadable or unwritable file. Invalid lines do not stop a start: the file is then set aside as `minimums.damaged`.
    pub(crate) fn start(sessions: &Arc<Sessions>, state: &Path) -> Result<Self, RunFault> {
        let path = state.join("minimums.jsonl");
        let fault =
            |why: io::Error| RunFault::File { path: path.clone(), what: "minimums", why: why.to_string() };
        restore(&sessions.minimums, &path).map_err(fault)?;
        let file = rewrite(sessions.minimums.export(), &path).map_err(fault)?;
        let (words, heard) = sync_channel(QUEUE);
        let line_sender = words.clone();
        // a full queue loses the line, as the module documentation describes
        let journal = move |stated: &Stated| drop(line_sender.try_send(Word::Line(Box::new(stated.clone()))));
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
        tracing::warn!(path = %path.display(), "the file of minimums is damaged and set aside; the readable part applies");
        std::fs::copy(path, path.with_extension("damaged"))?;
    }
    Ok(())
}

/// The last record of each pair in order, and true if every complete line was valid.
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

/// Writes until told to end. Logs a failure, and retries with the next file.
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
                    tracing::error!(%why, path = %path.display(), "cannot save minimums for the next start");
                    None
                }
            };
        }
        if ends {
            return;
        }
    }
}
