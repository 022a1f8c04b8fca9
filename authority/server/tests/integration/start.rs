//! Starting: what is repaired, what is only said, and what stops the start. Nothing is repaired by guessing.

use crate::support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use http::StatusCode;
use ring::rand::SystemRandom;
use semgate_authority::{InitFault, InitOptions, RunFault, Status, init, rebuild_index, run, status};
use semgate_certs::{Chain, ChainLimits, Issuer, KeyPair, LeafProfile, LineScope, Usage};
use semgate_statement::Follower;
use semgate_statement::verify_log;
use support::*;

/// A place whose log has five contexts, a floor and a revocation; stopped.
async fn filled() -> Place {
    let place = Place::new();
    let running = place.start().await;
    for n in 0..5 {
        let urn = format!("urn:contexts:line{n}:v1.0");
        assert_eq!(running.client.publish(&document(&urn, "")).await.status, StatusCode::CREATED);
    }
    running.client.floor("line0", "v1.0").await;
    running.client.act("urn:contexts:line1:v1.0", "revoke").await;
    running.stop().await;
    place
}

async fn status_of(running: &Running) -> Status {
    serde_json::from_str(&running.admin("/status").await.1).unwrap()
}

/// Starts, holds what is served against the log, publishes one more, and answers what the index was.
async fn starts_whole(place: &Place) -> String {
    let running = place.start().await;
    let before = status_of(&running).await;
    let anyone = running.client_of(place, None);
    verify_log(&mut anyone.clone(), &place.follower_config(), now()).unwrap();
    let urn = format!("urn:contexts:more{}:v1.0", before.size);
    assert_eq!(running.client.publish(&document(&urn, "")).await.status, StatusCode::CREATED);
    anyone.ok(&format!("/v1/contexts/{urn}")).await;
    running.stop().await;
    before.index
}

async fn refuses(place: &Place, what: &str) {
    let fault =
        run(place.config(), Vec::new(), |_| panic!("it started"), std::future::pending()).await.unwrap_err();
    assert!(fault.to_string().contains(what), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_end_leaves_an_index_that_needs_no_work() {
    let place = filled().await;
    assert_eq!(starts_whole(&place).await, "ready");
    assert_eq!(starts_whole(&place).await, "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_deleted_damaged_cut_short_or_behind_is_rebuilt_and_it_is_said_so() {
    let place = filled().await;
    let index = place.state().join("index");
    fs::remove_dir_all(&index).unwrap();
    assert_eq!(starts_whole(&place).await, "rebuilt: missing");
    fs::write(index.join("db"), b"not sled").unwrap();
    assert!(starts_whole(&place).await.starts_with("rebuilt: "));
    let bytes = fs::read(index.join("db")).unwrap();
    fs::write(index.join("db"), &bytes[..bytes.len() / 3]).unwrap();
    assert!(starts_whole(&place).await.starts_with("rebuilt: "));
    fs::remove_file(index.join("conf")).unwrap();
    starts_whole(&place).await;
    // An index of yesterday: copied away, the log goes on, copied back.
    let yesterday = tempfile::tempdir().unwrap();
    copy(&index, yesterday.path());
    starts_whole(&place).await;
    fs::remove_dir_all(&index).unwrap();
    copy(yesterday.path(), &index);
    assert_eq!(starts_whole(&place).await, "rebuilt: behind the log");
    assert_eq!(starts_whole(&place).await, "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_is_rebuilt_offline_but_not_under_a_running_authority() {
    let place = filled().await;
    fs::remove_dir_all(place.state().join("index")).unwrap();
    let rebuilt = rebuild_index(&place.config()).unwrap();
    assert_eq!((rebuilt.size, rebuilt.contexts, rebuilt.missing_documents), (7, 5, 0));
    assert_eq!(starts_whole(&place).await, "ready");
    let running = place.start().await;
    assert!(matches!(rebuild_index(&place.config()), Err(RunFault::Locked(_))));
    refuses(&place, "another authority uses").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hash_tiles_are_repaired_and_leftovers_set_aside() {
    let place = filled().await;
    let log = place.state().join("log");
    fs::write(log.join("tile/0/000.p/7"), b"wrong").unwrap();
    fs::write(log.join("tile/entries/000.p/9"), b"never acknowledged").unwrap();
    fs::write(log.join("checkpoint.new"), b"half a checkpo").unwrap();
    fs::write(place.state().join("documents/x.json.new"), b"half").unwrap();
    assert_eq!(starts_whole(&place).await, "ready");
    assert_eq!(fs::read_dir(place.state().join("leftovers")).unwrap().count(), 1);
    assert!(!log.join("tile/entries/000.p/9").exists() && !log.join("checkpoint.new").exists());
    assert!(!place.state().join("documents/x.json.new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_no_statement_names_is_set_aside_and_a_missing_one_is_said() {
    let place = filled().await;
    let documents = place.state().join("documents");
    let orphan = documents.join(format!("{}.json", "0".repeat(64)));
    fs::write(&orphan, b"{}").unwrap();
    let lost = fs::read_dir(&documents).unwrap().map(|e| e.unwrap().path()).find(|p| *p != orphan).unwrap();
    let kept = fs::read(&lost).unwrap();
    fs::remove_file(&lost).unwrap();
    let running = place.start().await;
    assert!(!orphan.exists());
    assert_eq!(status_of(&running).await.missing_documents, 1);
    let digest = format!("sha-256:{}", lost.file_stem().unwrap().to_str().unwrap());
    let got = running.client.get(&format!("/v1/contexts/by-digest/{digest}")).await;
    assert_eq!(got.code(), "internal");
    running.stop().await;
    assert_eq!(status(&place.config()).unwrap().missing_documents, 1);
    fs::write(&lost, kept).unwrap();
    assert_eq!(starts_whole(&place).await, "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_damaged_or_rolled_back_does_not_start() {
    let place = filled().await;
    let bundle = place.state().join("log/tile/entries/000.p/7");
    let good = fs::read(&bundle).unwrap();
    let mut bad = good.clone();
    *bad.last_mut().unwrap() ^= 1;
    fs::write(&bundle, bad).unwrap();
    refuses(&place, "is damaged").await;
    fs::remove_file(&bundle).unwrap();
    refuses(&place, "it is missing").await;
    fs::write(&bundle, good).unwrap();

    // Yesterday's log under today's head: serving it would be a rollback.
    let yesterday = tempfile::tempdir().unwrap();
    copy(&place.state().join("log"), yesterday.path());
    starts_whole(&place).await;
    fs::remove_dir_all(place.state().join("log")).unwrap();
    copy(yesterday.path(), &place.state().join("log"));
    refuses(&place, "would be a rollback").await;

    // And none at all under it is not one that was never begun.
    fs::remove_dir_all(place.state().join("log")).unwrap();
    refuses(&place, "but the log has 0: serving it would be a rollback").await;
    let told = status(&place.config()).unwrap_err().to_string();
    assert!(told.contains("but the log has 0: serving it would be a rollback"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_document_is_not_served_and_the_same_publish_writes_it_again() {
    let place = filled().await;
    let urn = "urn:contexts:line2:v1.0";
    let running = place.start().await;
    let again = running.client.publish(&document(urn, "")).await;
    assert_eq!(again.status, StatusCode::OK);
    let digest = again.json()["digest"].as_str().unwrap().to_owned();
    running.stop().await;
    let path = place.state().join(format!("documents/{}.json", digest.strip_prefix("sha-256:").unwrap()));
    let other = fs::read_dir(place.state().join("documents")).unwrap().map(|e| e.unwrap().path());
    let other = fs::read(other.filter(|p| *p != path).min().unwrap()).unwrap();
    for damage in [Some(&other[..]), Some(b"{}"), None] {
        match damage {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        assert_eq!(status(&place.config()).unwrap().missing_documents, 1);
        assert_eq!(rebuild_index(&place.config()).unwrap().missing_documents, 1);
        let running = place.start().await;
        assert_eq!(status_of(&running).await.missing_documents, 1);
        let ready = running.admin("/readyz").await;
        assert_eq!((ready.0, ready.1.contains("1 documents are missing or damaged")), (StatusCode::OK, true));
        for path in [format!("/v1/contexts/{urn}"), format!("/v1/contexts/by-digest/{digest}")] {
            let got = running.client.get(&path).await;
            assert_eq!((got.status.as_u16(), got.code().as_str()), (500, "internal"));
        }
        let restored = running.client.publish(&document(urn, "")).await;
        assert_eq!((restored.status, restored.json()), (StatusCode::OK, again.json()));
        running.client.ok(&format!("/v1/contexts/by-digest/{digest}")).await;
        assert_eq!(running.admin("/readyz").await.1, "ok\n");
        assert_eq!(status_of(&running).await.missing_documents, 0);
        verify_log(&mut running.client.clone(), &place.follower_config(), now()).unwrap();
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_checkpoint_put_back_is_seen_before_anything_is_removed() {
    let place = filled().await;
    let yesterday = fs::read(place.state().join("log/checkpoint")).unwrap();
    starts_whole(&place).await;
    fs::write(place.state().join("log/checkpoint"), yesterday).unwrap();
    let before = files(&place.state());
    refuses(&place, "would be a rollback").await;
    assert!(rebuild_index(&place.config()).unwrap_err().to_string().contains("would be a rollback"));
    assert!(status(&place.config()).unwrap_err().to_string().contains("would be a rollback"));
    // Without the head too: the tiles tell.
    let head = fs::read(place.state().join("head.json")).unwrap();
    fs::remove_file(place.state().join("head.json")).unwrap();
    refuses(&place, "it is older than the entries").await;
    assert!(rebuild_index(&place.config()).unwrap_err().to_string().contains("older than the entries"));
    fs::write(place.state().join("head.json"), head).unwrap();
    assert_eq!(files(&place.state()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_of_an_older_log_are_not_taken_for_those_of_a_crash_when_there_is_no_head() {
    let place = filled().await;
    let orphan = place.state().join(format!("documents/{}.json", "0".repeat(64)));
    fs::write(&orphan, b"{}").unwrap();
    fs::remove_file(place.state().join("head.json")).unwrap();
    refuses(&place, "`head.json` is missing").await;
    assert!(orphan.is_file());
    fs::remove_file(&orphan).unwrap();
    assert_eq!(starts_whole(&place).await, "ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_a_head_on_disk_before_the_first_append() {
    let place = Place::new();
    let running = place.start().await;
    assert!(place.state().join("head.json").is_file());
    running.stop().await;
}

/// Every file with its bytes.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path))
        } else {
            out.push((path.clone(), fs::read(path).unwrap()))
        }
    }
    out.sort();
    out
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_do_not_fit_stop_the_start_and_are_named() {
    let place = filled().await;
    let keys = place.state().join("keys");
    let swap = |a: &str, b: &str| {
        let (x, y) = (fs::read(keys.join(a)).unwrap(), fs::read(keys.join(b)).unwrap());
        fs::write(keys.join(a), y).unwrap();
        fs::write(keys.join(b), x).unwrap();
    };
    for (a, b, what) in [
        ("feed.key", "status.key", "it is not the key of the configured certificate"),
        ("feed.pem", "status.pem", "feed.pem"),
        ("tls.key", "feed.key", "key"),
        ("context-issuing.pem", "feed.pem", "pem"),
    ] {
        swap(a, b);
        refuses(&place, what).await;
        swap(a, b);
    }
    let other = Place::with(|options| options.origin = Some("other.test/log".to_owned()));
    fs::copy(other.state().join("keys/log.key"), keys.join("log.key")).unwrap();
    refuses(&place, "it is the key of another log").await;
    let same_name = Place::new();
    fs::copy(same_name.state().join("keys/log.key"), keys.join("log.key")).unwrap();
    refuses(&place, "not signed by the configured log key").await;
}

/// A role certificate that ended a minute ago, with its key.
fn expired(place: &Place, usage: Usage) -> (String, String) {
    let random = &SystemRandom::new();
    let read = |name: &str| fs::read_to_string(place.state().join("keys").join(name)).unwrap();
    let chain = Chain::from_pem(&read("context-issuing.pem"), &ChainLimits::default()).unwrap();
    let issuing = KeyPair::from_pem(&read("context-issuing.key"), random).unwrap();
    let issuing = Issuer::from_parts(chain, issuing).unwrap();
    let key = KeyPair::generate(random).unwrap();
    let profile = LeafProfile::role(usage, LineScope::All, now() - 200).lifetime(140);
    (issuing.leaf(&profile, key.public(), random).unwrap().to_pem(), key.to_pem())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_renewal_an_expired_status_certificate_stops_acts_but_not_heads_and_an_expired_feed_certificate_the_start()
 {
    let place = filled().await;
    let config = place.path().join("authority.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("\nlog = {", "\nrenew = false\nlog = {")).unwrap();
    let keys = place.state().join("keys");
    let (chain, key) = expired(&place, Usage::Status);
    fs::write(keys.join("status.pem"), chain).unwrap();
    fs::write(keys.join("status.key"), key).unwrap();
    let running = place.start().await;
    let got = running.client.act("urn:contexts:line2:v1.0", "revoke").await;
    assert_eq!((got.status.as_u16(), got.code().as_str()), (503, "signer_unavailable"));
    assert_eq!(running.client.floor("line2", "v1.0").await.code(), "signer_unavailable");
    let got = running.client.publish(&document("urn:contexts:line2:v1.1", "")).await;
    assert_eq!(got.status, StatusCode::CREATED);
    let roles = status_of(&running).await.roles;
    assert!(roles.iter().any(|role| role.role == "status" && role.not_after.is_none()), "{roles:?}");
    running.stop().await;
    let (chain, key) = expired(&place, Usage::Feed);
    fs::write(keys.join("feed.pem"), chain).unwrap();
    fs::write(keys.join("feed.key"), key).unwrap();
    refuses(&place, "feed.pem` cannot be used").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_role_certificates_are_replaced_by_the_authority_itself() {
    let place = filled().await;
    let keys = place.state().join("keys");
    for (usage, name) in [(Usage::Status, "status"), (Usage::Feed, "feed")] {
        let (chain, key) = expired(&place, usage);
        fs::write(keys.join(format!("{name}.pem")), chain).unwrap();
        fs::write(keys.join(format!("{name}.key")), key).unwrap();
    }
    let running = place.start().await;
    let got = running.client.act("urn:contexts:line2:v1.0", "revoke").await;
    assert_eq!(got.status, StatusCode::CREATED);
    assert!(status_of(&running).await.roles.iter().all(|role| role.not_after.is_some()));
    let mut follower = Follower::without_memory(place.follower_config());
    assert_eq!(running.client.follow(&mut follower).await, Ok(()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_is_written_is_for_the_owner_alone() {
    let place = filled().await;
    let mut all: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    while let Some(path) = all.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
            all.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{} {mode:o}", path.display());
        }
    }
}

#[test]
fn init_overwrites_nothing_and_writes_nothing_if_anything_is_there() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("roots.pem"), "mine").unwrap();
    let fault = init(dir.path(), &InitOptions::on_loopback("semgate.test")).unwrap_err();
    assert!(matches!(&fault, InitFault::Exists(path) if path.ends_with("roots.pem")), "{fault}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    fs::remove_file(dir.path().join("roots.pem")).unwrap();
    let made = init(dir.path(), &InitOptions::on_loopback("semgate.test")).unwrap();
    assert_eq!(made.written.len(), 16);
    assert!(matches!(init(dir.path(), &InitOptions::on_loopback("semgate.test")), Err(InitFault::Exists(_))));
}

#[test]
fn init_refuses_names_that_no_certificate_or_note_can_hold() {
    for change in [
        |o: &mut InitOptions| o.origin = Some("two words".to_owned()),
        |o: &mut InitOptions| o.trust_domain = "Not A Domain".to_owned(),
        |o: &mut InitOptions| o.lines = vec!["-".to_owned()],
        |o: &mut InitOptions| o.server_names = vec!["*.example.org".to_owned()],
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut options = InitOptions::on_loopback("semgate.test");
        change(&mut options);
        assert!(matches!(init(dir.path(), &options), Err(InitFault::Option(_))));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[test]
fn init_writes_the_address_that_status_list_tokens_are_fetched_at() {
    let at = |listen: &str, names: &[&str], addresses: &[&str]| {
        let place = Place::with(|o| {
            o.listen = listen.parse().unwrap();
            o.server_names = names.iter().map(|n| (*n).to_owned()).collect();
            o.server_addresses = addresses.iter().map(|a| a.parse().unwrap()).collect();
        });
        place.config().public_url
    };
    assert_eq!(at("127.0.0.1:7443", &["localhost"], &["127.0.0.1"]), "https://127.0.0.1:7443");
    assert_eq!(at("[::1]:7443", &["localhost"], &["::1"]), "https://[::1]:7443");
    assert_eq!(
        at("0.0.0.0:7443", &["log.example.org", "x.org"], &["10.0.0.1"]),
        "https://log.example.org:7443"
    );
    assert_eq!(at("0.0.0.0:443", &["log.example.org"], &[]), "https://log.example.org");
    assert_eq!(at("0.0.0.0:7443", &[], &["10.0.0.1"]), "https://10.0.0.1:7443");
    // A port that is chosen when it starts is not known yet.
    assert_eq!(at("127.0.0.1:0", &["localhost"], &[]), "https://semgate.test");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { assert!(fs::copy(&path, &target).is_ok()) }
    }
}
