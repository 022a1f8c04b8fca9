//! The official MCP SDK for Python as client and server, unmodified, through the running gateway, in both versions.

use crate::support;

use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::people::Person;
use support::{SEMGATE, Up, answered, python, wait_for};

pub(crate) const RULES: &str = r#"
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

/// What a server that asks and a client that answers need beside.
const ASKING: &str = r#"
@id("listen") permit (principal in Group::"partners", action, resource is mcp::Listen);
@id("changed") permit (principal in Group::"repliers", action, resource is mcp::ToolListChanged);
@id("progress") permit (principal in Group::"repliers", action, resource is mcp::Progress);
@id("asks") permit (principal in Group::"repliers", action, resource is mcp::Elicit);
@id("answers") permit (principal in Group::"partners", action, resource is mcp::Elicit_results);
@id("samples") permit (principal in Group::"repliers", action, resource is mcp::CreateMessage);
@id("sampled") permit (principal in Group::"partners", action, resource is mcp::CreateMessage_results);
@id("words") permit (principal, action, resource is mcp::text);
@id("asking") permit (principal in Group::"partners", action, resource is asking::ask);
@id("told") permit (principal in Group::"repliers", action, resource is asking::ask_results);
"#;

struct Server(Child);

impl Server {
    fn start(address: SocketAddr, more: &[&str]) -> Self {
        Self::of("mcp_server.py", address, more)
    }

    fn of(script: &str, address: SocketAddr, more: &[&str]) -> Self {
        let child = Command::new(python::with_mcp())
            .arg(python::script(script))
            .arg(address.port().to_string())
            .args(more)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self(child);
        wait_for("the server", || TcpStream::connect(address).ok());
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn semgate(arguments: &[&str]) -> String {
    let output = Command::new(SEMGATE).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the SDK's user sees at this address.
fn seen(address: SocketAddr, path: &str, mode: &str, calls: &[Value]) -> Value {
    asked(address, path, &[mode], calls)
}

/// The same with these words behind the address.
fn asked(address: SocketAddr, path: &str, words: &[&str], calls: &[Value]) -> Value {
    let mut program = Command::new(python::with_mcp());
    program.arg(python::script("mcp_client.py")).arg(format!("http://{address}{path}")).args(words);
    answered(&mut program, &words.join(" "), calls)
}

#[test]
fn an_unmodified_client_and_server_work_through_the_gateway_and_drift_is_withheld() {
    let up = Up::start();
    let (behind, mcp) = (free_address(), free_address());
    let server = Server::start(behind, &[]);
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    semgate(&["context", "import", "mcp", &format!("http://{behind}/mcp"), "--line", "sums", "--out", draft]);
    semgate(&["context", "check", draft]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n"
    );
    let gateway = Gateway::before(&up, behind, &route);
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    let add = call("add", json!({"a": 1, "b": 2}));
    for mode in ["2026-07-28", "auto", "legacy"] {
        let direct = seen(behind, "/mcp", mode, std::slice::from_ref(&add));
        let through = seen(
            mcp,
            "/mcp",
            mode,
            &[
                add.clone(),
                call("add", json!({"a": 5000, "b": 2})),
                call("add", json!({"a": "1", "b": 2})),
                call("remove-all", json!({"sure": true})),
                call("story", json!({"about": "me"})),
            ],
        );
        assert_eq!(direct["tools"], json!(["add", "remove-all", "story"]), "{mode}");
        // what policy lets it call, and nothing else
        assert_eq!(through["tools"], json!(["add", "story"]), "{mode}");
        let calls = through["calls"].as_array().unwrap();
        assert_eq!(calls[0], direct["calls"][0], "{mode}");
        for (n, code) in
            [(1, "policy_denied"), (2, "content_invalid"), (3, "policy_denied"), (4, "reply_refused")]
        {
            assert!(calls[n].as_str().unwrap().starts_with(code), "{mode}: {}", calls[n]);
        }
    }
    // the same server with another description
    drop(server);
    let _evil = Server::start(behind, &["evil"]);
    for mode in ["2026-07-28", "legacy"] {
        let through = seen(mcp, "/mcp", mode, std::slice::from_ref(&add));
        assert_eq!(through["tools"], json!(["story"]), "{mode}");
        assert!(through["calls"][0].as_str().unwrap().starts_with("tool_drift"), "{mode}: {through}");
    }
    let records = std::fs::read_to_string(&gateway.audit).unwrap();
    assert!(records.contains(r#""tool_drift":["add"]"#), "{records}");
}

/// A person decides about large sums.
const LARGE: &str = r#"
@id("large") @approve("sums of this size are checked by a person") permit (principal in Group::"partners", action, resource is sums::add)
when { resource.a >= 1000 && resource.a < 2000 };
"#;

#[test]
fn an_unmodified_client_is_held_until_a_person_agrees_and_passes() {
    let up = Up::start();
    let (behind, mcp) = (free_address(), free_address());
    let _server = Server::start(behind, &[]);
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    semgate(&["context", "import", "mcp", &format!("http://{behind}/mcp"), "--line", "sums", "--out", draft]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    std::fs::write(up.path("/policies").join("mcp.cedar"), format!("{RULES}{LARGE}")).unwrap();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\n"
    );
    let gateway = Gateway::before(&up, behind, &route);
    let bob = Person::at(&up, "bob.sre", gateway.people);
    let call = json!({"name": "add", "arguments": {"a": 1500, "b": 2}});
    for mode in ["2026-07-28", "legacy"] {
        let direct = seen(behind, "/mcp", mode, std::slice::from_ref(&call));
        for (act, shown) in [("approve", None), ("deny", Some("approval_denied"))] {
            let mut call = call.clone();
            call["arguments"]["b"] = json!(if shown.is_some() { mode.len() } else { 2 });
            let through = std::thread::scope(|scope| {
                let held = scope.spawn(|| seen(mcp, "/mcp", mode, std::slice::from_ref(&call)));
                bob.decide(act, &bob.asked());
                held.join().unwrap()
            });
            match shown {
                None => assert_eq!(through["calls"], direct["calls"], "{mode}"),
                Some(code) => {
                    assert!(through["calls"][0].as_str().unwrap().starts_with(code), "{mode}: {through}");
                }
            }
        }
    }
}

#[test]
fn an_unmodified_client_gets_itself_a_token_of_the_authorization_server_that_an_unmodified_server_names() {
    let up = Up::start();
    let (behind, mcp, tokens) = (free_address(), free_address(), free_address());
    let draft = up.dir.join("sums.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    let open = Server::start(behind, &[]);
    semgate(&["context", "import", "mcp", &format!("http://{behind}/mcp"), "--line", "sums", "--out", draft]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    drop(open);
    std::fs::write(up.path("/policies").join("mcp.cedar"), RULES).unwrap();
    // the server knows the address before the gateway as its own, as behind any proxy
    let public = format!("http://{mcp}/tools");
    let _server = Server::start(behind, &["authorized", &public, &tokens.port().to_string()]);
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/mcp\"\npublic_url = \"{public}\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:sums:v1.0\"\nforward_authorization = true\nauthorization_servers = [\"http://{tokens}\"]\n"
    );
    let gateway = Gateway::before(&up, behind, &route);
    let add = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    for mode in ["2026-07-28", "legacy"] {
        let through = asked(mcp, "/tools", &[mode, "authorized"], std::slice::from_ref(&add));
        assert_eq!(through, json!({"tools": ["add", "story"], "calls": [{"sum": 3}]}), "{mode}");
    }
    let records = std::fs::read_to_string(&gateway.audit).unwrap();
    let count = records.matches(r#""code":"authorization_required""#).count();
    assert_eq!(count, 2, "each was asked for a token once: {records}");
}

#[test]
fn an_unmodified_client_answers_what_the_server_asks_and_hears_what_is_told_in_its_session() {
    let up = Up::start();
    let (behind, mcp) = (free_address(), free_address());
    let _server = Server::of("mcp_session_server.py", behind, &[]);
    let draft = up.dir.join("asking.json");
    let (draft, dir) = (draft.to_str().unwrap(), up.dir.to_str().unwrap());
    semgate(&[
        "context",
        "import",
        "mcp",
        &format!("http://{behind}/mcp"),
        "--line",
        "asking",
        "--out",
        draft,
    ]);
    semgate(&["context", "publish", draft, "--dir", dir]);
    let rules: String =
        RULES.lines().filter(|line| !line.contains("sums::")).map(|line| format!("{line}\n")).collect();
    std::fs::write(up.path("/policies").join("mcp.cedar"), rules + ASKING).unwrap();
    let route = format!(
        "[[route]]\nname = \"mcp\"\nlisten = \"{mcp}\"\nbinding = \"mcp\"\nadmit = [\"text\"]\nplain_sender = \"spiffe://semgate.test/agent/retailer-7\"\nreceiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{behind}/mcp\"\ncontexts = [\"*\"]\ndefault_context = \"urn:contexts:asking:v1.0\"\n"
    );
    let _gateway = Gateway::before(&up, behind, &route);
    let seen = |address: SocketAddr| {
        let mut client = Command::new(python::with_mcp());
        client.arg(python::script("mcp_session_client.py")).arg(format!("http://{address}/mcp"));
        let output = client.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        // what is told on two streams comes in no order
        seen["told"].as_array_mut().unwrap().sort_by_key(Value::to_string);
        seen
    };
    let direct = seen(behind);
    assert_eq!(direct["calls"], json!([{"sure": true, "length": 5}, {"sure": true, "length": 5}]));
    assert_eq!(direct["asked"], json!(["Sure?", "say a word", "Sure?", "say a word"]));
    assert_eq!(seen(mcp), direct);
}
