//! SIGTERM while a comparison runs that would take hours.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Answer, Up, address};

#[path = "../../../contexts/src/compare/tests/endless.rs"]
mod endless;

/// What a slow machine that does other things takes at most; the process would not end at all.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn attack_a_comparison_of_a_stranger_does_not_outlive_sigterm() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    Up::start_in(&dir).stop();
    let config = dir.join("authority.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(!text.contains("[limits]"), "{text}");
    std::fs::write(
        &config,
        format!("{text}\n[limits]\ncompare_steps = 1000000000\ncompare_time = \"10m\"\n"),
    )
    .unwrap();
    let up = Up::start_in(&dir);
    let (old, new) = endless::endless();
    let body = json!({ "old": old, "new": new, "role": "accepts" }).to_string();
    let url = up.text("/authority_url").to_owned();
    let mut line = up.connect(None, &url);
    let host = address(&url);
    let length = body.len();
    write!(line, "POST /v1/compare HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    line.flush().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let began = Instant::now();
    up.stop();
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    let answer = Answer::read(&mut line);
    assert_eq!((answer.status, &answer.json()["code"]), (503, &json!("stopping")), "{answer:?}");
}
