//! Python packages at pinned versions, in an environment below `target/` that the first test that needs it makes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter of the environment, with everything of `tests/interop/requirements.txt`.
///
/// # Panics
/// Where Python 3 or the packages cannot be had: a test that needs them is never skipped.
pub fn interpreter() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements.txt", "interop-python"))
}

/// The same with the MCP SDK of `tests/interop/requirements-mcp.txt`, in an environment of its own.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_mcp() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-mcp.txt", "interop-python-mcp"))
}

/// The same with the clients of `tests/interop/requirements-l8.txt`: other people's readers of event streams and WebSockets.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_l8() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-l8.txt", "interop-python-l8"))
}

/// The same with the parser of `tests/interop/requirements-sf.txt`: somebody else's reader of structured fields.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_structured_fields() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-sf.txt", "interop-python-sf"))
}

/// The same with Envoy, of `tests/interop/requirements-envoy.txt`: a hundred megabytes for a benchmark alone.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_envoy() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-envoy.txt", "interop-python-envoy"))
}

/// The same with `tests/interop/requirements-log.txt`: somebody else's verifier of transparency logs.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_log() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-log.txt", "interop-python-log"))
}

/// The same with schemathesis of `tests/interop/requirements-openapi.txt`: it makes requests of a description of an interface.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_schemathesis() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-openapi.txt", "interop-python-openapi"))
}

/// The same with python-tuf of `tests/interop/requirements-tuf.txt`: the reference client of TUF repositories.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_tuf() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-tuf.txt", "interop-python-tuf"))
}

/// The same with the published schema of OCSF, of `tests/interop/requirements-ocsf.txt`.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_ocsf() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-ocsf.txt", "interop-python-ocsf"))
}

/// The same with the Prometheus client of `tests/interop/requirements-openmetrics.txt`: somebody else's reader of OpenMetrics.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_openmetrics() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-openmetrics.txt", "interop-python-openmetrics"))
}

/// The same with clients of HumanLayer and gotoHuman, of `tests/interop/requirements-humanlayer.txt`.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_humanlayer() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-humanlayer.txt", "interop-python-humanlayer"))
}

/// The same with the client and the delegate of LDP, of `tests/interop/requirements-ldp.txt`.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_ldp() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-ldp.txt", "interop-python-ldp"))
}

/// The same with the A2A SDK and the models of SSTP L9, of `tests/interop/requirements-sstp.txt`. The models ask for packages of
/// language models that they do not import.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_sstp() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-sstp.txt", "interop-python-sstp"))
}

/// A command of `tests/interop/channels.py`, with the judges of `tests/interop/requirements-channels.txt`.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn with_channels(words: &[&str]) -> Command {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    let python = READY.get_or_init(|| environment("requirements-channels.txt", "interop-python-channels"));
    let mut command = Command::new(python);
    command.arg(script("channels.py")).args(words);
    command
}

/// The solver z3 of `tests/interop/requirements-solver.txt`.
///
/// # Panics
/// As [`interpreter`].
#[allow(dead_code)]
pub fn z3() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| environment("requirements-solver.txt", "interop-python-solver").with_file_name("z3"))
}

/// The first line of requirements that name every package they need.
const COMPLETE: &str = "# complete: installed with --no-deps\n";

/// The interpreter of `target/<name>`, an environment with exactly the packages of `tests/interop/<requirements>`.
///
/// # Panics
/// As [`interpreter`].
pub fn environment(requirements: &str, name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let requirements = root.join("tests/interop").join(requirements);
    let wanted = std::fs::read_to_string(&requirements).expect("requirements");
    let home = root.join("target").join(name);
    let python = home.join("bin/python");
    let stamp = home.join("installed.txt");
    let lock = std::fs::File::create(root.join(format!("target/{name}.lock"))).expect("lock file");
    lock.lock().expect("one test installs at a time");
    if std::fs::read_to_string(&stamp).ok().as_deref() != Some(wanted.as_str()) {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        let alone = wanted.starts_with(COMPLETE).then_some("--no-deps");
        let mut install = Command::new(&python);
        run(install.args(["-m", "pip", "install", "-q"]).args(alone).arg("-r").arg(&requirements));
        std::fs::write(&stamp, wanted).expect("stamp");
    }
    python
}

/// A script of `tests/interop/`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop").join(name)
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
