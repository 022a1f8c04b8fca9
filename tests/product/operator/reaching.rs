//! An authority or agent that cannot be reached: the log, `/status` and `check --online` name the cause.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{complaint, gateway_leaf, semgate, succeeds};
use crate::support::gateway::free_address;
use crate::support::{Ended, SEMGATE, Up, plain_get, wait_for};

#[test]
fn fault_3_six_causes_of_an_unreached_authority_have_six_names() {
    let up = Up::start();
    succeeds(&up.dir, &["cert", "root", "--out", "foreign"]);
    let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let value = |name: &str| {
        let line = config.lines().find(|line| line.starts_with(&format!("{name} = "))).unwrap();
        line.split('"').nth(1).unwrap().to_owned()
    };
    let (url, log_key, agent) = (value("url"), value("log_key"), up.text("/sample_agent/url").to_owned());
    let refused = format!("https://{}", free_address());
    let plain = agent.replace("http://", "https://");
    let roots = "roots.pem";
    let cases = [
        ("refused", "connection_refused", refused.as_str(), roots, roots),
        ("elsewhere", "http_status", agent.as_str(), roots, roots),
        ("unknown", "unknown_host", "https://authority.invalid:8443", roots, roots),
        ("semgate.test", "other_roots", url.as_str(), "foreign.pem", roots),
        ("stranger", "unknown_issuer", url.as_str(), roots, "foreign.pem"),
        ("plain", "not_tls", plain.as_str(), roots, roots),
    ];
    let (admin, listen) = (free_address(), free_address());
    let mut text = format!(
        "state = \"reaching\"\nadmin = \"{admin}\"\npolicies = \"policies\"\naudit = \"reaching/audit.jsonl\"\n\
         [limits]\nconnect_timeout = \"60s\"\nfetch_timeout = \"60s\"\n\
         [[trust_domain]]\nname = \"semgate.test\"\nroots = \"roots.pem\"\n\
         [[route]]\nname = \"l8\"\nlisten = \"{listen}\"\nbinding = \"l8\"\ncontexts = [\"*\"]\n\
         plain_sender = \"spiffe://semgate.test/agent/retailer-7\"\n\
         receiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://{}/\"\n",
        free_address()
    );
    for (name, _, url, roots, tls_roots) in cases {
        write!(
            text,
            "[[authority]]\nname = \"{name}\"\nurl = \"{url}\"\nroots = \"{roots}\"\ntls_roots = \"{tls_roots}\"\n\
             origin = \"semgate.test/log\"\nlog_key = \"{log_key}\"\nlines = [\"{name}\"]\n"
        )
        .unwrap();
    }
    std::fs::write(up.dir.join("reaching.toml"), text).unwrap();
    let checked = semgate(&up.dir, &["firewall", "check", "--online", "--config", "reaching.toml"]);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    assert!(complaint(&checked).contains("7 of 7 others did not answer as they should"), "{checked:?}");
    let shown = String::from_utf8(checked.stdout).unwrap();
    let answer = |who: &str, cause: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("# {who} at ")));
        assert!(line.is_some_and(|line| line.contains(&format!(": {cause}: "))), "{who}: {cause}: {shown}");
    };
    cases.iter().for_each(|(name, cause, ..)| answer(&format!("authority `{name}`"), cause));
    answer("agent of route `l8`", "connection_refused");

    let log = up.dir.join("reaching.log");
    let mut command = Command::new(SEMGATE);
    command.args(["firewall", "run", "--config", "reaching.toml"]).current_dir(&up.dir);
    let stderr = std::fs::File::create(&log).unwrap();
    let _gateway = Ended(command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap());
    for (name, cause, ..) in cases {
        let line = format!(
            "cannot follow the authority; the last good view stays in use authority=\"{name}\" cause=\"{cause}\""
        );
        wait_for(&line, || std::fs::read_to_string(&log).unwrap().contains(&line).then_some(()));
    }
    let metrics = String::from_utf8(plain_get(&format!("http://{admin}/metrics")).body).unwrap();
    for (name, cause, ..) in cases {
        let counted =
            format!("semgate_follow_total{{authority=\"{name}\",outcome=\"failed\",cause=\"{cause}\"}}");
        assert!(metrics.contains(&counted), "{counted}: {metrics}");
    }
    let status: Value = plain_get(&format!("http://{admin}/status")).json();
    for (name, cause, ..) in cases {
        let all = status["authorities"].as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == name).unwrap();
        assert_eq!(one["obstacle"]["cause"], cause, "{name}: {status}");
        let detail = one["obstacle"]["detail"].as_str().unwrap();
        let told = status["obstacles"].as_array().unwrap().iter().filter_map(Value::as_str);
        let told = told.into_iter().any(|line| line.contains(&format!("`{name}`")) && line.contains(detail));
        assert!(told, "{name}: {status}");
    }
}

#[test]
fn fault_3_an_online_check_succeeds_where_all_answer() {
    let up = Up::start();
    let shown = succeeds(&up.dir, &["firewall", "check", "--online", "--config", "firewall.toml"]);
    assert!(
        shown
            .lines()
            .any(|line| line.starts_with("# authority `semgate.test` at ")
                && line.ends_with(" entries, verified")),
        "{shown}"
    );
    assert!(
        shown
            .lines()
            .any(|line| line.starts_with("# agent of route `a2a` at ")
                && line.ends_with("accepts connections")),
        "{shown}"
    );
}

#[test]
fn fault_3_an_online_check_sees_an_agent_that_refuses_the_certificate_of_the_gateway() {
    let up = Up::start();
    succeeds(&up.dir, &["cert", "root", "--out", "foreign"]);
    succeeds(&up.dir, &["cert", "issuing", "--family", "tls", "--by", "foreign", "--out", "tls"]);
    succeeds(&up.dir, &gateway_leaf("stranger"));
    // the listener of `up` is an agent that demands a certificate
    let url = format!("{}/", up.text("/gateway/l8").trim_end_matches('/'));
    let config = std::fs::read_to_string(up.path("/firewall_config")).unwrap();
    let head = config.split("[[route]]").next().unwrap();
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"next\"\nlisten = \"{listen}\"\nbinding = \"l8\"\ncontexts = [\"*\"]\n\
         receiver = \"spiffe://semgate.test/gateway\"\nupstream = \"{url}\"\n"
    );
    let check = |certificate: &str| {
        let head = head.replace("agents/gateway.", certificate).replace("present_certificate = true\n", "");
        std::fs::write(up.dir.join("next.toml"), head + &route).unwrap();
        semgate(&up.dir, &["firewall", "check", "--online", "--config", "next.toml"])
    };
    let accepted = check("agents/gateway.");
    assert_eq!(accepted.status.code(), Some(0), "{accepted:?}");
    let refused = check("stranger.");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let shown = String::from_utf8(refused.stdout).unwrap();
    let line = shown.lines().find(|line| line.starts_with("# agent of route `next`")).unwrap();
    assert!(line.contains(": closed: ") && line.contains("`[tls]`"), "{line}");
}
