//! The agreement of a second person and the disk.

use super::*;

#[tokio::test]
async fn an_agreement_that_the_audit_log_cannot_take_costs_no_proposal() {
    let place = Place::new();
    let mut config = narrowed(&place);
    let (link, file) = (place.path().join("audit.link"), place.path().join("audit.jsonl"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    config.audit = link.clone();
    let running = place.start_with(config.clone()).await;
    let (ada, grace) = (running.client_of(&place, Some(ADA)), running.client_of(&place, Some(GRACE)));
    let urn = "urn:contexts:acme.stock:v1.0";
    assert_eq!(ada.publish(&document(urn, "")).await.status, 201);
    let proposed = ada.act(urn, "revoke").await;
    assert_eq!(proposed.status, 202, "{proposed:?}");
    let id = proposed.json()["proposal"].as_str().unwrap().to_owned();
    let approve = async || grace.post(&format!("/v1/proposals/{id}/approve"), "application/json", "").await;
    // a volume that takes no more, which the agreement is the first to meet
    point(&link, Path::new("/dev/full"));
    let held = std::fs::canonicalize(&file).unwrap();
    hangup();
    let began = std::time::Instant::now();
    while is_open(&held) {
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "the audit log is not opened anew");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let refused = approve().await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (507, "storage_full"));
    let waits = ada.ok("/v1/proposals").await.json();
    assert_eq!(waits["proposals"][0]["proposal"], id, "it was not recorded, and is not spent: {waits}");
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "valid");
    // as soon as lines are taken again, it is carried out
    point(&link, &file);
    hangup();
    while !is_open(&held) {
        assert!(began.elapsed() < std::time::Duration::from_secs(120), "the audit log is not opened anew");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(approve().await.status, 201);
    running.stop().await;
}

/// Whether this process has the file open.
fn is_open(file: &Path) -> bool {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter_map(|fd| std::fs::read_link(fd.path()).ok()).any(|at| at == file)
}
