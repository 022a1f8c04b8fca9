//! Where the files of a set are, for whoever reads one: what a check calls good is what a gateway takes.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::{PolicySource, unreadable};
use crate::{PolicyFault, PolicyLimits};

/// One file of a set: its name in the set, where its bytes are with links followed, and what is there.
#[derive(Debug)]
pub struct Located {
    /// Its name in the set.
    pub name: String,
    /// Where its bytes are.
    pub path: PathBuf,
    /// Metadata of the regular file.
    pub metadata: Metadata,
}

impl PolicySource {
    /// The files of a set in a directory, sorted by name. None of them is opened, so that a pipe holds nobody up.
    ///
    /// # Errors
    /// As [`names`](Self::names); a file cannot be looked at or is no regular one; or, links followed, the files lie in several
    /// directories, so that they cannot be read as they stood at one moment.
    pub fn located(dir: &Path, limits: &PolicyLimits) -> Result<Vec<Located>, PolicyFault> {
        let mut files: Vec<Located> = Vec::new();
        for name in Self::names(dir, limits)? {
            let entry = dir.join(&name);
            let path = entry.canonicalize().map_err(|why| unreadable(&entry, &why))?;
            let metadata = std::fs::metadata(&path).map_err(|why| unreadable(&path, &why))?;
            if !metadata.is_file() {
                return Err(unreadable(&entry, &"not a regular file"));
            }
            if let Some(first) = files.first()
                && first.path.parent() != path.parent()
            {
                let parent = |path: &Path| path.parent().unwrap_or(path).display().to_string();
                let why = format!(
                    "its files are in several directories, `{}` and `{}`: all links must lead into one directory",
                    parent(&first.path),
                    parent(&path)
                );
                return Err(unreadable(dir, &why));
            }
            files.push(Located { name, path, metadata });
        }
        Ok(files)
    }
}
