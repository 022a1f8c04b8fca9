//! The first hour of somebody who has an agent: from its address to a gateway in front of it, by the commands alone.

mod addresses;
mod examples;
mod looked_at;
mod made;
mod profiles;
mod protected;
mod protocols;

use crate::support;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use support::gateway::free_address;
use support::{Ended, SEMGATE, python, wait_for};

/// Runs the binary, without a profile of whoever runs the test.
fn command(words: &[&str]) -> Command {
    let mut command = Command::new(SEMGATE);
    command.args(words).env_remove("SEMGATE_PROFILE").env_remove("SEMGATE_AUTHORITY");
    command.env("XDG_CONFIG_HOME", std::env::temp_dir().join("semgate-no-profile"));
    command
}

fn run(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

/// Standard output of a command that succeeds.
fn good(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Status and standard error of a command that fails.
fn bad(words: &[&str]) -> (i32, String) {
    let output = run(words);
    assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A server of the binary, with its log beside it.
fn serve(words: &[&str], log: &Path) -> Ended {
    let out = std::fs::File::create(log).unwrap();
    let child = command(words).stdin(Stdio::null()).stdout(out.try_clone().unwrap()).stderr(out).spawn();
    Ended(child.unwrap())
}

/// `call --json`: exit status and verdict.
fn call(dir: &Path, words: &[&str]) -> (i32, Value) {
    let output = run(&[&["--json", "call", "--dir", text(dir)], words].concat());
    let json = serde_json::from_slice(&output.stdout);
    let json = json.unwrap_or_else(|e| panic!("{words:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), json)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A directory that does not exist yet.
struct Fresh {
    path: PathBuf,
    _parent: tempfile::TempDir,
}

fn fresh() -> Fresh {
    let parent = tempfile::tempdir().unwrap();
    Fresh { path: parent.path().join("made"), _parent: parent }
}

/// The MCP server on the official SDK.
fn mcp_server() -> (Ended, SocketAddr) {
    let address = free_address();
    let child: Child = Command::new(python::with_mcp())
        .arg("-B")
        .arg(python::script("mcp_server.py"))
        .arg(address.port().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ended = Ended(child);
    wait_for("the MCP server", || std::net::TcpStream::connect(address).ok());
    (ended, address)
}
