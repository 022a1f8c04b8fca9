//! `semgate policy …` through the binary, as an operator uses it before anything goes live.

mod analysis;
mod cases;
mod explained;
mod matrix;
mod mistakes;
mod replay;
use crate::support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::SEMGATE;

/// The shipped rules.
fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/rules")
}

/// Runs `semgate policy` with these words, without a solver: status, standard output, standard error.
fn policy(words: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(SEMGATE).arg("policy").args(words).env("SEMGATE_SOLVER", "none").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A directory of its own with a copy of the shipped rules and their cases.
fn copied() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("cases")).unwrap();
    for (from, to) in [(rules(), dir.path().to_path_buf()), (rules().join("cases"), dir.path().join("cases"))]
    {
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    dir
}

/// A path as the command line takes it.
fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Replaces text in a file that holds it.
fn change(file: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} does not hold `{from}`", file.display());
    std::fs::write(file, text.replace(from, to)).unwrap();
}
