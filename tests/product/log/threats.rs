//! The threats of the TUF specification, section 1.5.2, each through the running binaries: a gateway that follows a mirror which lies, and
//! `log verify` of the same mirror (`docs/threats.md`).

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use semgate_certs::{Chain, ChainLimits, KeyPair};
use semgate_statement::jws::SigningIdentity;
use semgate_statement::{Head, LogKey, TreeHash};
use serde_json::Value;

use crate::log::mirror::{Lie, Mirror};
use crate::support::gateway::{Gateway, Scripted};
use crate::support::strangers::{
    DECISION, REPLY, Told, bad, gateway_of, gateway_status, good, publish, text, verdict,
};
use crate::support::{Up, wait_for};

/// A running authority, a mirror of it, and a gateway that knows the mirror alone.
/// They end in this order.
struct Scene {
    gateway: Gateway,
    _behind: Scripted,
    mirror: Mirror,
    told: Told,
    up: Arc<Up>,
}

fn scene() -> Scene {
    let up = Arc::new(Up::start());
    let told = Told::of(&up);
    let mirror = Mirror::of(&up);
    polled_often(&up);
    let (gateway, behind) = gateway_of(&up, &mirror.url, "[limits]\nfetch_timeout = \"2s\"\n");
    Scene { up, told, mirror, gateway, _behind: behind }
}

/// The gateways that are started from now on poll each second.
pub fn polled_often(up: &Up) {
    let config = up.path("/firewall_config");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, settings.replace("max_status_age = ", "poll = \"1s\"\nmax_status_age = "))
        .unwrap();
}

/// A gateway that may never be ready, since it is shown lies from the start.
fn begun(up: &Up, url: &str) -> (Gateway, Scripted) {
    let behind = Scripted::saying(REPLY.to_owned());
    let config = up.path("/firewall_config");
    let kept = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, kept.replace(up.text("/authority_url"), url)).unwrap();
    let gateway = Gateway::begun(up, behind.address, "");
    std::fs::write(&config, kept).unwrap();
    (gateway, behind)
}

impl Scene {
    fn size(&self) -> u64 {
        gateway_status(&self.gateway)["authorities"][0]["size"].as_u64().unwrap()
    }

    /// A stranger's verdict on what the mirror shows.
    fn stranger_says(&self, what: &str) {
        let (_, said) = bad(&self.told.words(&["log", "verify", &self.mirror.url]));
        assert!(said.contains(what), "{said}");
    }

    /// The gateway refuses what the mirror shows, for this reason, and stays with what it knows.
    fn gateway_says(&self, what: &str) {
        let (size, from) = (self.size(), self.gateway.log().len());
        wait_for(what, || self.gateway.log()[from..].contains(what).then_some(()));
        assert_eq!(self.size(), size, "nothing of it was accepted");
        assert_eq!(verdict(&self.gateway), (200, String::new()), "what was known before still counts");
    }

    /// The truth is all that it takes to go on.
    fn recovers(&self) {
        self.mirror.is_honest_again();
        let urn = format!("urn:contexts:acme:v{}.0", self.size());
        publish(&self.up, &urn);
        let newest = Told::of(&self.up);
        let report = good(&newest.words(&["--json", "log", "verify", self.up.text("/authority_url")]));
        let report: Value = serde_json::from_str(&report).unwrap();
        wait_for("the gateway to follow the truth", || {
            (Some(self.size()) == report["size"].as_u64()).then_some(())
        });
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// The shards that a head names, by hex.
fn shards(head: &Head) -> Vec<String> {
    head.shards.iter().map(|shard| shard.hex()).collect()
}

fn head_of(up: &Up) -> Head {
    let jws = up.authority("/v1/feed/head").json();
    let payload = BASE64_URL_SAFE_NO_PAD.decode(jws["payload"].as_str().unwrap()).unwrap();
    Head::read(&payload).unwrap()
}

/// What a thief took from the machine: the identity in these files.
fn stolen(up: &Up, name: &str) -> SigningIdentity {
    identity(&up.dir.join("authority/keys").join(name))
}

fn identity(place: &Path) -> SigningIdentity {
    let read = |end: &str| std::fs::read_to_string(place.with_extension(end)).unwrap();
    let chain = Chain::from_pem(&read("pem"), &ChainLimits::default()).unwrap();
    SigningIdentity::new(KeyPair::from_pem(&read("key"), &SystemRandom::new()).unwrap(), chain)
}

#[test]
fn mix_and_match_files_of_two_moments_are_refused_by_name() {
    let scene = scene();
    let (up, mirror) = (&scene.up, &scene.mirror);
    let old = |path: &str| up.authority(path).body;
    let before = head_of(up);
    let old_shard = old(&format!("/v1/feed/shards/{}", shards(&before)[0]));
    let (old_floors, old_listing, old_checkpoint) =
        (old("/v1/floors"), old("/v1/contexts"), old("/checkpoint"));
    // The mirror keeps the gateway where it is until the lies are ready.
    mirror.says("/v1/feed/head", old("/v1/feed/head"));
    publish(up, "urn:contexts:acme:v1.0");
    assert!(up.semgate(&["context", "floor", "acme", "v1.0"]).status.success());
    assert!(up.semgate(&["context", "revoke", "travel:v2.1"]).status.success());
    let after = head_of(up);
    for (path, bytes, stranger, gateway) in [
        (
            "/v1/floors".to_owned(),
            old_floors,
            "error: the log itself is valid, but other served files are not: the floors differ",
            Some("the floors differ from those that the head names"),
        ),
        (
            format!("/v1/feed/shards/{}", shards(&after)[0]),
            old_shard,
            "status shard 0",
            Some("status shard 0 is not the one"),
        ),
        ("/checkpoint".to_owned(), old_checkpoint, "`/checkpoint` is older than the head", None),
        ("/v1/contexts".to_owned(), old_listing, "not: the listing differs", None),
    ] {
        mirror.is_honest_again();
        mirror.says(&path, bytes);
        scene.stranger_says(stranger);
        if let Some(what) = gateway {
            scene.gateway_says(what);
        }
    }
    scene.recovers();
    let (_, said) = up.say(&[
        "travel:v2.1",
        "bookFlight",
        r#"{"origin_code":"LAX","dest_code":"JFK","date":"2025-11-04"}"#,
    ]);
    assert_eq!(said["code"], "context_revoked");
}

#[test]
fn endless_and_slow_answers_end_at_their_bounds_and_messages_do_not_wait() {
    let scene = scene();
    let (up, mirror) = (&scene.up, &scene.mirror);
    let size = head_of(up).seq;
    for path in [
        "/v1/feed/head",
        "/v1/trust",
        "/v1/floors",
        "/v1/contexts",
        "/v1/feed/shards/",
        "/tile/entries/",
        "/tile/0/",
    ] {
        mirror.lie(path, Lie::Endless);
        let began = Instant::now();
        scene.stranger_says("is longer than its limit");
        assert!(began.elapsed() < Duration::from_secs(20), "{path}: {:?}", began.elapsed());
        assert!(
            mirror.sent() < 64 << 20,
            "{path}: no more is read than the longest answer and what sockets hold"
        );
        mirror.is_honest_again();
    }
    // Something must be new, or nothing but the head would be asked for.
    mirror.lie("/tile/", Lie::Endless);
    publish(up, "urn:contexts:umbrella:v1.0");
    scene.gateway_says("is longer than its limit");
    mirror.is_honest_again();
    mirror.lie("/v1/feed/head", Lie::Slow);
    let (from, began) = (scene.gateway.log().len(), Instant::now());
    wait_for("the slow answer to be given up", || {
        let asked = Instant::now();
        assert_eq!(verdict(&scene.gateway).0, 200);
        assert!(asked.elapsed() < Duration::from_secs(5), "a message waited {:?}", asked.elapsed());
        scene.gateway.log()[from..].contains("could not be reached").then_some(())
    });
    assert!(began.elapsed() < Duration::from_secs(30));
    scene.recovers();
    assert!(scene.size() > size);
}

/// With the feed key and the log key both stolen, nobody can be sent so far ahead that the truth looks old.
#[test]
fn fast_forward_a_head_of_tomorrow_or_of_a_log_that_is_not_there_locks_nobody_out() {
    let scene = scene();
    let (up, mirror) = (&scene.up, &scene.mirror);
    let (feed, random) = (stolen(up, "feed"), SystemRandom::new());
    let log = std::fs::read_to_string(up.dir.join("authority/keys/log.key")).unwrap();
    let log = LogKey::from_text(log.trim()).unwrap();
    let honest = head_of(up);
    let tomorrow = Head { issued_at: now() + 86_400, next_update: now() + 86_400 + 600, ..honest.clone() };
    mirror.says("/v1/feed/head", tomorrow.sign(&feed, &random).unwrap());
    scene.stranger_says("issued more than 60 seconds ahead");
    scene.gateway_says("issued more than 60 seconds ahead");
    let forever = Head { issued_at: now(), next_update: now() + 365 * 86_400, ..honest.clone() };
    mirror.says("/v1/feed/head", forever.sign(&feed, &random).unwrap());
    scene.gateway_says("claims a longer life than `max_status_age`");
    let seq = 60_000;
    let mut shards = honest.shards.clone();
    shards[0].entries = seq;
    let far = Head {
        seq,
        checkpoint: log.sign(seq, TreeHash([7; 32])).unwrap(),
        shards,
        issued_at: now(),
        next_update: now() + 600,
        ..honest
    };
    mirror.says("/v1/feed/head", far.sign(&feed, &random).unwrap());
    scene.stranger_says("/tile/");
    scene.gateway_says("for tile");
    scene.recovers();
}

/// TUF's wrong software: a good file in the place of another.
#[test]
fn wrong_version_a_context_in_the_place_of_another_is_not_taken_for_it() {
    let up = Arc::new(Up::start());
    let (told, mirror) = (Told::of(&up), Mirror::of(&up));
    let listed = up.authority("/v1/contexts").json();
    let digest = |urn: &str| {
        let all = listed["contexts"].as_array().unwrap();
        all.iter().find(|c| c["urn"] == urn).unwrap()["digest"].as_str().unwrap().to_owned()
    };
    let path = |urn: &str| format!("/v1/contexts/by-digest/{}", digest(urn));
    mirror.says(&path("urn:contexts:supplyChain:v1.0"), up.authority(&path("urn:contexts:travel:v2.1")).body);
    mirror.says(&path("urn:contexts:payment:v2.0"), up.authority(&path("urn:contexts:payment:v1.0")).body);
    let (_, said) = bad(&told.words(&["log", "verify", &mirror.url]));
    assert!(said.contains("the document is not the published one"), "{said}");
    let (gateway, _behind) = begun(&up, &mirror.url);
    for urn in ["supplyChain:v1.0", "payment:v2.0"] {
        let what = format!("`urn:contexts:{urn}`: the document is not the published one");
        wait_for(&what, || gateway.log().contains(&what).then_some(()));
    }
    assert_ne!(verdict(&gateway).0, 200);
    // Only the files lie: through the authority itself everything is well.
    assert_eq!(up.say(&["supplyChain:v1.0", "current_decision", DECISION]).0, 0);
}

/// Each online key by itself, in the hands of whoever also holds the mirror.
#[test]
fn a_stolen_online_key_alone_makes_nothing_count_and_is_replaced_while_gateways_run() {
    let scene = scene();
    let (up, mirror) = (&scene.up, &scene.mirror);
    let random = SystemRandom::new();
    // The log key: another history is signed, and no head tells of it.
    let log = std::fs::read_to_string(up.dir.join("authority/keys/log.key")).unwrap();
    let log = LogKey::from_text(log.trim()).unwrap();
    let honest = head_of(up);
    mirror.says("/checkpoint", log.sign(honest.seq, TreeHash([7; 32])).unwrap());
    scene.stranger_says("`/checkpoint` is older than the head or contradicts it");
    // The feed key: a head of another history lacks the log's signature.
    mirror.is_honest_again();
    let feed = stolen(up, "feed");
    let other = LogKey::from_seed(&honest.origin, &[3; 32]).unwrap();
    let forged = Head {
        checkpoint: other.sign(honest.seq, TreeHash([7; 32])).unwrap(),
        issued_at: now(),
        ..honest.clone()
    };
    mirror.says("/v1/feed/head", forged.sign(&feed, &random).unwrap());
    scene.stranger_says("head: ");
    scene.gateway_says("head: ");
    // The issuing key: a signer is minted and signs another document of a published name; the log does not name it.
    mirror.is_honest_again();
    let at = |name: &str| text(&up.dir.join(name));
    let issuing = at("authority/keys/context-issuing");
    let words = ["--usage", "context", "--line", "supplyChain", "--by", &issuing, "--out", &at("thief")];
    good(&[&["cert", "leaf"][..], &words].concat());
    let shipped =
        semgate_contexts::library::all().iter().find(|(name, _)| name.starts_with("supply")).unwrap().1;
    let mut document: Value = serde_json::from_slice(shipped).unwrap();
    document["description"] = "by a thief".into();
    std::fs::write(at("other.json"), document.to_string()).unwrap();
    let (cert, key) = (at("thief.pem"), at("thief.key"));
    good(&[
        "context",
        "sign",
        &at("other.json"),
        "--cert",
        &cert,
        "--key",
        &key,
        "--out",
        &at("signed.json"),
    ]);
    let listed = up.authority("/v1/contexts").json();
    let all = listed["contexts"].as_array().unwrap();
    let digest =
        all.iter().find(|c| c["urn"] == "urn:contexts:supplyChain:v1.0").unwrap()["digest"].as_str().unwrap();
    mirror.says(&format!("/v1/contexts/by-digest/{digest}"), std::fs::read(at("signed.json")).unwrap());
    scene.stranger_says("`urn:contexts:supplyChain:v1.0`: ");
    let (lied_to, _behind) = begun(up, &mirror.url);
    // The signer that was minted today could not have signed what was logged before.
    let what = "`urn:contexts:supplyChain:v1.0`: ";
    wait_for(what, || lied_to.log().contains(what).then_some(()));
    assert_ne!(verdict(&lied_to).0, 200);
    drop(lied_to);
    scene.recovers();
    replaced(&scene, &feed);
}

/// The root says that feed and status key were stolen: the authority goes on with new ones, and what the old ones sign counts nowhere.
fn replaced(scene: &Scene, feed: &SigningIdentity) {
    let (up, mirror) = (&scene.up, &scene.mirror);
    for role in ["feed", "status"] {
        let (draft, from) = (text(&up.dir.join(format!("{role}.json"))), scene.size().to_string());
        let stolen = text(&up.dir.join(format!("authority/keys/{role}.pem")));
        let said = |words: &[&str]| {
            let done = up.semgate(words);
            assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        };
        said(&["trust", "compromise", &stolen, "--from", &from, "--out", &draft]);
        good(&["trust", "sign", &draft, "--key", &text(&up.dir.join("offline/root.key"))]);
        said(&["trust", "submit", &draft]);
    }
    let size = head_of(up).seq;
    wait_for("the gateway to hear of the theft", || (scene.size() == size).then_some(()));
    let again = Head { issued_at: now(), next_update: now() + 600, ..head_of(up) };
    mirror.says("/v1/feed/head", again.sign(feed, &SystemRandom::new()).unwrap());
    scene.stranger_says("signed by a compromised key");
    scene.gateway_says("signed by a compromised key");
    scene.recovers();
    // The new status key revokes, and it is heard.
    assert!(up.semgate(&["context", "revoke", "supplyChain:v1.0"]).status.success());
    wait_for("the revocation by the new key", || {
        (verdict(&scene.gateway).1 == "context_revoked").then_some(())
    });
    good(&scene.told.words(&["log", "verify", up.text("/authority_url")]));
}

/// `docs/threats.md` names tests that exist, and every test here is named there.
#[test]
fn the_page_of_threats_names_tests_that_exist() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
    let read = |file: &str| std::fs::read_to_string(format!("{root}{file}")).unwrap();
    let page = read("docs/threats.md");
    let mut threats = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (mut named, file) = (cells[3].split('`').skip(1).step_by(2), cells[4].trim_matches('`'));
        let code = read(file);
        let exist = named.all(|test| code.contains(&format!("fn {test}(")));
        assert!(exist && cells[3].contains('`'), "{row}");
        threats += 1;
    }
    assert!(threats >= 12, "{threats} rows");
    for test in
        include_str!("threats.rs").split("#[test]\nfn ").skip(1).map(|code| code.split('(').next().unwrap())
    {
        assert!(
            page.contains(&format!("`{test}`")) || test.starts_with("the_page"),
            "`{test}` is not on the page"
        );
    }
}
