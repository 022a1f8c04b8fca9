//! What strangers can check of an authority, through the running binary: proofs, and mirrors of plain files.

mod mirror;
mod outgrown;
mod started_again;
use crate::support;
mod threats;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mirror::Mirror;
use serde_json::Value;
use support::strangers::{
    DECISION, Told, bad, copy, gateway_of, gateway_status, good, judged, mirror, plain_size, publish, run,
    serve, text, verdict,
};
use support::{Ended, SEMGATE, Up, plain_get, python, wait_for};

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
    let first = report["size"].as_u64().unwrap();
    assert_deltas_are_those_of_the_authority(&up, &second, first);
    // of the page that grows that of the head before too, which readers may still ask for
    let pages = std::fs::read_dir(second.join("v1/contexts/published")).unwrap();
    let mut pages: Vec<_> = pages.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort_unstable();
    let last = format!("0-{}", first + 2);
    assert_eq!(pages, [format!("0-{}", first + 1), last]);
}

/// What leads from the sizes that were mirrored before to the newest is what the authority answers, and of no older head a delta is left.
fn assert_deltas_are_those_of_the_authority(up: &Up, dir: &Path, first: u64) {
    good_semgate(up, &["context", "revoke", "urn:contexts:acme:v1.0", "--reason", "a drill"]);
    mirror(up, dir);
    let deltas = dir.join("v1/feed/deltas");
    let sizes = || {
        let names = std::fs::read_dir(&deltas).unwrap().map(|file| file.unwrap().file_name());
        let mut sizes: Vec<u64> = names.map(|name| name.to_str().unwrap().parse().unwrap()).collect();
        sizes.sort_unstable();
        sizes
    };
    assert_eq!(sizes(), [first, first + 1, first + 2]);
    assert_eq!(std::fs::read(dir.join("v1/feed/head")).unwrap(), up.authority("/v1/feed/head").body);
    for size in sizes() {
        let served = up.authority(&format!("/v1/feed/deltas/{size}")).body;
        assert_eq!(std::fs::read(deltas.join(size.to_string())).unwrap(), served, "{size}");
    }
    good_semgate(up, &["authority", "mirror", &text(dir), "--deltas", "2"]);
    assert_eq!(sizes(), [first + 1, first + 2], "the newest two");
    // from a mirror whose head is damaged nothing older is led on
    std::fs::write(dir.join("v1/feed/head"), b"scribble").unwrap();
    mirror(up, dir);
    assert_eq!(sizes(), [first + 2]);
}

fn good_semgate(up: &Up, words: &[&str]) {
    let output = up.semgate(words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    assert_what_is_asked_by_number_and_name_is_judged(&told, &up.dir, &dir);
    assert_a_damaged_delta_is_told(&told, &dir, size);
    assert_a_damaged_page_is_told_and_heals(&up, &told, &dir, size);
    // A mirror that was damaged heals from the authority, and not from itself.
    let tile = dir.join(format!("tile/entries/000.p/{size}"));
    std::fs::write(&tile, b"scribble").unwrap();
    mirror(&up, &dir);
    good(&told.words(&["log", "verify", &text(&dir)]));
    let last = std::path::PathBuf::from(format!("tile/entries/000.p/{size}"));
    assert_a_pipe_or_a_device_in_a_mirror_is_fetched_again(&up, &told, &dir, &last);
    assert_a_linked_directory_leads_no_mirror_out_of_its_own(&up, &dir);
    assert_a_head_ahead_of_a_clock_names_clocks(&told, &dir);
}

/// Both were read before anything was asked about them: one for ever, the other till the memory was full.
fn assert_a_pipe_or_a_device_in_a_mirror_is_fetched_again(up: &Up, told: &Told, dir: &Path, tile: &Path) {
    let at = dir.join(tile);
    std::fs::remove_file(&at).unwrap();
    assert!(Command::new("mkfifo").arg(&at).status().unwrap().success());
    mirror(up, dir);
    assert!(std::fs::symlink_metadata(&at).unwrap().is_file());
    std::fs::remove_file(&at).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &at).unwrap();
    mirror(up, dir);
    assert!(std::fs::symlink_metadata(&at).unwrap().is_file());
    good(&told.words(&["log", "verify", &text(dir)]));
}

/// Whoever could write into the mirror had files put, and deltas removed, wherever the mirror may write.
fn assert_a_linked_directory_leads_no_mirror_out_of_its_own(up: &Up, dir: &Path) {
    let elsewhere = up.dir.join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("0"), "theirs").unwrap();
    for name in ["v1/feed/deltas", "v1/feed", "tile"] {
        let (at, aside) = (dir.join(name), up.dir.join("aside"));
        std::fs::rename(&at, &aside).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &at).unwrap();
        let said = up.semgate(&["authority", "mirror", &text(dir)]);
        let told = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(
            !said.status.success() && told.contains(&format!("`{name}` in it is a link")),
            "{name}: {told}"
        );
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1, "{name}");
        std::fs::remove_file(&at).unwrap();
        std::fs::rename(&aside, &at).unwrap();
    }
    mirror(up, dir);
}

/// Roots and keys were blamed.
fn assert_a_head_ahead_of_a_clock_names_clocks(told: &Told, dir: &Path) {
    let mut command = Command::new("faketime");
    command.args(["-f", "-90s", env!("CARGO_BIN_EXE_semgate")]);
    let output = command.args(told.words(&["log", "verify", &text(dir)])).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("60 seconds ahead") && said.contains("a clock is wrong"), "{said}");
    assert!(!said.contains("evidence") && output.status.code() == Some(4), "{said}");
}

/// It was passed over, also where the mirror is asked over HTTP.
fn assert_a_damaged_delta_is_told(told: &Told, dir: &Path, size: u64) {
    let delta = dir.join(format!("v1/feed/deltas/{size}"));
    let kept = std::fs::read(&delta).unwrap();
    let (_server, url) = serve(dir);
    for at in [text(dir), url] {
        let report: Value =
            serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &at]))).unwrap();
        assert_eq!(report["deltas"], 1, "{report}");
        let signature = kept.windows(13).position(|window| window == b"\"signature\":\"").unwrap() + 13;
        let mut wrong = kept.clone();
        wrong[signature] = if wrong[signature] == b'A' { b'B' } else { b'A' };
        std::fs::write(&delta, wrong).unwrap();
        let (status, said) = bad(&told.words(&["log", "verify", &at]));
        let named = said.contains(&format!("`/v1/feed/deltas/{size}`: leads to no signed head"));
        assert!(status == 1 && named && said.contains("the log itself is valid"), "{said}");
        std::fs::write(&delta, &kept).unwrap();
    }
}

/// A page of the listing is what its entries publish; the mirror is whole again with the next copy, and keeps the last page of the head before.
fn assert_a_damaged_page_is_told_and_heals(up: &Up, told: &Told, dir: &Path, size: u64) {
    let page = dir.join(format!("v1/contexts/published/0-{size}"));
    let kept = std::fs::read(&page).unwrap();
    assert_eq!(kept, up.authority(&format!("/v1/contexts/published/0-{size}")).body);
    std::fs::write(&page, String::from_utf8(kept.clone()).unwrap().replacen("payment", "paymant", 1))
        .unwrap();
    let (status, said) = bad(&told.words(&["log", "verify", &text(dir)]));
    let named = format!("`/v1/contexts/published/0-{size}` differs from what its entries publish");
    assert!(status == 1 && said.contains(&named) && said.contains("the log itself is valid"), "{said}");
    mirror(up, dir);
    assert_eq!(std::fs::read(&page).unwrap(), kept);
    good(&told.words(&["log", "verify", &text(dir)]));
}

/// A forged token by number and a swapped context by name are refused, and the token goes into no other mirror.
fn assert_what_is_asked_by_number_and_name_is_judged(told: &Told, up: &Path, dir: &Path) {
    let read = |path: &Path| std::fs::read(path).unwrap();
    let (number, name) = (dir.join("v1/feed/shards/0"), dir.join("v1/contexts/urn:contexts:payment:v1.1"));
    let (token, context) = (read(&number), read(&name));
    let mut forged = token.clone();
    let signature = forged.iter().rposition(|byte| *byte == b'.').unwrap() + 1;
    forged[signature..].fill(b'A');
    std::fs::write(&number, &forged).unwrap();
    let (status, said) = bad(&told.words(&["log", "verify", &text(dir)]));
    assert!(status == 1 && said.contains("status shard 0"), "{said}");
    let copy = up.join("copy-of-a-lie");
    let (status, said) = bad(&told.words(&["authority", "mirror", &text(&copy), "--from", &text(dir)]));
    assert!(status == 1 && said.contains("status shard 0"), "{said}");
    assert!(!copy.join("v1").exists(), "nothing of it was put in place");
    std::fs::write(&number, token).unwrap();
    std::fs::copy(dir.join("v1/contexts/urn:contexts:payment:v1.0"), &name).unwrap();
    let (status, said) = bad(&told.words(&["log", "verify", &text(dir)]));
    assert!(status == 1 && said.contains("payment:v1.1"), "{said}");
    std::fs::write(&name, context).unwrap();
    // a pipe in place of a file holds nobody up
    let (pipe, aside) = (dir.join("v1/feed/deltas/0"), dir.join("aside"));
    for (at, kept) in [(pipe, false), (dir.join("v1/feed/head"), true)] {
        if kept {
            std::fs::rename(&at, &aside).unwrap();
        }
        assert!(Command::new("mkfifo").arg(&at).status().unwrap().success());
        let (status, said) = bad(&told.words(&["log", "verify", &text(dir)]));
        assert!(status == 4 && said.contains("is not a regular file"), "{status}: {said}");
        std::fs::remove_file(&at).unwrap();
        if kept {
            std::fs::rename(&aside, &at).unwrap();
        }
    }
    // the next key of a log is made where nobody else reads it, and over no other
    let next = text(&up.join("log-2.key"));
    let words = ["log", "key", "--new", &next, "--origin", "semgate.test/log"];
    assert!(good(&words).contains("semgate.test/log+"));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&next).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    bad(&words);
    // what is past the end is a wrong argument and no accusation
    for words in [["log", "proof", "99999"], ["log", "proof", "--since=99999"]] {
        let (status, said) = bad(&told.words(&[&words[..], &["--from", &text(dir)]].concat()));
        assert!(status == 2 && said.contains("past the end") && !said.contains("evidence"), "{said}");
    }
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
        let said = good(&told.words(&["--json", "log", "proof", what, "--from", &url]));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["proof"], std::fs::read_to_string(&proof).unwrap());
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
    // A signature alone is still verified without a log key, and what that leaves open is said.
    let alone = run(&["context", "verify", &away("stapled.json"), "--roots", &told.roots]);
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(alone.status.success() && said.starts_with("not checked: its publication"), "{said}");
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
    // Plain files come without a proof of their publication, which whoever fetches one is told.
    let known = Told::of(&up);
    let fetch = known.words(&["context", "fetch", "payment:v1.1", "--authority", &url]);
    let said = String::from_utf8(run(&fetch).stderr).unwrap();
    assert!(said.starts_with("not checked: its publication, since no proof is served"), "{said}");
    let older = up.dir.join("older");
    copy(&dir, &older);
    // A revocation arrives by the mirror too.
    let revoked = up.semgate(&["context", "revoke", "travel:v2.1"]);
    assert!(revoked.status.success());
    let size = || gateway_status(&gateway)["authorities"][0]["size"].as_u64();
    wait_for("the mirrored head", || {
        (size() == Some(semgate_contexts::library::all().len() as u64 + 2)).then_some(())
    });
    assert_eq!(verdict(&gateway), (200, String::new()));
    // Rollback: the mirror of before the revocation does not take it back.
    drop(alive);
    let failed = || {
        let text = plain_get(&format!("http://{}/metrics", gateway.admin)).body;
        let text = String::from_utf8(text).unwrap();
        text.lines()
            .any(|l| l.starts_with("semgate_follow_total") && l.contains("outcome=\"failed\""))
            .then_some(())
    };
    let before = size();
    copy(&older, &dir);
    wait_for("the older mirror to be refused", failed);
    assert_eq!(size(), before);
    // A forged head is not accepted, and what was accepted before runs out.
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
    let (status, said) = bad(&told.words(&["log", "verify", &url]));
    assert!(status == 4 && said.contains("the log itself is valid, but its head has expired"), "{said}");
    good(&told.words(&["log", "verify", "--allow-expired", &url]));
    let (_, said) = bad(&fetch);
    assert!(said.contains("belong to an expired head") && !said.contains("evidence"), "{said}");
}

/// Ends its publisher with the test, whatever becomes of it.
struct Publishing(Arc<AtomicBool>, Option<JoinHandle<u64>>);

impl Publishing {
    /// Publishes one context after the other, faster than a log that is far away can be read. Not as fast as it can: what a mirror reads
    /// grows with all that was published before it began.
    fn without_a_pause(up: &Arc<Up>) -> Self {
        const BETWEEN: Duration = Duration::from_millis(500);
        let (ended, up) = (Arc::new(AtomicBool::new(false)), Arc::clone(up));
        let goes_on = Arc::clone(&ended);
        let publisher = std::thread::spawn(move || {
            let numbers = (0..).take_while(|_| !goes_on.load(Ordering::SeqCst));
            let publish = |n: &u64| {
                publish(&up, &format!("urn:contexts:busy{n}:v1.0"));
                std::thread::sleep(BETWEEN);
            };
            numbers.inspect(publish).count() as u64
        });
        Self(ended, Some(publisher))
    }

    fn end(mut self) -> u64 {
        self.0.store(true, Ordering::SeqCst);
        self.1.take().unwrap().join().unwrap()
    }
}

impl Drop for Publishing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A copy that ends between any two files leaves an older head that still fits what is newer, and nobody is accused.
#[test]
fn attack_a_copy_that_was_cut_short_between_two_files_accuses_nobody() {
    let up = Up::start();
    let told = Told::of(&up);
    let (dir, older) = (up.dir.join("mirror"), up.dir.join("older"));
    mirror(&up, &dir);
    copy(&dir, &older);
    let (before, verify) = (plain_size(&dir), told.words(&["--json", "log", "verify"]));
    publish(&up, "urn:contexts:acme:v1.0");
    good_semgate(&up, &["context", "revoke", "travel:v2.1", "--reason", "a drill"]);
    good_semgate(&up, &["context", "floor", "acme", "v1.0"]);
    let after = before + 3;
    let newest = format!("v1/feed/deltas/{after}");
    for (cut, size) in [
        ("checkpoint", before),
        ("v1/trust", before),
        ("v1/feed/shards/0", before),
        ("v1/floors", before),
        ("v1/contexts/index.json", before),
        ("v1/feed/head", before),
        (newest.as_str(), after),
    ] {
        std::fs::remove_dir_all(&dir).unwrap();
        copy(&older, &dir);
        // no file is renamed to where a directory is: there the copy ends
        let _ = std::fs::remove_file(dir.join(cut));
        std::fs::create_dir_all(dir.join(cut).join("in the way")).unwrap();
        let (_, said) =
            bad(&told.words(&["authority", "mirror", &text(&dir), "--from", up.text("/authority_url")]));
        assert!(said.contains("cannot be written"), "{cut}: {said}");
        std::fs::remove_dir_all(dir.join(cut)).unwrap();
        let _ = std::fs::copy(older.join(cut), dir.join(cut));
        let report: Value = serde_json::from_str(&good(&[&verify[..], &[&text(&dir)]].concat())).unwrap();
        assert_eq!(report["size"], size, "{cut}");
    }
    // a token of a newer copy alone is no evidence, since the authority signed it later; it says so, and so does whoever copies it
    let newer = up.dir.join("newer");
    mirror(&up, &newer);
    std::fs::copy(newer.join("v1/feed/shards/0"), older.join("v1/feed/shards/0")).unwrap();
    let elsewhere = text(&up.dir.join("elsewhere"));
    for job in
        [&["log", "verify", &text(&older)][..], &["authority", "mirror", &elsewhere, "--from", &text(&older)]]
    {
        let (status, said) = bad(&told.words(job));
        assert!(status == 4 && said.contains("could not be judged: status shard 0"), "{status}: {said}");
        assert!(said.contains("interrupted: copy again") && !said.contains("evidence"), "{said}");
    }
    mirror(&up, &older);
    good(&told.words(&["log", "verify", &text(&older)]));
}

#[test]
fn an_authority_that_publishes_without_a_pause_is_verified_and_mirrored_from_far_away_and_accused_where_it_lies()
 {
    let up = Arc::new(Up::start());
    let (told, far) = (Told::of(&up), Mirror::of(&up));
    far.is_far(Duration::from_millis(80));
    let publishing = Publishing::without_a_pause(&up);
    wait_for("something published", || {
        up.authority("/v1/contexts/urn:contexts:busy0:v1.0").status.eq(&200).then_some(())
    });
    let size = || plain_checkpoint(&up);
    let before = size();
    let report: Value =
        serde_json::from_str(&good(&told.words(&["--json", "log", "verify", &far.url]))).unwrap();
    let judged_size = report["size"].as_u64().unwrap();
    assert!((before..size()).contains(&judged_size), "{before}, {report}: it moved while it was verified");
    // everything of one moment, although later floors, listings and tokens were served
    let dir = up.dir.join("far");
    let started = size();
    good(&told.words(&["authority", "mirror", &text(&dir), "--from", &far.url]));
    assert!(size() > started, "it moved while it was mirrored");
    good(&told.words(&["log", "verify", &text(&dir)]));
    assert!(judged(&["tree", &text(&dir), &told.key]).unwrap().starts_with(&plain_size(&dir).to_string()));
    // what it says in between is no excuse
    far.says("/v1/floors", br#"{"authority":"semgate.test","floors":[]}"#.to_vec());
    let (status, said) = bad(&told.words(&["log", "verify", &far.url]));
    assert!(status == 1 && said.contains("the floors differ from the replayed log"), "{status}: {said}");
    far.is_honest_again();
    far.says("/v1/contexts", up.authority("/v1/contexts").body[..1].to_vec());
    assert_eq!(bad(&told.words(&["log", "verify", &far.url])).0, 1);
    far.is_honest_again();
    assert!(publishing.end() > 3);
    good(&told.words(&["log", "verify", &far.url]));
}

fn plain_checkpoint(up: &Up) -> u64 {
    let note = String::from_utf8(up.authority("/checkpoint").body).unwrap();
    note.lines().nth(1).unwrap().parse().unwrap()
}
