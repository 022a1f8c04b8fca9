//! Failed TLS handshakes leave a line with peer and cause, and plain HTTP gets a hint.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use semgate_certs::{Chain, ChainLimits, KeyPair};

use super::{gateway_leaf, succeeds};
use crate::support::gateway::{Gateway, free_address};
use crate::support::policies::metrics;
use crate::support::{PATIENCE, Up, address, wait_for};

fn identity(dir: &Path, name: &str) -> (Chain, KeyPair) {
    let text = |end: &str| std::fs::read_to_string(dir.join(format!("{name}.{end}"))).unwrap();
    let chain = Chain::from_pem(&text("pem"), &ChainLimits::default()).unwrap();
    (chain, KeyPair::from_pem(&text("key"), &ring::rand::SystemRandom::new()).unwrap())
}

/// The answer to plain HTTP, whole.
fn plainly(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn fault_5_a_failed_handshake_leaves_a_line_with_peer_and_cause_and_a_count() {
    let up = Up::start();
    let listen = free_address();
    let route = format!(
        "[[route]]\nname = \"tls\"\nlisten = \"{listen}\"\nbinding = \"l8\"\ncontexts = [\"*\"]\n\
         receiver = \"spiffe://semgate.test/agent/wholesaler-1\"\nupstream = \"http://127.0.0.1:9/\"\n"
    );
    let gateway = Gateway::serving(&up, listen, &route, "");
    let url = format!("https://{listen}/");
    let dir = tempfile::tempdir().unwrap();
    let strangers = dir.path();
    succeeds(strangers, &["cert", "root", "--out", "root"]);
    succeeds(strangers, &["cert", "issuing", "--family", "tls", "--by", "root", "--out", "tls"]);
    succeeds(strangers, &gateway_leaf("stranger"));
    let issuing = up.dir.join("offline/tls-issuing");
    let by = issuing.to_str().unwrap();
    let leaf = ["cert", "leaf", "--usage", "server", "--dns", "a.test", "--by", by, "--out", "nameless"];
    succeeds(strangers, &leaf);
    let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let cases = [
        ("no_certificate", None, "the peer showed no certificate"),
        ("unknown_issuer", Some("stranger"), "the chain does not end at a configured root"),
        ("no_spiffe_id", Some("nameless"), "the certificate of the peer holds no spiffe id"),
    ];
    for (reason, name, why) in cases {
        let mut stream = up.connect_as(name.map(|name| identity(strangers, name)), &url);
        let peer = stream.sock.local_addr().unwrap();
        let _ = stream.write_all(request).and_then(|()| stream.read(&mut [0; 64]).map(drop));
        let line =
            format!("a tls handshake failed peer=\"{peer}\" route=\"tls\" reason=\"{reason}\" why={why}");
        wait_for(&line, || gateway.log().contains(&line).then_some(()));
        let counted = format!("semgate_handshakes_failed_total{{route=\"tls\",reason=\"{reason}\"}} 1");
        wait_for(&counted, || metrics(&gateway).contains(&counted).then_some(()));
    }
    drop(TcpStream::connect(listen).unwrap());
    let counted = "semgate_handshakes_failed_total{route=\"tls\",reason=\"silent\"} ";
    wait_for(counted, || metrics(&gateway).contains(counted).then_some(()));
    assert!(!gateway.log().contains("silent"), "a probe of the port is no news: {}", gateway.log());
    for text in [plainly(&listen.to_string()), plainly(&address(up.text("/authority_url")))] {
        assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
        assert!(text.ends_with("this port speaks TLS: use `https://`\r\n"), "{text}");
    }
    let line = "reason=\"not_tls\" why=the peer does not speak tls";
    wait_for(line, || gateway.log().contains(line).then_some(()));
}
