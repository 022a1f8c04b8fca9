//! `semgate protect`: one command between an agent and its callers.

use std::path::Path;

use super::support::gateway::free_address;
use super::support::task_agent::TaskAgent;
use super::{bad, call, fresh, mcp_server, serve, text};
use crate::support::wait_for;

fn line(log: &Path, start: &str) -> String {
    wait_for(start, || {
        let text = std::fs::read_to_string(log).unwrap_or_default();
        text.lines().find(|line| line.starts_with(start)).map(str::to_owned)
    })
}

#[test]
fn protect_tells_an_agent_from_a_server_and_starts_again_where_it_ended() {
    let (agent, made) = (TaskAgent::start(), fresh());
    let (dir, log) = (&made.path, made.path.with_extension("log"));
    let url = format!("http://{}", agent.address);
    for _ in 0..2 {
        let _running = serve(&["protect", &url, "--dir", text(dir)], &log);
        let shown = line(&log, "try it: semgate ");
        let words: Vec<&str> = shown.trim_start_matches("try it: semgate ").split(' ').collect();
        let output = super::run(&words);
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && out.starts_with("ALLOWED"), "{words:?}: {out}");
    }
    let (status, why) = bad(&["protect", "http://127.0.0.1:9/", "--dir", text(dir)]);
    assert!(status == 1 && why.contains("it protects another agent"), "{why}");
    let nobody = format!("http://{}", free_address());
    let (_, why) = bad(&["protect", &nobody, "--dir", text(&dir.with_extension("other"))]);
    assert!(why.contains("is neither an A2A agent (") && why.contains("nor an MCP server ("), "{why}");
}

#[test]
fn protect_without_certificates_serves_an_mcp_client_as_it_is() {
    let ((_server, mcp), made) = (mcp_server(), fresh());
    let (dir, log) = (&made.path, made.path.with_extension("log"));
    let listen = free_address().to_string();
    let url = format!("http://{mcp}/mcp");
    let _running = serve(&["protect", &url, "--plain", "--listen", &listen, "--dir", text(dir)], &log);
    line(&log, "try it: ");
    let gateway = format!("http://{listen}");
    let (status, sum) = call(dir, &["--gateway", &gateway, "--tool", "add", "--args", r#"{"a":1,"b":2}"#]);
    assert_eq!((status, sum["reply"]["structuredContent"]["sum"].as_i64()), (0, Some(3)), "{sum}");
}
