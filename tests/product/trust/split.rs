//! An authority whose root is two of three keys, and a thief who has one of them.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{Ended, gateway, wait_for};
use crate::trust::{another_log_key, authority, end, good, semgate, set_line, text};

const OPERATOR: &str = "spiffe://semgate.test/operator";
/// What is refused below an issuing certificate that a threshold of the root keys did not list.
const UNLISTED: &str = "the issuing certificate is not in the trust list";

struct Split {
    running: Ended,
    dir: PathBuf,
    url: String,
}

impl Split {
    /// Running; its first trust list is not handed in yet. The issuing certificates are by `root-1`.
    fn start(below: &Path) -> Self {
        let dir = below.join("split");
        let (listen, admin) = (gateway::free_address().to_string(), gateway::free_address().to_string());
        let keys = ["--root-keys", "3", "--root-threshold", "2"];
        let at = ["--listen", &listen, "--admin", &admin, "--publisher", OPERATOR];
        good(&semgate(&[&["authority", "init", "--dir", text(&dir)], &keys[..], &at[..]].concat()));
        let split = Self { running: authority(&dir), dir, url: format!("https://{listen}") };
        split.certify("operator", "tls-issuing");
        split.answers();
        split
    }

    fn answers(&self) {
        wait_for("the authority to answer", || {
            self.reach("operator", &["context", "list"]).status.success().then_some(())
        });
    }

    /// A publisher's certificate under the operator's name, by this issuing certificate in `offline`.
    fn certify(&self, name: &str, issuer: &str) {
        let (by, out) = (self.dir.join("offline").join(issuer), self.dir.join(name));
        let leaf = ["cert", "leaf", "--usage", "agent", "--spiffe", OPERATOR];
        good(&semgate(&[&leaf[..], &["--by", text(&by), "--out", text(&out)]].concat()));
    }

    fn reach(&self, name: &str, words: &[&str]) -> Output {
        let (cert, key) = (self.dir.join(format!("{name}.pem")), self.dir.join(format!("{name}.key")));
        let at =
            ["--authority", &self.url, "--roots", &self.roots(), "--cert", text(&cert), "--key", text(&key)];
        semgate(&[words, &at[..]].concat())
    }

    fn roots(&self) -> String {
        text(&self.dir.join("roots.pem")).to_owned()
    }

    /// As a stranger who was told roots and log key; and, above 1, how many root keys it takes.
    fn stranger(&self, words: &[&str], threshold: usize) -> Output {
        let key = std::fs::read_to_string(self.dir.join("authority/keys/log.pub")).unwrap();
        let threshold = threshold.to_string();
        let told = ["--roots", &self.roots(), "--log-key", key.trim(), "--root-threshold", &threshold];
        semgate(&[words, &told[..]].concat())
    }

    fn submit_the_first_list(&self) {
        let list = self.dir.join("trust-1.json");
        good(&self.reach("operator", &["trust", "submit", text(&list)]));
    }

    fn publish(&self, name: &str) -> Output {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contexts/library/payment-v1.0.json");
        self.reach(name, &["context", "publish", text(&document)])
    }
}

fn refused(output: &Output, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(why), "{said}");
}

/// The connection may be reset before the alert of TLS is read.
fn thief_is_told(split: &Split) {
    wait_for("the refusal to be told by what refused", || {
        let output = split.publish("thief");
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (said.contains("refused the connection: received fatal alert") && said.contains("admits its issuer"))
            .then_some(())
    });
}

fn strangers_are_told_what_they_may_have_wrong(split: &Split) {
    another_log_key(&split.dir);
    let url = split.url.as_str();
    let key = std::fs::read_to_string(split.dir.join("authority/keys/log.pub")).unwrap();
    let foreign = split.dir.join("other/roots.pem");
    let words = ["log", "verify", url, "--roots", text(&foreign), "--log-key", key.trim()];
    refused(&semgate(&words), "no secure connection to");
    refused(
        &split.stranger(&["log", "proof", "0", "--authority", "semgate.test"], 2),
        "give its name as `--authority-name`",
    );
}

/// Until a trust list is handed in, what the authority serves is just what a thief of one root key and the log key can serve.
#[test]
fn what_one_of_three_root_keys_and_the_log_key_make_is_refused_by_strangers_who_were_told_the_threshold() {
    let temporary = tempfile::tempdir().unwrap();
    let split = Split::start(temporary.path());
    let at = |name: &str| text(&temporary.path().join(name)).to_owned();
    let (url, mirrored, proof, stapled) = (split.url.clone(), at("mirror"), at("proof"), at("stapled.json"));
    good(&split.publish("operator"));
    good(&split.reach("operator", &["context", "fetch", "payment:v1.0", "--proof", "--out", &stapled]));
    let verify: &[&str] = &["log", "verify", &url];
    let mirror: &[&str] = &["authority", "mirror", &mirrored, "--from", &url];
    let prove: &[&str] = &["log", "proof", "0", "--from", &url, "--out", &proof];
    let check: &[&str] = &["log", "proof", "--check", &proof];
    let stapled: &[&str] = &["context", "verify", &stapled];
    let at_authority = ["--authority", &url];
    let fetch = [&["context", "fetch", "payment:v1.0"], &at_authority[..]].concat();
    let diff = [&["context", "diff", "payment:v1.0", "payment:v1.0"], &at_authority[..]].concat();
    for words in [verify, mirror, prove, &fetch] {
        refused(&split.stranger(words, 2), UNLISTED);
    }
    assert!(!Path::new(&mirrored).join("v1").exists(), "nothing of it was mirrored");
    for words in [verify, mirror, prove, check, stapled, &fetch, &diff] {
        good(&split.stranger(words, 1));
    }
    let bare = split.reach("operator", &fetch[..3]);
    assert!(String::from_utf8_lossy(&bare.stderr).contains("not checked: its publication"), "{bare:?}");
    let trust = format!("{mirrored}/v1/trust");
    let listed = ["--trust", &trust];
    for words in [check, stapled] {
        refused(&split.stranger(words, 2), UNLISTED);
        refused(&split.stranger(&[words, &listed[..]].concat(), 2), UNLISTED);
    }
    split.submit_the_first_list();
    for words in [verify, mirror, &fetch] {
        good(&split.stranger(words, 2));
    }
    let bare = split.reach("operator", &fetch[..3]);
    assert!(bare.status.success() && bare.stderr.is_empty(), "the log key is that of the list: {bare:?}");
    for words in [check, stapled] {
        good(&split.stranger(&[words, &listed[..]].concat(), 2));
        refused(&split.stranger(words, 2), UNLISTED);
    }
    strangers_who_demand_more_than_the_list_are_told(&split, verify, &[check, &listed[..]].concat(), &fetch);
    end(split.running);
}

/// All three signed the first list, which asks for two: it counts, and so does its number.
fn strangers_who_demand_more_than_the_list_are_told(
    split: &Split,
    verify: &[&str],
    check: &[&str],
    fetch: &[&str],
) {
    for words in [verify, check, fetch] {
        for (demanded, told) in [(2, false), (3, true)] {
            let output = split.stranger(words, demanded);
            good(&output);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let note = "note: 2 root keys speak for the root by its trust list, which 3 of them signed";
            assert_eq!(said.contains(note), told, "{words:?} {demanded} {said}");
        }
    }
    let shown = split.stranger(&[&["--json"], verify].concat(), 3);
    let shown: serde_json::Value = serde_json::from_str(&good(&shown)).unwrap();
    assert_eq!(shown["root_threshold"], 2, "{shown}");
}

#[test]
fn one_of_three_root_keys_certifies_no_publisher() {
    let temporary = tempfile::tempdir().unwrap();
    let mut split = Split::start(temporary.path());
    split.submit_the_first_list();
    let offline = split.dir.join("offline");
    let (root, rogue) = (offline.join("root-1"), offline.join("rogue"));
    good(&semgate(&["cert", "issuing", "--family", "tls", "--by", text(&root), "--out", text(&rogue)]));
    split.certify("thief", "rogue");
    thief_is_told(&split);
    strangers_are_told_what_they_may_have_wrong(&split);
    let listed = good(&split.reach("operator", &["context", "list"]));
    assert!(!listed.contains("payment"), "{listed}");
    good(&split.publish("operator"));
    // below the roots the thief would be a publisher: not taken up while it runs, and not at a start
    let said = || std::fs::read_to_string(split.dir.join("authority.log")).unwrap();
    let anchors = split.dir.join("client-roots.pem");
    std::fs::copy(split.dir.join("roots.pem"), &anchors).unwrap();
    let why = "one root key in it can certify any publisher, although it takes 2 to speak for the root";
    wait_for("the roots to be refused", || said().contains(why).then_some(()));
    thief_is_told(&split);
    end(split.running);
    std::fs::write(split.dir.join("authority.log"), "").unwrap();
    let mut stopped = authority(&split.dir);
    let status = wait_for("it to end", || stopped.0.try_wait().unwrap());
    assert!(!status.success() && said().contains(why) && said().contains("tls-issuing.pem"), "{}", said());
    // with one key that speaks alone they are its roots like any others; it is the anchors that keep the thief out, and nothing else
    set_line(&split.dir.join("authority.toml"), "root_threshold", "root_threshold = 1");
    split.running = authority(&split.dir);
    split.answers();
    assert!(said().contains("which alone can certify any publisher"), "{}", said());
    good(&split.publish("thief"));
    end(split.running);
}

#[test]
fn an_authority_whose_log_key_no_trust_list_names_does_not_start() {
    let temporary = tempfile::tempdir().unwrap();
    let mut split = Split::start(temporary.path());
    split.submit_the_first_list();
    let (second, _) = another_log_key(&split.dir);
    let config = split.dir.join("authority.toml");
    let first = split.dir.join("authority/keys/log.key");
    let both = format!("log = {{ key = \"{}\", also = [\"{}\"] }}", text(&second), text(&first));
    set_line(&config, "log =", &both);
    end(split.running);
    split.running = authority(&split.dir);
    split.answers();
    end(split.running);
    set_line(&config, "log =", &format!("log = {{ key = \"{}\" }}", text(&second)));
    let checkpoint = || std::fs::read(split.dir.join("authority/log/checkpoint")).unwrap();
    let before = checkpoint();
    let mut stopped = authority(&split.dir);
    let status = wait_for("it to end", || stopped.0.try_wait().unwrap());
    let said = std::fs::read_to_string(split.dir.join("authority.log")).unwrap();
    assert!(
        !status.success() && said.contains("the trust list in effect names no signing log key"),
        "{said}"
    );
    assert_eq!(checkpoint(), before, "nothing was signed in the place of what counts");
    set_line(&config, "log =", &format!("log = {{ key = \"{}\" }}", text(&first)));
    split.running = authority(&split.dir);
    split.answers();
    end(split.running);
}
