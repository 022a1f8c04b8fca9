//! The authority through the running binary: what the others do without it, what it survives, and what strangers can check of it.

mod accounts;
mod comparing;
use crate::support;
mod volume;

use std::process::{Command, Stdio};

use semgate_contexts::library;
use serde_json::Value;
use support::authorities::{Other, good, run};
use support::{Ended, SEMGATE, Up, wait_for};

const DECISION: &str = r#"{"item_id":"beer","quantity":120}"#;

/// `docs/design/firewall.md` §5: the gateway starts and goes on while the authority is down, until the status is stale; it never fails open.
#[test]
fn without_the_authority_the_gateway_goes_on_until_the_status_is_stale() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    // Once, to make the files; then with a head that lives for fifteen seconds.
    Up::start_in(&dir).stop();
    let config = dir.join("authority.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let line =
        text.lines().find(|l| l.starts_with("status_lifetime")).expect("status_lifetime in authority.toml");
    std::fs::write(&config, text.replace(line, r#"status_lifetime = "15s""#)).unwrap();
    // Without its memory the gateway opens only after it accepted the short-lived head: with it, a stop right after the
    // start could leave the head that lives for minutes.
    std::fs::remove_dir_all(dir.join("firewall").join("authorities")).unwrap();
    Up::start_in(&dir).stop();

    let up_json: Value = serde_json::from_slice(&std::fs::read(dir.join("up.json")).unwrap()).unwrap();
    let agent =
        std::net::TcpListener::bind(support::address(up_json["sample_agent"]["url"].as_str().unwrap()))
            .unwrap();
    let answering = std::thread::spawn(move || one_empty_answer(&agent));
    let mut gateway = Ended(
        Command::new(SEMGATE)
            .args(["firewall", "run", "--config"])
            .arg(dir.join("firewall.toml"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let say = || {
        let words = [
            "--json",
            "say",
            "supplyChain:v1.0",
            "current_decision",
            DECISION,
            "--performative",
            "INFORM",
            "--dir",
        ];
        let output = Command::new(SEMGATE).args(words).arg(&dir).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).ok().filter(|said| said["verdict"].is_string())
    };
    let first = wait_for("the gateway without its authority", say);
    assert_eq!(first["verdict"], "ALLOWED", "{first}");
    answering.join().unwrap();
    wait_for("the status to go stale", || (say()?["code"] == "status_stale").then_some(()));
    Command::new("kill").args(["-TERM", &gateway.0.id().to_string()]).status().unwrap();
    assert!(gateway.0.wait().unwrap().success(), "SIGTERM drains and ends well");
}

fn one_empty_answer(listener: &std::net::TcpListener) {
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.ends_with(b"}") {
        let n = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..n]);
    }
    stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").unwrap();
}

/// `docs/design/authority.md`: sled holds only an index, which is rebuilt whenever it is missing or damaged.
#[test]
fn an_index_that_was_deleted_or_damaged_is_rebuilt_from_the_log() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    Up::start_in(&dir).stop();
    let index = dir.join("authority").join("index");
    assert!(index.exists(), "the index lies where the operations guide says");
    for damage in ["delete", "cut", "scribble"] {
        match damage {
            "delete" => std::fs::remove_dir_all(&index).unwrap(),
            _ => damage_files(&index, damage == "cut"),
        }
        let up = Up::start_in(&dir);
        let listed = up.semgate(&["--json", "context", "list"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["contexts"].as_array().unwrap().len(), library::all().len(), "{damage}");
        assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION]).0, 0, "{damage}");
        up.stop();
    }
}

fn damage_files(dir: &std::path::Path, cut: bool) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            damage_files(&path, cut);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let damaged =
            if cut { bytes[..bytes.len() / 2].to_vec() } else { bytes.iter().map(|b| b ^ 0x5a).collect() };
        std::fs::write(&path, damaged).unwrap();
    }
}

#[test]
fn log_verify_replays_what_is_served_and_finds_it_byte_for_byte() {
    let up = Up::start();
    let url = up.text("/authority_url").to_owned();
    let verified = up.semgate(&["log", "verify", &url]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let revoked = up.semgate(&["context", "revoke", "travel:v2.1"]);
    assert!(revoked.status.success());
    let verified = up.semgate(&["--json", "log", "verify", &url]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(report["size"], library::all().len() + 2, "the library, a floor and a revocation: {report}");
    a_person_overrides_and_everybody_sees_who_and_why(&up, &url);
}

fn a_person_overrides_and_everybody_sees_who_and_why(up: &Up, url: &str) {
    let write = |name: &str, most: u64| {
        let document = format!(
            r#"{{"context":"urn:contexts:weather:v1.{name}","concepts":{{"report":{{"type":"object","properties":{{"celsius":{{"type":"integer","minimum":-90,"maximum":{most}}}}}}}}}}}"#
        );
        let file = up.dir.join(format!("weather-{name}.json"));
        std::fs::write(&file, document).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (first, second) = (write("0", 60), write("1", 50));
    assert!(up.semgate(&["context", "publish", &first]).status.success());
    let refused = up.semgate(&["context", "publish", &second]);
    let shown = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(shown.contains("version_breaks") && shown.contains("\nnext version: v2.0\n"), "{shown}");
    let words =
        ["context", "publish", &second, "--override", "no station measures more", "--name", "Grace Hopper"];
    let stranger = up.semgate(&[&words[..], &["--as", "retailer-7"]].concat());
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("not_permitted"));
    for (at, hidden, flag) in [(6, "Grace\u{202e}reppoH", "--name"), (4, "nobody\u{200b}", "--reason")] {
        let mut words = words;
        words[at] = hidden;
        let refused = up.semgate(&words);
        let shown = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{shown}");
        assert!(shown.contains(&format!("`{flag}`: a name or reason has control, bidirectional")), "{shown}");
    }
    let revoked = up.semgate(&["context", "revoke", "weather:v1.0", "--reason", ""]);
    let shown = String::from_utf8_lossy(&revoked.stderr).into_owned();
    assert!(revoked.status.code() == Some(2) && shown.contains("`--reason` is empty"), "{shown}");
    let published = up.semgate(&words);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    // the same again is the same: nobody is told that it is refused, and nothing is logged twice
    let again = up.semgate(&words);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let index = |out: &std::process::Output| {
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        said.lines().find(|line| line.contains("index")).map(str::to_owned).unwrap()
    };
    assert_eq!(index(&again), index(&published));
    assert_eq!(again.stderr, b"", "it counts, so there is nothing to tell");
    for words in [&["context", "list"][..], &["context", "diff", &first, "weather:v1.1"]] {
        let shown = String::from_utf8_lossy(&up.semgate(words).stdout).into_owned();
        assert!(shown.contains("overridden by Grace Hopper (spiffe://"), "{words:?}: {shown}");
        assert!(shown.contains("no station measures more"), "{words:?}: {shown}");
    }
    // v1.1 is published, so what only follows v1.0 cannot be that
    let third = write("2", 70);
    let compared = up.semgate(&["context", "diff", &first, &third]);
    let shown = String::from_utf8_lossy(&compared.stdout).into_owned();
    assert!(shown.contains("compatible") && shown.contains("next version: v1.2\n"), "{shown}");
    let words = ["context", "diff", &first, &third, "--dir", "nowhere"];
    let alone = Command::new(SEMGATE).args(words).output().unwrap();
    let shown = String::from_utf8_lossy(&alone.stdout).into_owned();
    assert!(shown.contains("next version: v1.1, unless it is taken: no authority was asked"), "{shown}");
    // permitted, and then no good document: the permission cannot be taken back
    let document = std::fs::read_to_string(&second).unwrap().replace("v1.1", "v1.3");
    std::fs::write(&third, document.replace(r#""minimum""#, r#""x-nothing":1,"minimum""#)).unwrap();
    let words = ["context", "publish", &third, "--override", "a trial", "--name", "Grace Hopper"];
    let shown = String::from_utf8_lossy(&up.semgate(&words).stderr).into_owned();
    assert!(shown.contains("the permission is logged as entry ") && shown.contains("and waits"), "{shown}");
    let words = ["context", "override", &third, "--reason", "a trial", "--name", "Grace Hopper"];
    assert!(up.semgate(&words).status.success() && up.semgate(&words).status.success());
    let report = up.semgate(&["--json", "log", "verify", url]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["overrides"].as_array().unwrap().len(), 2, "{report}");
    let said = &report["overrides"][0];
    assert_eq!(
        (&said["urn"], &said["published"]),
        (&"urn:contexts:weather:v1.1".into(), &true.into()),
        "{report}"
    );
    what_is_revoked_by_now_was_published_again_without_a_word(up, &first);
}

fn what_is_revoked_by_now_was_published_again_without_a_word(up: &Up, file: &str) {
    for (act, now) in [("suspend", "it is suspended"), ("revoke", "it is revoked permanently")] {
        assert!(up.semgate(&["context", act, "weather:v1.0"]).status.success());
        let again = up.semgate(&["context", "publish", file]);
        let told = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.success() && told.contains("no longer counts") && told.contains(now), "{told}");
    }
}

/// It ended with 101, since the line for people could not be written.
#[test]
fn a_closed_standard_error_changed_the_exit_status() {
    for (words, status) in [
        (&["context", "check", "nowhere.json"][..], 1),
        (&["context", "check", "nowhere.json", "--json"], 1),
        (&["context", "nothing"], 2),
    ] {
        let closed = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            writer
        };
        let ended = Command::new(SEMGATE).args(words).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(ended.code(), Some(status), "{words:?}");
    }
}

/// A document is of a stranger until it is signed: what it is called must not move the cursor of whoever looks at it.
#[test]
fn names_of_a_document_that_move_the_cursor_or_turn_the_line_are_shown_escaped() {
    let temporary = tempfile::tempdir().unwrap();
    let run =
        |words: &[&str]| Command::new(SEMGATE).args(words).current_dir(temporary.path()).output().unwrap();
    let write = |file: &str, version: &str, most: u64, more: &str| {
        let document = format!(
            r#"{{"context":"urn:contexts:weather:{version}","concepts":{{"report":{{"type":"object","properties":{{"a\u001b[2J\u202eb":{{"type":"integer","minimum":0,"maximum":{most}{more}}}}}}}}}}}"#
        );
        std::fs::write(temporary.path().join(file), document).unwrap();
    };
    write("old.json", "v1.0", 60, "");
    write("new.json", "v1.1", 50, "");
    write("bad.json", "v1.2", 50, r#","x-nothing":1"#);
    for words in
        [&["context", "diff", "old.json", "new.json"][..], &["context", "check", "old.json", "bad.json"]]
    {
        let person = run(words);
        let shown = String::from_utf8([person.stdout, person.stderr].concat()).unwrap();
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        assert!(shown.contains(r"a\u{1b}[2J\u{202e}b"), "{shown}");
        let machine = run(&[&["--json"], words].concat());
        let shown = String::from_utf8(machine.stdout).unwrap();
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        let said: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(format!("{said:?}").contains(r"a\u{1b}[2J\u{202e}b"), "the same in JSON: {said:?}");
    }
}

/// The whole ladder by hand: root, issuing certificate, signer, signed context; and what no signature may come of.
#[test]
fn certificates_made_by_hand_sign_only_what_can_be_verified() {
    let temporary = tempfile::tempdir().unwrap();
    let run =
        |words: &[&str]| Command::new(SEMGATE).args(words).current_dir(temporary.path()).output().unwrap();
    let good = |words: &[&str]| {
        let output = run(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let refused = |words: &[&str], why: &str| {
        let output = run(words);
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && shown.contains(why), "{words:?}: {shown}");
    };
    refused(&["authority", "init", "--publisher", "notspiffe"], "`--publisher`: `notspiffe`: ");
    refused(&["authority", "init", "--authority", "bad name!"], "`--name` is empty, or has a space");
    refused(&["log", "proof", "1", "--since", "5"], "cannot be used with");
    refused(&["trust", "draft", "--add-log", "banana"], "`--add-log`: `banana`: ");
    assert!(!temporary.path().join("authority").exists(), "nothing was made");
    std::fs::write(temporary.path().join("loose.json"), r#"{"context":1,}"#).unwrap();
    std::fs::write(temporary.path().join("loose.toml"), "listen = 5").unwrap();
    for (words, hint) in [
        (&["context", "check", "nowhere.json"][..], "check its name"),
        (&["context", "check", "loose.json"], "a document is JSON read strictly"),
        (&["context", "verify", "nowhere.json", "--roots", "x"], "check its name"),
        (&["authority", "check", "--config", "loose.toml"], "describes each setting"),
        (&["firewall", "check", "--config", "loose.toml"], "describes each setting"),
        (&["authority", "check", "--config", "nowhere.toml"], "make one with `semgate authority init`"),
    ] {
        let shown = String::from_utf8_lossy(&run(words).stderr).into_owned();
        assert!(shown.contains("\nhint: ") && shown.contains(hint), "{words:?}: {shown}");
        assert_eq!(
            shown.matches(words.iter().find(|word| word.contains('.')).unwrap()).count(),
            1,
            "{shown}"
        );
    }
    good(&["cert", "root", "--out", "root"]);
    good(&[
        "cert", "issuing", "--family", "contexts", "--name", "Contexts", "--by", "root", "--out", "issuing",
    ]);
    good(&["cert", "leaf", "--usage", "context", "--line", "weather", "--by", "issuing", "--out", "weather"]);
    good(&["cert", "leaf", "--usage", "context", "--line", "traffic", "--by", "issuing", "--out", "traffic"]);
    assert!(!run(&["cert", "root", "--out", "root"]).status.success(), "nothing is overwritten");
    let document = r#"{"context":"urn:contexts:weather:v1.0","concepts":{"report":{"type":"object","properties":{"celsius":{"type":"integer"}}}}}"#;
    std::fs::write(temporary.path().join("weather.json"), document).unwrap();
    let sign = |cert: &str, key: &str, out: &str| {
        run(&["context", "sign", "weather.json", "--cert", cert, "--key", key, "--out", out])
    };
    assert!(sign("weather.pem", "weather.key", "signed.json").status.success());
    good(&["context", "verify", "signed.json", "--roots", "root.pem"]);
    for (cert, key, why) in [
        ("traffic.pem", "traffic.key", "line"),
        ("weather.pem", "traffic.key", "signature"),
        ("issuing.pem", "issuing.key", ""),
    ] {
        let output = sign(cert, key, "never.json");
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && shown.contains(why), "{cert} {key}: {shown}");
        assert!(!temporary.path().join("never.json").exists());
    }
}

/// Whatever is typed or lies in a file reaches a terminal as text: an error in one line, and what to do about it in another.
#[test]
fn every_error_is_one_line_with_a_hint_and_without_control_characters_wherever_its_words_come_from() {
    let temporary = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(temporary.path().join(name), text).unwrap();
    write("none.pem", "nothing");
    write("none.key", "nothing");
    write("evil.toml", "\"\\u001b[2J\\nerror: forged\\u202e\" = 1");
    write("evil.json", "{\"\\u001b[2J\": 1, \"\\u001b[2J\": 2}");
    for (words, hint) in [
        (&["con\u{1b}[2Jtext\u{7}"][..], "`--help`"),
        (&["context", "check", "\u{1b}]0;x\u{7}\nerror: forged\u{202e}"], "check its name"),
        (&["up", "--l8", "\u{9b}2J"], "`--help`"),
        (&["context", "check", "evil.json"], "a document is JSON read strictly"),
        (&["authority", "check", "--config", "evil.toml"], "describes each setting"),
        (&["firewall", "check", "--config", "evil.toml"], "describes each setting"),
        (&["cert", "leaf", "--usage", "feed", "--by", "nobody", "--out", "x"], "check its name"),
        (
            &["cert", "leaf", "--usage", "feed", "--by", "none", "--out", "x"],
            "give a certificate chain as PEM",
        ),
        (&["cert", "leaf", "--usage", "agent", "--by", "none", "--spiffe", "x", "--out", "x"], ""),
        (&["cert", "root", "--out", "no/where"], "create its directory"),
        (&["context", "verify", "evil.json", "--roots", "none.pem"], "name a signed context"),
        (&["log", "verify", "https://x", "--roots", "x", "--log-key", "k"], "an authority shows it as"),
        (&["log", "key", "--origin", "x", "pkcs11:object=k"], "or a `pkcs11:` URI"),
        (&["policy", "replay", "no.log", "--policies", "."], ""),
        (&["trust", "show", "evil.json"], "make one with `semgate trust draft`"),
        (&["context", "list", "--authority", "https://127.0.0.1:1", "--roots", "none.pem"], "`roots.pem`"),
        (&["say", "payment:v1.1", "transfer", "{}"], "start `semgate up"),
        (&["up", "--dir", "none.key/x"], "choose another path"),
        (&["context", "diff", "a", "evil.json"], "for instance `payment:v1.1`"),
        (&["authority", "policy", "check", "nowhere"], "name a directory"),
    ] {
        let output = Command::new(SEMGATE).args(words).current_dir(temporary.path()).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_text = |c: char| c == '\n' || !c.is_control() && c != '\u{202e}';
        assert!(!output.status.success() && shown.chars().all(is_text), "{words:?}: {shown:?}");
        let lines: Vec<&str> = shown.lines().collect();
        let [error, told] = lines.as_slice() else { panic!("{words:?}: {shown}") };
        assert!(
            error.starts_with("error: ") && told.starts_with("hint: ") && told.contains(hint),
            "{words:?}: {shown}"
        );
    }
    let json = Command::new(SEMGATE).args(["--json", "con\u{1b}text"]).output().unwrap();
    let said: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(said["error"], "there is no command `con\u{1b}text`");
    assert_eq!(json.status.code(), Some(2));
}

#[test]
fn log_verify_tells_a_bad_log_from_one_that_cannot_be_reached() {
    let up = Up::start();
    let unreachable = up.semgate(&["log", "verify", "https://127.0.0.1:1"]);
    assert_eq!(unreachable.status.code(), Some(4), "{}", String::from_utf8_lossy(&unreachable.stderr));
    let nowhere = up.semgate(&["log", "verify", "nodir"]);
    let shown = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(shown.contains("`nodir` is neither an address nor a directory"), "{shown}");
    assert_eq!(nowhere.status.code(), Some(4), "nothing is said about a log that is not there");
    let other = up.semgate(&["log", "verify", "--authority-name", "other.test"]);
    assert_eq!(
        other.status.code(),
        Some(1),
        "a flag is never ignored: {}",
        String::from_utf8_lossy(&other.stderr)
    );
}

/// What was recognised and could not be taken back would count until its end, whatever the other authority did.
#[test]
fn a_recognition_that_nobody_could_withdraw_is_refused_and_its_withdrawal_takes_two_where_revoking_does() {
    let place = tempfile::tempdir().unwrap();
    let mut ours = Other::start(place.path(), "ours.test");
    let theirs = Other::start(place.path(), "theirs.test");
    ours.publish("acme:v1.0");
    let config = ours.dir.join("authority.toml");
    let whole = std::fs::read_to_string(&config).unwrap();
    let (head, publisher) = whole.split_once("[[publisher]]").unwrap();
    assert!(publisher.contains("revoke = [\"*\"]"), "{publisher}");
    let file = |name: &str| ours.dir.join(name).to_str().unwrap().to_owned();
    let (key, draft) = (file("offline/root.key"), file("list.json"));
    good(&ours.semgate(&["trust", "draft", "--add-log", &ours.log_key(), "--out", &draft]));
    good(&run(&["trust", "sign", &draft, "--key", &key]));
    good(&ours.semgate(&["trust", "submit", &draft]));
    let issuer = file("offline/tls-issuing");
    let words = ["cert", "leaf", "--usage", "agent", "--spiffe", "spiffe://ours.test/grace", "--by", &issuer];
    good(&run(&[&words[..], &["--out", &file("grace")]].concat()));
    let (roots, cert, key_of_grace) = (file("roots.pem"), file("grace.pem"), file("grace.key"));
    let mut words = theirs.introduced();
    words.extend(["--line", "goods", "--root-key", &key].map(str::to_owned));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let own = file("authority/keys/context-issuing.pem");
    let itself = ["authority", "recognise", "theirs.test", "--origin", "theirs.test/log", "--issuing", &own];
    let itself = ours.semgate(&[&itself[..], &["--line", "goods", "--root-key", &key]].concat());
    let said = String::from_utf8_lossy(&itself.stderr);
    assert!(
        !itself.status.success() && said.contains("holds a key of this authority's own trust list"),
        "{said}"
    );
    let mut recognise = |text: String| {
        ours.stop();
        std::fs::write(&config, text).unwrap();
        ours.run();
        ours.semgate(&words)
    };
    let refused = |output: std::process::Output, why: &str| {
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(why) && said.contains("hint: give publishers the right `revoke`"), "{said}");
    };
    let narrow = publisher.replace("revoke = [\"*\"]", "revoke = [\"acme\"]");
    refused(recognise(format!("{head}[[publisher]]{narrow}")), "0 publishers may revoke on every line");
    let two = format!("four_eyes = [\"revoke\"]\n{head}[[publisher]]{publisher}");
    refused(
        recognise(two.clone()),
        "1 publishers may revoke on every line of it, but its withdrawal needs 2",
    );
    let grace = "\n[[publisher]]\nid = \"spiffe://ours.test/grace\"\nrevoke = [\"goods\"]\n";
    good(&recognise(two + grace));
    let withdraw = || ours.semgate(&["--json", "authority", "withdraw", "theirs.test"]);
    let proposed = withdraw();
    assert_eq!(proposed.status.code(), Some(5), "{proposed:?}");
    let proposed: Value = serde_json::from_slice(&proposed.stdout).unwrap();
    assert_eq!((&proposed["act"], &proposed["on"]), (&"withdraw".into(), &"theirs.test".into()));
    // recognised anew, the agreement to the end of the older recognition ends nothing
    good(&ours.semgate(&words));
    let at = ["--authority", &ours.url, "--roots", &roots, "--cert", &cert, "--key", &key_of_grace];
    let approve = |proposed: &Value| {
        let id = proposed["proposal"].as_str().unwrap();
        run(&[&["--json", "authority", "approve", id], &at[..]].concat())
    };
    let late = approve(&proposed);
    assert!(!late.status.success());
    assert!(String::from_utf8_lossy(&late.stderr).contains("recognition_replaced"), "{late:?}");
    let proposed: Value = serde_json::from_slice(&withdraw().stdout).unwrap();
    let done: Value = serde_json::from_str(&good(&approve(&proposed))).unwrap();
    assert_eq!((&done["recognised"], &done["kind"]), (&"theirs.test".into(), &"withdraw".into()));
    let again: Value = serde_json::from_str(&good(&withdraw())).unwrap();
    assert_eq!(again["index"], done["index"], "what was done is answered at once");
    let audit = std::fs::read_to_string(ours.dir.join("authority/audit.jsonl")).unwrap();
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let approved = lines.iter().find(|line| line["outcome"] == "approved").unwrap();
    assert_eq!((&approved["act"], &approved["on"]), (&"withdraw".into(), &"theirs.test".into()));
}

/// An earlier build shipped other documents under the same URNs; its directory said `urn_taken`, and to publish the next version.
#[test]
fn up_in_a_directory_of_another_version_said_to_publish_the_next_version_of_a_context() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    let up = |more: &[&str]| {
        let words = [&["up", "--dir", dir.to_str().unwrap()], more].concat();
        let ended = run(&words);
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    // all files are made, and nothing is published
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (status, said) = up(&["--agent", &taken.local_addr().unwrap().to_string()]);
    assert!(status == Some(1) && dir.join("authority.toml").exists(), "{said}");
    drop(taken);

    let config = dir.join("authority.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let line = text.lines().find(|line| line.starts_with("listen")).unwrap();
    let url = format!("https://{}", line.split('"').nth(1).unwrap());
    let other = dir.join("other.json");
    let (name, shipped) = library::all()[0];
    let mut document: Value = serde_json::from_slice(shipped).unwrap();
    document["description"] = "what an earlier build shipped".into();
    std::fs::write(&other, document.to_string()).unwrap();
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (roots, cert, key) = (path("roots.pem"), path("agents/operator.pem"), path("agents/operator.key"));
    let at = ["--authority", &url, "--roots", &roots, "--cert", &cert, "--key", &key];
    let child = Command::new(SEMGATE)
        .args(["authority", "run", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let earlier = Ended(child);
    wait_for("the authority", || {
        run(&[&["context", "list"], &at[..]].concat()).status.success().then_some(())
    });
    good(&run(&[&["context", "publish", other.to_str().unwrap()], &at[..]].concat()));
    drop(earlier);

    let (status, said) = up(&[]);
    assert_eq!(status, Some(1), "{said}");
    let told = format!("`{}` was made by another version of semgate", dir.display());
    assert!(said.contains(&told) && said.contains(&format!("`{name}`")), "{said}");
    let hint = said.lines().find(|line| line.starts_with("hint:")).unwrap();
    assert!(hint.contains("new directory with `--dir`") && !said.contains("next version"), "{said}");
}
