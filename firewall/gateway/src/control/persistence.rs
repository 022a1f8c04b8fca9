//! Owners across a restart. A thread of its own writes each change as a line of a file.
//!
//! Nothing waits for the write. After a lost line (a crash, a full disk) the owner's object is unknown to everyone until the
//! agent names it again. So no check depends on the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use semgate_contexts::Prefix;
use semgate_inspect::owners::{Journal, Kind, Owned, Owners};
use semgate_statement::durable::replace;
use serde::{Deserialize, Serialize};

pub(crate) use minimums::MinimumsKeeper;
pub(crate) use tools::keep_tools;

use crate::fault::RunFault;
use crate::server::shared::Shared;

mod minimums;
#[cfg(test)]
mod tests;
mod tools;

/// Lines waiting for the thread: a few seconds of only new tasks.
const QUEUE: usize = 65_536;
/// Maximum bytes of a line: names of at most 2,048 bytes each, and the credentials of a push target, escaped.
const MAX_LINE: u64 = 64 * 1024;
/// Lines beyond twice the remembered ones before the file is rewritten.
const SLACK: usize = 4_096;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line<O = Owned> {
    Learnt(O),
    Forgotten(O),
}

/// A record in this version's form or the previous one, which named the route instead of the agent.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Written {
    Now(Owned),
    Before(Before),
}

/// Form of the first version.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    route: String,
    kind: Kind,
    id: String,
    owner: String,
    context: String,
    digest: String,
}

/// Agent of each route, by the route's name. Used for records of the first version, which had no tenants.
pub(crate) type Routes = BTreeMap<String, String>;

impl Written {
    /// Key of a record; by route in the first version.
    fn key(&self) -> (String, Option<String>, Kind, String) {
        match self {
            Self::Now(now) => (now.agent.clone(), now.tenant.clone(), now.kind, now.id.clone()),
            // no agent's id begins with a line end
            Self::Before(old) => (format!("\n{}", old.route), None, old.kind, old.id.clone()),
        }
    }

    /// The record in the current form; `None` for a removed route, whose ids nobody can use.
    fn owned(self, routes: &Routes) -> Option<Owned> {
        match self {
            Self::Now(owned) => Some(owned),
            Self::Before(Before { route, kind, id, owner, context, digest }) => {
                let agent = routes.get(&route)?.clone();
                Some(Owned { agent, tenant: None, kind, id, owner, context, digest, delivery: None })
            }
        }
    }
}

/// Message to the thread.
enum Word {
    Line(Line),
    End,
}

struct JournalQueue(SyncSender<Word>);

impl JournalQueue {
    fn say(&self, line: Line) {
        // a full queue loses the line, as the module documentation describes
        let _ = self.0.try_send(Word::Line(line));
    }
}

impl Journal for JournalQueue {
    fn learnt(&self, owned: &Owned) {
        self.say(Line::Learnt(owned.clone()));
    }

    fn forgotten(&self, owned: &Owned) {
        self.say(Line::Forgotten(owned.clone()));
    }
}

/// The writing thread. Dropping the value writes the remaining lines and ends the thread.
pub(crate) struct Keeper {
    words: SyncSender<Word>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Restores the last run's file, rewrites it, and starts the thread.
    ///
    /// # Errors
    /// An unreadable or unwritable file. Invalid lines do not stop a start: the file is then set aside as `owners.damaged`.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        state: &Path,
        prefix: &Prefix,
        routes: &Routes,
    ) -> Result<Self, RunFault> {
        let path = state.join("owners.jsonl");
        let fault =
            |why: io::Error| RunFault::File { path: path.clone(), what: "owners", why: why.to_string() };
        restore(shared.inspector.owners(), &path, prefix, routes).map_err(fault)?;
        let file = rewrite(shared.inspector.owners().export().into_iter().map(Line::Learnt), &path)
            .map_err(fault)?;
        let (words, heard) = sync_channel(QUEUE);
        let _ = shared.inspector.owners().tell(Box::new(JournalQueue(words.clone())));
        let (shared, path) = (Arc::clone(shared), path.clone());
        let thread = std::thread::Builder::new()
            .name("semgate-owners".to_owned())
            .spawn(move || write(&heard, shared.inspector.owners(), &path, file))
            .map_err(|why| RunFault::system("thread", why))?;
        Ok(Self { words, thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.words.send(Word::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Restores the file into memory. Ignores an incomplete last line.
fn restore(owners: &Owners, path: &Path, prefix: &Prefix, routes: &Routes) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(why) => return Err(why),
    };
    let (things, mut whole) = read(BufReader::new(file), routes)?;
    for thing in things {
        whole &= owners.import([thing], prefix).is_ok();
    }
    if !whole {
        let damaged = path.with_extension("damaged");
        tracing::warn!(path = %path.display(), "the file of owners is damaged and set aside; the readable part applies");
        std::fs::copy(path, damaged)?;
    }
    Ok(())
}

/// Passes each complete line to `take`. Returns true if all were accepted. Skips a rejected line, or one longer than `most`,
/// and continues, so that damage gives nobody another's objects. An incomplete last line comes from a crash and does not
/// count.
fn lines(mut file: impl BufRead, most: u64, mut take: impl FnMut(&[u8]) -> Option<()>) -> io::Result<bool> {
    let (mut line, mut whole) = (Vec::new(), true);
    loop {
        line.clear();
        let bytes = file.by_ref().take(most).read_until(b'\n', &mut line)?;
        match line.last() {
            None => return Ok(whole),
            Some(b'\n') => whole &= take(&line).is_some(),
            Some(_) if u64::try_from(bytes).is_ok_and(|bytes| bytes < most) => return Ok(whole),
            Some(_) => {
                whole = false;
                file.skip_until(b'\n')?;
            }
        }
    }
}

/// The remaining records in order, and true if every complete line was valid.
fn read(file: impl BufRead, routes: &Routes) -> io::Result<(Vec<Owned>, bool)> {
    let mut order: BTreeMap<u64, Written> = BTreeMap::new();
    let mut numbers: BTreeMap<_, u64> = BTreeMap::new();
    let mut number = 0_u64;
    let whole = lines(file, MAX_LINE, |line| {
        number = number.saturating_add(1);
        let (written, stays): (Written, bool) = match serde_json::from_slice(line).ok()? {
            Line::Learnt(written) => (written, true),
            Line::Forgotten(written) => (written, false),
        };
        let key = written.key();
        let before = if stays { numbers.insert(key, number) } else { numbers.remove(&key) };
        if let Some(before) = before {
            order.remove(&before);
        }
        if stays {
            order.insert(number, written);
        }
        Some(())
    })?;
    Ok((undisputed(order.into_values().filter_map(|written| written.owned(routes)).collect()), whole))
}

/// Removes objects with two owners. In the first version, two routes to one receiver had separate ids. The owner of a shared
/// id is unknown.
fn undisputed(mut all: Vec<Owned>) -> Vec<Owned> {
    let key = |owned: &Owned| (owned.agent.clone(), owned.tenant.clone(), owned.kind, owned.id.clone());
    let mut owners: BTreeMap<_, Option<String>> = BTreeMap::new();
    for owned in &all {
        let known = owners.entry(key(owned)).or_insert_with(|| Some(owned.owner.clone()));
        if known.as_ref() != Some(&owned.owner) {
            *known = None;
        }
    }
    all.retain(|owned| owners.get(&key(owned)).is_some_and(Option::is_some));
    all
}

/// Replaces the file with these lines. The new file is durable before it replaces the old one, and the replacement is durable
/// on return.
fn rewrite<T: serde::Serialize>(
    lines: impl IntoIterator<Item = T>,
    path: &Path,
) -> io::Result<BufWriter<File>> {
    replace(path, 0o600, |file| lines.into_iter().try_for_each(|line| append(file, &line)))
}

fn append(file: &mut impl Write, line: &impl serde::Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    file.write_all(&bytes)
}

/// Writes until told to end. Logs a failure once, and retries with the next file.
fn write(heard: &Receiver<Word>, owners: &Owners, path: &Path, file: BufWriter<File>) {
    let (mut file, mut lines) = (Some(file), owners.len());
    while let Ok(first) = heard.recv() {
        let mut ends = false;
        for word in std::iter::once(first).chain(heard.try_iter()) {
            match word {
                Word::Line(line) => {
                    lines = lines.saturating_add(1);
                    file = file.and_then(|mut file| append(&mut file, &line).is_ok().then_some(file));
                }
                Word::End => ends = true,
            }
        }
        file = file.and_then(|mut file| file.flush().is_ok().then_some(file));
        if file.is_none() || lines > owners.len().saturating_mul(2).saturating_add(SLACK) {
            lines = owners.len();
            file = match rewrite(owners.export().into_iter().map(Line::Learnt), path) {
                Ok(file) => Some(file),
                Err(why) => {
                    tracing::error!(%why, path = %path.display(), "cannot save owners for the next start");
                    None
                }
            };
        }
        if ends {
            return;
        }
    }
}
