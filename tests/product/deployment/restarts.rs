//! Restarts under load, with a parent that holds the sockets as systemd does.

use crate::support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use support::gateway::{Gateway, Scripted};
use support::policies::{REPLY, message};
use support::{Answer, Ended, PATIENCE, SEMGATE, Up, plain_get, python, wait_for};

use super::log_of;

/// A server under the service manager of `service_manager.py`.
struct Managed {
    words: ChildStdin,
    answers: BufReader<ChildStdout>,
    _child: Ended,
}

impl Managed {
    /// Returns it with the notifications of its start.
    fn start(addresses: &[SocketAddr], words: &[&str], log: &std::path::Path) -> (Self, Value) {
        let mut command = Command::new("python3");
        command.arg(python::script("service_manager.py")).args(addresses.iter().map(ToString::to_string));
        command.arg("--").arg(SEMGATE).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(std::fs::File::create(log).unwrap());
        let mut child = command.spawn().unwrap();
        let words = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut managed = Self { words, answers, _child: Ended(child) };
        let first = managed.answer(log);
        (managed, first)
    }

    fn answer(&mut self, log: &std::path::Path) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let log = || std::fs::read_to_string(log).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {}", log()))
    }

    fn tell(&mut self, word: &str, log: &std::path::Path) -> Value {
        writeln!(self.words, "{word}").unwrap();
        self.answer(log)
    }
}

/// One caller's counts.
#[derive(Debug, Default)]
struct Counts {
    passed: usize,
    /// Kept connections that ended before a further message.
    retried: usize,
    failed: Vec<String>,
}

/// Posts on new connections, or on kept ones, until `end`.
fn call(to: SocketAddr, keeps: bool, end: &AtomicBool) -> Counts {
    let body = message(&json!({"d": {"concept": "current_decision", "item_id": "beer", "quantity": 120}}));
    let request = format!(
        "POST / HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut counts = Counts::default();
    let mut kept: Option<TcpStream> = None;
    while !end.load(Ordering::Relaxed) {
        let was_kept = kept.is_some();
        let stream = kept.take().map_or_else(|| TcpStream::connect(to), Ok);
        let mut stream = match stream {
            Ok(stream) => stream,
            Err(why) => {
                counts.failed.push(format!("connecting: {why}"));
                continue;
            }
        };
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let sent = stream.write_all(request.as_bytes());
        let answer = Answer::read(&mut stream);
        match answer.status {
            200 => {
                counts.passed += 1;
                let closes = answer.header("connection").is_some_and(|it| it == "close");
                kept = (keeps && !closes).then_some(stream);
            }
            0 if was_kept && answer.head.is_empty() => counts.retried += 1,
            status => counts.failed.push(format!("{status} {sent:?} {}", answer.head)),
        }
    }
    counts
}

#[test]
fn twenty_restarts_under_load_refuse_no_connection_and_lose_no_message() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let mut gateway =
        Gateway::before(&up, behind.address, "[limits]\nrate_per_second = 1000000\nrate_burst = 1000000\n");
    gateway.kill();
    let config = up.dir.join(format!("gateway-{}.toml", gateway.l8.port()));
    let words = ["firewall", "run", "--config", config.to_str().unwrap()];
    let log = log_of(&config);
    let (mut managed, first) = Managed::start(&[gateway.l8, gateway.a2a, gateway.admin], &words, &log);
    assert_eq!(first, json!([["READY=1"]]));
    let ready = || (plain_get(&format!("http://{}/readyz", gateway.admin)).status == 200).then_some(());
    wait_for("readiness", ready);

    let end = Arc::new(AtomicBool::new(false));
    let callers = (0..4).map(|n| {
        let (end, to) = (Arc::clone(&end), gateway.l8);
        std::thread::spawn(move || call(to, n % 2 == 0, &end))
    });
    let callers: Vec<_> = callers.collect();
    for n in 0..20 {
        assert_eq!(managed.tell("restart", &log), json!([["STOPPING=1"], ["READY=1"]]), "restart {n}");
    }
    end.store(true, Ordering::Relaxed);
    let counts: Vec<Counts> = callers.into_iter().map(|caller| caller.join().unwrap()).collect();
    let failed: Vec<_> = counts.iter().flat_map(|counts| &counts.failed).collect();
    assert!(
        failed.is_empty(),
        "{} of {:?}: {:?}",
        failed.len(),
        counts.len(),
        &failed[..failed.len().min(9)]
    );
    assert!(counts.iter().all(|counts| counts.passed > 5), "{counts:?}");
    assert!(counts.iter().map(|counts| counts.retried).sum::<usize>() <= 40, "{counts:?}");

    let reloaded = managed.tell("reload", &log);
    let [reloading, ready] = reloaded.as_array().unwrap().as_slice() else { panic!("{reloaded}") };
    assert_eq!(reloading[0], "RELOADING=1");
    let since = reloading[1].as_str().unwrap().strip_prefix("MONOTONIC_USEC=").unwrap();
    assert!(since.parse::<u64>().unwrap() > 0, "{since}");
    assert_eq!(ready, &json!(["READY=1"]));
}

#[test]
fn an_authority_takes_its_sockets_and_tells_its_service_manager() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("semgate");
    Up::start_in(&dir).stop();
    let config = dir.join("authority.toml");
    let at = |key: &str| super::line(&config, key).split('"').nth(1).unwrap().parse::<SocketAddr>().unwrap();
    let words = ["authority", "run", "--config", config.to_str().unwrap()];
    let log = log_of(&config);
    let (mut managed, first) = Managed::start(&[at("listen"), at("admin")], &words, &log);
    assert_eq!(first, json!([["READY=1"]]));
    assert_eq!(plain_get(&format!("http://{}/readyz", at("admin"))).status, 200);
    assert_eq!(managed.tell("restart", &log), json!([["STOPPING=1"], ["READY=1"]]));
    assert_eq!(managed.tell("reload", &log)[1], json!(["READY=1"]));
}

#[test]
fn a_passed_socket_that_no_setting_names_stops_the_start() {
    let up = Up::start();
    let behind = Scripted::saying(REPLY.to_owned());
    let mut gateway = Gateway::before(&up, behind.address, "");
    gateway.kill();
    let config = up.dir.join(format!("gateway-{}.toml", gateway.l8.port()));
    let other = support::gateway::free_address();
    let mut command = Command::new("python3");
    command.arg(python::script("service_manager.py")).args([
        other.to_string(),
        "--".to_owned(),
        SEMGATE.to_owned(),
    ]);
    let mut child = command
        .args(["firewall", "run", "--config"])
        .arg(&config)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let reason =
        format!("cannot listen on `{other}`: it was passed to this process, and no setting names it");
    let mut text = String::new();
    while !text.contains(&reason) {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "{text}");
        text.push_str(&line);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let _ = said.read(&mut []);
}
