//! Contexts as prompts, through the running authority and the command line: what a model is given is what was signed.

#[allow(dead_code)] // the reader's own tests use the rest
#[path = "../../contexts/src/prompt/reader_tests.rs"]
mod reader;

use std::process::{Command, Output};

use semgate_contexts::{Context, DocumentLimits, Prefix, library};
use serde_json::Value;

use crate::support;
use reader::Read;
use support::{SEMGATE, Up};

const TRAVEL: &str = "urn:contexts:travel:v2.1";

fn semgate(up: &Up, words: &[&str]) -> Output {
    Command::new(SEMGATE).args(words).arg("--dir").arg(&up.dir).output().unwrap()
}

fn shipped(name: &str) -> Context {
    let (_, bytes) = library::all().iter().find(|(known, _)| *known == name).unwrap();
    Context::check(bytes, &Prefix::default(), &DocumentLimits::default()).unwrap()
}

#[test]
fn f0_33_the_prompt_of_travel_round_trips_every_name_and_code_in_it_is_in_the_document() {
    let up = Up::start();
    let served = up.authority(&format!("/v1/contexts/{TRAVEL}/prompt"));
    assert_eq!(
        (served.status, served.header("content-type").as_deref()),
        (200, Some("text/plain; charset=utf-8"))
    );
    let prompt = String::from_utf8(served.body.clone()).unwrap();
    let (read, document) = (Read::of(&prompt), shipped("travel-v2.1"));
    assert_eq!((read.urn.as_str(), read.digest), (TRAVEL, document.digest().to_string()));
    assert_eq!(read.terms.into_iter().collect::<Vec<_>>(), ["bookFlight"]);
    let members: Vec<&str> = read.members.iter().map(|(_, path)| path[0].as_str()).collect();
    assert_eq!(members, ["date", "dest_code", "origin_code", "booking_reference", "status"]);
    let codes: Vec<String> = read.codes.into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, document.code_list("airports").unwrap());
    let value: Value = serde_json::from_slice(document.bytes()).unwrap();
    for value_of_status in &read.values {
        let all = &value["tasks"]["bookFlight"]["results"]["properties"]["status"]["enum"];
        assert!(all.as_array().unwrap().contains(&value_of_status.as_str().into()), "{value_of_status}");
    }
    assert_eq!(read.more, []);
    let told = semgate(&up, &["context", "prompt", "travel:v2.1"]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(String::from_utf8(told.stdout).unwrap(), prompt, "the command verifies, and writes the same");
}

#[test]
fn a_budget_bounds_the_prompt_and_names_its_etag() {
    let up = Up::start();
    let path = |budget: &str| format!("/v1/contexts/{TRAVEL}/prompt{budget}");
    let (whole, small) = (up.authority(&path("")), up.authority(&path("?budget=400")));
    assert_eq!(small.status, 200);
    assert!(small.body.len() <= 800 && small.body.len() < whole.body.len());
    let text = String::from_utf8(small.body.clone()).unwrap();
    assert!(text.contains("ask `list_codes`"), "{text}");
    assert_ne!(whole.header("etag"), small.header("etag"));
    assert_eq!(up.authority(&path("?budget=4096")).header("etag"), whole.header("etag"));
    for wrong in [
        "?budget=0",
        "?budget=1",
        "?budget=-1",
        "?budget=1000001",
        "?budget=4&budget=4",
        "?more=1",
        "?budget=%34000",
    ] {
        let refused = up.authority(&path(wrong));
        assert_eq!((refused.status, refused.code().as_str()), (422, "parameter_invalid"), "{wrong}");
    }
    for (urn, status, code) in [
        ("urn:contexts:travel:v9.9", 404, "context_unknown"),
        ("travel", 404, "context_unknown"),
        ("urn:contexts:payment:v1.0", 410, "context_not_current"), // below its floor
    ] {
        let refused = up.authority(&format!("/v1/contexts/{urn}/prompt"));
        assert_eq!((refused.status, refused.code().as_str()), (status, code), "{urn}");
    }
}

#[test]
fn attack_a_revoked_or_suspended_context_reaches_no_model() {
    let up = Up::start();
    let prompt = || up.authority(&format!("/v1/contexts/{TRAVEL}/prompt"));
    assert_eq!(prompt().status, 200, "and it is cached now");
    for (words, status, said) in [
        (vec!["context", "suspend", "travel:v2.1"], 410, "suspended"),
        (vec!["context", "resume", "travel:v2.1"], 200, "status: valid"),
        (vec!["context", "retire", "travel:v2.1"], 200, "status: deprecated"),
        (vec!["context", "revoke", "travel:v2.1", "--yes"], 410, "revoked"),
    ] {
        let done = semgate(&up, &words);
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        let served = prompt();
        assert_eq!(served.status, status, "{words:?}");
        assert!(String::from_utf8_lossy(&served.body).contains(said), "{words:?}");
        let told = semgate(&up, &["context", "prompt", "travel:v2.1"]);
        assert_eq!(told.status.success(), status == 200, "{words:?}");
        let all = [told.stdout, told.stderr].concat();
        assert!(String::from_utf8_lossy(&all).contains(said), "{}", String::from_utf8_lossy(&all));
    }
}

#[test]
fn a_local_file_is_verified_if_it_is_signed_and_says_that_its_status_is_unchecked() {
    let up = Up::start();
    let signed = up.dir.join("travel.jws");
    let done = semgate(&up, &["context", "fetch", "travel:v2.1", "--out", signed.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told = semgate(&up, &["context", "prompt", "--file", signed.to_str().unwrap()]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success() && text.contains("status: unchecked\n"), "{text}");
    let jws = std::fs::read_to_string(&signed).unwrap();
    let mut changed: Value = serde_json::from_str(&jws).unwrap();
    let payload = changed["payload"].as_str().unwrap();
    changed["payload"] = format!("{}A{}", &payload[..40], &payload[41..]).into();
    std::fs::write(&signed, changed.to_string()).unwrap();
    let told = semgate(&up, &["context", "prompt", "--file", signed.to_str().unwrap()]);
    assert_eq!(told.status.code(), Some(1));
    assert!(told.stdout.is_empty(), "nothing that does not verify is written");
    let other = semgate(
        &up,
        &["context", "prompt", "payment:v2.0", "--file", "../contexts/library/travel-v2.1.json"],
    );
    assert_eq!(other.status.code(), Some(1), "the file is of another context");
    let why = String::from_utf8_lossy(&other.stderr);
    assert!(
        why.contains("the file holds `urn:contexts:travel:v2.1`, not `urn:contexts:payment:v2.0`"),
        "{why}"
    );
    let bare = semgate(&up, &["context", "prompt", "--file", "../contexts/library/travel-v2.1.json"]);
    let text = String::from_utf8(bare.stdout).unwrap();
    assert!(bare.status.success() && text.contains("status: unchecked\n"), "{text}");
}
