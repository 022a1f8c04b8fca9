//! The thread that owns the audit file.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::ocsf::Ocsf;
use super::ring::{Fresh, VerdictRing};
use super::spans::Collector;
use super::{AuditFile, Health, Item, line};
use crate::fault::RunFault;

/// Bytes gathered for one write. It also bounds the memory held for a failing file, except for the last record.
const BATCH: usize = 256 * 1024;
/// Time for which records are gathered. Under load the thread wakes five hundred times a second, and not for each message,
/// which would cost more than the verdict. It also bounds the loss if the process crashes.
const GATHER: Duration = Duration::from_millis(2);
/// Retry interval for a failing file.
const RETRY: Duration = Duration::from_millis(250);
/// Bytes at the end of an old file that are searched for its last number. A line is shorter than two thirds of it: at most 32
/// KiB of policy inputs (`audit_asked_bytes`), and about 2 KiB more.
const TAIL: u64 = 64 * 1024;

pub(super) struct Writer {
    path: PathBuf,
    fsync: bool,
    gateway: String,
    spans: Option<Collector>,
    ocsf: Option<Ocsf>,
    file: File,
    health: Arc<Health>,
    /// Number of the next record.
    n: u64,
    /// Bytes that the file has not accepted yet, and their number of records.
    pending: Vec<u8>,
    records: u64,
    /// Records for the ring, which take their turn after the file.
    fresh: Vec<Fresh>,
    ring: Arc<VerdictRing>,
}

impl Writer {
    pub(super) fn open(
        file: AuditFile,
        health: Arc<Health>,
        ring: Arc<VerdictRing>,
    ) -> Result<Self, RunFault> {
        let AuditFile { path, fsync, gateway, ocsf, spans } = file;
        let spans = spans.map(|spans| spans.collector);
        let ocsf = ocsf.map(|path| Ocsf::open(path, Arc::clone(&health))).transpose()?;
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
        ring.begin(n);
        let fresh = Vec::new();
        Ok(Self { path, fsync, gateway, spans, ocsf, file, health, n, pending, records: 0, fresh, ring })
    }

    pub(super) fn run(mut self, queue: &Receiver<Item>) {
        loop {
            // no more is taken while that is unwritten, so that the queue fills instead of memory
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
            self.ocsf.iter_mut().for_each(Ocsf::flush);
            self.flush();
            self.ring.publish(&mut self.fresh);
            if self.gives_up(queue) {
                return;
            }
            if ends {
                let _ = self.file.sync_data();
                return;
            }
        }
    }

    /// Returns true if the gateway ends while the file fails. The write was retried every [`RETRY`] and once more, and a full
    /// disk must not delay the end. Lost records are logged.
    fn gives_up(&mut self, queue: &Receiver<Item>) -> bool {
        if !self.health.ending.load(Ordering::Relaxed) || !self.health.failing.load(Ordering::Relaxed) {
            return false;
        }
        let queued = queue.try_iter().filter(|item| matches!(item, Item::Record(_))).count();
        let lost = self.records.saturating_add(queued as u64);
        self.health.lost.fetch_add(lost, Ordering::Relaxed);
        tracing::error!(lost, "the audit file accepts no records at shutdown; they are lost");
        true
    }

    /// Takes `item` and further waiting items, up to a batch. Returns true if the end was among them.
    fn batch(&mut self, item: Item, queue: &Receiver<Item>) -> bool {
        let mut next = Some(item);
        while let Some(item) = next {
            match item {
                Item::Record(record) => {
                    let stamp = line::Stamp { n: self.n, gateway: &self.gateway };
                    let begin = self.pending.len();
                    line::write(&record, stamp, &mut self.pending);
                    let line = self.pending.get(begin..).unwrap_or_default();
                    self.fresh.extend(Fresh::of(&record, self.n, line));
                    self.spans.iter_mut().for_each(|spans| spans.record(&record));
                    self.ocsf.iter_mut().for_each(|ocsf| ocsf.record(&record, stamp));
                    self.n = self.n.saturating_add(1);
                    self.records = self.records.saturating_add(1);
                }
                Item::Ended(ended) => {
                    if let Some(spans) = &mut self.spans {
                        spans.ended(*ended);
                    }
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
            Err(why) => tracing::error!(%why, "cannot reopen the audit file; the old one stays in use"),
        }
    }

    /// Reopens the file if its name no longer leads to it, since nobody would read a removed file.
    ///
    /// # Errors
    /// The file cannot be opened; pending bytes wait for it.
    fn follow_name(&mut self) -> std::io::Result<()> {
        let open = self.file.metadata()?;
        match std::fs::metadata(&self.path) {
            Ok(named) if (named.dev(), named.ino()) == (open.dev(), open.ino()) => return Ok(()),
            Ok(_) => {}
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => return Err(why),
        }
        self.file = append(&self.path)?;
        tracing::warn!("the audit file was removed or moved; it is opened again under its name");
        Ok(())
    }

    /// Writes pending bytes, and keeps those that the file does not accept.
    fn flush(&mut self) {
        // one check for each batch, at most five hundred a second
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
            tracing::warn!("the audit file accepts records again");
        }
    }

    fn failed(&mut self, why: &std::io::Error) {
        if !self.health.failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%why, "the audit file accepts no records; messages are refused");
        }
    }
}

fn append(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// The end of an old file.
#[derive(Default)]
struct End {
    /// The last `n` in the file. Numbers continue across a restart, so that a gap shows.
    number: u64,
    /// True if a crash truncated the last line. The next record then needs a new line.
    is_cut: bool,
}

impl End {
    /// Reads the end. A file that is missing or not regular has none.
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
