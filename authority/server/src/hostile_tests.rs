//! Disks that are full, read-only, broken or slow, under a running authority: nothing is acknowledged that is not there, the answer says what
//! is wrong, and nobody has to come and help.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, KeyPair, Suspect};
use semgate_statement::jws::MultiJws;
use semgate_statement::{RootAct, RootStatement, Statement, verify_log};

use crate::disk::hostile::{Plan, turn};
use crate::disk::{self, Step};
use crate::support::{Got, Place, Running, document, now};

/// What was acknowledged: URN, digest, index.
type Told = Vec<(String, String, u64)>;

/// Offers a document; what is acknowledged is remembered.
async fn offer(running: &Running, urn: &str, told: &mut Told) -> Got {
    let got = running.client.publish(&document(urn, "")).await;
    if got.status.is_success() {
        let answer = got.json();
        let digest = answer["digest"].as_str().unwrap().to_owned();
        told.push((urn.to_owned(), digest, answer["index"].as_u64().unwrap()));
    }
    got
}

/// Everything that was acknowledged is served at its place, and the log verifies from outside.
async fn holds(place: &Place, running: &Running, told: &Told) {
    let listed = running.client.ok("/v1/contexts").await.json();
    for (urn, digest, index) in told {
        let at = listed["contexts"].as_array().unwrap().iter().find(|c| c["index"] == *index);
        let at = at.unwrap_or_else(|| panic!("`{urn}` was acknowledged at {index} and is not there"));
        assert_eq!((at["urn"].as_str(), at["digest"].as_str()), (Some(urn.as_str()), Some(digest.as_str())));
        running.client.ok(&format!("/v1/contexts/by-digest/{digest}")).await;
    }
    verify_log(&mut running.client.clone(), &place.follower_config(), now()).unwrap();
    let beside = || disk::list(&place.config().state.join("documents")).unwrap();
    let began = std::time::Instant::now();
    while let Some(name) = beside().iter().find(|name| name.ends_with(disk::UNFINISHED)) {
        assert!(began.elapsed() < Duration::from_secs(10), "`{name}` was refused and lies there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn state(place: &Place) -> std::path::PathBuf {
    place.config().state
}

/// Each step of a publication fails in turn, for a moment or from then on, in each way that disks fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fails_at_any_step_of_a_commit_gets_nothing_acknowledged_that_is_not_there() {
    let place = Place::new();
    let state = state(&place);
    let mut running = place.start().await;
    let mut told = Told::new();
    offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
    turn(&state, None);
    offer(&running, "urn:contexts:payment:v2.0", &mut told).await;
    let steps = turn(&state, None);
    assert!(steps > 10, "{steps} steps");
    let (mut major, mut ended) = (2, 0);
    for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::Other] {
        for (good, bad) in (0..=steps).flat_map(|good| [(good, 1), (good, usize::MAX)]) {
            major += 1;
            let urn = format!("urn:contexts:payment:v{major}.0");
            turn(&state, Some(Plan { bad, ..Plan::after(good, kind) }));
            let got = offer(&running, &urn, &mut told).await;
            turn(&state, None);
            let expected = match kind {
                ErrorKind::StorageFull => (507, "storage_full"),
                _ => (503, "storage_failed"),
            };
            match got.status.as_u16() {
                201 => {}
                503 if got.code() == "unfinished" => {
                    // At the commit point: only a new start can tell, and whoever supervises the process makes one.
                    ended += 1;
                    running.ended().await.unwrap_err();
                    running = place.start().await;
                }
                status => assert_eq!((status, got.code().as_str()), expected, "{kind} at step {good}"),
            }
            let again = offer(&running, &urn, &mut told).await;
            assert!(again.status.is_success(), "{kind} at step {good}: {again:?}");
        }
    }
    assert!(ended > 0 && ended < 60, "{ended} times the commit point was hit");
    holds(&place, &running, &told).await;
    running.stop().await;
    let running = place.start().await;
    holds(&place, &running, &told).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_and_reads_and_heads_go_on_and_so_do_writes_when_there_is_room() {
    let place = Place::with(|options| options.status_lifetime = Duration::from_secs(2));
    let state = state(&place);
    let running = place.start().await;
    let mut told = Told::new();
    offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
    turn(&state, Some(Plan::after(0, ErrorKind::StorageFull)));
    let before = running.client.ok("/v1/feed/head").await.etag();
    for n in 0..5 {
        let got = offer(&running, &format!("urn:contexts:payment:v2.{n}"), &mut told).await;
        assert_eq!((got.status, got.code().as_str()), (StatusCode::INSUFFICIENT_STORAGE, "storage_full"));
        assert!(got.headers.contains_key("retry-after"));
        // A line without a signer yet: its key cannot be stored, so nothing is signed with it.
        let got = offer(&running, &format!("urn:contexts:new{n}:v1.0"), &mut told).await;
        assert_eq!(got.code(), "storage_full");
        let got = running.client.act("urn:contexts:payment:v1.0", "suspend").await;
        assert_eq!(got.code(), "storage_full");
    }
    let began = std::time::Instant::now();
    while running.client.ok("/v1/feed/head").await.etag() == before {
        assert!(began.elapsed() < Duration::from_secs(10), "the head is not renewed while the disk is full");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    holds(&place, &running, &told).await;
    turn(&state, None);
    for n in 0..5 {
        let got = offer(&running, &format!("urn:contexts:payment:v2.{n}"), &mut told).await;
        assert_eq!(got.status, StatusCode::CREATED);
    }
    holds(&place, &running, &told).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_slow_disk_keeps_waiting_is_not_acknowledged_and_not_lost() {
    let place = Place::new();
    let text = std::fs::read_to_string(&place.made.config).unwrap();
    std::fs::write(&place.made.config, text + "[limits]\nanswer_timeout = \"100ms\"\n").unwrap();
    let state = state(&place);
    let running = place.start().await;
    let mut told = Told::new();
    offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
    let slow = |step: Step, _: &Path| step == Step::Sync;
    let delay = Duration::from_millis(150);
    turn(&state, Some(Plan { good: 0, fault: None, bad: 0, delay, counts: slow }));
    let got = offer(&running, "urn:contexts:payment:v2.0", &mut told).await;
    assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "unfinished"));
    turn(&state, None);
    let began = std::time::Instant::now();
    let done = loop {
        let got = offer(&running, "urn:contexts:payment:v2.0", &mut told).await;
        if got.status.is_success() {
            break got;
        }
        assert_eq!(got.code(), "unfinished");
        assert!(began.elapsed() < Duration::from_secs(20));
    };
    assert_eq!(done.status, StatusCode::OK, "it was published the first time");
    holds(&place, &running, &told).await;
    running.stop().await;
}

/// The volume of the last checkpoint is another one: full, it ends the process instead of letting it tell what a restore could fork.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_volume_for_the_last_checkpoint_ends_the_process_and_the_next_start_goes_on_once_there_is_room()
 {
    let place = Place::new();
    let volume = place.path().join("volume");
    std::fs::create_dir(&volume).unwrap();
    let config = || crate::Config { last_checkpoint: Some(volume.join("last")), ..place.whole_config() };
    let running = place.start_with(config()).await;
    let mut told = Told::new();
    offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
    turn(&volume, Some(Plan::after(0, ErrorKind::StorageFull)));
    let got = offer(&running, "urn:contexts:payment:v2.0", &mut told).await;
    assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "unfinished"));
    let fault = running.ended().await.unwrap_err().to_string();
    assert!(fault.contains("volume/last"), "{fault}");
    let fault =
        crate::run(config(), Vec::new(), |_| panic!("it started"), std::future::pending()).await.unwrap_err();
    assert!(fault.to_string().contains("volume"), "{fault}");
    turn(&volume, None);
    let running = place.start_with(config()).await;
    let got = offer(&running, "urn:contexts:payment:v2.0", &mut told).await;
    assert_eq!(got.status, StatusCode::OK, "it was committed, and only its answer was lost");
    offer(&running, "urn:contexts:payment:v3.0", &mut told).await;
    holds(&place, &running, &told).await;
    running.stop().await;
    // And with the volume away, nothing is signed.
    std::fs::rename(&volume, place.path().join("away")).unwrap();
    std::fs::create_dir(&volume).unwrap();
    let fault =
        crate::run(config(), Vec::new(), |_| panic!("it started"), std::future::pending()).await.unwrap_err();
    assert!(fault.to_string().contains("mount its volume"), "{fault}");
}

/// A kill between the rename of a checkpoint and the end of its commit leaves a name that is seen and may not be durable.
#[tokio::test(flavor = "multi_thread")]
async fn the_name_of_the_checkpoint_is_made_durable_before_anything_is_served_by_it() {
    let place = Place::new();
    let state = state(&place);
    place.start().await.stop().await;
    let of_the_log = |step: Step, path: &Path| step == Step::Sync && path.ends_with("log");
    turn(&state, Some(Plan { counts: of_the_log, ..Plan::after(0, ErrorKind::Other) }));
    let fault = crate::run(place.config(), Vec::new(), |_| panic!("it started"), std::future::pending())
        .await
        .unwrap_err();
    assert!(fault.to_string().contains("syncing"), "{fault}");
    turn(&state, None);
    place.start().await.stop().await;
}

const ADA: &str = "spiffe://semgate.test/ada";
const GRACE: &str = "spiffe://semgate.test/grace";

/// An authority that asks two persons for suspending, over a disk that is slow while one agrees: neither a caller who leaves nor one whom
/// the answer reaches too late has an agreement left that would do it again.
#[tokio::test(flavor = "multi_thread")]
async fn attack_an_agreement_that_nobody_waited_for_is_spent() {
    let slow = |step: Step, _: &Path| step == Step::Sync;
    for leaves in [true, false] {
        let place = Place::new();
        let mut config = place.config();
        config.publishers = [ADA, GRACE].map(crate::Publisher::of_everything).to_vec();
        config.four_eyes = vec![semgate_policies::PublisherAct::Suspend];
        if !leaves {
            config.limits.answer_timeout = Duration::from_millis(500);
        }
        let state = state(&place);
        let running = place.start_with(config.clone()).await;
        let (ada, grace) = (running.client_of(&place, Some(ADA)), running.client_of(&place, Some(GRACE)));
        let urn = "urn:contexts:payment:v1.0";
        assert_eq!(ada.publish(&document(urn, "")).await.status, StatusCode::CREATED);
        let proposed = ada.act(urn, "suspend").await;
        assert_eq!(proposed.status, StatusCode::ACCEPTED);
        let id = proposed.json()["proposal"].as_str().unwrap().to_owned();
        let path = format!("/v1/proposals/{id}/approve");
        let delay = Duration::from_millis(400);
        turn(&state, Some(Plan { good: 0, fault: None, bad: 0, delay, counts: slow }));
        if leaves {
            let asked = grace.post(&path, "application/json", "");
            assert!(
                tokio::time::timeout(Duration::from_millis(100), asked).await.is_err(),
                "it was answered"
            );
        } else {
            assert_eq!(grace.post(&path, "application/json", "").await.code(), "unfinished");
        }
        turn(&state, None);
        let began = std::time::Instant::now();
        while ada.ok("/v1/contexts").await.json()["contexts"][0]["status"] != "suspended" {
            assert!(began.elapsed() < Duration::from_secs(20), "it is done whoever leaves");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(ada.act(urn, "resume").await.status, StatusCode::CREATED);
        assert_eq!(grace.post(&path, "application/json", "").await.code(), "proposal_unknown", "{leaves}");
        assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "valid");
        running.stop().await;
        let recorded = std::fs::read_to_string(&config.audit).unwrap();
        assert_eq!(recorded.contains(r#""outcome":"approved""#), leaves, "{recorded}");
        assert!(!recorded.contains(r#""outcome":"abandoned""#), "{recorded}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_are_renewed_while_the_audit_log_hangs_and_nothing_is_done_that_is_not_on_record() {
    let place = Place::with(|options| options.status_lifetime = Duration::from_secs(2));
    let mut config = place.config();
    config.limits.audit_timeout = Duration::from_millis(300);
    let state = state(&place);
    let running = place.start_with(config).await;
    let mut told = Told::new();
    offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
    let (delay, began) = (Duration::from_secs(10), std::time::Instant::now());
    let hangs = |step: Step, path: &Path| step == Step::Sync && path.ends_with("audit.jsonl");
    turn(&state, Some(Plan { good: 0, fault: None, bad: 0, delay, counts: hangs }));
    for major in 2..5 {
        let got = offer(&running, &format!("urn:contexts:payment:v{major}.0"), &mut told).await;
        assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "storage_failed"));
    }
    for _ in 0..2 {
        let before = running.client.ok("/v1/feed/head").await.etag();
        while running.client.ok("/v1/feed/head").await.etag() == before {
            assert!(began.elapsed() < delay, "no head was renewed while the audit log hung");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    turn(&state, None);
    assert_eq!(running.client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len(), 1);
    while !offer(&running, "urn:contexts:payment:v2.0", &mut told).await.status.is_success() {
        assert!(began.elapsed() < 6 * delay, "it does not go on");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    holds(&place, &running, &told).await;
    assert_eq!(running.client.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len(), 2);
    running.stop().await;
}

/// An agreement that the full queue did not take is nobody's act: the proposal waits on for the next try.
#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_the_queue_did_not_take_waits_on() {
    let slow = |step: Step, path: &Path| {
        step == Step::Sync && !path.components().any(|part| part.as_os_str() == "proposals")
    };
    let place = Place::new();
    let mut config = place.config();
    config.publishers = [ADA, GRACE].map(crate::Publisher::of_everything).to_vec();
    config.four_eyes = vec![semgate_policies::PublisherAct::Suspend];
    (config.limits.answer_timeout, config.limits.queue) = (Duration::from_millis(500), 1);
    let state = state(&place);
    let running = place.start_with(config).await;
    let (ada, grace) = (running.client_of(&place, Some(ADA)), running.client_of(&place, Some(GRACE)));
    let urn = "urn:contexts:payment:v1.0";
    assert_eq!(ada.publish(&document(urn, "")).await.status, StatusCode::CREATED);
    let proposed = ada.act(urn, "suspend").await;
    assert_eq!(proposed.status, StatusCode::ACCEPTED);
    let path = format!("/v1/proposals/{}/approve", proposed.json()["proposal"].as_str().unwrap());
    let delay = Duration::from_secs(2);
    turn(&state, Some(Plan { good: 0, fault: None, bad: 0, delay, counts: slow }));
    // one is being committed and one waits behind it
    for major in 2..4 {
        let got = ada.publish(&document(&format!("urn:contexts:payment:v{major}.0"), "")).await;
        assert_eq!(got.code(), "unfinished");
    }
    let got = grace.post(&path, "application/json", "").await;
    assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "busy"));
    turn(&state, None);
    let began = std::time::Instant::now();
    while ada.ok("/v1/contexts").await.json()["contexts"].as_array().unwrap().len() < 3 {
        assert!(began.elapsed() < Duration::from_secs(60), "what was handed over is done");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "valid");
    assert_eq!(grace.post(&path, "application/json", "").await.status, StatusCode::CREATED);
    assert_eq!(ada.ok("/v1/contexts").await.json()["contexts"][0]["status"], "suspended");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attack_certificates_of_the_domain_that_are_no_publishers_do_not_fill_the_audit_log() {
    let place = Place::new();
    let mut config = place.config();
    config.limits.refusal_records = 1;
    let audit = config.audit.clone();
    let running = place.start_with(config).await;
    let (stranger, nobody) =
        (running.client_of(&place, Some("spiffe://semgate.test/nobody")), running.client_of(&place, None));
    let urn = "urn:contexts:payment:v1.0";
    for _ in 0..40 {
        assert_eq!(stranger.act(urn, "revoke").await.code(), "not_permitted");
        assert_eq!(nobody.act(urn, "revoke").await.code(), "certificate_required");
    }
    let (_, metrics) = running.admin("/metrics").await;
    assert!(metrics.contains("semgate_authority_strangers_refused_total 40"), "{metrics}");
    let written = std::fs::read_to_string(&audit).unwrap();
    let lines: Vec<serde_json::Value> =
        written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |by: serde_json::Value| lines.iter().filter(|line| line["by"] == by).collect::<Vec<_>>();
    for (by, code) in [
        ("spiffe://semgate.test/nobody".into(), "not_permitted"),
        (serde_json::Value::Null, "certificate_required"),
    ] {
        let of = of(by);
        // one more where a minute ended meanwhile, which says how many are missing
        assert!(matches!(of.len(), 1 | 2), "{written}");
        assert_eq!((&of[0]["outcome"], &of[0]["code"]), (&"refused".into(), &code.into()), "{written}");
        assert_eq!(of[0].get("unrecorded"), None);
        assert!(of.len() == 1 || of[1]["unrecorded"].as_u64().is_some_and(|n| n > 0), "{written}");
    }
    // a publisher's is written
    assert_eq!(running.client.act("urn:contexts:payment:v1.0", "revoke").await.code(), "context_unknown");
    assert!(std::fs::read_to_string(&audit).unwrap().contains("context_unknown"));
    running.stop().await;
}

/// That the feed key is compromised, signed by the root.
fn taken_back(place: &Place) -> String {
    let limits = ChainLimits::default();
    let pem = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let feed = Chain::from_pem(&pem("authority/keys/feed.pem"), &limits).unwrap();
    let suspect = Suspect::of(&feed.certificates()[0], &limits).unwrap();
    let act = RootAct::Compromised { key: suspect.certificate, spki: Some(suspect.key), from: 0 };
    let said =
        RootStatement { authority: "semgate.test".to_owned(), number: 1, act, reason: "stolen".to_owned() };
    let payload = Statement::Root(Box::new(said)).to_bytes().unwrap();
    let mut jws = MultiJws::draft(&payload, semgate_statement::statement::TYPE);
    let root = Chain::from_pem(&pem("offline/root.pem"), &limits).unwrap();
    let key = KeyPair::from_pem(&pem("offline/root.key"), &SystemRandom::new()).unwrap();
    jws.sign(&key, &root.thumbprint(), &SystemRandom::new()).unwrap();
    jws.to_text().unwrap()
}

/// The new feed key was in use and the head by the old one went on, so that tokens did not fit the head. A disk that was full for a moment takes
/// a statement of the root from the reserved room.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_root_said_and_the_disk_did_not_take_leaves_a_head_and_tokens_of_one_key() {
    let (mut refused, mut taken) = (0, 0);
    let kinds = [ErrorKind::ReadOnlyFilesystem, ErrorKind::StorageFull];
    for (good, kind) in (0..24).flat_map(|good| kinds.map(|kind| (good, kind))) {
        let place = Place::new();
        let state = state(&place);
        let running = place.start().await;
        let mut told = Told::new();
        offer(&running, "urn:contexts:payment:v1.0", &mut told).await;
        let hand_in =
            async || running.client.post("/v1/trust", "application/jose+json", &taken_back(&place)).await;
        turn(&state, Some(Plan { bad: 1, ..Plan::after(good, kind) }));
        let got = hand_in().await;
        turn(&state, None);
        let code = if got.status == StatusCode::CREATED { "201".to_owned() } else { got.code() };
        match code.as_str() {
            "201" => taken += usize::from(kind == ErrorKind::StorageFull),
            "unfinished" => {
                running.ended().await.unwrap_err();
                continue;
            }
            "storage_failed" if kind != ErrorKind::StorageFull => refused += 1,
            // the line of the audit log was lost on its way to the disk, and nothing is done by it
            "storage_full" if good == 0 => {}
            other => panic!("{other} at step {good} of {kind}"),
        }
        let began = std::time::Instant::now();
        while let Err(fault) = verify_log(&mut running.client.clone(), &place.follower_config(), now()) {
            assert!(began.elapsed() < Duration::from_secs(5), "at step {good}: {fault}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(hand_in().await.status.is_success(), "at step {good}");
        holds(&place, &running, &told).await;
        running.stop().await;
    }
    assert!(refused > 3 && taken > 12, "{refused} times it was refused, {taken} times it was taken");
}
