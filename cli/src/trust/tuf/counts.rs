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
            (Counts::No, "root") => Some("warning: neither this root nor the one before names this key: its signature counts for nothing".to_owned()),
            (Counts::No, _) => Some("warning: the root does not name this key (it left the trust list, or was never in it): its signature counts for nothing".to_owned()),
            (Counts::Unknown, "root") => Some("note: this root does not name the key: its signature counts only where the root before does, which is not at hand".to_owned()),
            (Counts::Unknown, _) => Some("note: not checked: whether the root names this key; it is not at hand (`draft/root.json`, `metadata/`)".to_owned()),
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
mod tests {
    use super::*;
    use crate::system::ring_random;
    use semgate_certs::KeyPair;
    use semgate_statement::tuf::{self, Roles};

    #[test]
    fn a_key_that_left_the_root_counts_for_the_next_root_alone_and_a_strangers_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            path
        };
        let random = ring_random();
        let [old, new, online, stranger] =
            std::array::from_fn(|_| KeyPair::generate(&random).unwrap().public().clone());
        let root = |key: &PublicKey, version| {
            let roles = Roles { root: vec![key.clone()], threshold: 1, online: online.clone() };
            Metadata::draft(tuf::root(&roles, version, 2_000_000_000).unwrap())
        };
        let targets = Metadata::draft(tuf::targets(&[], 1, 2_000_000_000).unwrap());
        let of = |key: &PublicKey, draft: &Metadata, name: &str| Counts::of(key, draft, &at(name)).unwrap();
        // carried away from the repository
        assert_eq!(of(&old, &root(&old, 1), "alone/root.json"), Counts::Yes);
        assert_eq!(
            of(&stranger, &root(&old, 1), "alone/root.json"),
            Counts::No,
            "nothing is before the first"
        );
        assert_eq!(of(&old, &root(&new, 2), "alone/root.json"), Counts::Unknown);
        assert_eq!(of(&old, &targets, "alone/targets.json"), Counts::Unknown);
        // beside the draft of a root
        std::fs::write(at("carried/root.json"), root(&new, 2).to_bytes()).unwrap();
        assert_eq!(of(&new, &targets, "carried/targets.json"), Counts::Yes);
        assert_eq!(of(&old, &targets, "carried/targets.json"), Counts::No);
        assert_eq!(of(&online, &targets, "carried/targets.json"), Counts::No, "it signs other roles");
        let warning = Counts::No.warning("targets").unwrap();
        assert!(
            warning.contains("it left the trust list") && warning.contains("counts for nothing"),
            "{warning}"
        );
        assert_eq!(Counts::Yes.warning("root"), None);
    }
}
