//! Addresses of IPv6, as people write them.

use super::support::gateway::free_address;
use super::{fresh, good, serve, text};
use crate::support::wait_for;

#[test]
fn fault_8_literals_of_ipv6_lead_to_authority_and_gateway_whose_certificates_name_them() {
    let made = fresh();
    let dir = text(&made.path);
    let six = || format!("[::1]:{}", free_address().port());
    let (authority, l8, a2a) = (six(), six(), six());
    let log = made.path.with_extension("log");
    let _up = serve(&["up", "--dir", dir, "--authority", &authority, "--l8", &l8, "--a2a", &a2a], &log);
    wait_for("up.json", || made.path.join("up.json").exists().then_some(()));
    let allowed = good(&[
        "say",
        "--dir",
        dir,
        "supplyChain:v1.0",
        "current_decision",
        r#"{"item_id":"beer","quantity":120}"#,
    ]);
    assert!(allowed.starts_with("ALLOWED"), "{allowed}");
    let url = format!("https://{authority}");
    let roots = made.path.join("roots.pem");
    let listed = good(&["context", "list", "--authority", &url, "--roots", text(&roots)]);
    assert!(listed.contains("urn:contexts:payment:v1.1"), "{listed}");
    let key = std::fs::read_to_string(made.path.join("authority/keys/log.pub")).unwrap();
    let verified = good(&["log", "verify", &url, "--roots", text(&roots), "--log-key", key.trim()]);
    assert!(verified.contains("size: 15"), "{verified}");
    let card = good(&["call", "--dir", dir, "--route", "a2a", "--card"]);
    assert!(card.contains(&format!("https://{a2a}")), "{card}");
}
