//! What strangers can check of an authority, through the running binary: proofs, mirrors, witnesses, and what a restored backup cannot do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::gateway::{Gateway, Scripted, free_address};
use support::{Ended, SEMGATE, Up, plain_get, python, wait_for};

const DECISION: &str = r#"{"item_id":"beer","quantity":120}"#;
const REPLY: &str = r#"{"protocol":"L8/1.0","message_id":"r-1","performative":"INFORM","sender_id":"wholesaler-1","receiver_id":"retailer-7","context":"urn:contexts:supplyChain:v1.0","content":{"concept_type":"current_decision","item_id":"beer","quantity":120}}"#;

fn run(words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).output().unwrap()
}

fn good(words: &[&str]) -> String {
    let output = run(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Status and what was said of a refusal.
fn bad(words: &[&str]) -> (i32, String) {
    let output = run(words);
    assert!(!output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// What a stranger is told: the roots and the log key, as files and text.
struct Told {
    roots: String,
    key: String,
}

impl Told {
    fn of(up: &Up) -> Told {
        let config: toml::Value =
            toml::from_str(&std::fs::read_to_string(up.path("/firewall_config")).unwrap()).unwrap();
        let key = config["authority"][0]["log_key"].as_str().unwrap().to_owned();
        Told { roots: text(&up.path("/roots")), key }
    }

    fn words<'a>(&'a self, job: &[&'a str]) -> Vec<&'a str> {
        [job, &["--roots", &self.roots, "--log-key", &self.key]].concat()
    }
}

/// Says the interpreter's verdict by the independent verifier.
fn judged(words: &[&str]) -> Result<String, String> {
    let output =
        Command::new(python::with_log()).arg(python::script("log_verifier.py")).args(words).output().unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(shown(&output.stdout)) } else { Err(shown(&output.stderr)) }
}

/// Somebody else's web server over a directory.
fn serve(dir: &Path) -> (Ended, String) {
    let mut child = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"])
        .arg(dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split("port ").nth(1).and_then(|rest| rest.split(' ').next()).expect(&line);
    (Ended(child), format!("http://127.0.0.1:{port}"))
}

fn mirror(up: &Up, to: &Path) {
    let made = up.semgate(&["authority", "mirror", &text(to)]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn publish(up: &Up, urn: &str) {
    let file = up.dir.join(format!("{}.json", urn.replace([':', '.'], "-")));
    let document = format!(
        r#"{{"context":"{urn}","concepts":{{"thing":{{"type":"object","properties":{{"n":{{"type":"integer"}}}}}}}}}}"#
    );
    std::fs::write(&file, document).unwrap();
    let published = up.semgate(&["context", "publish", &text(&file)]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
}

#[test]
fn a_mirror_of_plain_files_is_verified_with_nothing_but_roots_and_log_key_also_by_others() {
    let up = Up::start();
    let told = Told::of(&up);
    let dir = up.dir.join("mirror");
    mirror(&up, &dir);
    let report: Value =
        serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &text(&dir)]))).unwrap();
    let (_server, url) = serve(&dir);
    let served: Value = serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &url]))).unwrap();
    assert_eq!(served, report);
    let file_url = format!("file:{}", dir.display());
    assert_eq!(
        serde_json::from_str::<Value>(&good(&told.words(&["--json", "log", "verify", &file_url]))).unwrap(),
        report
    );
    let expected = format!("{} {}", report["size"], report["root"].as_str().unwrap());
    assert_eq!(judged(&["tree", &text(&dir), &told.key]).unwrap(), expected);
    // A mirror of the mirror, and one that is brought up to date.
    let second = up.dir.join("second");
    good(&told.words(&["authority", "mirror", &text(&second), "--from", &url]));
    publish(&up, "urn:contexts:acme:v1.0");
    mirror(&up, &second);
    let grown: Value =
        serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &text(&second)]))).unwrap();
    assert_eq!(grown["size"].as_u64().unwrap(), report["size"].as_u64().unwrap() + 1);
    assert!(judged(&["tree", &text(&second), &told.key]).unwrap().starts_with(&grown["size"].to_string()));
}

/// TUF's "arbitrary software": each kind of file in a mirror, changed by one bit, is refused by its name.
#[test]
fn an_arbitrary_artefact_in_a_mirror_is_refused_by_its_name() {
    let up = Up::start();
    let told = Told::of(&up);
    let dir = up.dir.join("mirror");
    mirror(&up, &dir);
    let size = plain_size(&dir);
    let digest =
        std::fs::read_dir(dir.join("v1/contexts/by-digest")).unwrap().next().unwrap().unwrap().path();
    let mut shard = std::fs::read_dir(dir.join("v1/feed/shards")).unwrap().map(|e| e.unwrap().path());
    let shard = shard.find(|path| path.file_name().unwrap().len() == 64).unwrap();
    for (file, what) in [
        (dir.join("v1/feed/head"), "head"),
        (dir.join("checkpoint"), "/checkpoint"),
        (dir.join(format!("tile/entries/000.p/{size}")), "checkpoint"),
        (dir.join(format!("tile/0/000.p/{size}")), "/tile/0/000.p/"),
        (dir.join("v1/floors"), "floors"),
        (dir.join("v1/contexts/index.json"), "listing"),
        (digest, "urn:contexts:"),
        (shard, "shard"),
    ] {
        let kept = std::fs::read(&file).unwrap();
        let mut wrong = kept.clone();
        let middle = wrong.len() / 2;
        wrong[middle] ^= 1;
        std::fs::write(&file, wrong).unwrap();
        let (status, said) = bad(&told.words(&["log", "verify", &text(&dir)]));
        assert!(status == 1 && said.contains(what), "{}: {said}", file.display());
        std::fs::remove_file(&file).unwrap();
        assert!(!run(&told.words(&["log", "verify", &text(&dir)])).status.success(), "{}", file.display());
        std::fs::write(&file, kept).unwrap();
    }
    good(&told.words(&["log", "verify", &text(&dir)]));
    // A mirror that was damaged heals from the authority, and not from itself.
    let tile = dir.join(format!("tile/entries/000.p/{size}"));
    std::fs::write(&tile, b"scribble").unwrap();
    mirror(&up, &dir);
    good(&told.words(&["log", "verify", &text(&dir)]));
}

fn plain_size(dir: &Path) -> u64 {
    std::fs::read_to_string(dir.join("checkpoint")).unwrap().lines().nth(1).unwrap().parse().unwrap()
}

#[test]
fn proofs_are_made_from_tiles_and_checked_offline_here_and_by_others() {
    let up = Up::start();
    let told = Told::of(&up);
    let at = |name: &str| text(&up.dir.join(name));
    std::fs::write(at("old.txt"), up.authority("/checkpoint").body).unwrap();
    publish(&up, "urn:contexts:acme:v1.0");
    publish(&up, "urn:contexts:acme:v1.1");
    let url = up.text("/authority_url").to_owned();
    let made = |what: &str, name: &str| {
        let (out, entry) = (at(&format!("{name}.tlog-proof")), at(&format!("{name}.entry")));
        let words = ["log", "proof", what, "--from", &url, "--out", &out, "--entry-bytes", &entry];
        good(&told.words(&words));
        (out, entry)
    };
    for (what, name, about) in [
        ("payment:v1.1", "payment", "urn:contexts:payment:v1.1"),
        ("0", "first", "urn:contexts:"),
        ("acme:v1.1", "last", "urn:contexts:acme:v1.1"),
    ] {
        let (proof, entry) = made(what, name);
        let said = good(&told.words(&["log", "proof", "--check", &proof]));
        assert!(said.contains(about) && said.contains("kind: publish"), "{said}");
        good(&told.words(&["log", "proof", "--check", &proof, "--entry-bytes", &entry]));
        judged(&["proof", &proof, &entry, &told.key]).unwrap();
        // Somebody else's implementation, with the same words.
        let output = Command::new(python::with_log().with_file_name("proofbundle"))
            .args(["verify-proof", &proof, "--payload-file", &entry, "--log-vkey", &told.key])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        // The proof of one entry is none of another.
        std::fs::write(at("other.entry"), b"{}").unwrap();
        let (_, said) =
            bad(&told.words(&["log", "proof", "--check", &proof, "--entry-bytes", &at("other.entry")]));
        assert!(said.contains("do not lead to its checkpoint"), "{said}");
        assert!(judged(&["proof", &proof, &at("other.entry"), &told.key]).is_err());
    }
    // That the log continues what was seen before.
    let since = at("since.txt");
    good(&told.words(&["log", "proof", "--since", &at("old.txt"), "--from", &url, "--out", &since]));
    good(&told.words(&["log", "proof", "--check", &since, "--since", &at("old.txt")]));
    judged(&["since", &since, &at("old.txt"), &told.key]).unwrap();
    let wrong = std::fs::read_to_string(&since).unwrap();
    let line = wrong.lines().nth(1).unwrap();
    std::fs::write(&since, wrong.replacen(line, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", 1)).unwrap();
    let (_, said) = bad(&told.words(&["log", "proof", "--check", &since, "--since", &at("old.txt")]));
    assert!(said.contains("do not lead to its checkpoint"), "{said}");
    assert!(judged(&["since", &since, &at("old.txt"), &told.key]).is_err());
}

#[test]
fn a_context_with_its_proof_is_verified_when_everybody_else_is_gone() {
    let up = Up::start();
    let told = Told::of(&up);
    let at = |name: &str| text(&up.dir.join(name));
    let fetched =
        up.semgate(&["context", "fetch", "supplyChain:v1.0", "--proof", "--out", &at("stapled.json")]);
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    let fetched = up.semgate(&["context", "fetch", "payment:v1.1", "--out", &at("bare.json")]);
    assert!(fetched.status.success());
    good(&told.words(&[
        "log",
        "proof",
        "payment:v1.1",
        "--from",
        up.text("/authority_url"),
        "--out",
        &at("bare.tlog-proof"),
    ]));
    let temporary = tempfile::tempdir().unwrap();
    let away = |name: &str| text(&temporary.path().join(name));
    for name in ["stapled.json", "bare.json", "bare.tlog-proof"] {
        std::fs::copy(up.dir.join(name), temporary.path().join(name)).unwrap();
    }
    std::fs::copy(&told.roots, temporary.path().join("roots.pem")).unwrap();
    let told = Told { roots: away("roots.pem"), key: told.key };
    up.stop();
    let said = good(&told.words(&["context", "verify", &away("stapled.json")]));
    assert!(said.contains("urn:contexts:supplyChain:v1.0") && said.contains("index: "), "{said}");
    good(&told.words(&["context", "verify", &away("bare.json"), "--proof", &away("bare.tlog-proof")]));
    let (_, said) = bad(&told.words(&["context", "verify", &away("bare.json")]));
    assert!(said.contains("no proof of its publication"), "{said}");
    let (_, said) =
        bad(&told.words(&["context", "verify", &away("stapled.json"), "--proof", &away("bare.tlog-proof")]));
    assert!(said.contains("publishes another context"), "{said}");
    // A signature alone is still verified without a log key.
    good(&["context", "verify", &away("stapled.json"), "--roots", &told.roots]);
}

/// A gateway that follows a mirror over plain HTTP on this machine, and its agent.
fn gateway_of(up: &Up, url: &str, more: &str) -> (Gateway, Scripted) {
    let behind = Scripted::saying(REPLY.to_owned());
    let config = up.path("/firewall_config");
    let kept = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, kept.replace(up.text("/authority_url"), url)).unwrap();
    let gateway = Gateway::before(up, behind.address, more);
    std::fs::write(&config, kept).unwrap();
    (gateway, behind)
}

fn decision() -> String {
    format!(
        r#"{{"protocol":"L8/1.0","message_id":"m-1","performative":"INFORM","sender_id":"retailer-7","receiver_id":"wholesaler-1","context":"urn:contexts:supplyChain:v1.0","content":{{"concept_type":"current_decision",{}}}"#,
        DECISION.trim_start_matches('{')
    )
}

fn verdict(gateway: &Gateway) -> (u16, String) {
    let answer = gateway.post(&decision());
    let json: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    (answer.status, json["code"].as_str().unwrap_or_default().to_owned())
}

fn gateway_status(gateway: &Gateway) -> Value {
    plain_get(&format!("http://{}/status", gateway.admin)).json()
}

/// TUF's malicious mirror and freeze: a mirror serves gateways, what is changed in it is not accepted, and an old one goes stale.
#[test]
fn a_gateway_works_from_a_mirror_until_it_lies_or_is_too_old() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().join("up");
    Up::start_in(&place).stop();
    let config = place.join("authority.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    let line = settings.lines().find(|l| l.starts_with("status_lifetime")).unwrap();
    std::fs::write(&config, settings.replace(line, r#"status_lifetime = "20s""#)).unwrap();
    let up = Up::start_in(&place);
    let dir = up.dir.join("mirror");
    let mirroring = || {
        let mut command = Command::new(SEMGATE);
        command.args(["authority", "mirror", "--every", "1", "--dir"]).arg(&up.dir).arg(&dir);
        Ended(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    };
    let alive = mirroring();
    wait_for("the first mirror", || dir.join("v1/feed/head").exists().then_some(()));
    let (_server, url) = serve(&dir);
    let (gateway, _behind) = gateway_of(&up, &url, "");
    assert_eq!(verdict(&gateway), (200, String::new()));
    // A revocation arrives by the mirror too.
    let revoked = up.semgate(&["context", "revoke", "travel:v2.1"]);
    assert!(revoked.status.success());
    let size = || gateway_status(&gateway)["authorities"][0]["size"].as_u64();
    wait_for("the mirrored head", || {
        (size() == Some(semgate_contexts::library::all().len() as u64 + 2)).then_some(())
    });
    assert_eq!(verdict(&gateway), (200, String::new()));
    // A forged head is not accepted, and what was accepted before runs out.
    drop(alive);
    let head = dir.join("v1/feed/head");
    let mut forged = std::fs::read(&head).unwrap();
    let middle = forged.len() / 2;
    forged[middle] ^= 1;
    std::fs::write(&head, forged).unwrap();
    wait_for("the status to go stale", || (verdict(&gateway).1 == "status_stale").then_some(()));
    // The authority itself is well: only the mirror lies.
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION, "--performative", "INFORM"]).0, 0);
    let alive = mirroring();
    wait_for("the mirror to be believed again", || (verdict(&gateway).0 == 200).then_some(()));
    // Now it is honest and merely old.
    drop(alive);
    wait_for("the old mirror to go stale", || (verdict(&gateway).1 == "status_stale").then_some(()));
    let told = Told::of(&up);
    let (_, said) = bad(&told.words(&["log", "verify", &url]));
    assert!(said.contains("expired"), "{said}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(std::fs::copy(&path, &target).is_ok()) }
    }
}

/// Back up, publish, restore the backup, start: refused, with what to do; what to do then works.
#[test]
fn a_restored_backup_is_refused_and_brought_up_to_date_from_a_mirror() {
    let temporary = tempfile::tempdir().unwrap();
    let (place, backup) = (temporary.path().join("up"), temporary.path().join("backup"));
    Up::start_in(&place).stop();
    copy(&place.join("authority"), &backup);
    let up = Up::start_in(&place);
    publish(&up, "urn:contexts:acme:v1.0");
    let dir = temporary.path().join("mirror");
    mirror(&up, &dir);
    let size = plain_size(&dir);
    let told = Told::of(&up);
    up.stop();
    std::fs::remove_dir_all(place.join("authority")).unwrap();
    copy(&backup, &place.join("authority"));
    let config = text(&place.join("authority.toml"));
    for job in ["run", "rebuild-index", "status"] {
        let (_, said) = bad(&["authority", job, "--config", &config]);
        assert!(said.contains(&format!("a checkpoint of {size} was signed before")), "{job}: {said}");
        assert!(said.contains("authority restore"), "{job}: {said}");
    }
    // A mirror of before does not help.
    let (_, said) =
        bad(&["authority", "restore", "--config", &config, "--from", &text(&temporary.path().join("none"))]);
    assert!(said.contains("404"), "{said}");
    let said = good(&["--json", "authority", "restore", "--config", &config, "--from", &text(&dir)]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["size"].as_u64(), Some(size), "{said}");
    let up = Up::start_in(&place);
    let url = up.text("/authority_url").to_owned();
    let report: Value = serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &url]))).unwrap();
    assert_eq!(report["size"].as_u64(), Some(size));
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION, "--performative", "INFORM"]).0, 0);
    publish(&up, "urn:contexts:acme:v1.1");
    good(&told.words(&["log", "verify", &url]));
}

/// A running witness of one log.
struct Witness {
    _child: Ended,
    url: String,
    admin: String,
    key: String,
}

fn witness(dir: &Path, name: &str, log: &str) -> Witness {
    if !dir.exists() {
        good(&["log", "witness", "--init", &text(dir), "--name", name, "--log-key", log]);
        let config = dir.join("witness.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        let (listen, admin) = (free_address().to_string(), free_address().to_string());
        let settings = settings.replace("127.0.0.1:8446", &listen).replace("127.0.0.1:8447", &admin);
        std::fs::write(config, settings).unwrap();
    }
    let mut child = Command::new(SEMGATE)
        .args(["--json", "log", "witness", "--config"])
        .arg(dir.join("witness.toml"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).expect(&line);
    let of = |name: &str| told[name].as_str().unwrap().to_owned();
    Witness {
        _child: Ended(child),
        url: format!("http://{}", of("listen")),
        admin: of("admin"),
        key: of("key"),
    }
}

/// Two witnesses, a quorum of both: heads carry their cosignatures, a gateway demands them, and without one of them only revocations arrive.
#[test]
fn checkpoints_are_cosigned_and_a_gateway_that_demands_it_accepts_no_other() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().join("up");
    let up = Up::start_in(&place);
    let told = Told::of(&up);
    up.stop();
    let one = witness(&temporary.path().join("one"), "one.example", &told.key);
    let two = witness(&temporary.path().join("two"), "two.example", &told.key);
    let config = place.join("authority.toml");
    let mut settings = std::fs::read_to_string(&config).unwrap();
    for witness in [&one, &two] {
        settings.push_str(&format!("\n[[witness]]\nurl = \"{}\"\nkey = \"{}\"\n", witness.url, witness.key));
    }
    std::fs::write(&config, settings).unwrap();
    let up = Up::start_in(&place);
    let note = up.dir.join("note.txt");
    std::fs::write(&note, up.authority("/checkpoint").body).unwrap();
    let seen = judged(&["note", &text(&note), &told.key, &one.key, &two.key]).unwrap();
    assert!(seen.ends_with(" 2"), "an independent verifier counts both cosignatures: {seen}");
    let url = up.text("/authority_url").to_owned();
    let key = two.key.clone();
    let demanding = ["log", "verify", &url, "--witness", &one.key, "--witness", &key];
    good(&told.words(&demanding));
    let lines = format!("lines = [\"*\"]\nwitnesses = [\"{}\", \"{}\"]", one.key, two.key);
    let firewall = up.path("/firewall_config");
    let kept = std::fs::read_to_string(&firewall).unwrap();
    assert!(kept.contains("lines = [\"*\"]"), "{kept}");
    std::fs::write(&firewall, kept.replace("lines = [\"*\"]", &lines)).unwrap();
    let behind = Scripted::saying(REPLY.to_owned());
    let gateway = Gateway::before(&up, behind.address, "");
    std::fs::write(&firewall, kept).unwrap();
    assert_eq!(verdict(&gateway), (200, String::new()));
    let size = |gateway: &Gateway| gateway_status(gateway)["authorities"][0]["size"].as_u64().unwrap();
    let before = size(&gateway);

    // One witness goes away: the authority goes on, and tells; the gateway does not follow, but what is revoked is revoked.
    drop(two);
    publish(&up, "urn:contexts:acme:v1.0");
    let (_, said) = bad(&told.words(&demanding));
    assert!(said.contains("cosigned by 1 of the configured witnesses, 2 are demanded"), "{said}");
    good(&told.words(&[&demanding[..], &["--quorum", "1"]].concat()));
    assert!(up.semgate(&["context", "revoke", "supplyChain:v1.0"]).status.success());
    wait_for("the revocation in an unwitnessed head", || {
        (verdict(&gateway).1 == "context_revoked").then_some(())
    });
    assert_eq!(size(&gateway), before, "no unwitnessed head was accepted");

    // It comes back with its memory, and is asked again without a restart of anything.
    let two = witness(&temporary.path().join("two"), "two.example", &told.key);
    wait_for("both cosignatures", || run(&told.words(&demanding)).status.success().then_some(()));
    wait_for("the witnessed head", || (size(&gateway) == before + 2).then_some(()));
    let status = plain_get(&format!("http://{}/status", two.admin)).json();
    assert_eq!(status["logs"][0]["size"].as_u64(), Some(before + 2));
}

/// Without what is kept apart, a witness still knows: the restored authority is refused at its start.
#[test]
fn a_witness_stops_a_restored_backup_that_nothing_else_remembers() {
    let temporary = tempfile::tempdir().unwrap();
    let (place, backup) = (temporary.path().join("up"), temporary.path().join("backup"));
    let up = Up::start_in(&place);
    let told = Told::of(&up);
    up.stop();
    let one = witness(&temporary.path().join("one"), "one.example", &told.key);
    let config = place.join("authority.toml");
    let mut settings = std::fs::read_to_string(&config).unwrap();
    settings.push_str(&format!("\n[[witness]]\nurl = \"{}\"\nkey = \"{}\"\n", one.url, one.key));
    std::fs::write(&config, settings).unwrap();
    copy(&place.join("authority"), &backup);
    let up = Up::start_in(&place);
    publish(&up, "urn:contexts:acme:v1.0");
    up.stop();
    std::fs::remove_dir_all(place.join("authority")).unwrap();
    copy(&backup, &place.join("authority"));
    std::fs::remove_file(place.join("last-checkpoint")).unwrap();
    let (_, said) = bad(&["authority", "run", "--config", &text(&config)]);
    assert!(said.contains("the witness `one.example` saw a log of"), "{said}");
}

/// A split view: the same authority, told apart to two gateways. Each alone sees nothing wrong; together they prove it.
#[test]
fn two_gateways_that_were_shown_two_histories_refuse_the_authority_and_keep_the_proof() {
    let temporary = tempfile::tempdir().unwrap();
    let (one, two) = (temporary.path().join("one"), temporary.path().join("two"));
    Up::start_in(&one).stop();
    copy(&one, &two);
    let first = Up::start_in(&one);
    let files = std::fs::read_dir(&two).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    let mut moved: Vec<(String, String)> =
        ["/authority_url", "/gateway/l8", "/gateway/a2a", "/admin_url", "/sample_agent/url"]
            .into_iter()
            .map(|url| (support::address(first.text(url)), free_address().to_string()))
            .collect();
    let settings = std::fs::read_to_string(two.join("authority.toml")).unwrap();
    let admin = settings.lines().find_map(|line| line.strip_prefix("admin = ")).unwrap();
    moved.push((admin.trim_matches('"').to_owned(), free_address().to_string()));
    for file in files {
        let mut text = std::fs::read_to_string(&file).unwrap();
        for (was, is) in &moved {
            text = text.replace(was, is);
        }
        std::fs::write(file, text).unwrap();
    }
    let second = Up::start_in(&two);
    publish(&first, "urn:contexts:acme:v1.0");
    publish(&second, "urn:contexts:umbrella:v1.0");
    let behind = Scripted::saying(REPLY.to_owned());
    let quick = "[limits]\npeer_interval = \"200ms\"\n";
    let peer = format!("[[peer]]\nname = \"other\"\nurl = \"{}\"\n{quick}", second.text("/admin_url"));
    let gateway = Gateway::begun(&first, behind.address, &peer);
    wait_for("the contradiction", || (verdict(&gateway).1 == "context_untrusted").then_some(()));
    let status = gateway_status(&gateway);
    assert_eq!(status["authorities"][0]["split_view"], true, "{status}");
    assert!(status["obstacles"].to_string().contains("contradicted itself"), "{status}");
    let metrics = plain_get(&format!("http://{}/metrics", gateway.admin));
    let metrics = String::from_utf8(metrics.body).unwrap();
    assert!(metrics.lines().any(|l| l.starts_with("semgate_split_view{") && l.ends_with(" 1")), "{metrics}");
    // The evidence convinces anybody: two checkpoints of one log key that no proof can bring together.
    let told = Told::of(&first);
    let evidence: Vec<PathBuf> =
        find(&gateway.audit.parent().unwrap().join("authorities"), "other-checkpoint.txt");
    let theirs = text(&evidence[0]);
    let ours = text(&evidence[0].with_file_name("accepted-checkpoint.txt"));
    let (a, b) =
        (judged(&["note", &theirs, &told.key]).unwrap(), judged(&["note", &ours, &told.key]).unwrap());
    assert!(a.split(' ').next() == b.split(' ').next() && a != b, "{a} {b}");
    // Also pushed by hand, and after a restart.
    let mut gateway = gateway;
    let other = Gateway::before(&second, behind.address, "");
    assert_eq!(verdict(&other), (200, String::new()));
    let list = plain_get(&format!("{}/checkpoints", first.text("/admin_url")));
    push(&other, &list.body);
    wait_for("the contradiction that was pushed", || {
        (verdict(&other).1 == "context_untrusted").then_some(())
    });
    let child = gateway.child.id().to_string();
    Command::new("kill").args(["-KILL", &child]).status().unwrap();
    gateway.child.wait().unwrap();
    drop(second);
    gateway.start_again();
    assert_eq!(verdict(&gateway).1, "context_untrusted", "what was contradicted stays so");
}

fn push(gateway: &Gateway, list: &[u8]) {
    use std::io::Write;
    let mut stream = std::net::TcpStream::connect(gateway.admin).unwrap();
    let head = format!(
        "POST /checkpoints HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        gateway.admin,
        list.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(list).unwrap();
    assert_eq!(support::Answer::read(&mut stream).status, 200);
}

fn find(dir: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(find(&path, name));
        } else if path.file_name().unwrap() == name {
            found.push(path);
        }
    }
    found
}
