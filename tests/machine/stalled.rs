//! A log that nobody reads.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::REPLY;
use crate::support::{PATIENCE, Up, wait_for};
use crate::{decide, metric};

const LOST: &str = "semgate_log_lines_lost_total ";

/// A refusal, and an opening of HTTP/2, each of which leaves lines in a log that tells everything.
fn chatter(gateway: &Gateway) {
    assert_eq!(decide(gateway, "v9.9").code(), "context_unknown");
    let mut stream = TcpStream::connect(gateway.l8).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // the preface, and an empty SETTINGS frame
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
    let mut settings = [0; 9];
    stream.read_exact(&mut settings).unwrap();
    assert_eq!(settings[3], 4, "SETTINGS, not {settings:?}");
}

/// The pipe was full after 269 refusals, and every serving thread waited for its reader.
#[test]
fn attack_a_reader_of_the_log_that_stalls_stops_no_message_and_what_it_misses_is_counted() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    let mut gateway =
        Gateway::before(&up, agent.address, "[limits]\nrate_per_second = 100000\nrate_burst = 100000\n");
    let talkative = |command: &mut Command| {
        command.env("SEMGATE_LOG", "trace").stderr(Stdio::piped());
    };
    gateway.restart_with(talkative);
    let began = Instant::now();
    let mut sent = 0;
    // past the pipe, which holds 64 KiB, and past the queue
    while metric(&gateway, LOST) == 0.0 {
        assert_eq!(decide(&gateway, "v1.0").status, 200, "message {sent}");
        chatter(&gateway);
        sent += 2;
        assert!(sent < 20_000, "nothing was lost");
    }
    let lost = metric(&gateway, LOST);
    let at = Instant::now();
    for _ in 0..50 {
        assert_eq!(decide(&gateway, "v1.0").status, 200);
        chatter(&gateway);
    }
    println!("the queue was full after {sent} messages, {:?}; 50 more took {:?}", at - began, at.elapsed());
    assert!(metric(&gateway, LOST) > lost, "more lines are lost, and counted");

    // read again, it says how much is missing
    let mut pipe = gateway.child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let (mut text, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let n = pipe.read(&mut buffer).unwrap();
            text.extend_from_slice(&buffer[..n]);
            if n == 0 || String::from_utf8_lossy(&text).contains("log lines were lost") {
                return (text, pipe);
            }
        }
    });
    wait_for("the line that tells of lost ones", || reader.is_finished().then_some(()));
    let (text, pipe) = reader.join().unwrap();
    assert!(String::from_utf8_lossy(&text).contains("log lines were lost"));

    // stalled once more, it holds up no end either
    let lost = metric(&gateway, LOST);
    while metric(&gateway, LOST) == lost {
        assert_eq!(decide(&gateway, "v1.0").status, 200);
        chatter(&gateway);
    }
    Command::new("kill").args(["-TERM", &gateway.child.id().to_string()]).status().unwrap();
    let at = Instant::now();
    let ended = wait_for("the end", || gateway.child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    assert!(at.elapsed() < Duration::from_secs(30), "{:?}", at.elapsed());
    drop(pipe);
}

/// A command that fails says why, though its log is written by a thread.
#[test]
fn a_server_that_does_not_start_still_says_why() {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("none.toml");
    let mut command = Command::new(crate::support::SEMGATE);
    let output = command.args(["firewall", "run", "--config"]).arg(&config).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: ") && said.contains("none.toml") && said.contains("hint: "), "{said}");
}
