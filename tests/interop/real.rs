//! Real clients and servers of MCP and A2A, unmodified, through one gateway with `admit = ["text"]`: each client's user sees what it sees
//! without the gateway, refusals apart.

use crate::support;

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::{Ended, SEMGATE, Up, node, python, wait_for};

/// A program of one of the environments, each of which is made once.
#[derive(Clone, Copy)]
enum Program {
    /// FastMCP 3 and `langchain-mcp-adapters`, on the SDK 1.
    Mcp1(&'static str),
    /// FastMCP 4, `openai-agents` and `pydantic-ai`, on the SDK 2.
    Mcp2(&'static str),
    Adk(&'static str),
    Node(&'static str),
}

impl Program {
    fn command(self) -> Command {
        static ENVIRONMENTS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
        let (number, name, script) = match self {
            Self::Mcp1(script) => (0, "mcp1", script),
            Self::Mcp2(script) => (1, "mcp2", script),
            Self::Adk(script) => (2, "adk", script),
            Self::Node(script) => {
                let mut command = Command::new("node");
                command.arg(script).current_dir(packages());
                return command;
            }
        };
        let make =
            || python::environment(&format!("real/requirements-{name}.txt"), &format!("interop-real-{name}"));
        let mut command = Command::new(ENVIRONMENTS[number].get_or_init(make));
        command.arg(python::script(&format!("real/{script}")));
        command
    }
}

/// The packages of npm, with the scripts.
fn packages() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| node::installed("real"))
}

/// The clients of MCP.
const CLIENTS: [(&str, Program); 7] = [
    ("fastmcp 3.4", Program::Mcp1("fastmcp_client.py")),
    ("fastmcp 4.2", Program::Mcp2("fastmcp_client.py")),
    ("openai-agents", Program::Mcp2("openai_agent.py")),
    ("pydantic-ai", Program::Mcp2("pydantic_agent.py")),
    ("langchain-mcp-adapters", Program::Mcp1("langchain_client.py")),
    ("@ai-sdk/mcp", Program::Node("ai_sdk.mjs")),
    ("mcp-remote", Program::Node("mcp_remote.mjs")),
];

/// A server, directly and behind the gateway, and what its clients do.
struct Server {
    name: &'static str,
    behind: SocketAddr,
    gateway: SocketAddr,
    plan: Value,
    _process: Ended,
}

impl Server {
    fn start(name: &'static str, plan: &str, program: Program, words: &[&str]) -> Self {
        let behind = free_address();
        let port = behind.port().to_string();
        let mut command = program.command();
        command.args(words.iter().map(|word| if *word == "PORT" { port.as_str() } else { word }));
        command.env("PORT", &port).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Ended(command.spawn().unwrap());
        let plans = std::fs::read_to_string(python::script("real/plans.json")).unwrap();
        let plans: Value = serde_json::from_str(&plans).unwrap();
        Self { name, behind, gateway: free_address(), plan: plans[plan].clone(), _process: process }
    }

    /// Every server of MCP here, once each of them listens.
    fn all() -> Vec<Self> {
        const EVERYTHING: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        const THINKING: &str =
            "node node_modules/@modelcontextprotocol/server-sequential-thinking/dist/index.js";
        const BRIDGE: &str = "node_modules/supergateway/dist/index.js";
        let bridge =
            ["--stdio", THINKING, "--outputTransport", "streamableHttp", "--stateful", "--port", "PORT"];
        let servers = vec![
            Self::start("fastmcp3", "fastmcp", Program::Mcp1("fastmcp_server.py"), &["PORT"]),
            Self::start("fastmcp4", "fastmcp", Program::Mcp2("fastmcp_server.py"), &["PORT"]),
            Self::start("everything", "everything", Program::Node(EVERYTHING), &["streamableHttp"]),
            Self::start("thinking", "sequential-thinking", Program::Node(BRIDGE), &bridge),
        ];
        servers.iter().for_each(Self::wait);
        servers
    }

    fn wait(&self) {
        wait_for(self.name, || TcpStream::connect(self.behind).ok());
    }

    /// Drafts the context of its tools from what it lists, and publishes it as drafted.
    fn publish(&self, up: &Up) {
        let draft = up.dir.join(format!("{}.json", self.name));
        let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
        let url = format!("http://{}/mcp", self.behind);
        semgate(&["context", "import", "mcp", &url, "--line", self.name, "--out", draft]);
        semgate(&["context", "publish", draft, "--dir", dir]);
    }

    fn route(&self, binding: &str, path: &str, context: &str) -> String {
        let Self { name, behind, gateway, .. } = self;
        let texts = if binding == "a2a" { "card_texts = true\n" } else { "" };
        format!(
            "[[route]]\nname = \"{name}\"\nlisten = \"{gateway}\"\nbinding = \"{binding}\"\nadmit = [\"text\"]\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}{path}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:{context}:v1.0\"\n{texts}\n"
        )
    }

    /// Its plan with both addresses: the driver plays it at each of them.
    fn plan(&self, path: &str) -> Value {
        let mut plan = self.plan.clone();
        plan["urls"] = json!([self.behind, self.gateway].map(|address| format!("http://{address}{path}")));
        plan
    }
}

fn semgate(arguments: &[&str]) {
    let output = Command::new(SEMGATE).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Plays the plans: for each of them a pair, as seen directly and through the gateway.
fn play(program: Program, plans: &[Value], dir: &Path) -> Vec<[Value; 2]> {
    let mut command = program.command();
    command
        .env("MCP_REMOTE_CONFIG_DIR", dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(json!(plans).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {log}"))
}

/// Keys of `_meta` that the servers here add for their own clients. The gateway removes them from what is no pinned tool.
const FOREIGN: [&str; 3] = ["fastmcp", "origin", "team"];

/// Leaves out foreign keys of `_meta` and two things that differ between any two runs: identifiers that a client draws, and a resource's
/// time of day. An error of the server's has the gateway's own words, which are compared with the words of the server.
fn settled(mut seen: Value) -> Value {
    match &mut seen {
        Value::Object(members) => {
            members.retain(|name, value| {
                let drawn = name == "id" && value.as_str().is_some_and(|id| id.starts_with("lc_"));
                !drawn && !FOREIGN.contains(&name.as_str())
            });
            for (name, value) in members.iter_mut().filter(|(name, _)| *name != "tools") {
                *value = settled(value.take());
                if ["_meta", "meta", "metadata"].contains(&name.as_str()) && *value == json!({}) {
                    *value = Value::Null;
                }
            }
            members.retain(|name, value| {
                !(["_meta", "meta", "metadata"].contains(&name.as_str()) && value.is_null())
            });
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = settled(item.take())),
        Value::String(text) => {
            if let Some(own) = text.strip_prefix("agent_error: the server answered with an error: ") {
                *text = own.to_owned();
            }
            if text.eq_ignore_ascii_case("method not found") {
                text.make_ascii_lowercase();
            }
            if let Some(at) = text.find("created at ") {
                text.truncate(at);
            }
        }
        _ => {}
    }
    seen
}

/// Lists the places at which both differ, by JSON pointer.
fn differences(direct: &Value, through: &Value, pointer: &str, out: &mut Vec<String>) {
    match (direct, through) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter()
                .for_each(|(name, value)| differences(value, &b[name], &format!("{pointer}/{name}"), out));
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b).enumerate();
            pairs.for_each(|(n, (a, b))| differences(a, b, &format!("{pointer}/{n}"), out));
        }
        _ if direct == through => {}
        _ => out.push(format!("{pointer}: {direct} became {through}")),
    }
}

/// Words that `openai-agents` shows a model for every error of the protocol.
const UNSHOWN: &str = "An error occurred while running the tool.";

/// Takes the calls out that the gateway refuses; each shows the client's user the code of its refusal.
fn refused(plan: &Value, seen: &mut [Value; 2], out: &mut Vec<String>) {
    let calls = plan["calls"].as_array().unwrap();
    for (n, code) in calls.iter().enumerate().filter_map(|(n, call)| Some((n, call["refused"].as_str()?))) {
        let [_, shown] = seen.each_mut().map(|seen| {
            let call = seen.pointer_mut(&format!("/calls/{n}"));
            call.map(Value::take).unwrap_or_default()
        });
        let shown = shown.to_string();
        if !shown.contains(code) && !shown.contains(UNSHOWN) {
            out.push(format!("/calls/{n}: shows no `{code}`: {shown}"));
        }
    }
}

/// How often a client may play its plans. A notification on the stream of a session and an answer on another come in no order, and a client
/// stops to listen at the answer: a run that differs in notifications alone is played again.
const RUNS: usize = 3;

/// As [`compare_once`], which tells of notifications only what every run lacks.
fn compare(client: (&str, Program), servers: &[Server], path: &str, dir: &Path) -> Vec<String> {
    let mut differences = Vec::new();
    for _ in 0..RUNS {
        differences = compare_once(client, servers, path, dir);
        if !differences.iter().all(|difference| difference.contains(": /told")) || differences.is_empty() {
            break;
        }
    }
    differences
}

/// Plays the plans of these servers with one client and lists every difference, with the names of both.
fn compare_once(client: (&str, Program), servers: &[Server], path: &str, dir: &Path) -> Vec<String> {
    let plans: Vec<Value> = servers.iter().map(|server| server.plan(path)).collect();
    let mut all = Vec::new();
    for (server, seen) in servers.iter().zip(play(client.1, &plans, dir)) {
        let (mut seen, mut out) = (seen.map(settled), Vec::new());
        if seen[0].get("raised").is_some() {
            out.push(format!("fails directly: {}", seen[0]));
        }
        refused(&server.plan, &mut seen, &mut out);
        differences(&seen[0], &seen[1], "", &mut out);
        all.extend(out.iter().map(|difference| format!("{} before {}: {difference}", client.0, server.name)));
    }
    all
}

#[test]
fn unmodified_clients_see_through_one_gateway_what_they_see_directly() {
    let up = Up::start();
    let servers = Server::all();
    let clerk = [Server::start("adk", "adk", Program::Adk("adk_agent.py"), &["PORT"])];
    servers.iter().for_each(|server| server.publish(&up));
    clerk[0].wait();
    let policies = up.path("/policies");
    std::fs::copy(python::script("mcp/permit.cedar"), policies.join("permit.cedar")).unwrap();
    let mut routes: String = servers.iter().map(|server| server.route("mcp", "/mcp", server.name)).collect();
    routes += &clerk[0].route("a2a", "", "a2a");
    let _gateway = Gateway::before(&up, clerk[0].behind, &routes);
    let dir = up.dir.join("mcp-remote");
    let played = |clients: &[(&'static str, Program)]| {
        let each = clients.iter().map(|client| compare(*client, &servers, "/mcp", &dir));
        each.collect::<Vec<_>>().concat()
    };
    // two processors, two clients at a time
    let differences = std::thread::scope(|scope| {
        let other = scope.spawn(|| played(&CLIENTS[..3]));
        let mut one = played(&CLIENTS[3..]);
        one.extend(compare(("RemoteA2aAgent", Program::Adk("adk_client.py")), &clerk, "", &dir));
        one.extend(other.join().unwrap());
        one
    });
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
