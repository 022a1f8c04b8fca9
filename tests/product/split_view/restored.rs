//! What is held against a mirror before anything is restored from it, and what stops a start besides.

use std::path::Path;

use semgate_statement::{LogKey, TreeHash};
use serde_json::Value;

use crate::support::Up;
use crate::support::strangers::{bad, copy, good, mirror, plain_size, publish, text};

/// Puts something else in the place of a setting of one line.
fn set(config: &Path, begins: &str, now: &str) {
    let was = std::fs::read_to_string(config).unwrap();
    let line = was.lines().find(|line| line.starts_with(begins)).expect(begins);
    std::fs::write(config, was.replace(line, now)).unwrap();
}

fn restored(config: &str, from: &Path) -> u64 {
    let said = good(&["--json", "authority", "restore", "--config", config, "--from", &text(from)]);
    serde_json::from_str::<Value>(&said).unwrap()["size"].as_u64().unwrap()
}

#[test]
fn attack_a_mirror_that_is_older_than_the_last_head_forks_the_log_by_a_restore() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().join("up");
    Up::start_in(&place).stop();
    // nothing is kept apart: the last head alone remembers
    let config = place.join("authority.toml");
    set(&config, "last_checkpoint = ", "");
    std::fs::remove_file(place.join("authority/kept-apart")).unwrap();
    let config = text(&config);
    let up = Up::start_in(&place);
    let (older, newest) = (temporary.path().join("older"), temporary.path().join("newest"));
    mirror(&up, &older);
    publish(&up, "urn:contexts:acme:v1.0");
    mirror(&up, &newest);
    up.stop();
    let (before, now) = (plain_size(&older), plain_size(&newest));
    assert!(before < now);
    let (log, head) = (place.join("authority/log"), place.join("authority/head.json"));
    let signed = std::fs::read(&head).unwrap();
    // the log is older than the head, or gone
    for gone in [false, true] {
        if gone {
            std::fs::remove_dir_all(&log).unwrap();
        }
        let (_, said) = bad(&["authority", "restore", "--config", &config, "--from", &text(&older)]);
        assert!(
            said.contains(&format!("the fetched log has {before} entries and does not continue")),
            "{said}"
        );
        assert!(said.contains(&format!("the last head that was signed here, of {now}: ")), "{said}");
        assert!(said.contains("nothing was changed"), "{said}");
        assert_eq!(std::fs::read(&head).unwrap(), signed, "the witness against a rollback stays");
    }
    assert_eq!(restored(&config, &newest), now);
    let up = Up::start_in(&place);
    publish(&up, "urn:contexts:acme:v1.1");
}

#[test]
fn attack_a_configuration_without_the_last_checkpoint_signs_on_from_a_backup() {
    let temporary = tempfile::tempdir().unwrap();
    let (place, backup) = (temporary.path().join("up"), temporary.path().join("backup"));
    Up::start_in(&place).stop();
    copy(&place.join("authority"), &backup);
    let up = Up::start_in(&place);
    publish(&up, "urn:contexts:acme:v1.0");
    let dir = temporary.path().join("mirror");
    mirror(&up, &dir);
    up.stop();
    std::fs::remove_dir_all(place.join("authority")).unwrap();
    copy(&backup, &place.join("authority"));
    let config = place.join("authority.toml");
    set(&config, "last_checkpoint = ", "");
    let (config, dir, mark) = (text(&config), text(&dir), place.join("authority/kept-apart"));
    let restore: &[&str] = &["restore", "--from", &dir];
    for job in [&["run"][..], &["rebuild-index"], &["status"], restore] {
        let (_, said) = bad(&[&["authority"], job, &["--config", &config]].concat());
        let why = "`last_checkpoint` is not set, but a separate checkpoint of this log exists";
        assert!(said.contains(why) && said.contains(&text(&mark)), "{job:?}: {said}");
        assert!(said.contains("hint: docs/reference/config.md"), "{job:?}: {said}");
    }
    // whoever found out that this is the newest log, or gave the file up, says so
    std::fs::remove_file(mark).unwrap();
    good(&["authority", "status", "--config", &config]);
}

#[test]
fn a_backup_from_before_the_log_changed_its_key_is_brought_up_to_date_from_a_mirror() {
    let temporary = tempfile::tempdir().unwrap();
    let (place, backup) = (temporary.path().join("up"), temporary.path().join("backup"));
    let (state, config) = (place.join("authority"), place.join("authority.toml"));
    let submit = |up: &Up, words: &[&str]| {
        let draft = text(&place.join("draft.json"));
        let submitted = |words: &[&str]| {
            let output = up.semgate(words);
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        submitted(&[&["trust", "draft"], words, &["--out", &draft]].concat());
        good(&["trust", "sign", &draft, "--key", &text(&place.join("offline/root.key"))]);
        submitted(&["trust", "submit", &draft]);
        std::fs::remove_file(draft).unwrap();
    };
    let keys = |setting: &str| set(&config, "log = ", &format!("log = {setting}"));
    let up = Up::start_in(&place);
    let old = std::fs::read_to_string(state.join("keys/log.pub")).unwrap().trim().to_owned();
    submit(&up, &["--add-log", &old]);
    up.stop();
    copy(&state, &backup);
    let second = text(&state.join("keys/log-2.key"));
    let made = good(&["--json", "log", "key", "--new", &second, "--origin", "semgate.test/log"]);
    let new = serde_json::from_str::<Value>(&made).unwrap()["log_key"].as_str().unwrap().to_owned();
    let up = Up::start_in(&place);
    submit(&up, &["--add-log", &new]);
    up.stop();
    keys("{ key = \"authority/keys/log-2.key\", also = [\"authority/keys/log.key\"] }");
    Up::start_in(&place).stop();
    keys("{ key = \"authority/keys/log-2.key\" }");
    let up = Up::start_in(&place);
    submit(&up, &["--remove-log", &old]);
    let dir = temporary.path().join("mirror");
    let made = up.semgate(&["authority", "mirror", &text(&dir), "--log-key", &new]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    up.stop();
    // the state of before comes back, with keys and configuration as they are now
    let kept = temporary.path().join("keys");
    copy(&state.join("keys"), &kept);
    std::fs::remove_dir_all(&state).unwrap();
    copy(&backup, &state);
    copy(&kept, &state.join("keys"));
    let config = text(&config);
    let (_, said) = bad(&["authority", "run", "--config", &config]);
    assert!(said.contains("checkpoint is not signed by the configured log key"), "{said}");
    // a checkpoint by a key that the log never had is none of it
    let checkpoint = state.join("log/checkpoint");
    let ours = std::fs::read(&checkpoint).unwrap();
    let stranger = LogKey::from_seed("semgate.test/log", &[7; 32]).unwrap();
    std::fs::write(&checkpoint, stranger.sign(0, TreeHash::EMPTY).unwrap()).unwrap();
    let (_, said) = bad(&["authority", "restore", "--config", &config, "--from", &text(&dir)]);
    assert!(said.contains("checkpoint is not signed by the configured log key"), "{said}");
    std::fs::write(&checkpoint, ours).unwrap();
    assert_eq!(restored(&config, &dir), plain_size(&dir));
    publish(&Up::start_in(&place), "urn:contexts:acme:v1.0");
}
