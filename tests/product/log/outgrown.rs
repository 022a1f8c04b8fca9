//! A log that outgrew its listing, through the running binary.

use crate::support::Up;
use crate::support::strangers::{Told, gateway_of, good, mirror, text, verdict};

#[test]
fn a_log_that_outgrew_its_listing_is_listed_followed_proved_verified_and_mirrored_by_its_pages() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().join("up");
    Up::start_in(&place).stop();
    let config = place.join("authority.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    assert!(!settings.contains("[limits]"), "{settings}");
    std::fs::write(&config, format!("{settings}\n[limits]\nlisting_bytes = 1024\n")).unwrap();
    let up = Up::start_in(&place);
    let whole = up.authority("/v1/contexts");
    assert_eq!((whole.status, whole.code().as_str()), (410, "listing_paged"));
    assert!(up.semgate(&["context", "revoke", "travel:v2.1"]).status.success());

    let listed = up.semgate(&["context", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let shipped = semgate_contexts::library::all().len();
    assert_eq!(listed.matches(" sha-256:").count(), shipped, "{listed}");
    let status_of = |urn: &str| {
        let line = listed.lines().find(|line| line.contains(urn)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    assert_eq!(status_of("urn:contexts:travel:v2.1"), "revoked");
    assert_eq!(status_of("urn:contexts:payment:v1.1"), "published");

    let url = up.text("/authority_url");
    let (gateway, _behind) = gateway_of(&up, url, "");
    assert_eq!(verdict(&gateway), (200, String::new()));

    let told = Told::of(&up);
    good(&told.words(&["log", "proof", "payment:v1.1", "--from", url]));
    good(&told.words(&["log", "verify", url]));
    let dir = up.dir.join("mirror");
    mirror(&up, &dir);
    good(&told.words(&["log", "verify", &text(&dir)]));
    let page = std::fs::read(dir.join(format!("v1/contexts/published/0-{}", shipped + 2))).unwrap();
    assert!(String::from_utf8(page).unwrap().contains("urn:contexts:payment:v1.1"));
    assert!(dir.join("v1/contexts/urn:contexts:payment:v1.1").exists(), "contexts are there by name too");
}
