//! Memory after a burst, under the settings that ship.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::decide;
use crate::support::gateway::{Gateway, Scripted};
use crate::support::policies::REPLY;
use crate::support::{Answer, Up};

/// Connections of the burst, each with a body of [`BODY`] bytes.
const CONNECTIONS: usize = 48;
/// Just below the limit of a body.
const BODY: usize = 1_000_000;
/// A wait of a message that no busy machine explains.
const STALLED: Duration = Duration::from_secs(2);
/// The longest that memory may take to go back.
const BACK: Duration = Duration::from_secs(60);

/// The settings of the allocator in the shipped unit.
fn shipped() -> Vec<(String, String)> {
    let unit = include_str!("../../deploy/semgate-firewall.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("Environment=")).unwrap();
    let words = line.split_whitespace().map(|word| word.split_once('=').unwrap());
    words.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Resident bytes.
fn resident(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Half sent, so that the gateway holds all of them at once.
fn burst(gateway: &Gateway) -> Vec<(TcpStream, String)> {
    let text = "x".repeat(BODY - 400);
    let body = format!(r#"{{"protocol":"L8/1.0","message_id":"m-1","content":"{text}"}}"#);
    let begun = (0..CONNECTIONS).map(|_| {
        let mut stream = TcpStream::connect(gateway.l8).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!("POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", gateway.l8);
        let (first, rest) = body.split_at(body.len() - 1);
        write!(stream, "{head}content-length: {}\r\n\r\n{first}", body.len()).unwrap();
        (stream, rest.to_owned())
    });
    begun.collect()
}

/// Under `MIMALLOC_PURGE_DELAY=-1` a burst stayed for as long as the gateway lived.
#[test]
fn memory_of_a_burst_goes_back_within_a_minute_and_no_message_waits_for_it() {
    let up = Up::start();
    let agent = Scripted::saying(REPLY.to_owned());
    // the arrivals of the burst cost more than one agent may spend at once
    let limits = "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n";
    let mut gateway = Gateway::before(&up, agent.address, limits);
    gateway.restart_with(|command| {
        command.envs(shipped());
    });
    assert_eq!(decide(&gateway, "v1.0").status, 200);
    let before = resident(&gateway);
    let mut streams = burst(&gateway);
    std::thread::sleep(Duration::from_secs(1));
    let full = resident(&gateway);
    assert!(full > before + (CONNECTIONS * BODY / 2) as u64, "the burst is held: {before} then {full}");
    for (stream, rest) in &mut streams {
        stream.write_all(rest.as_bytes()).unwrap();
    }
    for (stream, _) in &mut streams {
        assert_ne!(Answer::read(stream).status, 200, "it is no whole message");
    }
    drop(streams);
    let (began, mut longest) = (Instant::now(), Duration::ZERO);
    let enough = before + (full - before) / 4;
    while resident(&gateway) > enough {
        assert!(began.elapsed() < BACK, "{before} before, {full} at most, {} now", resident(&gateway));
        let at = Instant::now();
        assert_eq!(decide(&gateway, "v1.0").status, 200);
        longest = longest.max(at.elapsed());
        std::thread::sleep(Duration::from_millis(10));
    }
    println!(
        "{} MB before, {} at most, {} after {:?}; the longest message meanwhile {longest:?}",
        before / 1_000_000,
        full / 1_000_000,
        resident(&gateway) / 1_000_000,
        began.elapsed()
    );
    // for a machine that is shared: the figure is the line above
    assert!(longest < STALLED, "{longest:?}");
}
