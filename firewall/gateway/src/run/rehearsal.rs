//! The writes of a start, tried for a check. Nothing of them stays.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use super::start;
use crate::config::Config;
use crate::fault::RunFault;
use crate::pipeline::record::{Audit, AuditFile};

/// The missing ones of a path and its parents. Whatever of them is empty at the end is removed.
struct Missing(Vec<PathBuf>);

impl Missing {
    fn of(path: &Path) -> Self {
        let named = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        Self(named.take_while(|path| std::fs::symlink_metadata(path).is_err()).map(Path::to_owned).collect())
    }
}

impl Drop for Missing {
    fn drop(&mut self) {
        for path in &self.0 {
            let Ok(made) = std::fs::symlink_metadata(path) else { continue };
            // a gateway that started meanwhile keeps what it has written
            let _ = match made.is_dir() {
                true => std::fs::remove_dir(path),
                false if made.len() == 0 => std::fs::remove_file(path),
                false => Ok(()),
            };
        }
    }
}

/// Opens the state directory and the audit file as a start does, and makes a file in the directory. Takes no lock, so that it
/// works beside a running gateway.
///
/// # Errors
/// The fault of the start.
pub(super) fn rehearse(config: &Config) -> Result<(), RunFault> {
    let _state = Missing::of(&config.state.join("lock"));
    start::open_state(config)?;
    let probe = config.state.join(".check");
    let _probe = Missing::of(&probe);
    OpenOptions::new().create(true).truncate(false).write(true).open(&probe).map_err(|why| {
        RunFault::File { path: config.state.clone(), what: "state directory", why: why.to_string() }
    })?;
    let _files =
        [Some(&config.audit), config.audit_ocsf.as_ref()].map(|file| file.map(|file| Missing::of(file)));
    Audit::check(AuditFile::of(config, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsal_removes_its_traces_and_nothing_that_was_there_or_was_written_meanwhile() {
        let dir = tempfile::tempdir().unwrap();
        let (new, deep) = (dir.path().join("new"), dir.path().join("new/deep/file"));
        let missing = Missing::of(&deep);
        std::fs::create_dir_all(deep.parent().unwrap()).unwrap();
        std::fs::write(&deep, "").unwrap();
        drop(missing);
        assert!(!new.exists());
        let missing = Missing::of(&deep);
        std::fs::create_dir_all(deep.parent().unwrap()).unwrap();
        std::fs::write(&deep, "written").unwrap();
        drop(missing);
        assert!(deep.exists());
        drop(Missing::of(&deep));
        assert!(deep.exists());
    }
}
