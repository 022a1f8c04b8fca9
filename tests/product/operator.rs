//! What an operator reads: log, status, checks and certificates. Each test is named after the fault that it keeps away.

#[path = "operator/certificates.rs"]
mod certificates;
#[path = "operator/checks.rs"]
mod checks;
#[path = "operator/handshakes.rs"]
mod handshakes;
#[path = "operator/reaching.rs"]
mod reaching;
#[path = "operator/terminal.rs"]
mod terminal;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::SEMGATE;

/// Runs the binary in a directory.
fn semgate(dir: &Path, words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).current_dir(dir).output().unwrap()
}

/// Runs it, and asserts that it succeeds; returns its output.
fn succeeds(dir: &Path, words: &[&str]) -> String {
    let output = semgate(dir, words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Output on standard error as text.
fn complaint(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A gateway's configuration in a directory of its own, with an authority that does not run. Its one route speaks TLS.
struct Scene {
    _temporary: tempfile::TempDir,
    dir: PathBuf,
    log_key: String,
}

impl Scene {
    fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().to_owned();
        succeeds(&dir, &["cert", "root", "--out", "root"]);
        succeeds(&dir, &["cert", "issuing", "--family", "tls", "--by", "root", "--out", "tls"]);
        succeeds(&dir, &gateway_leaf("gateway"));
        let made = succeeds(&dir, &["--json", "authority", "init", "--dir", "authority"]);
        let made: serde_json::Value = serde_json::from_str(&made).unwrap();
        let log_key = made["log_key"].as_str().unwrap().to_owned();
        let scene = Self { _temporary: temporary, dir, log_key };
        scene.writes(&scene.text());
        scene
    }

    fn text(&self) -> String {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/rules");
        format!(
            "state = \"state\"\naudit = \"logs/audit.jsonl\"\npolicies = \"{}\"\n\n\
             [tls]\ncertificate = \"gateway.pem\"\nkey = \"gateway.key\"\n\n\
             [[trust_domain]]\nname = \"semgate.test\"\nroots = \"root.pem\"\n\n\
             [[authority]]\nname = \"semgate.test\"\nurl = \"https://127.0.0.1:9/\"\nroots = \"authority/roots.pem\"\n\
             origin = \"semgate.test/log\"\nlog_key = \"{}\"\nlines = [\"travel\"]\n\n\
             [[route]]\nname = \"orders\"\nlisten = \"127.0.0.1:9443\"\nbinding = \"l8\"\n\
             receiver = \"spiffe://semgate.test/agent/orders\"\nupstream = \"http://127.0.0.1:9/\"\n\
             contexts = [\"travel\"]\n",
            rules.display(),
            self.log_key
        )
    }

    fn writes(&self, text: &str) {
        std::fs::write(self.dir.join("firewall.toml"), text).unwrap();
    }

    /// The configuration with one text replaced.
    fn changes(&self, was: &str, is: &str) {
        let text = self.text();
        assert!(text.contains(was), "{text}");
        self.writes(&text.replace(was, is));
    }

    fn check(&self, more: &[&str]) -> Output {
        semgate(&self.dir, &[&["firewall", "check", "--config", "firewall.toml"], more].concat())
    }

    /// Asserts that check and start fail for the same reason.
    fn refused(&self, why: &str) {
        let run = semgate(&self.dir, &["firewall", "run", "--config", "firewall.toml"]);
        for output in [self.check(&[]), run] {
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            let text = complaint(&output);
            assert!(text.contains(why), "{why}: {text}");
            assert!(text.contains("hint:"), "{text}");
        }
    }
}

fn gateway_leaf(out: &str) -> Vec<&str> {
    let id = "spiffe://semgate.test/gateway";
    vec!["cert", "leaf", "--usage", "gateway", "--spiffe", id, "--by", "tls", "--out", out]
}
