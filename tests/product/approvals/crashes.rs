//! Approvals over crashes and time.

use super::{House, passes_once};
use crate::support::wait_for;

#[test]
fn a2h_silence_denies() {
    let house = House::asking("@approve_within(\"30s\")");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    wait_for("the end of the time to answer", || {
        house.bob().list("ended").iter().any(|hold| hold["state"] == "EXPIRED").then_some(())
    });
    house.refused("900", "approval_expired");
    assert_eq!(house.bob().decide("approve", &hold).code(), "conflict");
    assert!(house.bob().list("open").is_empty());
    assert_eq!(house.behind.received(), 0);
}

#[test]
fn a2h_killed_while_pending_and_while_approving() {
    let mut house = House::asking("");
    house.refused("900", "approval_pending");
    let hold = house.bob().asked();
    house.gateway.restart("KILL");
    assert_eq!(house.bob().asked()["id"], hold["id"], "the request is still there");
    house.bob().decide("approve", &hold);
    house.gateway.restart("KILL");
    passes_once(&house, "900");
    house.gateway.restart("KILL");
    house.refused("900", "approval_pending");
    assert_eq!(house.behind.received(), 1, "no second use");
}

#[test]
fn a2h_killed_at_any_point_of_many_approvals_never_runs_one_twice() {
    let mut house = House::asking("");
    for round in 0..6_u64 {
        let amounts: Vec<String> = (0..8).map(|n| (1_000 + round * 100 + n).to_string()).collect();
        for amount in &amounts {
            house.refused(amount, "approval_pending");
        }
        let holds = house.bob().list("open");
        for hold in &holds {
            house.bob().decide("approve", hold);
        }
        std::thread::scope(|scope| {
            for amount in &amounts {
                let (address, body) = (house.gateway.l8, super::payment("m", amount));
                scope.spawn(move || send_and_leave(address, &body));
            }
            std::thread::sleep(std::time::Duration::from_millis(round * 3));
        });
        house.gateway.restart("KILL");
        for amount in &amounts {
            house.pay(amount);
        }
    }
    let amount = |body: &String| {
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        value["content"]["amount"].to_string()
    };
    let ran: Vec<String> = house.behind.bodies().iter().map(amount).collect();
    let distinct: std::collections::BTreeSet<&String> = ran.iter().collect();
    assert_eq!(ran.len(), distinct.len(), "an action ran twice: {ran:?}");
    assert!(!ran.is_empty());
}

fn send_and_leave(address: std::net::SocketAddr, body: &str) {
    use std::io::Write;
    let Ok(mut stream) = std::net::TcpStream::connect(address) else { return };
    let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
    let mut answer = [0; 1024];
    let _ = std::io::Read::read(&mut stream, &mut answer);
}

#[test]
fn a_damaged_or_unsigned_journal_stops_the_start() {
    let mut house = House::asking("");
    house.refused("900", "approval_pending");
    house.bob().decide("approve", &house.bob().asked());
    house.gateway.kill();
    let state = house.gateway.audit.parent().unwrap().to_path_buf();
    let path = state.join("approvals.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("human://bob.sre", "human://alice.eng")).unwrap();
    let config = state.with_extension("toml");
    let run = std::process::Command::new(crate::support::SEMGATE)
        .args(["firewall", "run", "--config"])
        .arg(&config)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && errors.contains("did not sign"), "{errors}");
    std::fs::write(&path, &text).unwrap();
    house.gateway.start_again();
    wait_for("the gateway", || {
        (crate::support::plain_get(&format!("http://{}/readyz", house.gateway.admin)).status == 200)
            .then_some(())
    });
    passes_once(&house, "900");
}
