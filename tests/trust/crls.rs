//! Revocation lists of certificates, from the issuer's hand to a refused handshake.

use std::fs;
use std::path::Path;

use crate::support::{Up, wait_for};
use crate::{good, semgate, set_line, text};

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
    let pem = named.with_extension("pem");
    good(&semgate(&["cert", "revoke", text(&pem), "--by", text(&issuer)]));
    // an edition is told from the one before by the second in which it was signed
    wait_for("a later edition of the lists, and the refusal", || {
        list(&dir);
        (!say().status.success()).then_some(())
    });
    for _ in 0..3 {
        assert!(!say().status.success(), "it stays refused");
    }
}
