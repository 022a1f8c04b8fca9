//! The thread that owns the audit file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::{Health, Item, line};
use crate::fault::RunFault;

/// Bytes that are gathered before they are written, and, but for the last record among them, all that a failing file keeps in memory.
const BATCH: usize = 256 * 1024;
/// How long records are gathered before they are written: under load the thread wakes five hundred times a second and not once for
/// each message, which would cost more than the verdict. What a crash of the process loses is bounded by it.
const GATHER: Duration = Duration::from_millis(2);
/// How often a failing file is tried again.
const RETRY: Duration = Duration::from_millis(250);
/// The end of an old file in which its last number is looked for; a line is shorter than two thirds of it: what is kept of a message is
/// at most 32 KiB (`audit_asked_bytes`), and the rest some 2 KiB.
const TAIL: u64 = 64 * 1024;

pub(super) struct Writer {
    path: PathBuf,
    fsync: bool,
    file: File,
    health: Arc<Health>,
    /// The number of the next record.
    n: u64,
    /// Bytes that the file has not taken yet, and the records among them.
    pending: Vec<u8>,
    records: u64,
}

impl Writer {
    pub(super) fn open(path: PathBuf, fsync: bool, health: Arc<Health>) -> Result<Self, RunFault> {
        let fault = |why: std::io::Error| RunFault::File {
            path: path.clone(),
            what: "audit file",
            why: why.to_string(),
        };
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            std::fs::create_dir_all(dir).map_err(fault)?;
        }
        let end = End::of(&path).map_err(fault)?;
        let file = append(&path).map_err(fault)?;
        let n = end.number.saturating_add(1);
        let pending = if end.is_cut { b"\n".to_vec() } else { Vec::new() };
        Ok(Self { path, fsync, file, health, n, pending, records: 0 })
    }

    pub(super) fn run(mut self, queue: &Receiver<Item>) {
        loop {
            // no more is taken while that is not written, so that the queue fills instead of memory
            if self.pending.len() >= BATCH {
                std::thread::sleep(RETRY);
                self.flush();
                if self.gives_up(queue) {
                    return;
                }
                continue;
            }
            let item = if self.pending.is_empty() {
                let first = queue.recv().unwrap_or(Item::End);
                if matches!(first, Item::Record(_)) {
                    std::thread::sleep(GATHER);
                }
                first
            } else {
                match queue.recv_timeout(RETRY) {
                    Ok(item) => item,
                    Err(RecvTimeoutError::Timeout) => {
                        self.flush();
                        if self.gives_up(queue) {
                            return;
                        }
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => Item::End,
                }
            };
            let ends = self.batch(item, queue);
            self.flush();
            if self.gives_up(queue) {
                return;
            }
            if ends {
                let _ = self.file.sync_data();
                return;
            }
        }
    }

    /// Whether the gateway ends while the file fails. It was tried every [`RETRY`] until now and once more: a full disk holds no
    /// end up. What is lost is told.
    fn gives_up(&mut self, queue: &Receiver<Item>) -> bool {
        if !self.health.ending.load(Ordering::Relaxed) || !self.health.failing.load(Ordering::Relaxed) {
            return false;
        }
        let queued = queue.try_iter().filter(|item| matches!(item, Item::Record(_))).count();
        let lost = self.records.saturating_add(queued as u64);
        self.health.lost.fetch_add(lost, Ordering::Relaxed);
        tracing::error!(lost, "the audit file still takes no records at the end, they are lost");
        true
    }

    /// Takes `item` and what else is waiting, up to a batch. Returns whether the end was among it.
    fn batch(&mut self, item: Item, queue: &Receiver<Item>) -> bool {
        let mut next = Some(item);
        while let Some(item) = next {
            match item {
                Item::Record(record) => {
                    line::write(&record, self.n, &mut self.pending);
                    self.n = self.n.saturating_add(1);
                    self.records = self.records.saturating_add(1);
                }
                Item::Reopen => self.reopen(),
                Item::End => return true,
            }
            if self.pending.len() >= BATCH {
                return false;
            }
            next = match queue.try_recv() {
                Ok(item) => Some(item),
                Err(TryRecvError::Empty) => None,
                Err(TryRecvError::Disconnected) => return true,
            };
        }
        false
    }

    fn reopen(&mut self) {
        self.flush();
        match append(&self.path) {
            Ok(file) => self.file = file,
            Err(why) => tracing::error!(%why, "the audit file cannot be reopened, the old one is kept"),
        }
    }

    /// Opens the file again if its name leads nowhere or elsewhere: into a removed file nobody would ever look.
    ///
    /// # Errors
    /// It cannot be opened; what is pending waits for it.
    fn follow_name(&mut self) -> std::io::Result<()> {
        let open = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(named) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => return Ok(()),
            Ok(_) => {}
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
        self.file = append(&self.path)?;
        tracing::warn!("the audit file was removed or moved, it is opened again by its name");
        Ok(())
    }

    /// Writes what is pending, and keeps what the file does not take.
    fn flush(&mut self) {
        // one look for each batch, at most five hundred a second
        if !self.pending.is_empty()
            && let Err(why) = self.follow_name()
        {
            return self.failed(&why);
        }
        while !self.pending.is_empty() {
            match self.file.write(&self.pending) {
                Ok(0) => return self.failed(&std::io::ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.pending.drain(..written)),
                Err(why) if why.kind() == std::io::ErrorKind::Interrupted => {}
                Err(why) => return self.failed(&why),
            }
        }
        if self.fsync
            && let Err(why) = self.file.sync_data()
        {
            return self.failed(&why);
        }
        self.health.written.fetch_add(std::mem::take(&mut self.records), Ordering::Relaxed);
        if self.health.failing.swap(false, Ordering::Relaxed) {
            tracing::warn!("the audit file takes records again");
        }
    }

    fn failed(&mut self, why: &std::io::Error) {
        if !self.health.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%why, "the audit file takes no records, messages are refused");
        }
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The end of an old file.
#[derive(Default)]
struct End {
    /// The `n` of the last line that has one, so that numbers go on over a restart and a gap shows.
    number: u64,
    /// A crash cut the last line short. The next record needs a line of its own.
    is_cut: bool,
}

impl End {
    /// Reads it. A file that is absent, or that is no regular file, has no end.
    fn of(path: &Path) -> std::io::Result<Self> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(why) => return Err(why),
        };
        if !file.metadata()?.is_file() {
            return Ok(Self::default());
        }
        let size = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail)?;
        let number = tail.split(|byte| *byte == b'\n').rev().find_map(number).unwrap_or(0);
        Ok(Self { number, is_cut: tail.last().is_some_and(|byte| *byte != b'\n') })
    }
}

/// The `n` of a line.
fn number(line: &[u8]) -> Option<u64> {
    let at = line.windows(4).position(|window| window == b"\"n\":")?;
    let digits = line.get(at.saturating_add(4)..)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
    std::str::from_utf8(digits.get(..end)?).ok()?.parse().ok()
}
