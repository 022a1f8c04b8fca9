//! A TUF repository on disk: `metadata/` and `targets/` as served (with consistent snapshots), `draft/` for files without enough
//! signatures.

use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use semgate_statement::tuf::{MAX_METADATA_BYTES, Metadata};

use crate::fault::{Doing, Fault};
use crate::system::{make_dir, read_bytes, replace, unreadable};

/// Target files in one repository: a trust list a month for a lifetime.
const MAX_FILES: usize = 1024;

/// The published repository.
pub(super) struct Repository {
    dir: PathBuf,
    pub root: Option<Metadata>,
    pub targets: Option<Metadata>,
    pub snapshot: Option<Metadata>,
    pub timestamp: Option<Metadata>,
}

/// The files that wait for signatures.
#[derive(Default)]
pub(super) struct MetadataDraft {
    pub root: Option<Metadata>,
    pub targets: Option<Metadata>,
    /// The target files.
    pub files: Vec<(String, Vec<u8>)>,
}

const METADATA: &str =
    "name a metadata file of this repository: `semgate trust tuf draft` makes the first ones";

/// Reads a metadata file.
pub(super) fn read(path: &Path) -> Result<Metadata, Fault> {
    let what = format!("`{}`", path.display());
    let size = std::fs::metadata(path).map_err(|why| unreadable(path, &why))?.len();
    if size > MAX_METADATA_BYTES as u64 {
        return Err(Fault::new(format_args!("{what} is larger than the limit of metadata")).hint(METADATA));
    }
    Metadata::read(&read_bytes(path)?).hinted(&what, METADATA)
}

/// Writes a file beside its place and renames it, so that a reader sees the old one or the new one.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    if let Some(parent) = path.parent() {
        make_dir(parent)?;
    }
    replace(path, bytes)
}

fn read_if_there(path: &Path) -> Result<Option<Metadata>, Fault> {
    if path.exists() { read(path).map(Some) } else { Ok(None) }
}

fn hex(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns true if a directory of metadata, which may not exist yet, has targets of any version.
fn has_targets(metadata: &Path) -> Result<bool, Fault> {
    if !metadata.exists() {
        return Ok(false);
    }
    let what = format!("`{}`", metadata.display());
    for entry in std::fs::read_dir(metadata).doing(&what)? {
        if entry.doing(&what)?.file_name().to_string_lossy().ends_with(".targets.json") {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Repository {
    /// Opens a repository in a directory, which may be empty or missing. The newest of each role counts; every root must follow the one
    /// before.
    ///
    /// # Errors
    /// A file cannot be read or is not valid, or targets lack the timestamp that names the newest.
    pub fn open(dir: &Path) -> Result<Repository, Fault> {
        let metadata = dir.join("metadata");
        let mut root: Option<Metadata> = None;
        for version in 1.. {
            let Some(next) = read_if_there(&metadata.join(format!("{version}.root.json")))? else { break };
            let held = match &root {
                Some(before) => next.follows(before),
                None => next.check(&next),
            };
            held.doing(format_args!("`{version}.root.json`"))?;
            root = Some(next);
        }
        let timestamp = read_if_there(&metadata.join("timestamp.json"))?;
        if timestamp.is_none() && has_targets(&metadata)? {
            return Err(Fault::new("there are targets but no `timestamp.json`, so it is unknown which were published")
                .hint("copy the metadata back from where it is served; where nothing was published yet, remove `metadata/`"));
        }
        let named = |from: &Option<Metadata>, name: &str| {
            let version = from.as_ref().and_then(|from| from.names(name));
            match version {
                Some(version) => read(&metadata.join(format!("{version}.{name}"))).map(Some),
                None => Ok(None),
            }
        };
        let snapshot = named(&timestamp, "snapshot.json")?;
        let targets = named(&snapshot, "targets.json")?;
        Ok(Repository { dir: dir.to_owned(), root, targets, snapshot, timestamp })
    }

    fn at(&self, part: &str, name: &str) -> PathBuf {
        self.dir.join(part).join(name)
    }

    /// Replaces the drafts; returns the files for root keys to sign.
    pub fn write_draft(&self, draft: &MetadataDraft) -> Result<Vec<PathBuf>, Fault> {
        self.clear_draft()?;
        let mut written = Vec::new();
        let both = [("root.json", &draft.root), ("targets.json", &draft.targets)];
        for (name, metadata) in both {
            if let Some(metadata) = metadata {
                let path = self.at("draft", name);
                write(&path, &metadata.to_bytes())?;
                written.push(path);
            }
        }
        for (name, bytes) in &draft.files {
            write(&self.dir.join("draft/targets").join(name), bytes)?;
        }
        Ok(written)
    }

    /// The drafts, with their target files: each with the signed length and hash.
    pub fn read_draft(&self) -> Result<MetadataDraft, Fault> {
        let root = read_if_there(&self.at("draft", "root.json"))?;
        let targets = read_if_there(&self.at("draft", "targets.json"))?;
        let mut files = Vec::new();
        let named = targets.as_ref().and_then(|targets| targets.signed().get("targets")?.as_object());
        for (name, said) in named.into_iter().flatten().take(MAX_FILES) {
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
            if !plain || name.starts_with('.') {
                return Err(Fault::new("targets name a file that does not have the name of a trust list"));
            }
            let bytes = std::fs::read(self.dir.join("draft/targets").join(name))
                .doing(format_args!("target `{name}`"))?;
            let hash = said.get("hashes").and_then(|hashes| hashes.get("sha256")?.as_str());
            let length = said.get("length").and_then(serde_json::Value::as_u64);
            if hash != Some(hex(&bytes).as_str()) || length != Some(bytes.len() as u64) {
                return Err(Fault::new(format_args!("target `{name}` differs from the signed one"))
                    .hint("draft it again, and have it signed again"));
            }
            files.push((name.clone(), bytes));
        }
        Ok(MetadataDraft { root, targets, files })
    }

    fn clear_draft(&self) -> Result<(), Fault> {
        match std::fs::remove_dir_all(self.dir.join("draft")) {
            Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => Err(fault).doing("removing drafts"),
            _ => Ok(()),
        }
    }

    /// Writes everything new; the timestamp last, because it leads clients to the rest.
    ///
    /// # Errors
    /// Another file of the same version exists. Then nothing is written, because clients that have it would refuse another.
    pub fn publish(
        &self,
        draft: &MetadataDraft,
        snapshot: &Metadata,
        timestamp: &Metadata,
    ) -> Result<(), Fault> {
        let mut new = Vec::new();
        for (role, metadata) in
            [("targets", draft.targets.as_ref()), ("snapshot", Some(snapshot)), ("root", draft.root.as_ref())]
        {
            let Some(metadata) = metadata else { continue };
            let path = self.at("metadata", &format!("{}.{role}.json", metadata.version().doing(role)?));
            let bytes = metadata.to_bytes();
            if !path.exists() {
                new.push((path, bytes));
            } else if std::fs::read(&path).doing(format_args!("`{}`", path.display()))? != bytes {
                return Err(Fault::new(format_args!("`{}` exists with other content", path.display()))
                    .hint("if an earlier publication was interrupted, remove it and publish again; else the repository is an older copy of the one that is served"));
            }
        }
        for (name, bytes) in &draft.files {
            write(&self.at("targets", &format!("{}.{name}", hex(bytes))), bytes)?;
        }
        for (path, bytes) in new {
            write(&path, &bytes)?;
        }
        write(&self.at("metadata", "timestamp.json"), &timestamp.to_bytes())?;
        self.clear_draft()
    }
}

#[cfg(test)]
mod tests;
