//! LDP: delegates and clients of the packages `ldp-protocol`, a gateway between them, and envelopes that no well-behaved client sends.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::gateway::{Gateway, free_address};
use super::{Ended, Up, python, wait_for};

pub const CONTEXT: &str = "urn:contexts:work:v1.0";
pub const CLIENT: &str = "ldp:client:router";
pub const DELEGATE: &str = "ldp:delegate:qwen3-8b";
/// The secret of the client and the delegate, where a test gives them one.
pub const SECRET: &str = "the-secret-of-the-router";

/// Names of the agents of `up` in LDP.
pub const NAMES: [(&str, &str); 4] = [
    ("retailer-7", CLIENT),
    ("public-webapp-3", "ldp:client:other"),
    ("treasurer-1", "ldp:client:partner"),
    ("wholesaler-1", DELEGATE),
];

/// Texts, contracts and four skills, of transfers only small ones. The shipped policies permit sessions and cards.
pub const RULES: &str = r#"
@id("ldp-asks") permit (principal in Group::"partners", action, resource is ldp::text);
@id("ldp-texts") permit (principal in Group::"repliers", action, resource is ldp::text);
@id("contracts") permit (principal in Group::"partners", action, resource is ldp::contract);
@id("classify") permit (principal in Group::"partners", action, resource is work::classify);
@id("classified") permit (principal in Group::"repliers", action, resource is work::classify_results);
@id("summarise") permit (principal in Group::"partners", action, resource is work::summarise);
@id("summarised") permit (principal in Group::"repliers", action, resource is work::summarise_results);
@id("broken") permit (principal in Group::"partners", action, resource is work::broken);
@id("transfer") permit (principal in Group::"partners", action, resource is work::transfer) when { resource.amount < 100 };
@id("transferred") permit (principal in Group::"repliers", action, resource is work::transfer_results);
"#;

pub fn id(agent: &str) -> String {
    format!("spiffe://semgate.test/agent/{agent}")
}

/// The context of the skills. `story` stands on the card of the delegate, and here is no such task; `delete` is the opposite.
fn work() -> Value {
    let line = json!({"type": "string", "maxLength": 200});
    let task = |parameters: Value, required: &[&str], results: Value| {
        json!({
            "parameters": {"type": "object", "properties": parameters, "required": required, "additionalProperties": false},
            "results": {"type": "object", "properties": results, "additionalProperties": false},
            "performatives": ["REQUEST", "INFORM"],
        })
    };
    let frame = json!({"task_type": line, "instruction": line, "input": line, "labels": {"type": "array", "items": line, "maxItems": 9}});
    json!({"context": CONTEXT, "tasks": {
        "classify": task(frame, &["instruction"], json!({"label": line, "task": line})),
        "summarise": task(json!({"text": line}), &["text"], json!({"summary": line})),
        "transfer": task(json!({"amount": {"type": "integer"}}), &["amount"], json!({"transferred": {"type": "boolean"}})),
        "broken": task(json!({}), &[], json!({"label": line})),
        "delete": task(json!({}), &[], json!({"label": line})),
    }})
}

/// The crate `ldp-protocol` as client and delegate, a package of its own that is built below `target/` in the versions of its lock file.
fn rust() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = root.join("target/interop-ldp");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--manifest-path"])
            .arg(root.join("tests/interop/ldp/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug/interop-ldp")
    })
}

/// A delegate of one of the packages.
pub struct Delegate {
    pub address: SocketAddr,
    home: tempfile::TempDir,
    _child: Ended,
}

impl Delegate {
    /// The Python one, with the options of its script.
    pub fn python(options: &Value) -> Self {
        let (address, home) = (free_address(), tempfile::tempdir().unwrap());
        let mut command = Command::new(python::with_ldp());
        command.arg(python::script("ldp_delegate.py")).arg(address.port().to_string()).arg(home.path());
        Self::started(command.arg(options.to_string()), address, home)
    }

    /// The Rust one, with the options of its program.
    pub fn rust(options: &Value) -> Self {
        let (address, home) = (free_address(), tempfile::tempdir().unwrap());
        let mut command = Command::new(rust());
        command.args(["delegate", &address.port().to_string(), &options.to_string()]);
        Self::started(&mut command, address, home)
    }

    fn started(command: &mut Command, address: SocketAddr, home: tempfile::TempDir) -> Self {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("the delegate", || TcpStream::connect(address).ok());
        Self { address, home, _child: Ended(child) }
    }

    /// From now on it misbehaves in this manner; an empty one is honest.
    pub fn behaves(&self, behaviour: &str) {
        let written = self.home.path().join("behaviour.new");
        std::fs::write(&written, behaviour).unwrap();
        std::fs::rename(written, self.home.path().join("behaviour")).unwrap();
    }

    /// The envelopes that reached it.
    pub fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.path().join("received.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How many envelopes of this type reached it.
    pub fn count(&self, kind: &str) -> usize {
        self.received().iter().filter(|one| one["body"]["type"] == kind).count()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

/// A client of one of the packages, which takes one step after the other.
pub struct Client {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Client {
    /// The Python one, with the options of its script.
    pub fn python(url: &str, options: &Value) -> Self {
        let mut command = Command::new(python::with_ldp());
        Self::started(command.arg(python::script("ldp_client.py")).arg(url).arg(options.to_string()))
    }

    /// The Rust one, with the options of its program.
    pub fn rust(url: &str, options: &Value) -> Self {
        let mut command = Command::new(rust());
        Self::started(command.args(["client", url, &options.to_string()]))
    }

    fn started(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, lines: BufReader::new(output).lines() }
    }

    /// Takes a step, and answers what its user is shown.
    pub fn does(&mut self, step: &Value) -> Value {
        writeln!(self.input, "{step}").unwrap();
        let line = self.lines.next().unwrap_or_else(|| panic!("the client ended at {step}")).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    pub fn classifies(&mut self) -> Value {
        self.does(&json!({"do": "submit", "skill": "classify", "input": frame()}))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of `classify`, in the form of a semantic frame.
pub fn frame() -> Value {
    json!({"task_type": "classification", "instruction": "Classify sentiment", "input": "ok", "labels": ["positive"]})
}

/// A running `up` that is ready for LDP.
pub fn up() -> Up {
    let up = Up::start();
    prepare(&up);
    up
}

/// Gives an `up` the context, the policies and the names that LDP needs, before any gateway starts.
pub fn prepare(up: &Up) {
    let draft = up.dir.join("work.json");
    std::fs::write(&draft, work().to_string()).unwrap();
    let published = up.semgate(&["context", "publish", draft.to_str().unwrap()]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    let policies = up.path("/policies");
    let file = policies.join("entities.json");
    let mut entities: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for agent in entities["agents"].as_array_mut().unwrap() {
        if let Some((_, name)) = NAMES.iter().find(|(alias, _)| agent["alias"] == *alias) {
            agent["names"] = json!({ "ldp": name });
        }
    }
    std::fs::write(file, entities.to_string()).unwrap();
    std::fs::write(policies.join("work.cedar"), RULES).unwrap();
}

/// A route of LDP before a delegate, on a plain listener of `agent` or, without one, over TLS with client certificates.
pub struct Route<'a> {
    pub listen: SocketAddr,
    pub agent: Option<&'a str>,
    pub upstream: SocketAddr,
    /// Options of its own.
    pub more: String,
}

impl Route<'_> {
    pub fn written(&self, up: &Up) -> String {
        let card = card(up, self.upstream);
        let sender = match self.agent {
            Some(agent) => format!("plain_sender = \"{}\"\n", id(agent)),
            None => String::new(),
        };
        format!(
            "[[route]]\nname = \"ldp-{}\"\nlisten = \"{}\"\nbinding = \"ldp\"\n{sender}receiver = \"{}\"\nupstream = \"http://{}\"\n\
             contexts = [\"*\"]\ndefault_context = \"{CONTEXT}\"\nidentity_card = \"{}\"\n{}\n",
            self.listen.port(),
            self.listen,
            id("wholesaler-1"),
            self.upstream,
            card.display(),
            self.more,
        )
    }
}

/// The card of the delegate, as an operator pins it.
pub fn card(up: &Up, delegate: SocketAddr) -> PathBuf {
    let file = up.dir.join(format!("card-{}.json", delegate.port()));
    if !file.exists() {
        std::fs::write(&file, super::plain_get(&format!("http://{delegate}/ldp/identity")).body).unwrap();
    }
    file
}

/// The option `ldp_secrets` that gives these agents this secret.
pub fn secrets(up: &Up, agents: &[&str]) -> String {
    use std::os::unix::fs::OpenOptionsExt;
    let file = up.dir.join("ldp.secret");
    if !file.exists() {
        let mut options = std::fs::File::options();
        let mut file = options.create_new(true).write(true).mode(0o600).open(&file).unwrap();
        file.write_all(SECRET.as_bytes()).unwrap();
    }
    let entry = |agent: &&str| format!("{{ agent = \"{}\", file = \"{}\" }}", id(agent), file.display());
    format!("ldp_secrets = [{}]\n", agents.iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// A gateway with one route of `retailer-7` before a delegate.
pub struct Stage {
    pub up: Up,
    pub gateway: Gateway,
    pub address: SocketAddr,
}

impl Stage {
    pub fn before(delegate: &Delegate, more: impl FnOnce(&Up) -> String) -> Self {
        let (up, listen) = (up(), free_address());
        let more = more(&up);
        let route = Route { listen, agent: Some("retailer-7"), upstream: delegate.address, more };
        let gateway = Gateway::serving(&up, listen, &route.written(&up), "");
        Self { up, gateway, address: listen }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}
