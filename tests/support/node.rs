//! Packages of npm at pinned versions, in a folder below `target/` that the first test that needs it makes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The folder with everything of `tests/interop/js/package-lock.json` and the scripts beside it, where Node finds the packages.
///
/// # Panics
/// As [`installed`].
pub fn home() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| installed("js"))
}

/// Installs the packages of `tests/interop/<folder>/package-lock.json` below `target/` and copies the folder's scripts there.
///
/// # Panics
/// Where Node 20 or the packages cannot be had: a test that needs them is never skipped.
pub fn installed(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let from = root.join("tests/interop").join(folder);
    let wanted = std::fs::read_to_string(from.join("package-lock.json")).expect("package-lock.json");
    let home = root.join(format!("target/interop-{folder}"));
    std::fs::create_dir_all(&home).expect("folder");
    let lock = std::fs::File::create(home.with_extension("lock")).expect("lock file");
    lock.lock().expect("one test installs at a time");
    let stamp = home.join("installed.txt");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(wanted.as_str()) {
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(from.join(name), home.join(name)).expect(name);
        }
        let words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
        let output = Command::new("npm").args(words).current_dir(&home).output().expect("npm");
        assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(&stamp, wanted).expect("stamp");
    }
    for script in std::fs::read_dir(&from).expect("scripts").map(|entry| entry.expect("entry").path()) {
        if script.extension().is_some_and(|extension| extension == "mjs") {
            std::fs::copy(&script, home.join(script.file_name().expect("name"))).expect("copy");
        }
    }
    home
}

/// Runs a script and answers its lines of JSON.
pub fn run(script: &str, words: &[&str]) -> Vec<Value> {
    let output = Command::new("node").arg(script).args(words).current_dir(home()).output().expect("node");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// A script that goes on, and its first line.
pub fn start(script: &str) -> (Child, Value) {
    start_with(script, &[])
}

/// The same, with words.
pub fn start_with(script: &str, words: &[&str]) -> (Child, Value) {
    let mut command = Command::new("node");
    command.arg(script).args(words).current_dir(home()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a first line").expect("UTF-8");
    // Read on, so that the script never waits for a full pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (child, serde_json::from_str(&first).expect("a line of JSON"))
}
