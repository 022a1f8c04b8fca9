//! `docs/tutorial.md` followed word for word: its `sh` blocks run in order in one shell, and each `text` block holds against the output of the
//! block before it.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::python;

const PAGE: &str = include_str!("../../docs/tutorial.md");

/// How long the whole page may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// A command block and the output that the page shows for it.
struct Step {
    commands: &'static str,
    output: Option<&'static str>,
}

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for fenced in PAGE.split("\n```").skip(1).step_by(2) {
        let (language, text) = fenced.split_once('\n').unwrap_or((fenced, ""));
        match language {
            "sh" => steps.push(Step { commands: text, output: None }),
            "text" => steps.last_mut().expect("output comes after a command").output = Some(text),
            other => panic!("the page has a block of `{other}`"),
        }
    }
    steps
}

fn marker(step: usize) -> String {
    format!("@@ step {step} @@")
}

/// All blocks as one script, with a line before the output of each. A command that fails ends it.
fn script(steps: &[Step]) -> String {
    let blocks = steps.iter().enumerate();
    let blocks = blocks.map(|(n, step)| format!("echo '{}'\n{}\n", marker(n), step.commands));
    format!("set -e\n{}", blocks.collect::<String>())
}

/// Holds if the text is the pattern, in which `…` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.trim().split('…');
    let Some(mut rest) = text.trim().strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// A `python3` with both SDKs, as a reader installs them: the tests keep each in an environment of its own.
fn python3(dir: &Path) {
    let (a2a, mcp) = (python::interpreter().display(), python::with_mcp().display());
    let text = format!(
        "#!/bin/sh\nif [ -f \"$1\" ] && grep -q '^from mcp' \"$1\"; then exec {mcp} -B \"$@\"; fi\nexec {a2a} -B \"$@\"\n"
    );
    let path = dir.join("python3");
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A `PATH` with the binary and that `python3` first.
pub fn path_with_sdks(dir: &Path) -> String {
    let own = dir.join("bin");
    python3(&own);
    let binary = Path::new(env!("CARGO_BIN_EXE_semgate")).parent().unwrap();
    format!("{}:{}:{}", own.display(), binary.display(), std::env::var("PATH").unwrap_or_default())
}

/// Copies `examples/`.
fn copy_examples(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/.");
    assert!(Command::new("cp").arg("-R").args([&from, to]).status().unwrap().success());
}

/// The shell with everything that it started.
struct Shell(Child);

impl Drop for Shell {
    fn drop(&mut self) {
        // the group, since the page leaves servers running where it fails
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// Runs the script and returns whether it succeeded.
fn run(dir: &Path, script: &str) -> bool {
    copy_examples(dir);
    let child = Command::new("sh")
        .args(["-c", script])
        .current_dir(dir)
        .env("PATH", path_with_sdks(dir))
        .env("XDG_CONFIG_HOME", dir)
        .stdin(Stdio::null())
        .stdout(File::create(dir.join("stdout.log")).unwrap())
        .stderr(File::create(dir.join("stderr.log")).unwrap())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut shell = Shell(child);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = shell.0.try_wait().unwrap() {
            return status.success();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

#[test]
fn the_tutorial_works_word_for_word() {
    let steps = steps();
    assert!(steps.len() >= 8, "{} steps", steps.len());
    assert!(steps.iter().filter(|step| step.output.is_some()).count() >= 6);
    let dir = tempfile::tempdir().unwrap();
    let succeeded = run(dir.path(), &script(&steps));
    let log = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    let stdout = log("stdout.log");
    let all = || format!("{stdout}\n{}\n{}", log("stderr.log"), log("up.log"));
    assert!(succeeded, "the page fails or takes too long:\n{}", all());
    for (n, step) in steps.iter().enumerate() {
        let Some(shown) = step.output else { continue };
        let output = stdout.split(&marker(n)).nth(1).unwrap();
        let output = output.split(&marker(n + 1)).next().unwrap();
        assert!(fits(shown, output), "step {n} shows\n{shown}\nand prints\n{output}\n{}", all());
    }
}

#[test]
fn six_commands_without_toml_protect_a_stock_agent_and_a_stock_server() {
    let section = PAGE.split("\n## ").find(|section| section.starts_with("2. Protect them")).unwrap();
    let block = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let commands: Vec<&str> = block.lines().collect();
    assert!(commands.len() <= 6 && commands.iter().all(|line| line.starts_with("semgate ")), "{commands:?}");
    assert!(!PAGE.contains(".toml <<") && !PAGE.contains("[[route]]"), "no TOML is written by hand");
}

#[test]
fn output_is_compared_but_for_what_is_left_out() {
    assert!(fits("a…c", "abc\n") && fits("a\n…\nz", "a\nb\nc\nz") && fits("abc", "abc"));
    assert!(!fits("a…c", "abd") && !fits("abc", "abcd") && !fits("b…", "abc") && !fits("a…b…a", "aba…"));
    assert!(fits("a…", "abc") && fits("…c", "abc") && !fits("a…a", "a"));
}
