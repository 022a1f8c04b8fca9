//! Deltas from the heads mirrored before (`docs/spec/head-delta.md`), made from these heads alone: from the sizes at which earlier deltas
//! begin, and from the replaced head.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use semgate_statement::delta::{MAX_DELTA_BYTES, statuses_of};
use semgate_statement::head::MAX_HEAD_BYTES;
use semgate_statement::token::MAX_TOKEN_BYTES;
use semgate_statement::{Delta, HeadParts, ShardRef};

use super::{HEAD, below, read};

const DELTAS: &str = "/v1/feed/deltas";
/// A file in that directory: each one that does not lead to the head is removed.
pub(super) const EACH: &str = "/v1/feed/deltas/0";

/// Writes the deltas to the staged head, from the newest `most` known sizes; returns their paths. Leaves out any that a damaged mirror
/// prevents: readers then take the whole head.
pub(super) fn write(staging: &Path, to: &Path, most: usize) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for (from, bytes) in made(staging, to).into_iter().rev().take(most) {
        let path = format!("{DELTAS}/{from}");
        let file = below(staging, &path);
        fs::create_dir_all(file.parent().unwrap_or(staging))?;
        // not forced to the disk: a file that a power cut left empty is no delta, and its readers take the whole head
        fs::write(file, bytes)?;
        paths.push(path);
    }
    Ok(paths)
}

/// Removes every other delta: it leads to a replaced head.
pub(super) fn forget_others(deltas: &[String], to: &Path) -> io::Result<()> {
    for file in files(to) {
        let is_current = deltas.iter().any(|path| below(to, path) == file);
        if !is_current {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn made(staging: &Path, to: &Path) -> BTreeMap<u64, Vec<u8>> {
    let head = |dir: &Path| read(&below(dir, HEAD), MAX_HEAD_BYTES as u64);
    let token = |named: &ShardRef| {
        let path = format!("/v1/feed/shards/{}", named.hex());
        let of = |dir: &Path| read(&below(dir, &path), MAX_TOKEN_BYTES as u64);
        of(staging).or_else(|| of(to))
    };
    let Some(new) = head(staging) else { return BTreeMap::new() };
    let (Some(now), Ok(parts)) = (statuses_of(&new, token), HeadParts::of(&new)) else {
        return BTreeMap::new();
    };
    let before = head(to).and_then(|old| statuses_of(&old, token));
    let bytes = files(to).into_iter().filter_map(|file| read(&file, MAX_DELTA_BYTES as u64));
    let older: Vec<Delta> = bytes.filter_map(|bytes| Delta::read(&bytes).ok()).collect();
    parts.onwards(&now, before.as_ref(), &older)
}

fn files(to: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(below(to, DELTAS)).into_iter().flatten().flatten();
    files.map(|file| file.path()).filter(|path| path.is_file()).collect()
}
