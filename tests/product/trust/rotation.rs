//! The gateway's own certificate changes while it runs.

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use semgate_certs::{Chain, ChainLimits};

use crate::support::{Up, wait_for};
use crate::trust::{good, semgate, text};

/// The certificate that a new connection to the gateway is shown.
fn shown(up: &Up) -> Vec<u8> {
    let mut stream = up.connect(Some("retailer-7"), up.text("/gateway/l8"));
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    stream.conn.peer_certificates().unwrap()[0].to_vec()
}

#[test]
fn the_gateways_certificate_changes_under_traffic_and_a_broken_pair_leaves_the_old_one_in_use() {
    let up = Up::start();
    let log = std::env::temp_dir().join(format!("semgate-up-{}.log", std::process::id()));
    let reports = || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.matches("cannot take the configuration; the gateway serves as before").count()
    };
    let hang_up = || {
        let pid = up.json["pid"].to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    };
    let next = up.dir.join("next");
    let issuer = up.dir.join("offline/tls-issuing");
    let names = ["--spiffe", "spiffe://semgate.test/gateway", "--dns", "localhost", "--ip", "127.0.0.1"];
    let words = ["cert", "leaf", "--usage", "server", "--by", text(&issuer), "--out", text(&next)];
    good(&semgate(&[&words[..], &names].concat()));
    let new_pem = std::fs::read_to_string(next.with_extension("pem")).unwrap();
    let new = Chain::from_pem(&new_pem, &ChainLimits::default()).unwrap().leaf().to_vec();
    let old = shown(&up);
    assert_ne!(old, new);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            let decision = r#"{"item_id":"beer","quantity":120}"#;
            while !stop.load(Ordering::SeqCst) {
                let (status, said) = up.say(&["supplyChain:v1.0", "current_decision", decision]);
                assert_eq!(status, 0, "{said}");
                sent.fetch_add(1, Ordering::SeqCst);
            }
        });
        let some_more = || {
            let before = sent.load(Ordering::SeqCst);
            wait_for("messages under way", || {
                assert!(!traffic.is_finished(), "a message was refused");
                (sent.load(Ordering::SeqCst) > before + 2).then_some(())
            });
        };
        some_more();
        let before = reports();
        std::fs::write(up.dir.join("agents/gateway.pem"), &new_pem).unwrap();
        hang_up();
        wait_for("the report of a broken pair", || (reports() > before).then_some(()));
        assert_eq!(shown(&up), old, "the pair in use goes on");
        some_more();
        std::fs::copy(next.with_extension("key"), up.dir.join("agents/gateway.key")).unwrap();
        hang_up();
        wait_for("the new certificate", || (shown(&up) == new).then_some(()));
        some_more();
        stop.store(true, Ordering::SeqCst);
    });
}
