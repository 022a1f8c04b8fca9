//! Accounts of the authority through the running binary: greedy strangers and publishers take nothing from a revocation.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use crate::authority::DECISION;
use crate::authority::volume::{Publisher, said};
use crate::support::volume::Volume;
use crate::support::{Answer, Up, address, plain_get, wait_for};

fn metrics(up: &Up) -> String {
    let config = std::fs::read_to_string(up.dir.join("authority.toml")).unwrap();
    let admin = config.lines().find_map(|line| line.strip_prefix("admin = ")).unwrap();
    let got = plain_get(&format!("http://{}/metrics", admin.trim_matches('"')));
    String::from_utf8(got.body).unwrap()
}

fn ready(up: &Up) -> String {
    let config = std::fs::read_to_string(up.dir.join("authority.toml")).unwrap();
    let admin = config.lines().find_map(|line| line.strip_prefix("admin = ")).unwrap();
    let got = plain_get(&format!("http://{}/readyz", admin.trim_matches('"')));
    String::from_utf8(got.body).unwrap()
}

fn good(up: &Up, words: &[&str]) {
    let output = up.semgate(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn attack_anonymous_readers_that_hold_every_place_do_not_stop_a_revocation() {
    let temporary = tempfile::tempdir().unwrap();
    // 32 connections: 4 for handshakes, 8 for verified peers, 20 for strangers; 8 streams, 2 of them for verified peers
    let limits = "connections = 32\nfollowers = 8\naddress_connections = 32";
    let up = Up::start_limited(&temporary.path().join("up"), limits);
    let say = || up.say(&["supplyChain:v1.0", "current_decision", DECISION]).1;
    assert_eq!(say()["verdict"], "ALLOWED");
    let url = up.text("/authority_url").to_owned();
    let ask = format!("GET /v1/feed/stream HTTP/1.1\r\nhost: {}\r\n\r\n", address(&url));
    let (mut streams, mut busy, mut closed, mut held) = (0, 0, 0, Vec::new());
    for _ in 0..40 {
        let mut stream = up.connect(None, &url);
        stream.sock.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let _ = stream.write_all(ask.as_bytes());
        let mut first = [0; 12];
        match stream.read_exact(&mut first).map(|()| &first[9..]) {
            Ok(b"200") => streams += 1,
            Ok(b"503") => busy += 1,
            _ => closed += 1,
        }
        held.push(stream);
    }
    // the gateway's own stream is none of them, for it shows its certificate
    assert_eq!(streams, 6, "{busy} busy, {closed} closed");
    assert_eq!((busy, closed), (14, 20), "strangers hold 20 connections, and the others were closed at once");
    // handshakes that never begin hold no place either
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(address(&url)).unwrap()).collect();
    good(&up, &["context", "revoke", "travel:v2.1"]);
    good(&up, &["context", "suspend", "supplyChain:v1.0"]);
    // the gateway learns of it while strangers hold all that is theirs
    wait_for("the suspension at the gateway", || (say()["code"] == "context_suspended").then_some(()));
    let counted = metrics(&up);
    for reason in ["strangers", "handshakes"] {
        let name = format!("semgate_authority_connections_refused_total{{reason=\"{reason}\"}} ");
        let count = counted.lines().find_map(|line| line.strip_prefix(name.as_str())).unwrap_or("0");
        assert!(count.parse::<u32>().unwrap() >= 20, "{reason}: {count}\n{counted}");
    }
    assert!(
        counted.contains("semgate_authority_streams_refused_total{reason=\"strangers\"} 14"),
        "{counted}"
    );
    drop((held, silent));
    wait_for("a place for a stranger", || {
        let request =
            format!("GET /checkpoint HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", address(&url));
        let mut stream = up.connect(None, &url);
        let _ = stream.write_all(request.as_bytes());
        (Answer::read(&mut stream).status == 200).then_some(())
    });
}

#[test]
fn attack_a_publisher_that_fills_the_volume_leaves_room_for_revocations_suspensions_and_floors() {
    let temporary = tempfile::tempdir().unwrap();
    let volume = Volume::mount(&temporary.path().join("volume"), "48m");
    let dir = volume.path().join("semgate");
    // a gateway on this volume would give up its own reserve under a revocation, and the publisher could take it
    let gateway = temporary.path().join("gateway");
    for one in [&dir, &gateway] {
        std::fs::DirBuilder::new().mode(0o700).create(one).unwrap();
    }
    std::os::unix::fs::symlink(&gateway, dir.join("firewall")).unwrap();
    let up = Up::start_in(&dir);
    let reserve = dir.join("authority/reserve");
    let length = || std::fs::metadata(&reserve).unwrap().len();
    assert_eq!(length(), 4 << 20);
    let mut publisher = Publisher { documents: temporary.path().to_owned(), told: Vec::new() };
    assert!(publisher.offer(&up, "goods:v1.0").status.success());
    // the others leave a megabyte and a half, and the publisher takes it
    volume.fill_but(3 << 19);
    let refused = (0..40).find_map(|n| {
        let output = publisher.offer_of(&up, &format!("big{n}:v1.0"), 18);
        (!output.status.success()).then(|| said(&output))
    });
    let refused = refused.expect("the volume is full");
    assert!(refused.contains("storage_full"), "{refused}");
    assert_eq!(length(), 4 << 20, "publications leave the reserved room alone");
    good(&up, &["context", "suspend", "goods:v1.0"]);

    // and somebody else takes the last byte
    volume.fill();
    good(&up, &["context", "revoke", "travel:v2.1"]);
    good(&up, &["context", "resume", "goods:v1.0"]);
    good(&up, &["context", "floor", "goods", "v1.0"]);
    assert!(length() < 4 << 20, "it was written to the reserved room");
    // also the room that the acts did not need in the end
    volume.fill();
    let refused = said(&publisher.offer(&up, "goods:v1.1"));
    assert!(refused.contains("storage_full"), "{refused}");
    let full = "nothing is published until the disk has room";
    wait_for("the reason in /readyz", || ready(&up).contains(full).then_some(()));
    let short = "semgate_authority_reserve_whole 0";
    wait_for("the reserve in the metrics", || metrics(&up).contains(short).then_some(()));
    let before = up.semgate(&["context", "list"]);
    up.kill();

    // after a power cut on the full volume the authority is back, with all that was acknowledged, and revokes
    let mut authority = std::process::Command::new(crate::authority::SEMGATE);
    let authority = authority.args(["authority", "run", "--config"]).arg(dir.join("authority.toml"));
    let stderr = std::fs::File::create(temporary.path().join("stderr")).unwrap();
    let authority = authority.stdout(std::process::Stdio::null()).stderr(stderr);
    let mut running = crate::authority::Ended(authority.spawn().unwrap());
    let up_json: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("up.json")).unwrap()).unwrap();
    let at = [
        "--authority".to_owned(),
        up_json["authority_url"].as_str().unwrap().to_owned(),
        "--roots".to_owned(),
        dir.join("roots.pem").to_str().unwrap().to_owned(),
        "--cert".to_owned(),
        dir.join("agents/operator.pem").to_str().unwrap().to_owned(),
        "--key".to_owned(),
        dir.join("agents/operator.key").to_str().unwrap().to_owned(),
    ];
    let run = |words: &[&str]| {
        let words = words.iter().copied().chain(at.iter().map(String::as_str)).collect::<Vec<_>>();
        crate::authority::run(&words)
    };
    wait_for("the authority", || {
        let ended = running.0.try_wait().unwrap();
        assert!(ended.is_none(), "{}", std::fs::read_to_string(temporary.path().join("stderr")).unwrap());
        run(&["context", "list"]).status.success().then_some(())
    });
    assert_eq!(run(&["context", "list"]).stdout, before.stdout);
    let revoked = run(&["context", "revoke", "goods:v1.0"]);
    assert!(revoked.status.success(), "{}", said(&revoked));
    drop(running);

    volume.make_room();
    let up = Up::start_in(&dir);
    publisher.holds(&up);
    assert!(publisher.offer(&up, "goods:v1.1").status.success());
    assert_eq!(length(), 4 << 20, "the room is kept again");
    assert_eq!(ready(&up), "ok\n");
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION]).1["verdict"], "ALLOWED");
}

#[test]
fn attack_refused_publications_leave_no_signer_and_no_file() {
    let temporary = tempfile::tempdir().unwrap();
    let up = Up::start_in(&temporary.path().join("up"));
    let state = up.dir.join("authority");
    let mut publisher = Publisher { documents: temporary.path().to_owned(), told: Vec::new() };
    assert!(publisher.offer(&up, "weather:v1.0").status.success());
    let all = || ["signers", "certificates", "documents", "evidence"].map(|name| files(&state.join(name)));
    let before = all();
    assert!(before[0].contains(&"weather.key".to_owned()), "{before:?}");
    for line in ["Weather", "wEather", "weAther", "weaTher", "weatHer", "weathEr", "weatheR", "WEATHER"] {
        let refused = said(&publisher.offer(&up, &format!("{line}:v1.0")));
        assert!(refused.contains("line_case_taken"), "{refused}");
    }
    assert_eq!(all(), before);
    // a line of its own gets one with its publication
    assert!(publisher.offer(&up, "climate:v1.0").status.success());
    assert!(files(&state.join("signers")).contains(&"climate.key".to_owned()));
    assert!(publisher.offer(&up, "climate:v1.1").status.success());
    publisher.holds(&up);
}

#[test]
fn attack_a_publisher_past_its_quota_publishes_no_more_and_still_revokes_also_after_a_restart() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("up");
    let up = Up::start_limited(&dir, "publisher_bytes = 400000");
    let mut publisher = Publisher { documents: temporary.path().to_owned(), told: Vec::new() };
    let mut offer = |up: &Up, n: usize| {
        let output = publisher.offer_of(up, &format!("big{n}:v1.0"), 15);
        (output.status.success(), said(&output))
    };
    let count = (0..10).take_while(|n| offer(&up, *n).0).count();
    assert!((1..6).contains(&count), "{count} of 84 kB each beside the library");
    let signers = files(&dir.join("authority/signers"));
    let (_, refused) = offer(&up, 10);
    assert!(refused.contains("authority_full") && refused.contains("publisher_bytes"), "{refused}");
    assert_eq!(files(&dir.join("authority/signers")), signers);
    up.stop();
    let up = Up::start_in(&dir);
    let (_, refused) = offer(&up, 11);
    assert!(refused.contains("authority_full") && refused.contains("publisher_bytes"), "{refused}");
    good(&up, &["context", "suspend", "big0:v1.0"]);
    good(&up, &["context", "resume", "big0:v1.0"]);
    good(&up, &["context", "revoke", "big0:v1.0"]);
}
