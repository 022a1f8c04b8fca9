//! What an authority cannot take back in secret, through the running binary: restored backups, and witnesses.

mod restored;
use crate::support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use semgate_statement::LogKey;
use serde_json::Value;
use support::gateway::{Gateway, Scripted, free_address};
use support::strangers::{
    DECISION, REPLY, Told, bad, copy, gateway_status, good, judged, mirror, plain_size, publish, run, text,
    verdict,
};
use support::{Answer, Ended, PATIENCE, SEMGATE, Up, plain_get, wait_for};

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
    assert!(said.contains("is neither an address nor a directory"), "{said}");
    let said = good(&["--json", "authority", "restore", "--config", &config, "--from", &text(&dir)]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["size"].as_u64(), Some(size), "{said}");
    let partial = place.join("authority/log/tile/entries/000.p");
    let bundles: Vec<String> = std::fs::read_dir(partial)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(bundles, [size.to_string()], "nothing of the older log is left beside the newer one");
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

/// Over TLS where it is given a certificate and its key.
fn witness(dir: &Path, name: &str, log: &str, tls: Option<&Path>) -> Witness {
    if !dir.exists() {
        good(&["log", "witness", "--init", &text(dir), "--name", name, "--log-key", log]);
        let config = dir.join("witness.toml");
        let settings = std::fs::read_to_string(&config).unwrap();
        let (listen, admin) = (free_address().to_string(), free_address().to_string());
        let settings = settings.replace("127.0.0.1:8446", &listen).replace("127.0.0.1:8447", &admin);
        let keys = tls.map(|keys| {
            let file = |name: &str| text(&keys.join(name));
            format!("[tls]\ncertificate = \"{}\"\nkey = \"{}\"\n\n[[log]]", file("tls.pem"), file("tls.key"))
        });
        let settings = settings.replacen("[[log]]", &keys.unwrap_or("[[log]]".to_owned()), 1);
        std::fs::write(config, settings).unwrap();
    }
    let scheme = if tls.is_some() { "https" } else { "http" };
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
        url: format!("{scheme}://{}", of("listen")),
        admin: of("admin"),
        key: of("key"),
    }
}

#[test]
fn attack_a_page_whose_name_was_bent_to_the_machine_of_a_witness_reads_what_it_has_seen() {
    let dir = tempfile::tempdir().unwrap();
    let log = LogKey::from_seed("semgate.test/log", &[5; 32]).unwrap().verifier().to_string();
    let witness = witness(&dir.path().join("one"), "one.example", &log, None);
    let ask = |path: &str, host: &str, more: &str| {
        let mut stream = TcpStream::connect(&witness.admin).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n{more}connection: close\r\n\r\n").unwrap();
        let answer = Answer::read(&mut stream);
        (answer.status, String::from_utf8(answer.body).unwrap())
    };
    for host in [&*witness.admin, "127.0.0.1", "[::1]:8447", "localhost:1"] {
        let (status, seen) = ask("/status", host, "");
        assert!(status == 200 && seen.contains("semgate.test/log"), "{host}: {status} {seen}");
    }
    let page = "origin: http://evil.example\r\n";
    for (host, more) in [("evil.example", ""), ("127.0.0.1.evil.example:8447", ""), (&witness.admin, page)] {
        for path in ["/healthz", "/readyz", "/metrics", "/status", "/none"] {
            let (status, said) = ask(path, host, more);
            assert!(status == 403 && said.starts_with("host_refused: "), "{host} {path}: {status} {said}");
        }
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
    let one = witness(&temporary.path().join("one"), "one.example", &told.key, None);
    let two =
        witness(&temporary.path().join("two"), "two.example", &told.key, Some(&place.join("authority/keys")));
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
    let two =
        witness(&temporary.path().join("two"), "two.example", &told.key, Some(&place.join("authority/keys")));
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
    let one = witness(&temporary.path().join("one"), "one.example", &told.key, None);
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
    // The state remembers that a checkpoint was kept: a volume that is not mounted looks just like this.
    for job in ["run", "rebuild-index", "status"] {
        let (_, said) = bad(&["authority", job, "--config", &text(&config)]);
        assert!(
            said.contains("last-checkpoint` is missing") && said.contains("mount its volume"),
            "{job}: {said}"
        );
    }
    std::fs::remove_file(place.join("authority/kept-apart")).unwrap();
    let (_, said) = bad(&["authority", "run", "--config", &text(&config)]);
    assert!(said.contains("the witness `one.example` saw a log of"), "{said}");
}
