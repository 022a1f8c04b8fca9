//! The index: URN → digest, log index, status; digest → URN. It lies in sled and is only a cache of the log.
//!
//! Every start compares it with the log. If it is missing, behind, ahead, damaged or does not open, it is deleted and rebuilt from the log,
//! and the operator learns the reason. Does not rely on sled's own recovery.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use semgate_contexts::{ContextUrn, Digest, Prefix};
use semgate_statement::{ListedContext, Status, TreeHash};

use crate::{RunFault, disk};

#[cfg(test)]
mod tests;

/// sled's page cache: the whole index of ten thousand contexts fits.
const CACHE: u64 = 16 << 20;
/// Time for a previous holder to release it: milliseconds on an idle machine, and less than the time allowed for a start.
const LET_GO: Duration = Duration::from_secs(2);
/// Time for sled to open; damaged files have hung it.
const OPEN_TIMEOUT: Duration = Duration::from_secs(20);

/// Layout of keys and values; another number means a rebuild.
const FORMAT: &[u8] = b"1";
const META_FORMAT: &[u8] = b"format";
const META_POSITION: &[u8] = b"position";
/// `u`: URN → record.
const BY_URN: &[u8] = b"u";
/// `d`: digest → URN.
const BY_DIGEST: &[u8] = b"d";

/// The record of a published context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub digest: Digest,
    pub index: u64,
    pub status: Status,
}

/// The log state that the index reflects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub size: u64,
    pub root: TreeHash,
}

/// Reason for rebuilding the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// There was none.
    Missing,
    /// It ends before the log does: the process was killed before sled flushed.
    Behind,
    /// It could not be opened or read, or differs from the log.
    Damaged(String),
    /// A caller asked for it.
    Asked,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Behind => f.write_str("behind the log"),
            Self::Damaged(what) => write!(f, "damaged: {what}"),
            Self::Asked => f.write_str("asked for"),
        }
    }
}

/// The index could not be read or written. It must be rebuilt; the log holds everything that it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexFault(String);

impl fmt::Display for IndexFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn unread() -> IndexFault {
    IndexFault("a record cannot be read".to_owned())
}

impl From<sled::Error> for IndexFault {
    fn from(e: sled::Error) -> Self {
        Self(e.to_string())
    }
}

/// An open index.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    db: sled::Db,
    urns: sled::Tree,
    digests: sled::Tree,
    prefix: Prefix,
    dir: PathBuf,
}

impl Index {
    /// Opens the index in `dir` and compares it with the log. If they differ in anything, rebuilds it from `listed` and returns the reason.
    pub fn open(
        dir: &Path,
        prefix: &Prefix,
        position: Position,
        listed: &[ListedContext],
    ) -> Result<(Self, Option<Reason>), RunFault> {
        let reason = match Self::find(dir, prefix, position, listed) {
            Ok(index) => return Ok((index, None)),
            Err(reason) => reason,
        };
        let index = Self::rebuild(dir, prefix, position, listed)?;
        Ok((index, Some(reason)))
    }

    fn find(
        dir: &Path,
        prefix: &Prefix,
        position: Position,
        listed: &[ListedContext],
    ) -> Result<Self, Reason> {
        if !dir.exists() {
            return Err(Reason::Missing);
        }
        let listed = listed.to_vec();
        let checked = open_on_thread(dir, prefix, move |index| {
            let compared = index.compare(position, &listed);
            compared.map(|()| index)
        });
        checked.unwrap_or_else(|fault| Err(Reason::Damaged(fault.0)))
    }

    /// Deletes the directory and builds the index from the log.
    pub fn rebuild(
        dir: &Path,
        prefix: &Prefix,
        position: Position,
        listed: &[ListedContext],
    ) -> Result<Self, RunFault> {
        remove(dir)?;
        disk::make_dir(dir)?;
        let failed = |e: IndexFault| RunFault::damaged(dir, format_args!("cannot create a new index: {e}"));
        let index = open_on_thread(dir, prefix, |index| index).map_err(failed)?;
        index.db.insert(META_FORMAT, FORMAT).map_err(|e| failed(e.into()))?;
        index.update(position, listed).map_err(failed)?;
        index.flush().map_err(failed)?;
        Ok(index)
    }

    /// Writes the changes, and then the position that they bring the index to.
    pub fn update(&self, position: Position, changed: &[ListedContext]) -> Result<(), IndexFault> {
        for one in changed {
            let record = Record { digest: one.digest, index: one.index, status: one.status };
            self.urns.insert(one.urn.as_str(), encode(&record))?;
            self.digests.insert(one.digest.as_bytes(), one.urn.as_str())?;
        }
        self.db.insert(META_POSITION, encode_position(&position))?;
        Ok(())
    }

    /// The record of a URN.
    pub fn get(&self, urn: &ContextUrn) -> Result<Option<Record>, IndexFault> {
        let Some(value) = self.urns.get(urn.as_str())? else { return Ok(None) };
        decode(&value).map(Some).ok_or_else(unread)
    }

    /// All published versions of the major of a context, itself among them.
    pub fn of_major(&self, urn: &ContextUrn) -> Result<Vec<(ContextUrn, Record)>, IndexFault> {
        let text = urn.as_str();
        self.with_prefix(text.rsplit_once('.').map_or(text, |(major, _)| major), ".")
    }

    /// Returns true if any version of the major of a context is published.
    pub fn has_major(&self, urn: &ContextUrn) -> Result<bool, IndexFault> {
        let text = urn.as_str();
        let major = text.rsplit_once('.').map_or(text, |(major, _)| major);
        Ok(self.urns.scan_prefix(format!("{major}.")).next().transpose()?.is_some())
    }

    /// All published versions of the line of a context.
    pub fn of_line(&self, urn: &ContextUrn) -> Result<Vec<(ContextUrn, Record)>, IndexFault> {
        let text = urn.as_str();
        self.with_prefix(text.rsplit_once(":v").map_or(text, |(line, _)| line), ":v")
    }

    /// The majors N with a publication under `line.vN`, for the line of a context. Costs one look-up for each such line and for each other
    /// continuation of `line.v`, however many versions are published.
    pub fn majors_followed_by_lines(&self, urn: &ContextUrn) -> Result<BTreeSet<u32>, IndexFault> {
        let text = urn.as_str();
        let below = format!("{}.v", text.rsplit_once(":v").map_or(text, |(line, _)| line));
        let (mut majors, mut from) = (BTreeSet::new(), below.clone().into_bytes());
        while let Some(pair) = self.urns.range(from..).next() {
            let (key, _) = pair?;
            let Some(rest) = key.strip_prefix(below.as_bytes()) else { break };
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (major, after) = rest.split_at(digits);
            let Some(next) = after.first() else { return Err(unread()) };
            if *next == b':' {
                majors.extend(std::str::from_utf8(major).ok().and_then(|major| major.parse::<u32>().ok()));
            }
            // skips every other key with this prefix
            from = [below.as_bytes(), major, &[next.saturating_add(1)]].concat();
        }
        Ok(majors)
    }

    fn with_prefix(&self, name: &str, end: &str) -> Result<Vec<(ContextUrn, Record)>, IndexFault> {
        let pairs = self.urns.scan_prefix(format!("{name}{end}"));
        pairs
            .map(|pair| {
                let (key, value) = pair?;
                let urn =
                    std::str::from_utf8(&key).ok().and_then(|t| ContextUrn::parse(t, &self.prefix).ok());
                urn.zip(decode(&value)).ok_or_else(unread)
            })
            .collect()
    }

    /// Returns true if a digest is that of a published context.
    pub fn is_published(&self, digest: &Digest) -> Result<bool, IndexFault> {
        Ok(self.digests.contains_key(digest.as_bytes())?)
    }

    /// Everything, ordered by index.
    pub fn all(&self) -> Result<Vec<ListedContext>, IndexFault> {
        let mut all = Vec::with_capacity(self.urns.len());
        for pair in self.urns.iter() {
            let (key, value) = pair?;
            let urn = std::str::from_utf8(&key).ok().and_then(|t| ContextUrn::parse(t, &self.prefix).ok());
            let (Some(urn), Some(record)) = (urn, decode(&value)) else {
                return Err(unread());
            };
            all.push(ListedContext {
                urn,
                digest: record.digest,
                index: record.index,
                status: record.status,
            });
        }
        all.sort_by_key(|one| one.index);
        Ok(all)
    }

    /// Flushes to the disk for a clean end, so that the next start finds the index in step with the log.
    pub fn flush(&self) -> Result<(), IndexFault> {
        self.db.flush()?;
        keep_private(&self.dir)
    }

    /// Checks that this is the index of the log at `position`, with the records `listed`.
    fn compare(&self, position: Position, listed: &[ListedContext]) -> Result<(), Reason> {
        let damaged = |what: &str| Reason::Damaged(what.to_owned());
        let failed = |e: sled::Error| Reason::Damaged(e.to_string());
        if self.db.get(META_FORMAT).map_err(failed)?.as_deref() != Some(FORMAT) {
            return Err(damaged("it has another format"));
        }
        let at = self.db.get(META_POSITION).map_err(failed)?;
        let at = at.as_deref().and_then(decode_position).ok_or_else(|| damaged("it has no position"))?;
        if at.size < position.size {
            return Err(Reason::Behind);
        }
        if at != position {
            return Err(damaged("it belongs to another log"));
        }
        let all = self.all().map_err(|e| Reason::Damaged(e.0))?;
        if all != listed || self.digests.len() != listed.len() {
            return Err(damaged("it differs from the log"));
        }
        for one in listed {
            let urn = self.digests.get(one.digest.as_bytes()).map_err(failed)?;
            if urn.as_deref() != Some(one.urn.as_str().as_bytes()) {
                return Err(damaged("it differs from the log"));
            }
        }
        Ok(())
    }
}

/// Opens sled and does a first piece of work with it on another thread. It may panic or hang on damaged files, and must not take the
/// authority along.
fn open_on_thread<T: Send + 'static>(
    dir: &Path,
    prefix: &Prefix,
    work: impl FnOnce(Index) -> T + Send + 'static,
) -> Result<T, IndexFault> {
    let (to, from) = mpsc::channel();
    let dir: PathBuf = dir.to_path_buf();
    let prefix = prefix.clone();
    std::thread::Builder::new()
        .name("index-open".to_owned())
        .spawn(move || {
            let opened = (|| {
                let db = open_once_unlocked(&sled::Config::new().path(&dir).cache_capacity(CACHE))?;
                let urns = db.open_tree(BY_URN)?;
                let digests = db.open_tree(BY_DIGEST)?;
                keep_private(&dir)?;
                Ok::<_, IndexFault>(Index { db, urns, digests, prefix, dir })
            })();
            // Nobody listens after the timeout; the index is dropped with the message.
            let _ = to.send(opened.map(work));
        })
        .map_err(|e| IndexFault(e.to_string()))?;
    match from.recv_timeout(OPEN_TIMEOUT) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => Err(IndexFault("it does not open in time".to_owned())),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(IndexFault("sled panicked on it".to_owned())),
    }
}

/// Retries until the previous holder lets go: sled releases its lock on a thread of its own, a moment after the last handle is dropped.
fn open_once_unlocked(config: &sled::Config) -> sled::Result<sled::Db> {
    let until = Instant::now() + LET_GO;
    loop {
        match config.open() {
            Err(sled::Error::Io(why))
                if why.to_string().contains("could not acquire lock") && Instant::now() < until =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// sled creates its files with the umask's permissions. The directory around them is 0700 from the start; the files are restricted once
/// they exist.
fn keep_private(dir: &Path) -> Result<(), IndexFault> {
    let mut dirs = vec![dir.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for name in disk::list(&dir).map_err(|e| IndexFault(e.to_string()))? {
            let path = dir.join(name);
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            // A file may be gone by now: sled replaces its snapshots.
            let _ = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
            if path.is_dir() {
                dirs.push(path);
            }
        }
    }
    Ok(())
}

fn remove(dir: &Path) -> Result<(), RunFault> {
    let removed = if dir.is_dir() { fs::remove_dir_all(dir) } else { fs::remove_file(dir) };
    match removed {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(RunFault::io("removing", dir)(e)),
        _ => Ok(()),
    }
}

fn encode(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(41);
    bytes.extend_from_slice(record.digest.as_bytes());
    bytes.extend_from_slice(&record.index.to_be_bytes());
    bytes.push(record.status.bits());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Record> {
    let (digest, rest) = bytes.split_first_chunk::<32>()?;
    let (index, rest) = rest.split_first_chunk::<8>()?;
    let [status @ 0..=3] = rest else { return None };
    Some(Record {
        digest: Digest::from_bytes(*digest),
        index: u64::from_be_bytes(*index),
        status: Status::from_bits(*status),
    })
}

fn encode_position(position: &Position) -> Vec<u8> {
    let mut bytes = position.size.to_be_bytes().to_vec();
    bytes.extend_from_slice(&position.root.0);
    bytes
}

fn decode_position(bytes: &[u8]) -> Option<Position> {
    let (size, rest) = bytes.split_first_chunk::<8>()?;
    let root: [u8; 32] = rest.try_into().ok()?;
    Some(Position { size: u64::from_be_bytes(*size), root: TreeHash(root) })
}
