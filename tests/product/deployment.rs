//! A gateway and an authority as a cluster and a machine run them: probes, reloads, sockets, packages.

mod authorities;
mod findings;
mod probes;
mod reloads;
mod restarts;

use crate::support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Ended, SEMGATE};

/// Starts `semgate firewall run` with this file, and logs next to it.
fn firewall(config: &Path) -> Ended {
    let log = std::fs::File::create(log_of(config)).unwrap();
    let mut command = Command::new(SEMGATE);
    command.args(["firewall", "run", "--config"]).arg(config).stdout(Stdio::null()).stderr(log);
    Ended(command.spawn().unwrap())
}

fn log_of(config: &Path) -> PathBuf {
    config.with_extension("log")
}

/// Replaces one text of a file.
fn edit(path: &Path, was: &str, is: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(was), "`{was}` in {text}");
    std::fs::write(path, text.replacen(was, is, 1)).unwrap();
}

/// The line of a file that begins so.
fn line(path: &Path, start: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("`{start}` in {text}"))
        .to_owned()
}
