//! What the root of an authority says, through the running binary: stolen keys, changes of keys under traffic, a split root.

mod crls;
mod devices;
mod extensions;
mod federation;
mod log_keys;
mod persons;
mod rotation;
mod split;
use crate::support;
mod tuf;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use semgate_certs::{Chain, ChainLimits, Issuer, KeyPair, LeafProfile};
use semgate_contexts::Line;
use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::policies::{REPLY, message};
use support::{Ended, SEMGATE, Up, wait_for};

fn semgate(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).output().unwrap()
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Signs a draft with the root key that lies where `up` left it.
fn sign(dir: &Path, draft: &Path) {
    good(&semgate(&["trust", "sign", text(draft), "--key", text(&dir.join("offline/root.key"))]));
}

const TRANSFER: &str = r#"{"sender_id":"spiffe://semgate.test/agent/treasurer-1","receiver_id":"spiffe://semgate.test/agent/wholesaler-1","amount":10,"currency":"EUR"}"#;

#[test]
fn what_a_stolen_signer_published_is_refused_at_the_gateway_and_the_line_goes_on_with_a_new_one() {
    let up = Up::start();
    let pay =
        |version: &str| up.say(&[&format!("payment:{version}"), "transfer", TRANSFER, "--as", "treasurer-1"]);
    assert_eq!(pay("v1.1").0, 0);
    let signer = up.dir.join("authority/signers/payment.pem");
    let stolen = std::fs::read_to_string(&signer).unwrap();
    let stolen_key = std::fs::read_to_string(signer.with_extension("key")).unwrap();
    assert_suspects_are_refused(&up);
    let draft = up.dir.join("compromised.json");
    let words = ["trust", "compromise", text(&signer), "--from", "0", "--out", text(&draft)];
    good(&up.semgate(&words));
    let proofs = Proofs::of(&up, "payment:v1.1");
    proofs.hold(&[], true);
    // signed by nobody, it is refused, and nothing happened
    let refused = up.semgate(&["trust", "submit", text(&draft)]);
    assert!(!refused.status.success());
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("signed by 0 of the 1 required root keys"), "{why}");
    assert_eq!(pay("v1.1").0, 0);
    sign(&up.dir, &draft);
    let shown: Value =
        serde_json::from_str(&good(&semgate(&["--json", "trust", "show", text(&draft)]))).unwrap();
    assert_eq!(
        (&shown["kind"], &shown["from"], &shown["number"]),
        (&json!("signer_compromised"), &json!(0), &json!(1))
    );
    assert_eq!(shown["signed_by"].as_array().unwrap().len(), 1);
    let done: Value =
        serde_json::from_str(&good(&up.semgate(&["--json", "trust", "submit", text(&draft)]))).unwrap();
    assert_eq!(done["number"], 1);
    let again: Value =
        serde_json::from_str(&good(&up.semgate(&["--json", "trust", "submit", text(&draft)]))).unwrap();
    assert_eq!(again["index"], done["index"], "the same statement again is the same statement");
    wait_for("the gateway to refuse what the stolen key published", || {
        let (_, said) = pay("v1.1");
        (said["code"] == "context_revoked").then_some(())
    });
    proofs.are_refused_to_who_heard(&up);
    // other lines, whose signers nobody stole, go on; so does this one, with a new key
    let decision = r#"{"item_id":"beer","quantity":120}"#;
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", decision]).0, 0);
    let next = up.dir.join("payment-next.json");
    let shipped =
        semgate_contexts::library::all().iter().find(|(name, _)| name.contains("payment")).unwrap().1;
    let mut document: Value = serde_json::from_slice(shipped).unwrap();
    document["context"] = json!("urn:contexts:payment:v3.0");
    std::fs::write(&next, document.to_string()).unwrap();
    good(&up.semgate(&["context", "publish", text(&next)]));
    assert_ne!(std::fs::read_to_string(&signer).unwrap(), stolen, "a new signer was made");
    assert_stolen_key_certified_anew_is_refused(&up, &stolen_key);
    let url = up.text("/authority_url").to_owned();
    good(&up.semgate(&["log", "verify", &url]));
    let listed: Value = serde_json::from_str(&good(&up.semgate(&["--json", "context", "list"]))).unwrap();
    let status = |urn: &str| {
        let all = listed["contexts"].as_array().unwrap();
        all.iter().find(|c| c["urn"] == urn).unwrap()["status"].clone()
    };
    assert_eq!(status("urn:contexts:payment:v1.1"), "invalid");
    assert_eq!(status("urn:contexts:payment:v3.0"), "valid");
}

/// A proof of publication and a context with one, which strangers check offline.
struct Proofs {
    words: [Vec<String>; 2],
}

impl Proofs {
    fn of(up: &Up, context: &str) -> Self {
        let place = |name: &str| text(&up.dir.join(name)).to_owned();
        let (proof, stapled) = (place("stolen.tlog-proof"), place("stolen.json"));
        good(&up.semgate(&["log", "proof", context, "--out", &proof]));
        good(&up.semgate(&["context", "fetch", context, "--proof", "--out", &stapled]));
        let key = std::fs::read_to_string(up.dir.join("authority/keys/log.pub")).unwrap();
        let told = ["--roots", &place("offline/root.pem"), "--log-key", key.trim()].map(str::to_owned);
        let log = ["log", "proof", "--check", &proof].map(str::to_owned);
        let context = ["context", "verify", &stapled].map(str::to_owned);
        Self { words: [[log.to_vec(), told.to_vec()].concat(), [context.to_vec(), told.to_vec()].concat()] }
    }

    /// Without a trust document nobody looks for compromised keys, and it is said.
    fn hold(&self, more: &[&str], unseen: bool) {
        for words in &self.words {
            let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
            let output = semgate(&words);
            good(&output);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let told = said.contains("not checked: whether the root has named the signer's key");
            assert_eq!(told, unseen, "{said}");
        }
    }

    fn are_refused_to_who_heard(&self, up: &Up) {
        let mirror = up.dir.join("heard");
        good(&up.semgate(&["authority", "mirror", text(&mirror)]));
        let trust = mirror.join("v1/trust");
        for words in &self.words {
            let words: Vec<&str> =
                words.iter().map(String::as_str).chain(["--trust", text(&trust)]).collect();
            let refused = semgate(&words);
            let why = String::from_utf8_lossy(&refused.stderr).into_owned();
            let named =
                why.contains("the key that signed is compromised: no signature counts from index 0 on");
            assert!(!refused.status.success() && refused.stdout.is_empty() && named, "{why}");
        }
        let fetched = up.semgate(&["context", "fetch", "payment:v1.1"]);
        let why = String::from_utf8_lossy(&fetched.stderr).into_owned();
        assert!(!fetched.status.success() && why.contains("the key that signed is compromised"), "{why}");
        self.hold(&[], true);
    }
}

/// What would have no effect is refused before anybody signs it.
fn assert_suspects_are_refused(up: &Up) {
    let (root, tls) = (up.dir.join("offline/root.pem"), up.dir.join("offline/tls-issuing.pem"));
    for (certificate, why) in [
        (text(&root), "is a root, which only a trust list removes"),
        (text(&tls), "signs no log entry"),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "the authority serves no certificate"),
    ] {
        let refused = up.semgate(&["trust", "compromise", certificate, "--from", "0"]);
        assert!(!refused.status.success());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(why), "{said}");
    }
}

/// Whoever stole the key has it certified anew by the same issuer, which the authority itself is.
fn assert_stolen_key_certified_anew_is_refused(up: &Up, stolen: &str) {
    let random = ring::rand::SystemRandom::new();
    let read = |name: &str| std::fs::read_to_string(up.dir.join("authority/keys").join(name)).unwrap();
    let chain = Chain::from_pem(&read("context-issuing.pem"), &ChainLimits::default()).unwrap();
    let issuer =
        Issuer::from_parts(chain, KeyPair::from_pem(&read("context-issuing.key"), &random).unwrap()).unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let profile = LeafProfile::context(vec![Line::parse("payment").unwrap()], now - 60);
    let key = KeyPair::from_pem(stolen, &random).unwrap();
    let anew = issuer.leaf(&profile, key.public(), &random).unwrap();
    let place = |name: &str| up.dir.join(name);
    std::fs::write(place("anew.pem"), anew.to_pem()).unwrap();
    std::fs::write(place("anew.key"), stolen).unwrap();
    let shipped =
        semgate_contexts::library::all().iter().find(|(name, _)| name.contains("payment")).unwrap().1;
    let mut document: Value = serde_json::from_slice(shipped).unwrap();
    document["context"] = json!("urn:contexts:payment:v4.0");
    std::fs::write(place("anew.json"), document.to_string()).unwrap();
    let (file, cert, key, out) =
        (place("anew.json"), place("anew.pem"), place("anew.key"), place("anew.jws"));
    let words = ["--cert", text(&cert), "--key", text(&key), "--out", text(&out)];
    good(&semgate(&[&["context", "sign", text(&file)], &words[..]].concat()));
    let refused = up.semgate(&["context", "publish", text(&out)]);
    assert!(!refused.status.success());
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("the key that signed is compromised"), "{why}");
}

#[test]
fn a_floor_falls_by_the_root_and_only_so() {
    let up = Up::start();
    let refused = up.semgate(&["context", "floor", "payment", "v1.0"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("floor"), "the status key lowers nothing");
    assert!(!refused.status.success());
    let pay = || up.say(&["payment:v1.0", "transfer", TRANSFER, "--as", "treasurer-1"]).1;
    assert_eq!(pay()["code"], "context_below_floor");
    let draft = up.dir.join("lower.json");
    // nothing is drafted from a log of another key
    let (_, foreign) = another_log_key(&up.dir);
    let lower = ["trust", "lower-floor", "payment", "v1.0", "--out", text(&draft)];
    let refused = up.semgate(&[&lower[..], &["--log-key", &foreign]].concat());
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("the answers of the authority are not valid") && !draft.exists(), "{why}");
    good(&up.semgate(&["trust", "lower-floor", "payment", "v1.0", "--out", text(&draft)]));
    sign(&up.dir, &draft);
    good(&up.semgate(&["trust", "submit", text(&draft)]));
    wait_for("the gateway to take the lower floor", || (pay()["verdict"] == "ALLOWED").then_some(()));
    let url = up.text("/authority_url").to_owned();
    good(&up.semgate(&["log", "verify", &url]));
}

/// An authority in a process of its own, in the directory of an `up` that ended.
fn authority(dir: &Path) -> Ended {
    let log = std::fs::File::options().create(true).append(true).open(dir.join("authority.log")).unwrap();
    let mut command = Command::new(SEMGATE);
    command.args(["authority", "run", "--config"]).arg(dir.join("authority.toml"));
    Ended(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

fn end(mut authority: Ended) {
    Command::new("kill").args(["-TERM", &authority.0.id().to_string()]).status().unwrap();
    assert!(authority.0.wait().unwrap().success());
}

/// A sender that never stops, and counts what it was answered.
struct Traffic {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<Vec<String>>>,
}

impl Traffic {
    fn through(gateway: Arc<Gateway>) -> Self {
        let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counter) = (Arc::clone(&stop), Arc::clone(&sent));
        let thread = std::thread::spawn(move || {
            let body = message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}));
            let mut refused = Vec::new();
            while !stopped.load(Ordering::SeqCst) {
                let answer = gateway.post(&body);
                counter.fetch_add(1, Ordering::SeqCst);
                if answer.status != 200 {
                    refused.push(format!("{} {}", answer.status, answer.code()));
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            refused
        });
        Self { stop, sent, thread: Some(thread) }
    }

    /// Ends it; answers what was refused.
    fn end(mut self) -> (u64, Vec<String>) {
        self.stop.store(true, Ordering::SeqCst);
        let refused = self.thread.take().unwrap().join().unwrap();
        (self.sent.load(Ordering::SeqCst), refused)
    }
}

/// Replaces a line of a file that begins so.
fn set_line(file: &Path, begins: &str, line: &str) {
    let was = std::fs::read_to_string(file).unwrap();
    let old =
        was.lines().find(|l| l.starts_with(begins)).unwrap_or_else(|| panic!("no `{begins}`")).to_owned();
    std::fs::write(file, was.replace(&old, line)).unwrap();
}

/// Issue 5: rotation of every online key with overlap, without a gateway restart and without an unverifiable moment.
#[test]
fn feed_status_issuing_and_log_keys_change_under_traffic_and_the_gateway_is_never_restarted() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    Up::start_in(&dir).stop();
    let config = dir.join("authority.toml");
    // heads that live so shortly that one missed head is seen; role keys that live for seconds
    set_line(&config, "status_lifetime", "status_lifetime = \"12s\"");
    set_line(&config, "log =", "log = { key = \"authority/keys/log.key\" }\nrole_lifetime = \"9s\"");
    let up = Up::start_in(&dir);
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway = Arc::new(Gateway::before(&up, behind.address, ""));
    let url = up.text("/authority_url").to_owned();
    up.stop();
    let mut running = authority(&dir);
    let reach = |words: &[&str]| {
        let operator = |end: &str| {
            let up: Value = serde_json::from_slice(&std::fs::read(dir.join("up.json")).unwrap()).unwrap();
            text(&dir.join(up["agents"]["operator"][end].as_str().unwrap())).to_owned()
        };
        let roots = dir.join("roots.pem");
        let (cert, key) = (operator("cert"), operator("key"));
        semgate(
            &[words, &["--authority", &url, "--roots", text(&roots), "--cert", &cert, "--key", &key]]
                .concat(),
        )
    };
    let back = || {
        wait_for("the authority to answer", || reach(&["context", "list"]).status.success().then_some(()));
    };
    let restart = |running: Ended| {
        end(running);
        let next = authority(&dir);
        back();
        next
    };
    back();
    let traffic = Traffic::through(Arc::clone(&gateway));
    let feed = || std::fs::read_to_string(dir.join("authority/roles/feed.pem")).ok();
    let status = || std::fs::read_to_string(dir.join("authority/roles/status.pem")).ok();
    // 1: feed and status keys renew themselves, twice
    for _ in 0..2 {
        let (old_feed, old_status) = (feed(), status());
        wait_for("a new feed key", || (feed() != old_feed).then_some(()));
        wait_for("a new status key", || (status() != old_status).then_some(()));
    }
    // 2: the log key: a second one in the trust list, both sign, the first one leaves
    let (second, vkey) = another_log_key(&dir);
    let first = std::fs::read_to_string(dir.join("authority/keys/log.pub")).unwrap().trim().to_owned();
    let by_first = |words: &[&str]| {
        semgate(&[words, &["--roots", text(&dir.join("roots.pem")), "--log-key", &first]].concat())
    };
    let proof = dir.join("old.tlog-proof");
    good(&by_first(&["log", "proof", "0", "--from", &url, "--out", text(&proof)]));
    let submit = |draft: &Path| {
        sign(&dir, draft);
        good(&reach(&["trust", "submit", text(draft)]));
    };
    let draft = dir.join("list-1.json");
    let words = ["trust", "draft", "--add-log", &first, "--add-log", &vkey, "--out", text(&draft)];
    good(&reach(&words));
    submit(&draft);
    set_line(
        &config,
        "log =",
        &format!("log = {{ key = \"{}\", also = [\"authority/keys/log.key\"] }}", text(&second)),
    );
    running = restart(running);
    set_line(&config, "log =", &format!("log = {{ key = \"{}\" }}", text(&second)));
    running = restart(running);
    let draft = dir.join("list-2.json");
    good(&reach(&["trust", "draft", "--remove-log", &first, "--out", text(&draft)]));
    submit(&draft);
    // 3: the issuing certificate
    let issuing = dir.join("issuing-2");
    let root = dir.join("offline/root");
    good(&semgate(&[
        "cert",
        "issuing",
        "--family",
        "contexts",
        "--by",
        text(&root),
        "--out",
        text(&issuing),
    ]));
    let draft = dir.join("list-3.json");
    let pem = issuing.with_extension("pem");
    good(&reach(&["trust", "draft", "--add-issuing", text(&pem), "--out", text(&draft)]));
    submit(&draft);
    let pair = format!(
        "context_issuing = {{ certificate = \"{}\", key = \"{}\" }}",
        text(&pem),
        text(&issuing.with_extension("key"))
    );
    set_line(&config, "context_issuing", &pair);
    running = restart(running);
    let old_feed = feed();
    wait_for("a feed key by the new issuing certificate", || (feed() != old_feed).then_some(()));
    let below = std::fs::read_to_string(&pem).unwrap();
    assert!(feed().unwrap().contains(below.trim()), "the new issuing certificate is in the chain");
    // and the gateway follows: what changes now, by keys that it was never configured with, arrives
    let body = message(&json!({"concept": "current_decision", "item_id": "beer", "quantity": 120}));
    let (sent, refused) = traffic.end();
    assert_eq!(refused.len(), 0, "of {sent} messages, first {:?}", refused.first());
    assert!(sent > 500, "{sent} messages");
    good(&reach(&["context", "suspend", "supplyChain:v1.0"]));
    wait_for("the suspension", || {
        let answer = gateway.post(&body);
        (answer.status != 200 && answer.code() == "context_suspended").then_some(())
    });
    good(&reach(&["context", "resume", "supplyChain:v1.0"]));
    wait_for("its end", || (gateway.post(&body).status == 200).then_some(()));
    // a proof by the key that left is by no key of the list any more, and that is what is said
    let mirror = dir.join("mirrored");
    good(&by_first(&["authority", "mirror", text(&mirror), "--from", &url]));
    let trust = mirror.join("v1/trust");
    let refused = by_first(&["log", "proof", "--check", text(&proof), "--trust", text(&trust)]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("signed by a log key that the trust list of `--trust` no longer names"), "{said}");
    good(&by_first(&["log", "proof", "--check", text(&proof)]));
    // a stranger with the first log key alone walks from list to list
    let roots = dir.join("roots.pem");
    let words = [
        "log",
        "verify",
        &url,
        "--roots",
        text(&roots),
        "--log-key",
        &first,
        "--authority-name",
        "semgate.test",
    ];
    good(&semgate(&words));
    end(running);
}

/// A second key of the same log: the file, and its verifier key.
fn another_log_key(dir: &Path) -> (std::path::PathBuf, String) {
    let other = dir.join("other");
    good(&semgate(&["authority", "init", "--dir", text(&other)]));
    let vkey = std::fs::read_to_string(other.join("authority/keys/log.pub")).unwrap().trim().to_owned();
    (other.join("authority/keys/log.key"), vkey)
}

#[test]
fn a_split_root_speaks_only_by_its_threshold() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("split");
    let listen = support::gateway::free_address().to_string();
    let admin = support::gateway::free_address().to_string();
    let words = [
        "authority",
        "init",
        "--dir",
        text(&dir),
        "--root-keys",
        "3",
        "--root-threshold",
        "2",
        "--listen",
        &listen,
    ];
    let who = "spiffe://semgate.test/operator";
    good(&semgate(&[&words[..], &["--admin", &admin, "--publisher", who]].concat()));
    let _running = authority(&dir);
    let operator = dir.join("operator");
    let issuer = dir.join("offline/tls-issuing");
    good(&semgate(&[
        "cert",
        "leaf",
        "--usage",
        "agent",
        "--spiffe",
        who,
        "--by",
        text(&issuer),
        "--out",
        text(&operator),
    ]));
    let (cert, key, roots) =
        (operator.with_extension("pem"), operator.with_extension("key"), dir.join("roots.pem"));
    let url = format!("https://{listen}");
    let reach = |words: &[&str]| {
        semgate(
            &[
                words,
                &["--authority", &url, "--roots", text(&roots), "--cert", text(&cert), "--key", text(&key)],
            ]
            .concat(),
        )
    };
    wait_for("the authority to answer", || reach(&["context", "list"]).status.success().then_some(()));
    good(&reach(&["trust", "submit", text(&dir.join("trust-1.json"))]));
    let draft = dir.join("compromised.json");
    let feed = dir.join("authority/keys/feed.pem");
    good(&reach(&["trust", "compromise", text(&feed), "--from", "0", "--out", text(&draft)]));
    let sign = |n: u8| {
        good(&semgate(&[
            "trust",
            "sign",
            text(&draft),
            "--key",
            text(&dir.join(format!("offline/root-{n}.key"))),
        ]))
    };
    sign(3);
    let refused = reach(&["trust", "submit", text(&draft)]);
    assert!(!refused.status.success());
    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(why.contains("signed by 1 of the 2 required root keys"), "{why}");
    sign(1);
    good(&reach(&["trust", "submit", text(&draft)]));
    let shown: Value = serde_json::from_str(&good(&reach(&["--json", "trust", "show"]))).unwrap();
    assert_eq!(shown["list"]["threshold"], 2);
    assert_eq!(shown["statements"][1]["kind"], "signer_compromised");
    let renewed = dir.join("authority/roles/feed.pem");
    assert!(renewed.is_file(), "the authority made itself a new feed key at once");
}
