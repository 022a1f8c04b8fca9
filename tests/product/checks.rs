//! Commands that check something say the truth about it: by which contexts they type, in which status, and every fault of a file.

mod contexts;
mod manual;
mod schema;
mod settings;
mod typing;
mod untyped;

use crate::support;

use std::path::Path;
use std::process::{Command, Output};

use support::SEMGATE;

/// Runs the binary without a solver.
fn semgate(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).env("SEMGATE_SOLVER", "none").output().unwrap()
}

/// Exit status, standard output and standard error.
fn shown(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A path as the command line takes it.
fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}
