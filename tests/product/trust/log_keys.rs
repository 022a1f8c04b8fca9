//! A log key that was given by hand and that no trust list names: it is not passed over.

use serde_json::Value;

use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::REPLY;
use crate::support::{Up, plain_get, wait_for};
use crate::trust::{another_log_key, good, semgate, set_line, sign, text};

const UNLISTED: &str = "no trust list of this log names the log key";

#[test]
fn a_foreign_log_key_is_refused_by_commands_and_told_by_a_gateway_once_there_is_a_trust_list() {
    let up = Up::start();
    let at = |name: &str| text(&up.dir.join(name)).to_owned();
    let first = std::fs::read_to_string(up.dir.join("authority/keys/log.pub")).unwrap().trim().to_owned();
    let (_, foreign) = another_log_key(&up.dir);
    let draft = up.dir.join("list.json");
    // the first list names the key that it was verified by: "the list would name no log key"
    let (url, roots) = (up.text("/authority_url"), at("roots.pem"));
    let told = semgate(&["trust", "draft", "--authority", url, "--roots", &roots, "--log-key", &first]);
    good(&told);
    let compared = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(compared.contains(&format!("  log      {first}")), "{compared}");
    good(&up.semgate(&["trust", "draft", "--add-log", &first, "--out", text(&draft)]));
    sign(&up.dir, &draft);
    good(&up.semgate(&["trust", "submit", text(&draft)]));
    let (url, roots, mirror, proof, more) =
        (up.text("/authority_url").to_owned(), at("roots.pem"), at("mirror"), at("proof"), at("proof-2"));
    let stranger =
        |words: &[&str], key: &str| semgate(&[words, &["--roots", &roots, "--log-key", key]].concat());
    good(&stranger(&["authority", "mirror", &mirror, "--from", &url], &first));
    let trust = format!("{mirror}/v1/trust");
    let prove: &[&str] = &["log", "proof", "0", "--from", &url, "--out", &proof];
    good(&stranger(prove, &first));
    let (verify, copy): (&[&str], &[&str]) = (&["log", "verify", &url], &["log", "verify", &mirror]);
    let check: &[&str] = &["log", "proof", "--check", &proof, "--trust", &trust];
    let again: &[&str] = &["log", "proof", "0", "--from", &url, "--out", &more];
    let fetch: &[&str] = &["context", "fetch", "payment:v1.0", "--authority", &url];
    for words in [verify, copy, check, again, fetch] {
        let refused = stranger(words, &foreign);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{words:?} {said}");
        assert!(said.contains(UNLISTED) && said.contains(&foreign), "{words:?} {said}");
        assert!(
            said.contains("hint: check for a typing error, or the key of another log"),
            "{words:?} {said}"
        );
        good(&stranger(words, &first));
    }
    let mut mistyped = foreign.clone();
    mistyped.replace_range(mistyped.len() - 4..mistyped.len() - 3, "_");
    let said = String::from_utf8_lossy(&stranger(verify, &mistyped).stderr).into_owned();
    assert!(said.contains("log key: ") && !said.contains(UNLISTED), "{said}");
    // a gateway goes on by what the root says, and tells
    set_line(&up.path("/firewall_config"), "log_key", &format!("log_key = \"{foreign}\""));
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, behind.address, "");
    let asked =
        |path: &str| String::from_utf8(plain_get(&format!("http://{}{path}", gateway.admin)).body).unwrap();
    let status: Value = serde_json::from_str(&asked("/status")).unwrap();
    assert_eq!(status["authorities"][0]["unlisted_log_keys"], serde_json::json!([foreign]), "{status}");
    wait_for("the warning", || gateway.log().contains("no trust list of this log names").then_some(()));
    let gauge = |line: &str| line.starts_with("semgate_log_keys_unlisted{") && line.ends_with(" 1");
    wait_for("the metric", || asked("/metrics").lines().any(gauge).then_some(()));
}
