//! Revocation lists of certificates, from the issuer's hand to a refused handshake.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::support::authorities::Other;
use crate::support::{Answer, Up, wait_for};
use crate::trust::{good, semgate, set_line, text};

fn list(dir: &Path) {
    let (issuer, out) = (dir.join("offline/tls-issuing"), dir.join("lists"));
    let base = ["--crl-base", "https://authority.test/v1/crl", "--crl-shards", "2"];
    good(&semgate(&[&["cert", "crl", "--by", text(&issuer), "--out", text(&out)], &base[..]].concat()));
}

#[test]
fn an_agent_whose_certificate_its_issuer_took_back_is_refused_and_so_is_one_that_no_list_speaks_for() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    Up::start_in(&dir).stop();
    list(&dir);
    set_line(&dir.join("authority.toml"), "state =", "state = \"authority\"\ncrls = \"lists\"");
    let firewall = dir.join("firewall.toml");
    let domain = fs::read_to_string(&firewall).unwrap();
    let line = domain
        .lines()
        .skip_while(|line| *line != "[[trust_domain]]")
        .find(|l| l.starts_with("name"))
        .unwrap();
    let with = format!("{line}\ncrls = {{ authority = \"semgate.test\", shards = 2, every = \"1s\" }}");
    fs::write(&firewall, domain.replacen(line, &with, 1)).unwrap();
    let up = Up::start_in(&dir);
    let decision = r#"{"item_id":"beer","quantity":120}"#;
    let say = || up.semgate(&["--json", "say", "supplyChain:v1.0", "current_decision", decision]);
    // the certificate that `up` made names no list
    assert!(!say().status.success(), "no list speaks for it");
    let (issuer, named) = (dir.join("offline/tls-issuing"), dir.join("named"));
    let base = ["--crl-base", "https://authority.test/v1/crl", "--crl-shards", "2"];
    let words = ["cert", "leaf", "--usage", "agent", "--by", text(&issuer), "--out", text(&named)];
    let id = ["--spiffe", "spiffe://semgate.test/agent/retailer-7"];
    good(&semgate(&[&words[..], &base, &id].concat()));
    fs::copy(named.with_extension("pem"), up.path("/agents/retailer-7/cert")).unwrap();
    fs::copy(named.with_extension("key"), up.path("/agents/retailer-7/key")).unwrap();
    wait_for("the lists to be fetched", || say().status.success().then_some(()));
    assert!(up.authority("/v1/crl/issuer.pem").body.starts_with(b"-----BEGIN CERTIFICATE-----"));
    assert_eq!(up.authority("/v1/crl/next/issuer.pem").status, 404);
    // a mirror carries them too, byte for byte
    let mirror = dir.join("mirror");
    good(&up.semgate(&["authority", "mirror", text(&mirror), "--crl-shards", "2"]));
    for shard in ["0.crl", "1.crl"] {
        let copied = fs::read(mirror.join("v1/crl/2").join(shard)).unwrap();
        assert_eq!(copied, fs::read(dir.join("lists/2").join(shard)).unwrap());
    }
    let missing = up.semgate(&["authority", "mirror", text(&mirror), "--crl-shards", "4"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/v1/crl/4/0.crl"));
    assert!(!missing.status.success());
    // one connection that outlives the certificate
    let url = up.text("/gateway/l8");
    let message = crate::trust::message(
        &serde_json::from_str(r#"{"concept":"current_decision","item_id":"beer","quantity":1}"#).unwrap(),
    );
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{message}",
        crate::support::path(url),
        crate::support::address(url),
        message.len()
    );
    let mut open = up.connect(Some("retailer-7"), url);
    let mut on_it = || {
        open.write_all(request.as_bytes()).unwrap();
        open.flush().unwrap();
        Answer::read(&mut open)
    };
    assert_eq!(on_it().status, 200);
    let pem = named.with_extension("pem");
    good(&semgate(&["cert", "revoke", text(&pem), "--by", text(&issuer)]));
    // an edition is told from the one before by the second in which it was signed
    wait_for("a later edition of the lists, and the refusal", || {
        list(&dir);
        (!say().status.success()).then_some(())
    });
    for _ in 0..3 {
        assert!(!say().status.success(), "it stays refused");
        let answer = on_it();
        assert_eq!((answer.status, answer.code()), (403, "sender_mismatch".to_owned()), "open or not");
    }
}

/// What the authority counts.
fn metrics(dir: &Path) -> String {
    let config = fs::read_to_string(dir.join("authority.toml")).unwrap();
    let admin = config.lines().find_map(|line| line.strip_prefix("admin = ")).unwrap().trim_matches('"');
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_publisher_whose_certificate_was_taken_back_is_refused_by_the_authority_with_its_reason() {
    let temporary = tempfile::tempdir().unwrap();
    let mut other = Other::start(temporary.path(), "other.test");
    let dir = other.dir.clone();
    list(&dir);
    other.stop();
    set_line(&dir.join("authority.toml"), "[tls]", "[tls]\nclient_crls = \"lists\"");
    // the certificate that it was started with names no list
    let issuer = dir.join("offline/tls-issuing");
    let old =
        [dir.join("operator.pem"), dir.join("operator.key")].map(|file| (fs::read(&file).unwrap(), file));
    let named = dir.join("named");
    let base = ["--crl-base", "https://authority.test/v1/crl", "--crl-shards", "2"];
    let words = ["cert", "leaf", "--usage", "agent", "--by", text(&issuer), "--out", text(&named)];
    good(&semgate(&[&words[..], &base, &["--spiffe", "spiffe://other.test/operator"]].concat()));
    let take = || {
        for end in ["pem", "key"] {
            fs::copy(dir.join(format!("named.{end}")), dir.join(format!("operator.{end}"))).unwrap();
        }
    };
    take();
    other.run();
    other.publish("acme:v1.0");
    let failed = |reason: &str| {
        metrics(&dir).contains(&format!("semgate_authority_handshakes_failed_total{{reason=\"{reason}\"}}"))
    };
    let revoke = || other.semgate(&["context", "revoke", "acme:v1.0"]);
    old.iter().for_each(|(bytes, file)| fs::write(file, bytes).unwrap());
    assert!(!revoke().status.success(), "no list speaks for it, though nobody took it back");
    wait_for("the reason", || failed("revocation_unknown").then_some(()));
    take();
    good(&other.semgate(&["context", "list"]));
    assert!(!failed("revoked"));
    good(&semgate(&["cert", "revoke", text(&dir.join("named.pem")), "--by", text(&issuer)]));
    // an edition is told from the one before by the second in which it was signed
    wait_for("a later edition of the lists, and the refusal", || {
        list(&dir);
        (!other.semgate(&["context", "list"]).status.success()).then_some(())
    });
    wait_for("the reason", || failed("revoked").then_some(()));
    assert!(!revoke().status.success());
}
