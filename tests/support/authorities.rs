//! Authorities beside that of `up`, each in a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::gateway::free_address;
use super::{Ended, SEMGATE, wait_for};

/// An authority with a publisher who may do everything.
pub struct Other {
    pub name: String,
    pub dir: PathBuf,
    pub url: String,
    running: Option<Ended>,
}

impl Other {
    /// Makes one and runs it; its heads live for twelve seconds, so that one which falls silent is noticed.
    pub fn start(place: &Path, name: &str) -> Self {
        let dir = place.join(name);
        let (listen, admin) = (free_address().to_string(), free_address().to_string());
        let who = format!("spiffe://{name}/operator");
        let words = ["authority", "init", "--authority", name, "--trust-domain", name, "--publisher", &who];
        let at = ["--listen", &listen, "--admin", &admin, "--dir", dir.to_str().unwrap()];
        good(&run(&[&words[..], &at].concat()));
        let issuer = dir.join("offline/tls-issuing");
        let words = ["cert", "leaf", "--usage", "agent", "--spiffe", &who, "--by", issuer.to_str().unwrap()];
        good(&run(&[&words[..], &["--out", dir.join("operator").to_str().unwrap()]].concat()));
        let config = dir.join("authority.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let old = text.lines().find(|line| line.starts_with("status_lifetime")).unwrap();
        std::fs::write(&config, text.replace(old, "status_lifetime = \"12s\"")).unwrap();
        let mut other = Self { name: name.to_owned(), dir, url: format!("https://{listen}"), running: None };
        other.run();
        other
    }

    /// Runs it, again after [`Other::stop`].
    pub fn run(&mut self) {
        let log = std::fs::File::create(self.dir.join("authority.log")).unwrap();
        let mut command = Command::new(SEMGATE);
        command.args(["authority", "run", "--config"]).arg(self.dir.join("authority.toml"));
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.running = Some(Ended(child));
        wait_for("the other authority", || self.semgate(&["context", "list"]).status.success().then_some(()));
    }

    /// Ends it; nobody says anything in its name from here on.
    pub fn stop(&mut self) {
        self.running = None;
    }

    /// A command to it, as its operator.
    pub fn semgate(&self, words: &[&str]) -> Output {
        let path = |name: &str| self.dir.join(name).to_str().unwrap().to_owned();
        let (roots, cert, key) = (path("roots.pem"), path("operator.pem"), path("operator.key"));
        let at = ["--authority", &self.url, "--roots", &roots, "--cert", &cert, "--key", &key];
        run(&[words, &at].concat())
    }

    /// Publishes a context with one concept, `thing`.
    pub fn publish(&self, short: &str) {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let document = json!({"context": format!("urn:contexts:{short}"), "concepts": {"thing": schema}});
        let file = self.dir.join(format!("{}.json", short.replace(':', "-")));
        std::fs::write(&file, document.to_string()).unwrap();
        good(&self.semgate(&["context", "publish", file.to_str().unwrap()]));
    }

    pub fn log_key(&self) -> String {
        std::fs::read_to_string(self.dir.join("authority/keys/log.pub")).unwrap().trim().to_owned()
    }

    /// What another one that recognises it is told, but for lines and root key.
    pub fn introduced(&self) -> Vec<String> {
        let issuing = self.dir.join("authority/keys/context-issuing.pem").to_str().unwrap().to_owned();
        let origin = format!("{}/log", self.name);
        ["authority", "recognise", &self.name, "--origin", &origin, "--issuing", &issuing]
            .map(str::to_owned)
            .to_vec()
    }

    /// Its table in the configuration of a gateway.
    pub fn followed(&self, lines: &[&str], recognised_by: &str) -> String {
        let (name, url, key) = (&self.name, &self.url, self.log_key());
        let roots = self.dir.join("roots.pem");
        let lines = Value::from(lines.to_vec());
        format!(
            "[[authority]]\nname = \"{name}\"\nurl = \"{url}\"\nroots = {roots:?}\norigin = \"{name}/log\"\nlog_key = \"{key}\"\nlines = {lines}\nrecognised_by = \"{recognised_by}\"\npoll = \"1s\"\n\n"
        )
    }
}

/// Any command.
pub fn run(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).output().unwrap()
}

/// What a command that went well said.
pub fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}
