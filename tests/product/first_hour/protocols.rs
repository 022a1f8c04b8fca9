//! The contexts of the protocols at an authority of one's own.

use super::support::gateway::free_address;
use super::support::task_agent::TaskAgent;
use super::support::wait_for;
use super::{bad, fresh, good, run, serve, text};

const PROTOCOLS: [&str; 3] = ["urn:contexts:a2a:v1.0", "urn:contexts:mcp:v1.0", "urn:contexts:snl:v1.0"];

#[test]
fn fault_2_an_own_authority_publishes_the_contexts_of_the_protocols_once() {
    let made = fresh();
    let (listen, admin) = (free_address().to_string(), free_address().to_string());
    let dir = text(&made.path);
    good(&["authority", "init", "--dir", dir, "--listen", &listen, "--admin", &admin]);
    let config = made.path.join("authority.toml");
    let url = format!("https://{listen}");
    let roots = made.path.join("roots.pem");
    let listed = |log: &str| {
        let running = serve(&["authority", "run", "--config", text(&config)], &made.path.join(log));
        let list = ["context", "list", "--authority", &url, "--roots", text(&roots)];
        let listed = wait_for("the authority", || {
            let output = run(&list);
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        });
        drop(running); // by a kill, as a power cut would
        listed
    };
    let first = listed("first.log");
    for urn in PROTOCOLS {
        let line = first.lines().find(|line| line.contains(urn));
        assert!(line.is_some_and(|line| line.contains(" published ")), "{urn}: {first}");
    }
    assert_eq!(listed("second.log"), first, "a second start publishes nothing twice");

    // a list that names something else stops the start, with the choices
    let toml = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, toml.replace("\"mcp\"", "\"mpc\"")).unwrap();
    let (_, why) = bad(&["authority", "check", "--config", text(&config)]);
    assert!(
        why.contains(
            "`mpc` is neither a `.json` file nor one of `a2a`, `a2h`, `devops`, `iac`, `ldp`, `mcp`"
        ),
        "{why}"
    );
}

#[test]
fn fault_2_an_authority_of_other_lines_does_not_try_to_publish_them() {
    let made = fresh();
    good(&["authority", "init", "--dir", text(&made.path), "--line", "acme"]);
    let toml = std::fs::read_to_string(made.path.join("authority.toml")).unwrap();
    assert!(!toml.contains("publish_at_start"), "{toml}");
}

#[test]
fn fault_2_a_context_of_a_protocol_that_no_authority_serves_is_named() {
    let agent = TaskAgent::start();
    let made = fresh();
    let dir = &made.path;
    good(&["init", text(dir), "--a2a", &format!("http://{}", agent.address)]);
    let (authority, firewall) = (dir.join("authority.toml"), dir.join("firewall.toml"));
    let toml = std::fs::read_to_string(&authority).unwrap();
    std::fs::write(&authority, toml.replace("publish_at_start = [\"a2a\", ", "publish_at_start = ["))
        .unwrap();
    let _authority = serve(&["authority", "run", "--config", text(&authority)], &dir.join("authority.log"));
    let log = dir.join("firewall.log");
    let _gateway = serve(&["firewall", "run", "--config", text(&firewall)], &log);
    let refused = wait_for("a refusal by what the authority serves", || {
        let output = run(&["--json", "call", "--dir", text(dir), "--card"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        (json["code"] == "context_unknown").then_some(json)
    });
    assert_eq!(refused["verdict"], "REFUSED", "{refused}");
    let named = "no authority serves `urn:contexts:a2a:v1.0`";
    wait_for("the operator's line", || std::fs::read_to_string(&log).unwrap().contains(named).then_some(()));
}
