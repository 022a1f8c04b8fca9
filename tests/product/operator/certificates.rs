//! Own certificates: refused when they cannot serve, watched until they end, and replaced.

use std::process::Command;

use serde_json::Value;

use super::{Scene, complaint, gateway_leaf, semgate, succeeds};
use crate::support::gateway::free_address;
use crate::support::{Ended, SEMGATE, Up, plain_get, wait_for};

/// Runs the binary some days ago.
fn days_ago(scene: &Scene, days: u32, words: &[&str]) {
    let mut command = Command::new("faketime");
    let output =
        command.arg(format!("-{days} days")).arg(SEMGATE).args(words).current_dir(&scene.dir).output();
    let output = output.expect("`faketime`");
    assert!(output.status.success(), "{output:?}");
}

/// A scene whose issuer began 100 days ago.
fn old_scene() -> Scene {
    let scene = Scene::new();
    for name in ["root", "tls", "gateway"] {
        for end in ["pem", "key"] {
            std::fs::remove_file(scene.dir.join(format!("{name}.{end}"))).unwrap();
        }
    }
    days_ago(&scene, 100, &["cert", "root", "--out", "root"]);
    days_ago(&scene, 100, &["cert", "issuing", "--family", "tls", "--by", "root", "--out", "tls"]);
    scene
}

#[test]
fn fault_6_an_own_certificate_that_expired_is_refused_and_one_near_its_end_is_warned_of() {
    let scene = old_scene();
    days_ago(&scene, 40, &gateway_leaf("gateway"));
    scene.refused("certificate `gateway.pem`: `CN=Semgate server` has expired 10 days ago");
    days_ago(&scene, 25, &gateway_leaf("near"));
    scene.changes("\"gateway.", "\"near.");
    let checked = scene.check(&[]);
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let text = complaint(&checked);
    assert!(text.contains("warning: `near.pem`: `CN=Semgate server` ends in 4 days"), "{text}");
    assert!(!text.contains("Semgate issuing"), "its issuer lives on: {text}");
    let (listen, admin) = (free_address().to_string(), free_address());
    let text = scene.text().replace("\"gateway.", "\"near.").replace("127.0.0.1:9443", &listen);
    scene.writes(&format!("admin = \"{admin}\"\n{text}"));
    let log = scene.dir.join("log");
    let mut command = Command::new(SEMGATE);
    command.args(["firewall", "run", "--config", "firewall.toml"]).current_dir(&scene.dir);
    let stderr = std::fs::File::create(&log).unwrap();
    let _gateway = Ended(command.stderr(stderr).spawn().unwrap());
    let line =
        "a certificate of the gateway ends soon certificate=\"`near.pem`: `CN=Semgate server` ends in 4 days";
    wait_for(line, || std::fs::read_to_string(&log).unwrap().contains(line).then_some(()));
}

#[test]
fn fault_6_an_own_certificate_of_another_usage_or_without_a_name_for_its_address_is_refused() {
    let scene = Scene::new();
    let id = "spiffe://semgate.test/gateway";
    succeeds(
        &scene.dir,
        &["cert", "leaf", "--usage", "agent", "--spiffe", id, "--by", "tls", "--out", "client"],
    );
    scene.changes("\"gateway.", "\"client.");
    scene.refused("certificate `client.pem`: it lacks the usage `server`");
    scene.changes("127.0.0.1:9443", "192.0.2.7:9443");
    scene.refused("it names neither the listen address `192.0.2.7` nor a host that could lead there");
    scene.changes("127.0.0.1:9443", "0.0.0.0:9443");
    assert_eq!(scene.check(&[]).status.code(), Some(0));
    let unnamed =
        semgate(&scene.dir, &["cert", "leaf", "--usage", "gateway", "--by", "tls", "--out", "unnamed"]);
    assert_eq!(unnamed.status.code(), Some(2), "{unnamed:?}");
}

#[test]
fn fault_6_the_ends_of_own_certificates_are_in_status_and_metrics() {
    let up = Up::start();
    let status: Value = plain_get(&format!("{}/status", up.text("/admin_url"))).json();
    let ends = |subject: &str| {
        let all = status["certificates"].as_array().unwrap().iter();
        all.filter(|one| one["subject"] == subject)
            .map(|one| one["not_after"].as_u64().unwrap())
            .min()
            .unwrap()
    };
    assert!(ends("CN=semgate.test tls") > ends("CN=Semgate server"), "the issuing certificate too: {status}");
    let metrics = String::from_utf8(plain_get(&format!("{}/metrics", up.text("/admin_url"))).body).unwrap();
    let shown = metrics.lines().find(|line| {
        line.starts_with("semgate_certificate_expiry_seconds{") && line.contains("certificate=\"tls\"")
    });
    let value: f64 =
        shown.unwrap_or_else(|| panic!("{metrics}")).rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(value as u64, ends("CN=Semgate server"));
    let config = std::fs::read_to_string(up.path("/authority_config")).unwrap();
    let admin =
        config.lines().find_map(|line| line.strip_prefix("admin = ")).unwrap().trim_matches('"').to_owned();
    let status: Value = plain_get(&format!("http://{admin}/status")).json();
    let roles = status["roles"].as_array().unwrap();
    let tls = roles.iter().find(|role| role["role"] == "tls").unwrap();
    assert!(tls["not_after"].as_u64().is_some(), "{status}");
}

#[test]
fn fault_6_an_authority_with_an_expired_certificate_does_not_start() {
    let scene = old_scene();
    days_ago(&scene, 100, &["authority", "init", "--dir", "old"]);
    let words = ["authority", "check", "--config", "old/authority.toml"];
    let checked = semgate(&scene.dir, &words);
    assert_eq!(checked.status.code(), Some(1), "{checked:?}");
    let ran = semgate(&scene.dir, &["authority", "run", "--config", "old/authority.toml"]);
    for output in [checked, ran] {
        assert!(complaint(&output).contains("has expired"), "{output:?}");
    }
    succeeds(&scene.dir, &["authority", "check", "--config", "authority/authority.toml"]);
}

#[test]
fn fault_6_a_certificate_is_shown_and_renewed_with_its_names() {
    let scene = Scene::new();
    let show = || -> Value {
        let shown = succeeds(&scene.dir, &["--json", "cert", "show", "gateway.pem"]);
        serde_json::from_str::<Value>(&shown).unwrap()[0].clone()
    };
    let old = show();
    assert_eq!(old["spiffe"], "spiffe://semgate.test/gateway");
    assert_eq!(old["usage"], serde_json::json!(["server", "agent"]));
    assert_eq!(
        old["names"],
        serde_json::json!(["localhost", "127.0.0.1", "::1"]),
        "names of loopback by default"
    );
    assert_eq!((old["issuer"].as_str(), old["days_left"].as_u64()), (Some("CN=Semgate issuing"), Some(29)));
    let text = succeeds(&scene.dir, &["cert", "show", "gateway.pem"]);
    assert!(
        text.contains("usage: server, agent\n") && text.contains("names: localhost, 127.0.0.1, ::1\n"),
        "{text}"
    );
    assert!(!text.contains("null") && text.contains("kind: issuer"), "{text}");
    let key = || std::fs::read(scene.dir.join("gateway.key")).unwrap();
    let before = key();
    succeeds(&scene.dir, &["cert", "renew", "gateway", "--keep-key", "--by", "tls"]);
    assert_eq!(key(), before);
    let kept = show();
    assert_ne!(kept["x5t#S256"], old["x5t#S256"]);
    succeeds(&scene.dir, &["cert", "renew", "gateway", "--by", "tls"]);
    assert_ne!(key(), before);
    let new = show();
    for member in ["subject", "issuer", "usage", "spiffe", "names", "days_left"] {
        assert_eq!(new[member], old[member], "{member}");
    }
    assert_eq!(scene.check(&[]).status.code(), Some(0), "the new pair belongs together");
    let issuer = semgate(&scene.dir, &["cert", "renew", "tls", "--by", "root"]);
    assert_eq!(issuer.status.code(), Some(1), "{issuer:?}");
    assert!(complaint(&issuer).contains("only a leaf"), "{issuer:?}");
}
