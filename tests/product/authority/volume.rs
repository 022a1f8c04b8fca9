//! A volume of its own that is really full or read-only, under authority and gateway: nothing is acknowledged that is not there, everybody is
//! told what is wrong, and when there is room again it goes on by itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::authority::DECISION;
use crate::support::volume::Volume;
use crate::support::{SEMGATE, Up, wait_for};

/// A directory that takes no write until the value is gone, whoever has files open elsewhere on its volume.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn mount(at: &Path) -> ReadOnly {
        let mount = |words: &[&str]| Command::new("mount").args(words).arg(at).output().unwrap();
        let output = mount(&["--bind", at.to_str().unwrap()]);
        assert!(output.status.success(), "{}", said(&output));
        let bound = ReadOnly(at.to_owned());
        // a file that is open there for a moment keeps it writable
        wait_for("nobody to write there", || {
            mount(&["-o", "remount,bind,ro"]).status.success().then_some(())
        });
        bound
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Offers contexts to the authority of an `up`; documents lie on another volume.
pub(crate) struct Publisher {
    pub(crate) documents: PathBuf,
    /// Acknowledged.
    pub(crate) told: Vec<String>,
}

impl Publisher {
    pub(crate) fn offer(&mut self, up: &Up, short: &str) -> Output {
        self.offer_of(up, short, 0)
    }

    /// Offers a document of some four kilobytes for each of these terms. Asks again while the index is rebuilt: one that could not be flushed to
    /// a full volume is.
    pub(crate) fn offer_of(&mut self, up: &Up, short: &str, terms: usize) -> Output {
        let file = self.documents.join(format!("{}.json", short.replace(':', "-")));
        let text = "a".repeat(4000);
        let more = (0..terms).map(|n| {
            format!(r#","t{n}":{{"type":"object","description":"{text}","properties":{{"n":{{"type":"integer"}}}}}}"#)
        });
        let more: String = more.collect();
        let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
        let document =
            format!(r#"{{"context":"urn:contexts:{short}","concepts":{{"thing":{schema}{more}}}}}"#);
        std::fs::write(&file, document).unwrap();
        let output = wait_for("the index", || {
            let output = up.semgate(&["context", "publish", file.to_str().unwrap()]);
            (!said(&output).contains("the index is being rebuilt")).then_some(output)
        });
        if output.status.success() {
            self.told.push(short.to_owned());
        }
        output
    }

    /// Everything acknowledged is there, and the log holds from outside.
    pub(crate) fn holds(&self, up: &Up) {
        let output = up.semgate(&["context", "list"]);
        let listed =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        for short in &self.told {
            assert!(listed.contains(short.as_str()), "`{short}` was acknowledged and is not there: {listed}");
        }
        let verified = up.semgate(&["log", "verify", up.text("/authority_url")]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_volume_that_is_full_or_read_only_gets_nothing_acknowledged_that_is_lost_and_needs_nobody_to_go_on() {
    let place = tempfile::tempdir().unwrap();
    let volume = Volume::mount(&place.path().join("volume"), "48m");
    let dir = volume.path().join("semgate");
    let up = Up::start_in(&dir);
    let mut publisher = Publisher { documents: place.path().to_owned(), told: Vec::new() };
    let say =
        |up: &Up| up.say(&["supplyChain:v1.0", "current_decision", DECISION, "--performative", "INFORM"]).1;
    for round in 0..3 {
        let minor = |n: u32| format!("goods:v1.{}", 10 * round + n);
        assert!(publisher.offer(&up, &minor(0)).status.success());
        assert_eq!(say(&up)["verdict"], "ALLOWED", "round {round}");
        volume.fill();
        for n in 1..4 {
            let refused = said(&publisher.offer(&up, &minor(n)));
            assert!(refused.contains("storage_full"), "round {round}: {refused}");
            // a line that nobody signed for yet needs a key of its own
            let refused = said(&publisher.offer(&up, &format!("fresh{round}{n}:v1.0")));
            assert!(refused.contains("storage_full"), "round {round}: {refused}");
        }
        // what was begun may fit into the last page of the file; then no record is taken, and so no message
        wait_for("the audit to be full", || (say(&up)["code"] == "audit_unavailable").then_some(()));
        publisher.holds(&up);
        volume.make_room();
        for n in 1..4 {
            let output = publisher.offer(&up, &minor(n));
            assert!(output.status.success(), "round {round}: {}", said(&output));
        }
        wait_for("the audit to go on", || (say(&up)["verdict"] == "ALLOWED").then_some(()));
        publisher.holds(&up);
    }
    let numbers: Vec<u64> = up.audit().iter().map(|record| record["n"].as_u64().unwrap()).collect();
    assert!(numbers.windows(2).all(|two| two[0] < two[1]), "records are whole and in order: {numbers:?}");

    // the log read-only under the running authority, and on from there when it is writable
    let read_only = ReadOnly::mount(&dir.join("authority/log"));
    for n in 0..3 {
        for short in [format!("goods:v1.{}", 50 + n), format!("unwritten{n}:v1.0")] {
            let refused = said(&publisher.offer(&up, &short));
            assert!(refused.contains("storage_failed"), "{short}: {refused}");
        }
        assert_eq!(say(&up)["verdict"], "ALLOWED", "what is published counts on");
    }
    publisher.holds(&up);
    drop(read_only);
    for n in 0..3 {
        let output = publisher.offer(&up, &format!("goods:v1.{}", 50 + n));
        assert!(output.status.success(), "{}", said(&output));
    }
    publisher.holds(&up);

    // a power cut while it is full
    volume.fill();
    up.kill();
    volume.make_room();
    let up = Up::start_in(&dir);
    publisher.holds(&up);
    assert!(publisher.offer(&up, "goods:v1.100").status.success());
    up.stop();

    // read-only: neither starts, each says why, and both start when it is writable
    volume.mounted("ro");
    for job in ["authority", "firewall"] {
        let config = dir.join(format!("{job}.toml"));
        let output = Command::new(SEMGATE).args([job, "run", "--config"]).arg(config).output().unwrap();
        assert!(!output.status.success());
        assert!(said(&output).to_lowercase().contains("read-only file system"), "{job}: {}", said(&output));
    }
    volume.mounted("rw");
    let up = Up::start_in(&dir);
    publisher.holds(&up);
    assert!(publisher.offer(&up, "goods:v1.101").status.success());
    assert_eq!(say(&up)["verdict"], "ALLOWED");
}
