//! Servers of MCP whose tools drifted or changed, over a restart: until such a server lists a tool as signed, the tool is not called.
//!
//! A server is written once, before anything more is judged by what it said, and stays: after each start its tools are listed once
//! more than needed, and a tool that drifted is never called by who comes first. There are no more of them than receivers of routes.
//! One that cannot be written has no tool that is called, until it can: it is written again with each list.

use super::{Routes, lines, rewrite};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use semgate_inspect::tools::ToolWatch;

use crate::fault::RunFault;

#[cfg(test)]
mod tests;

/// Bytes of one line: an id of at most 2,048 bytes in quotes, and its end.
const MAX_LINE: u64 = 4 * 1024;

/// Reads into `watch` what the last run wrote, and writes from now on what it hears.
///
/// # Errors
/// The file cannot be read. Where a line of it is none, or it is empty or cut, every receiver counts as one whose tools changed, and the file is set aside as
/// `tools.damaged`.
pub(crate) fn keep_tools(watch: &ToolWatch, state: &Path, routes: &Routes) -> Result<(), RunFault> {
    let path = state.join("tools.jsonl");
    let servers = restore(&path, routes).map_err(|why| RunFault::File {
        path: path.clone(),
        what: "tools",
        why: why.to_string(),
    })?;
    watch.restore(servers.iter().cloned());
    let known = Mutex::new(servers);
    watch.tell(move |server| {
        // each change is one insertion, so a panic elsewhere left the set whole
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server.to_owned());
        let written = rewrite(known.iter(), &path);
        if let Err(why) = &written {
            tracing::error!(%why, path = %path.display(), "that the tools of a server changed cannot be kept over a restart; none of them is called until it can");
        }
        written.is_ok()
    });
    Ok(())
}

fn restore(path: &Path, routes: &Routes) -> io::Result<BTreeSet<String>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(why) => return Err(why),
    };
    let ends = ends(&mut file)?;
    let (mut servers, whole) = read(BufReader::new(file))?;
    if !(whole && ends) {
        tracing::warn!(path = %path.display(), "the memory of changed tools is damaged; every server lists its tools before they are called, and the file is set aside");
        std::fs::copy(path, path.with_extension("damaged"))?;
        servers.extend(routes.values().cloned());
    }
    Ok(servers)
}

/// Whether the last line has its end. The file only ever takes the place of another one whole, with at least one line; so what
/// is empty or cut was not written so.
fn ends(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    file.rewind()?;
    Ok(last == *b"\n")
}

fn read(file: impl BufRead) -> io::Result<(BTreeSet<String>, bool)> {
    let mut servers = BTreeSet::new();
    let whole = lines(file, MAX_LINE, |line| {
        servers.insert(serde_json::from_slice::<String>(line).ok()?);
        Some(())
    })?;
    Ok((servers, whole))
}
