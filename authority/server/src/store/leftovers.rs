//! Entries and documents of a cut-short write without a checkpoint: set aside, not deleted at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use semgate_contexts::Digest;

use super::Layout;
use crate::{RunFault, disk};

/// The directory `leftovers/`, with a bounded number of files.
#[derive(Debug, Clone)]
pub(crate) struct Leftovers {
    dir: PathBuf,
    max: usize,
}

impl Leftovers {
    /// That of a state directory.
    pub fn new(layout: &Layout, max: usize) -> Self {
        Self { dir: layout.leftovers.clone(), max }
    }

    /// Moves files into it; the oldest ones there make place. Refuses more files than the bound at once: a single crash cannot leave so
    /// many.
    pub fn take(&self, files: &[&Path]) -> Result<(), RunFault> {
        if files.is_empty() {
            return Ok(());
        }
        if files.len() > self.max {
            let what =
                format!("{} files belong to no entry, more than a crash leaves; check them", files.len());
            return Err(RunFault::damaged(&disk::parent(files.first().unwrap_or(&Path::new(""))), what));
        }
        disk::make_dir(&self.dir)?;
        self.make_place(files.len())?;
        for file in files {
            let bytes = fs::read(file).map_err(RunFault::io("reading", file))?;
            // Bundles of one name differ from crash to crash; documents are named by their content.
            let below = file.components().rev().take_while(|c| c.as_os_str() != "tile").collect::<Vec<_>>();
            let parts = if below.len() == file.components().count() { 1 } else { below.len() };
            let name: Vec<String> = below
                .iter()
                .take(parts)
                .rev()
                .map(|c| c.as_os_str().to_string_lossy().into_owned())
                .collect();
            let hex = Digest::of(&bytes).hex();
            let name = format!("{}-{}", name.join("-"), hex.get(..16).unwrap_or_default());
            fs::rename(file, self.dir.join(name)).map_err(RunFault::io("moving", file))?;
        }
        disk::sync_dir(&self.dir)?;
        files.iter().try_for_each(|file| disk::sync_dir(&disk::parent(file)))
    }

    fn make_place(&self, more: usize) -> Result<(), RunFault> {
        let mut there: Vec<(SystemTime, PathBuf)> = Vec::new();
        for name in disk::list(&self.dir)? {
            let path = self.dir.join(name);
            let at = fs::metadata(&path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            there.push((at, path));
        }
        there.sort();
        let over = (there.len() + more).saturating_sub(self.max);
        for (_, path) in there.iter().take(over) {
            fs::remove_file(path).map_err(RunFault::io("removing", path))?;
        }
        Ok(())
    }
}
