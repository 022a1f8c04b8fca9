//! Tells if a key's signature counts on a draft, as far as local files show: a signer may have the draft alone.

use std::path::Path;

use semgate_certs::PublicKey;
use semgate_statement::tuf::{Metadata, Role};

use super::store::{Repository, read};
use crate::fault::{Doing, Fault};

/// The result from the local roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// A root that will be asked names it.
    Yes,
    /// No root that will be asked names it.
    No,
    /// A root that is not here may name it.
    Unknown,
}

impl Counts {
    /// Judges a draft of `root` or `targets` in `file`. In its repository, beside a draft of root or below the published ones, all roots
    /// that will be asked are there.
    ///
    /// # Errors
    /// The repository is not valid.
    pub(super) fn of(key: &PublicKey, draft: &Metadata, file: &Path) -> Result<Counts, Fault> {
        let role = draft.role().doing("draft")?;
        let published = published(file)?;
        if role == "root" {
            let first = draft.version().doing("draft")? == 1;
            let before = published.as_ref().map(|root| names(root, role, key)).transpose()?;
            return Ok(match (names(draft, role, key)?, before) {
                (true, _) | (_, Some(true)) => Counts::Yes,
                (false, None) if !first => Counts::Unknown,
                (false, _) => Counts::No,
            });
        }
        let root_file = file.with_file_name("root.json");
        let root = if root_file.exists() { Some(read(&root_file)?) } else { published };
        Ok(match root.map(|root| names(&root, role, key)).transpose()? {
            Some(true) => Counts::Yes,
            Some(false) => Counts::No,
            None => Counts::Unknown,
        })
    }

    /// A warning for the signer, unless all is well.
    pub(super) fn warning(self, role: &str) -> Option<String> {
        match (self, role) {
            (Counts::Yes, _) => None,
            (Counts::No, "root") => Some("warning: neither this root nor the one before names this key: its signature does not count".to_owned()),
            (Counts::No, _) => Some("warning: the root does not name this key (it left the trust list, or was never in it): its signature does not count".to_owned()),
            (Counts::Unknown, "root") => Some("note: this root does not name the key: its signature counts only where the previous root names it, which is not available".to_owned()),
            (Counts::Unknown, _) => Some("note: not checked: whether the root names this key; it is not available (`draft/root.json`, `metadata/`)".to_owned()),
        }
    }

    /// The JSON form.
    pub(super) fn known(self) -> Option<bool> {
        match self {
            Counts::Yes => Some(true),
            Counts::No => Some(false),
            Counts::Unknown => None,
        }
    }
}

fn names(root: &Metadata, role: &str, key: &PublicKey) -> Result<bool, Fault> {
    let role = Role::of(root, role).doing("root metadata")?;
    Ok(role.keys.iter().any(|(_, known)| known == key))
}

/// The newest published root, if the draft lies in `draft` of a repository.
fn published(file: &Path) -> Result<Option<Metadata>, Fault> {
    let repository = std::path::absolute(file).ok();
    let repository = repository.as_deref().and_then(|file| file.parent()?.parent());
    match repository.filter(|dir| dir.join("metadata").is_dir()) {
        Some(dir) => Ok(Repository::open(dir)?.root),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests;
