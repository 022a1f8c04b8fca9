//! MCP servers with drifted or changed tools, across a restart. Their tools are not called until a list shows them as signed.
//!
//! A server is recorded once, before its output is judged further, and stays in the file. So after each start its tools are
//! listed once more than needed, and drifted tools are not called before. There are at most as many entries as receivers of
//! routes. If the write fails, none of the server's tools are called; each list retries it.

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

/// Maximum bytes of a line: a quoted id of at most 2,048 bytes, and the line end.
const MAX_LINE: u64 = 4 * 1024;

/// Restores the last run's file into `watch`, and writes later changes to it.
///
/// # Errors
/// The file is unreadable. If it is invalid, empty or truncated, every receiver counts as changed, and the file is set aside
/// as `tools.damaged`.
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
        // each change is one insertion, so a panic elsewhere left the set intact
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(server.to_owned());
        let written = rewrite(known.iter(), &path);
        if let Err(why) = &written {
            tracing::error!(%why, path = %path.display(), "cannot save that the tools of a server changed; the gateway refuses calls to them until it can");
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
        tracing::warn!(path = %path.display(), "the file of changed tools is damaged and set aside; every server must list its tools before a call");
        std::fs::copy(path, path.with_extension("damaged"))?;
        servers.extend(routes.values().cloned());
    }
    Ok(servers)
}

/// Returns true if the last line is complete. The file is only ever replaced as a whole, with at least one line, so an empty
/// or truncated file is damaged.
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
