//! Formerly live policies across a restart. For these, a start only warns where a running gateway would only warn.
//!
//! No check depends on the file. Without a valid one, a start judges every policy as new, and refuses those without effect. A
//! forged file turns such a refusal into a warning, and lets nothing pass.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use semgate_policies::{Lived, PolicyLimits};

use super::anew;

/// File for one policy set.
#[derive(Clone, Debug)]
pub(crate) struct PolicyMemory {
    path: PathBuf,
    /// Source of the set.
    place: PathBuf,
}

impl PolicyMemory {
    /// File for the live set from this source.
    pub(crate) fn live(state: &Path, place: &Path) -> Self {
        Self { path: state.join("policies-lived.json"), place: place.to_owned() }
    }

    /// File for the shadow set.
    pub(crate) fn shadow(state: &Path, place: &Path) -> Self {
        Self { path: state.join("shadow-lived.json"), place: place.to_owned() }
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The last live policies; empty if unknown, which is logged.
    pub(crate) fn recall(&self, limits: &PolicyLimits) -> Lived {
        let of = |bytes: Vec<u8>| Lived::read(&bytes, &self.place, limits).map_err(io::Error::other);
        match self.read(limits).and_then(of) {
            Ok(lived) => lived,
            Err(why) => {
                if why.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%why, path = %self.path.display(), "which policies were live cannot be told, so all are judged as new ones");
                }
                Lived::default()
            }
        }
    }

    fn read(&self, limits: &PolicyLimits) -> io::Result<Vec<u8>> {
        let most = u64::try_from(Lived::max_bytes(limits)).unwrap_or(u64::MAX);
        let mut bytes = Vec::new();
        // one byte above the maximum, which `Lived::read` refuses
        File::open(&self.path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes the live policies durably in place of the earlier ones.
    ///
    /// # Errors
    /// The file cannot be written. The earlier file stays only if all its policies are still live. Otherwise a start would
    /// warn of a policy that a running gateway refuses.
    pub(crate) fn keep(&self, lived: &Lived, before: &Lived) -> io::Result<()> {
        let text = lived.text(&self.place);
        let written = anew(&self.path, |file| file.write_all(text.as_bytes())).map(drop);
        written.map_err(|why| match self.forget(lived, before) {
            Ok(()) => why,
            Err(left) => io::Error::other(format!("{why}; nor can what was kept before be removed: {left}")),
        })
    }

    fn forget(&self, lived: &Lived, before: &Lived) -> io::Result<()> {
        if before.is_within(lived) {
            return Ok(());
        }
        match std::fs::remove_file(&self.path) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semgate_contexts::{Context, DocumentLimits, Prefix, library};
    use semgate_policies::{Policies, PolicySource};
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Arc;

    fn shipped() -> Policies {
        let read = |(_, bytes): &(&str, &[u8])| {
            Arc::new(Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap())
        };
        let contexts: Vec<_> = library::all().iter().map(read).collect();
        Policies::load(&PolicySource::shipped(), &contexts, &PolicyLimits::default()).unwrap()
    }

    #[test]
    fn what_was_live_is_recalled_and_a_file_that_is_gone_damaged_or_of_another_place_is_a_first_start() {
        let (dir, limits) = (tempfile::tempdir().unwrap(), PolicyLimits::default());
        let (place, nothing) = (Path::new("/etc/semgate/policies"), Lived::default());
        let memory = PolicyMemory::live(dir.path(), place);
        assert_eq!(memory.recall(&limits), nothing);
        let policies = shipped();
        assert_ne!(*policies.lived(), nothing);
        memory.keep(policies.lived(), &nothing).unwrap();
        assert_eq!(memory.recall(&limits), *policies.lived());
        assert_eq!(std::fs::metadata(memory.path()).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(PolicyMemory::shadow(dir.path(), place).recall(&limits), nothing, "each has its own");
        let elsewhere = PolicyMemory::live(dir.path(), Path::new("/etc/semgate/others"));
        assert_eq!(elsewhere.recall(&limits), nothing);
        let whole = std::fs::read(memory.path()).unwrap();
        for damaged in [&whole[..whole.len() / 2], b"", b"{}", b"\0\0\0\n"] {
            std::fs::write(memory.path(), damaged).unwrap();
            assert_eq!(memory.recall(&limits), nothing);
        }
        memory.keep(policies.lived(), &nothing).unwrap();
        assert_eq!(memory.recall(&limits), *policies.lived());
        std::fs::remove_file(memory.path()).unwrap();
        std::fs::create_dir(memory.path()).unwrap();
        assert_eq!(memory.recall(&limits), nothing, "a directory is no such file");
    }

    #[test]
    fn attack_what_cannot_be_written_leaves_a_policy_that_is_not_live_any_more_among_those_that_were() {
        let (dir, limits) = (tempfile::tempdir().unwrap(), PolicyLimits::default());
        let memory = PolicyMemory::live(dir.path(), Path::new("policies"));
        let policies = shipped();
        let (more, less) = (policies.lived(), &Lived::default());
        // the disk takes nothing
        std::fs::create_dir(memory.path().with_extension("new")).unwrap();
        std::fs::write(memory.path(), less.text(Path::new("policies"))).unwrap();
        let why = memory.keep(more, less).unwrap_err().to_string();
        assert!(memory.path().exists() && !why.contains("removed"), "all of it is live still: {why}");
        std::fs::write(memory.path(), more.text(Path::new("policies"))).unwrap();
        assert_eq!(memory.recall(&limits), *more);
        memory.keep(less, more).unwrap_err();
        assert!(!memory.path().exists());
        assert_eq!(memory.recall(&limits), *less);
        let why = memory.keep(less, more).unwrap_err().to_string();
        assert!(!why.contains("removed"), "it is gone already: {why}");
        std::fs::create_dir(memory.path()).unwrap();
        let why = memory.keep(less, more).unwrap_err().to_string();
        assert!(why.contains("nor can what was kept before be removed"), "{why}");
    }
}
