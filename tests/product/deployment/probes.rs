//! `[probe]` and `[admin]` off loopback.

use crate::support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use support::gateway::{Scripted, free_address};
use support::policies::REPLY;
use support::{Answer, SEMGATE, Up, plain_get, wait_for};

use super::{edit, firewall, line};

/// A GET as a cluster sends it, under a name that the gateway does not know.
fn probed(port: u16, path: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: 10.1.2.3:9090\r\n\r\n").unwrap();
    Answer::read(&mut stream)
}

fn serves_three_pages_and_no_names(port: u16) {
    let ready = wait_for("readiness", || Some(probed(port, "/readyz")).filter(|answer| answer.status == 200));
    assert!(!ready.body.is_empty());
    assert_eq!(probed(port, "/healthz").body, b"ok\n");
    let metrics = String::from_utf8(probed(port, "/metrics").body).unwrap();
    assert!(metrics.contains("# TYPE semgate_"), "{metrics}");
    for name in ["spiffe://", "retailer-7", "wholesaler-1"] {
        assert!(!metrics.contains(name), "`{name}` in {metrics}");
    }
    for path in ["/status", "/", "/v1/contexts"] {
        assert_eq!(probed(port, path).status, 404, "{path}");
    }
}

#[test]
fn probes_answer_a_cluster_and_the_admin_pages_only_named_certificates() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("semgate");
    Up::start_in(&dir).stop();
    let [probe, authority_probe, gateway_probe] =
        [free_address(), free_address(), free_address()].map(|at| at.port());
    let operator = "spiffe://semgate.test/operator";
    let admin = |file: &str| {
        line(&dir.join(file), "admin = ").trim_start_matches("admin = ").trim_matches('"').to_owned()
    };
    let authority_admin = admin("authority.toml");
    let table = |address: &str| format!("admin = {{ listen = \"{address}\", ids = [\"{operator}\"] }}");
    let append = |file: &str, port: u16| {
        let mut file = std::fs::File::options().append(true).open(dir.join(file)).unwrap();
        write!(file, "\n[probe]\nlisten = \"0.0.0.0:{port}\"\n").unwrap();
    };
    edit(
        &dir.join("authority.toml"),
        &line(&dir.join("authority.toml"), "admin = "),
        &table(&authority_admin),
    );
    append("authority.toml", authority_probe);
    append("firewall.toml", probe);
    let up = Up::start_in(&dir);
    serves_three_pages_and_no_names(probe);
    serves_three_pages_and_no_names(authority_probe);

    // the authority's own pages: by certificate alone
    let get = |agent: Option<&str>, address: &str| {
        let request = "GET /status HTTP/1.1\r\nhost: admin.internal\r\nconnection: close\r\n\r\n";
        up.raw(agent, &format!("https://{address}/"), request.as_bytes())
    };
    assert_eq!(get(Some("operator"), &authority_admin).status, 200);
    let refused = get(Some("retailer-7"), &authority_admin);
    assert_eq!((refused.status, String::from_utf8_lossy(&refused.body).contains("admin.ids")), (403, true));
    assert_eq!(get(None, &authority_admin).status, 403);

    // the same of a gateway, off loopback
    let behind = Scripted::saying(REPLY.to_owned());
    let mut gateway = support::gateway::Gateway::before(&up, behind.address, "");
    gateway.kill();
    let config = dir.join(format!("gateway-{}.toml", gateway.l8.port()));
    let plain = std::fs::read_to_string(&config).unwrap();
    let open = format!("0.0.0.0:{}", gateway.admin.port());
    let was = line(&config, "admin = ");
    edit(&config, &was, &format!("admin = \"{open}\""));
    let check = Command::new(SEMGATE).args(["firewall", "check", "--config"]).arg(&config).output().unwrap();
    let said = String::from_utf8(check.stderr).unwrap();
    assert!(!check.status.success() && said.contains("`admin.ids` is missing"), "{said}");
    std::fs::write(&config, plain + &format!("\n[probe]\nlisten = \"0.0.0.0:{gateway_probe}\"\n")).unwrap();
    edit(&config, &was, &table(&open));
    let _running = firewall(&config);
    wait_for("the probe address", || TcpStream::connect(("127.0.0.1", gateway_probe)).ok());
    serves_three_pages_and_no_names(gateway_probe);
    let health = |url: &str| Command::new(SEMGATE).args(["health", url]).output().unwrap();
    assert!(health(&format!("http://127.0.0.1:{gateway_probe}/readyz")).status.success());
    let absent = health(&format!("http://127.0.0.1:{gateway_probe}/status"));
    let said = String::from_utf8(absent.stderr).unwrap();
    assert!(absent.status.code() == Some(1) && said.contains("answers 404"), "{said}");
    let at = gateway.admin.to_string();
    let status = get(Some("operator"), &at);
    assert_eq!((status.status, status.json()["ready"].as_bool()), (200, Some(true)));
    let refused = get(Some("retailer-7"), &at);
    assert_eq!((refused.status, String::from_utf8_lossy(&refused.body).contains("admin.ids")), (403, true));
    // plain HTTP has no answer: the address ends the connection, sometimes before the request is written
    let plain = std::panic::catch_unwind(|| plain_get(&format!("http://{at}/status")).status);
    assert!(plain.is_err() || plain.is_ok_and(|status| status == 0));
}

#[test]
fn attack_silent_strangers_at_the_probe_address_are_cut_and_do_not_stop_the_gateway() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let port = free_address().port();
    let more = format!("[probe]\nlisten = \"127.0.0.1:{port}\"\n");
    let gateway = support::gateway::Gateway::before(&up, behind.address, &more);
    let mut silent: Vec<_> = (0..64).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    // the operator's address and the routes have places of their own
    assert_eq!(plain_get(&format!("http://{}/readyz", gateway.admin)).status, 200);
    assert_eq!(probed(port, "/healthz").status, 200, "it waits until the silent ones are cut");
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert_eq!(stream.read(&mut [0; 16]).unwrap_or(0), 0);
    }
}
