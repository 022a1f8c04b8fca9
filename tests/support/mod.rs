//! What the tests of the whole share: a running `semgate up` in a directory of its own, and clients that can send what no well-behaved client sends.
#![allow(
    dead_code,
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

pub mod authorities;
pub mod console;
pub mod gateway;
pub mod iac;
pub mod ldp;
pub mod ldp_envelope;
pub mod ldp_own;
pub mod mcp;
pub mod negotiator;
pub mod node;
pub mod otlp;
pub mod people;
pub mod policies;
pub mod python;
pub mod strangers;
pub mod task_agent;
pub mod volume;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use semgate_certs::{Chain, ChainLimits, KeyPair, Roots, tls};
use serde_json::Value;

use task_agent::TaskAgent;

/// The built binary.
pub const SEMGATE: &str = env!("CARGO_BIN_EXE_semgate");

/// How long anything may take before the test says what it waited for.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// A running `semgate up`; ended with the value.
pub struct Up {
    pub dir: PathBuf,
    pub json: Value,
    child: Child,
    _temporary: Option<tempfile::TempDir>,
}

impl Up {
    /// Starts one in a fresh directory.
    pub fn start() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("semgate");
        let mut up = Self::start_in(&dir);
        up._temporary = Some(temporary);
        up
    }

    /// An `up` in this directory whose authority has these limits.
    pub fn start_limited(dir: &Path, limits: &str) -> Up {
        Up::start_in(dir).stop();
        let config = dir.join("authority.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        assert!(!text.contains("[limits]"), "{text}");
        std::fs::write(&config, format!("{text}\n[limits]\n{limits}\n")).unwrap();
        Up::start_in(dir)
    }

    /// Starts one in a fresh directory. The A2A route of its gateway leads to this agent.
    pub fn before(agent: &TaskAgent) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("semgate");
        let first = Self::start_in(&dir);
        let (config, own) = (first.path("/firewall_config"), first.text("/sample_agent/url").to_owned());
        first.stop();
        let text = std::fs::read_to_string(&config).unwrap();
        let (was, is) = (format!("{own}/a2a"), format!("http://{}/a2a", agent.address));
        assert!(text.contains(&was), "{text}");
        std::fs::write(&config, text.replace(&was, &is)).unwrap();
        let mut up = Self::start_in(&dir);
        up._temporary = Some(temporary);
        up
    }

    /// Starts one in this directory, which may hold an earlier one's state.
    pub fn start_in(dir: &Path) -> Self {
        // Ports are reserved by the test, which outlives the process: a restart finds them free.
        let first = !dir.join("up.toml").exists();
        let options = [
            "--authority",
            "--authority-admin",
            "--l8",
            "--a2a",
            "--a2h",
            "--ldp",
            "--admin",
            "--people",
            "--console",
            "--agent",
        ];
        let addresses = options
            .iter()
            .filter(|_| first)
            .flat_map(|o| [(*o).to_owned(), gateway::free_address().to_string()]);
        let log_path = std::env::temp_dir().join(format!("semgate-up-{}.log", std::process::id()));
        let log = std::fs::File::options().create(true).append(true).open(&log_path).unwrap();
        let mut child = Command::new(SEMGATE)
            .args(["up", "--dir"])
            .arg(dir)
            .args(addresses)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("semgate starts");
        let path = dir.join("up.json");
        let pid = u64::from(child.id());
        let json = wait_for("up.json of this process", || {
            if let Some(status) = child.try_wait().unwrap() {
                let log = std::fs::read_to_string(&log_path).unwrap();
                let lines: Vec<_> = log.lines().collect();
                panic!(
                    "semgate up ended with {status}:\n{}",
                    lines[lines.len().saturating_sub(20)..].join("\n")
                );
            }
            let text = std::fs::read(&path).ok()?;
            let json: Value = serde_json::from_slice(&text).ok()?;
            (json["pid"].as_u64() == Some(pid)).then_some(json)
        });
        Self { dir: dir.to_path_buf(), json, child, _temporary: None }
    }

    /// A text member of `up.json` by JSON pointer.
    pub fn text(&self, pointer: &str) -> &str {
        self.json
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no `{pointer}` in up.json"))
    }

    /// A path of `up.json`.
    pub fn path(&self, pointer: &str) -> PathBuf {
        self.dir.join(self.text(pointer))
    }

    /// Runs the binary with these words and this directory.
    pub fn semgate(&self, words: &[&str]) -> Output {
        Command::new(SEMGATE).args(words).arg("--dir").arg(&self.dir).output().unwrap()
    }

    /// `say … --json`: exit status and what it printed.
    pub fn say(&self, words: &[&str]) -> (i32, Value) {
        let mut all = vec!["--json", "say"];
        all.extend(words);
        let output = self.semgate(&all);
        let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
            panic!("say printed no JSON: {e}: {}", String::from_utf8_lossy(&output.stderr))
        });
        (output.status.code().unwrap(), json)
    }

    /// How many messages reached the upstream agent.
    pub fn received(&self) -> u64 {
        let url = format!("{}/received", self.text("/sample_agent/url"));
        plain_get(&url).json()["received"].as_u64().unwrap()
    }

    /// Sends the bytes as the agent to one of the gateway's listeners and reads one answer.
    pub fn raw(&self, agent: Option<&str>, url: &str, request: &[u8]) -> Answer {
        let mut stream = self.connect(agent, url);
        // A refusal may come before all of it is written.
        let _ = stream.write_all(request);
        let _ = stream.flush();
        Answer::read(&mut stream)
    }

    /// A TLS connection as the agent.
    pub fn connect(&self, agent: Option<&str>, url: &str) -> StreamOwned<ClientConnection, TcpStream> {
        let limits = ChainLimits::default();
        let text = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        let identity = agent.map(|name| {
            // an agent, or a person
            let kind = if self.json["agents"].get(name).is_some() { "agents" } else { "humans" };
            let file = |what: &str| text(self.path(&format!("/{kind}/{name}/{what}")));
            let chain = Chain::from_pem(&file("cert"), &limits).unwrap();
            (chain, KeyPair::from_pem(&file("key"), &ring::rand::SystemRandom::new()).unwrap())
        });
        self.connect_as(identity, url)
    }

    /// A TLS connection with this certificate, whoever issued it.
    pub fn connect_as(
        &self,
        identity: Option<(Chain, KeyPair)>,
        url: &str,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let roots = std::fs::read_to_string(self.path("/roots")).unwrap();
        let roots = Roots::from_pem(&roots, &ChainLimits::default()).unwrap();
        let trust = tls::ServerTrust { roots, expected: tls::ExpectedServer::Named };
        let shown = identity.as_ref().map(|(c, k)| (c, k));
        let config = tls::client_config(trust, shown, Arc::new(tls::DefaultTimeProvider)).unwrap();
        let address = address(url);
        let tcp = TcpStream::connect(&address).unwrap();
        tcp.set_read_timeout(Some(PATIENCE)).unwrap();
        let host = address.rsplit_once(':').unwrap().0.to_owned();
        let name = ServerName::try_from(host).unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), tcp)
    }

    /// Posts JSON to a listener of the gateway as the agent.
    pub fn post(&self, agent: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut request = format!("POST {} HTTP/1.1\r\nhost: {}\r\n", path(url), address(url));
        request.push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        self.raw(Some(agent), url, &bytes)
    }

    /// Gets a path of the authority without a certificate.
    pub fn authority(&self, path: &str) -> Answer {
        let url = self.text("/authority_url");
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", address(url));
        self.raw(None, url, request.as_bytes())
    }

    /// The whole lines of the audit log as it stands; records are written after the answer, so tests wait for theirs.
    pub fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path("/audit")).unwrap();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    /// Ends it as an operator would, and waits.
    pub fn stop(mut self) {
        self.terminate();
    }

    /// Ends it as a power cut would.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn terminate(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        self.terminate();
    }
}

/// A process that does not outlive its test.
pub struct Ended(pub Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An agent of `tests/interop/` in Python, which runs until it is let go of, and where it serves, as its first line says.
pub fn python_agent(script: &str) -> (Ended, Value) {
    agent_of(python::interpreter(), script)
}

/// The same in another environment.
pub fn agent_of(interpreter: &Path, script: &str) -> (Ended, Value) {
    let mut command = Command::new(interpreter);
    let mut child = command.arg(python::script(script)).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    (Ended(child), serde_json::from_str(&first).unwrap())
}

/// One HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads head and body by content-length, chunks, or to the end.
    pub fn read(stream: &mut impl Read) -> Self {
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some(answer) = Self::parse(&bytes, false) {
                return answer;
            }
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => break,
                Ok(n) => bytes.extend_from_slice(&buffer[..n]),
            }
        }
        Self::parse(&bytes, true).unwrap_or_else(|| Self {
            status: 0,
            head: String::from_utf8_lossy(&bytes).into_owned(),
            body: Vec::new(),
        })
    }

    fn parse(bytes: &[u8], ended: bool) -> Option<Self> {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let rest = &bytes[end + 4..];
        let lower = head.to_ascii_lowercase();
        let body = if let Some(length) = header_of(&lower, "content-length") {
            let length: usize = length.parse().ok()?;
            (rest.len() >= length).then(|| rest[..length].to_vec())?
        } else if lower.contains("transfer-encoding: chunked") {
            unchunk(rest)?
        } else if status == 204 {
            Vec::new()
        } else {
            ended.then(|| rest.to_vec())?
        };
        Some(Self { status, head, body })
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| {
            panic!("no JSON ({e}) in: {} {}", self.head, String::from_utf8_lossy(&self.body))
        })
    }

    /// The stable code of a refusal, by problem document or JSON-RPC error.
    pub fn code(&self) -> String {
        let json = self.json();
        let code = json.get("code").or_else(|| json.pointer("/error/data/0/code"));
        let code = code.or_else(|| json.pointer("/error/data/code"));
        code.and_then(Value::as_str).unwrap_or_else(|| panic!("no code in {json}")).to_owned()
    }

    pub fn header(&self, name: &str) -> Option<String> {
        self.head.lines().skip(1).find_map(|line| {
            let (n, value) = line.split_once(':')?;
            n.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

fn header_of<'a>(lower: &'a str, name: &str) -> Option<&'a str> {
    lower.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|w| w == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?.trim(), 16).ok()?;
        rest = rest.get(line + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

/// `host:port` of a URL.
pub fn address(url: &str) -> String {
    let rest = url.split_once("://").unwrap().1;
    rest.split('/').next().unwrap().to_owned()
}

/// The path of a URL, at least `/`.
pub fn path(url: &str) -> String {
    let rest = url.split_once("://").unwrap().1;
    rest.find('/').map_or_else(|| "/".to_owned(), |at| rest[at..].to_owned())
}

/// The JSON that a program prints after it read these calls, a line each.
///
/// # Panics
/// Where the program cannot start, fails, or prints no JSON; `mode` is named then.
#[allow(dead_code)]
pub fn answered(program: &mut Command, mode: &str, calls: &[Value]) -> Value {
    let pipes = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    calls.iter().for_each(|call| writeln!(input, "{call}").unwrap());
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A GET without TLS.
pub fn plain_get(url: &str) -> Answer {
    let mut stream = TcpStream::connect(address(url)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // in one piece: a TLS port answers the first bytes and closes
    let request =
        format!("GET {} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", path(url), address(url));
    stream.write_all(request.as_bytes()).unwrap();
    Answer::read(&mut stream)
}

/// Asks until there is an answer, and says what it waited for when there is none.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
