//! The official MCP SDKs for JavaScript (both lines in use) and Rust through the running gateway, unmodified: their users are shown the same as
//! without it, a refusal in its words, and no tool that drifted.

use crate::support;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::{Ended, SEMGATE, Up, answered, node};

const RULES: &str = r#"
@id("ask") permit (principal in Group::"partners", action, resource is mcp::Initialize);
@id("ready") permit (principal in Group::"partners", action, resource is mcp::Initialized);
@id("discover") permit (principal in Group::"partners", action, resource is mcp::Discover);
@id("list") permit (principal in Group::"partners", action, resource is mcp::ListTools);
@id("asked") permit (principal in Group::"repliers", action, resource is mcp::Initialize_results);
@id("discovered") permit (principal in Group::"repliers", action, resource is mcp::Discover_results);
@id("listed") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
@id("add") permit (principal in Group::"partners", action, resource is sums::add) when { resource.a < 1000 };
@id("added") permit (principal in Group::"repliers", action, resource is sums::add_results);
@id("story") permit (principal in Group::"partners", action, resource is sums::story);
"#;

/// A client by the words before its address and the mode after it.
struct Client {
    name: &'static str,
    mode: &'static str,
}

const JS_1: Client = Client { name: "js", mode: "1" };
const JS_2_LEGACY: Client = Client { name: "js", mode: "legacy" };
const JS_2_AUTO: Client = Client { name: "js", mode: "auto" };
const RUST_LEGACY: Client = Client { name: "rust", mode: "legacy" };
const RUST_AUTO: Client = Client { name: "rust", mode: "auto" };
const RUST_2026: Client = Client { name: "rust", mode: "2026-07-28" };

impl Client {
    /// What the SDK's user sees at this address.
    fn sees(&self, address: SocketAddr, calls: &[Value]) -> Value {
        let mut command = match self.name {
            "js" => {
                let mut node = Command::new("node");
                node.arg("mcp_client.mjs").current_dir(node::home());
                node
            }
            _ => Command::new(rmcp()),
        };
        command.args([&format!("http://{address}/mcp"), self.mode]);
        answered(&mut command, &format!("{} {}", self.name, self.mode), calls)
    }
}

/// The client on `rmcp`, a package of its own that is built below `target/` in the versions of its lock file.
fn rmcp() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let target = root.join("target/interop-rmcp");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--locked", "--quiet", "--manifest-path"])
            .arg(root.join("tests/interop/rmcp/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug/interop-rmcp")
    })
}

fn semgate(arguments: &[&str]) {
    let output = Command::new(SEMGATE).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A server of this line of the SDK for JavaScript; with `evil` it describes `add` in other words.
fn server(line: &str, address: SocketAddr, evil: &[&str]) -> Ended {
    let port = address.port().to_string();
    let (child, serves) = node::start_with("mcp_server.mjs", &[&[line, port.as_str()], evil].concat());
    assert_eq!(serves["http"], address.port());
    Ended(child)
}

/// What each client is shown through the gateway before a server of this line, once as it was signed and once drifted.
fn is_shown_the_same(line: &str, clients: &[Client]) {
    let up = Up::start();
    let (behind, mcp) = (free_address(), free_address());
    let honest = server(line, behind, &[]);
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    semgate(&["context", "import", "mcp", &format!("http://{behind}/mcp"), "--line", "sums", "--out", draft]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n"
    );
    let _gateway = Gateway::before(&up, behind, &route);
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let add = call("add", json!({"a": 1, "b": 2}));
    for client in clients {
        let who = format!("{} {}", client.name, client.mode);
        let direct = client.sees(behind, std::slice::from_ref(&add));
        let through = client.sees(
            mcp,
            &[
                add.clone(),
                call("add", json!({"a": 5000, "b": 2})),
                call("remove-all", json!({"sure": true})),
                call("story", json!({"about": "me"})),
            ],
        );
        assert_eq!(direct["tools"], json!(["add", "remove-all", "story"]), "{who}");
        assert_eq!(through["tools"], json!(["add", "story"]), "{who}: what policy lets it call");
        assert_eq!(direct["calls"][0], json!({"sum": 3}), "{who}");
        assert_eq!(through["calls"][0], direct["calls"][0], "{who}");
        for (n, code) in [(1, "policy_denied"), (2, "policy_denied"), (3, "reply_refused")] {
            let shown = through["calls"][n].as_str().unwrap_or_default();
            assert!(shown.contains(code), "{who}: the user is shown `{code}`: {}", through["calls"][n]);
        }
    }
    drop(honest);
    let _evil = server(line, behind, &["evil"]);
    for client in clients {
        let who = format!("{} {}", client.name, client.mode);
        let direct = client.sees(behind, &[]);
        let through = client.sees(mcp, std::slice::from_ref(&add));
        assert_eq!(direct["tools"], json!(["add", "remove-all", "story"]), "{who}");
        assert_eq!(through["tools"], json!(["story"]), "{who}: what drifted is withheld");
        let shown = through["calls"][0].as_str().unwrap_or_default();
        assert!(shown.contains("tool_drift"), "{who}: {}", through["calls"][0]);
    }
}

#[test]
fn users_of_the_sdks_are_shown_the_same_of_a_server_with_sessions() {
    is_shown_the_same("1", &[JS_1, JS_2_LEGACY, RUST_LEGACY, RUST_AUTO]);
}

#[test]
fn users_of_the_sdks_are_shown_the_same_of_a_server_of_both_versions() {
    is_shown_the_same("2", &[JS_1, JS_2_AUTO, RUST_2026, RUST_LEGACY]);
}
