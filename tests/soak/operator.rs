//! The operator of a soak: new policies with SIGHUP, contexts that are published and revoked, and looks at the processes.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use super::agent::{Ledger, decision};
use super::lanes::native;
use super::meter::MODEST;
use super::support::gateway::Gateway;
use super::support::policies::{digest_of, status};
use super::support::{Up, wait_for};
use super::versions::{good, publish, revoke};

/// The permits of the tool that the agent serves, which the shipped policies do not know.
pub const TOOLS: &str = r#"
@id("soak-list") permit (principal in Group::"repliers", action, resource is mcp::ListTools_results);
@id("soak-add") permit (principal in Group::"partners", action, resource is sums::add);
@id("soak-added") permit (principal in Group::"repliers", action, resource is sums::add_results);
"#;

/// The operator, with what it has revoked so far.
pub struct Operator<'s> {
    up: &'s Up,
    gateway: &'s Gateway,
    ledger: &'s Ledger,
    url: String,
    /// How often a message of each revoked version had arrived when the first was refused.
    revoked: BTreeMap<usize, u8>,
    /// How often the policies were changed.
    pub reloads: usize,
    /// How many messages of revoked versions were refused since.
    pub refused: usize,
}

impl<'s> Operator<'s> {
    /// One without anything done so far; `url` is of the native route.
    pub fn new(up: &'s Up, gateway: &'s Gateway, ledger: &'s Ledger, url: String) -> Self {
        Self { up, gateway, ledger, url, revoked: BTreeMap::new(), reloads: 0, refused: 0 }
    }

    /// The number of revoked versions.
    pub fn revocations(&self) -> usize {
        self.revoked.len()
    }

    /// Changes a policy file, sends SIGHUP, and waits until the changed set is live.
    pub fn reload(&mut self) {
        self.reloads += 1;
        let n = self.reloads;
        let permit = format!(
            "@id(\"soak-{n}\") permit (principal in Group::\"partners\", action, resource is supplyChain::current_decision);\n"
        );
        let more = if n.is_multiple_of(2) { permit } else { format!("// reload {n}\n") };
        let policies = self.up.path("/policies");
        std::fs::write(policies.join("soak.cedar"), TOOLS.to_owned() + &more).unwrap();
        hang_up(self.gateway.child.id());
        let wanted = digest_of(&policies);
        wait_for("the changed policies to be live", || {
            (status(self.gateway)["policies"]["digest"] == wanted).then_some(())
        });
    }

    /// Publishes a version, sees it pass, revokes it, and sees it refused.
    pub fn revoke_one(&mut self) {
        let number = self.revoked.len() + 1;
        let version = format!("v1.{number}");
        publish(self.up, &version);
        wait_for("the new version to pass", || (self.send(number) == "passed").then_some(()));
        revoke(self.up, &version);
        wait_for("the revocation to count", || (self.send(number) == "context_revoked").then_some(()));
        self.revoked.insert(number, self.ledger.arrivals("old", number));
    }

    /// Sends a message under every revoked version: each is refused for that reason, and none arrives.
    pub fn probe(&mut self) {
        for (number, arrivals) in self.revoked.clone() {
            assert_eq!(self.send(number), "context_revoked", "v1.{number}");
            self.refused += 1;
            assert_eq!(
                self.ledger.arrivals("old", number),
                arrivals,
                "v1.{number} passed after its revocation"
            );
        }
    }

    /// The code of the refusal of a message under a version, or `passed`.
    fn send(&self, number: usize) -> String {
        let context = format!("urn:contexts:supplyChain:v1.{number}");
        let message = native("INFORM", &format!("old.{number}"), &context, decision());
        let answer = self.up.post(MODEST, &self.url, &[], message.to_string().as_bytes());
        if answer.status == 200 { "passed".to_owned() } else { answer.code() }
    }
}

/// Sends SIGHUP.
fn hang_up(pid: u32) {
    good(&Command::new("kill").args(["-HUP", &pid.to_string()]).output().unwrap());
}

/// Resident memory of a process in KiB.
pub fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Resident memory over time of the gateway and of `up`, which holds the authority.
pub struct Memory {
    began: Instant,
    pids: [u32; 2],
    /// Seconds since the start, and KiB of each.
    samples: Vec<(f64, [u64; 2])>,
}

impl Memory {
    /// Begins without a sample.
    pub fn of(pids: [u32; 2]) -> Self {
        Self { began: Instant::now(), pids, samples: Vec::new() }
    }

    /// Takes a sample, which it returns.
    pub fn sample(&mut self) -> [u64; 2] {
        let sample = self.pids.map(resident);
        self.samples.push((self.began.elapsed().as_secs_f64(), sample));
        sample
    }

    /// The median of the second tenth of the time, and of the last.
    pub fn tenths(&self) -> [[u64; 2]; 2] {
        let whole = self.samples.last().map_or(0.0, |(at, _)| *at);
        [0.1..0.2, 0.9..1.1].map(|share| {
            [0, 1].map(|process| {
                let within = self.samples.iter().filter(|(at, _)| share.contains(&(at / whole)));
                let mut of: Vec<u64> = within.map(|(_, sample)| sample[process]).collect();
                of.sort_unstable();
                of.get(of.len() / 2).copied().unwrap_or(0)
            })
        })
    }
}
