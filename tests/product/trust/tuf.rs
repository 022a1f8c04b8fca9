//! The trust list as a TUF repository, read by the reference client.

use std::path::Path;
use std::process::Command;

use semgate_certs::KeyPair;
use serde_json::{Value, json};

use crate::support::{Up, python};
use crate::trust::{another_log_key, good, semgate, text};

/// What python-tuf makes of a repository, days from now.
fn python_tuf(repository: &Path, state: &Path, days: &str) -> Value {
    let root = repository.join("metadata/1.root.json");
    let output = Command::new("faketime")
        .args(["-f", days])
        .arg(python::with_tuf())
        .arg(python::script("tuf_client.py"))
        .args([repository, state, &root])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(&said)
        .unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&output.stderr)))
}

fn copy_tree(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-r").args([from, to]).status().unwrap().success());
}

#[test]
fn the_trust_list_is_a_repository_that_python_tuf_reads_and_follows_over_a_change_of_the_root() {
    let up = Up::start();
    let vkey = std::fs::read_to_string(up.dir.join("authority/keys/log.pub")).unwrap().trim().to_owned();
    let hand_in = |words: &[&str], name: &str, keys: &[&Path]| {
        let draft = up.dir.join(name);
        good(&up.semgate(&[words, &["--out", text(&draft)]].concat()));
        for key in keys {
            good(&semgate(&["trust", "sign", text(&draft), "--key", text(key)]));
        }
        good(&up.semgate(&["trust", "submit", text(&draft)]));
    };
    let (old, new) = (up.dir.join("offline/root.key"), up.dir.join("offline/next.key"));
    let (repository, state) = (up.dir.join("tuf"), up.dir.join("tuf-client"));
    let online = up.dir.join("online.key");
    let pair = KeyPair::generate(&ring::rand::SystemRandom::new()).unwrap();
    std::fs::write(&online, pair.to_pem()).unwrap();
    let draft = || up.semgate(&["trust", "tuf", "draft", text(&repository), "--online", text(&online)]);
    let why = String::from_utf8_lossy(&draft().stderr).into_owned();
    assert!(why.contains("the authority has no trust list"), "{why}");
    // nothing is drafted from a log of another key
    let (_, foreign) = another_log_key(&up.dir);
    let asked =
        ["trust", "tuf", "draft", text(&repository), "--online", text(&online), "--log-key", &foreign];
    let why = String::from_utf8_lossy(&up.semgate(&asked).stderr).into_owned();
    assert!(why.contains("the answers of the authority are not valid") && !repository.exists(), "{why}");
    hand_in(&["trust", "draft", "--add-log", &vkey], "list-1.json", &[&old]);
    good(&draft());
    let publish =
        || semgate(&["--json", "trust", "tuf", "publish", text(&repository), "--online", text(&online)]);
    let sign = |name: &str, key: &Path| {
        let file = repository.join("draft").join(name);
        semgate(&["trust", "tuf", "sign", text(&file), "--key", text(key)])
    };
    let why = String::from_utf8_lossy(&publish().stderr).into_owned();
    assert!(why.contains("metadata signed by 0 of the 1 required keys"), "{why}");
    good(&sign("root.json", &old));
    let why = String::from_utf8_lossy(&publish().stderr).into_owned();
    assert!(why.contains("targets: metadata signed by 0 of the 1 required keys"), "{why}");
    good(&sign("targets.json", &old));
    good(&publish());
    let oldest = up.dir.join("tuf-oldest");
    copy_tree(&repository, &oldest);
    let list = |up: &Up| {
        let shown: Value = serde_json::from_str(&good(&up.semgate(&["--json", "trust", "show"]))).unwrap();
        shown["list"]["roots"].clone()
    };
    let roots_in = |fetched: &Value| {
        let jws: Value =
            serde_json::from_str(fetched["list"].as_str().unwrap_or_else(|| panic!("{fetched}"))).unwrap();
        let payload = base64_of(jws["payload"].as_str().unwrap());
        let said: Value = serde_json::from_slice(&payload).unwrap();
        said["roots"].as_array().unwrap().len()
    };
    let first = python_tuf(&repository, &state, "+0d");
    assert_eq!((&first["root"], roots_in(&first)), (&json!(1), 1));
    // another root key joins: a new trust list, and a new root that the old one's key signs too
    good(&semgate(&["cert", "root", "--out", text(&new.with_extension(""))]));
    let next = new.with_extension("pem");
    hand_in(&["trust", "draft", "--add-root", text(&next), "--threshold", "2"], "list-2.json", &[&old, &new]);
    assert_eq!(list(&up).as_array().unwrap().len(), 2);
    good(&draft());
    for name in ["root.json", "targets.json"] {
        good(&sign(name, &new));
    }
    let why = String::from_utf8_lossy(&publish().stderr).into_owned();
    assert!(why.contains("signed by 0 of the 1 required keys"), "the old root did not speak: {why}");
    for name in ["root.json", "targets.json"] {
        good(&sign(name, &old));
    }
    // the online key is none of theirs
    let told = sign("targets.json", &online);
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(told.status.success() && said.contains("its signature does not count"), "{said}");
    good(&publish());
    let before = up.dir.join("tuf-before");
    copy_tree(&repository, &before);
    let second = python_tuf(&repository, &state, "+0d");
    assert_eq!((&second["root"], roots_in(&second)), (&json!(2), 2));
    // whoever begins with the first root only walks to the second
    let newcomer = python_tuf(&repository, &up.dir.join("tuf-newcomer"), "+0d");
    assert_eq!(newcomer["root"], 2);
    // a timestamp that is signed anew, then an older repository in its place
    good(&publish());
    assert_eq!(python_tuf(&repository, &state, "+0d")["root"], 2);
    assert_eq!(python_tuf(&before, &state, "+0d")["refused"], "BadVersionNumberError");
    assert_eq!(python_tuf(&repository, &state, "+3d")["refused"], "ExpiredMetadataError");
    // targets that were drafted for the repository as it is are not those of an older copy
    good(&draft());
    for key in [&old, &new] {
        good(&sign("targets.json", key));
    }
    std::fs::copy(repository.join("metadata/2.root.json"), oldest.join("metadata/2.root.json")).unwrap();
    copy_tree(&repository.join("draft"), &oldest.join("draft"));
    let stale = semgate(&["trust", "tuf", "publish", text(&oldest), "--online", text(&online)]);
    let why = String::from_utf8_lossy(&stale.stderr).into_owned();
    assert!(why.contains("targets of the draft are version 3, and 1 is published"), "{why}");
    assert!(!oldest.join("metadata/3.targets.json").exists());
    good(&publish());
    // a list that nobody signed
    let forged = repository.join("targets");
    for file in std::fs::read_dir(&forged).unwrap().map(|file| file.unwrap().path()) {
        let more = std::fs::read_to_string(&file).unwrap().replace("signatures", "signaturez");
        std::fs::write(&file, more).unwrap();
    }
    let refused = python_tuf(&repository, &up.dir.join("tuf-forged"), "+0d");
    assert_eq!(refused["refused"], "LengthOrHashMismatchError");
}

fn base64_of(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        _ => 63,
    };
    let bits: Vec<u8> =
        text.bytes().flat_map(|byte| (0..6).rev().map(move |n| digit(byte) >> n & 1)).collect();
    bits.chunks_exact(8).map(|eight| eight.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}
