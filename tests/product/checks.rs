//! Commands that check something say the truth about it: by which contexts they type, in which status, and every fault of a file.

mod contexts;
mod manual;
mod people;
mod schema;
mod settings;
mod typing;
mod untyped;

use crate::support;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{SEMGATE, Up};

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

/// Runs the command on a terminal with these variables, and types this; what the terminal got.
fn typed(up: &Up, variables: &str, words: &str, answer: &str) -> String {
    let command = format!("{variables} {SEMGATE} {words} --dir {}", word(&up.dir));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = script.spawn().unwrap();
    child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}
