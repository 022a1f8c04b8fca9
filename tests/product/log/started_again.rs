//! What a gateway that is started again asks for, through the running binary.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use crate::log::mirror::Mirror;
use crate::log::threats::polled_often;
use crate::support::gateway::Gateway;
use crate::support::strangers::{gateway_of, plain_size, publish, text, verdict};
use crate::support::{Up, wait_for};

const PAGES: &str = "/v1/contexts/published/";

/// What of the listing was asked for since the last call, and to the end of a round from now.
fn listed(mirror: &Mirror) -> Vec<String> {
    let mut asked = Vec::new();
    wait_for("a whole round", || {
        asked.extend(mirror.asked());
        (asked.iter().filter(|path| *path == "/v1/feed/head").count() > 2).then_some(())
    });
    asked.retain(|path| path.starts_with("/v1/contexts") && !path.contains("by-digest"));
    asked
}

fn end(gateway: &mut Gateway, mirror: &Mirror) {
    gateway.child.kill().unwrap();
    gateway.child.wait().unwrap();
    mirror.asked();
}

#[test]
fn a_gateway_that_is_started_again_asks_for_no_page_that_it_looked_through() {
    let up = Arc::new(Up::start());
    let mirror = Mirror::of(&up);
    polled_often(&up);
    let settings = up.path("/firewall_config");
    // what is shipped, which the policies speak of
    let shipped = semgate_contexts::library::all().iter();
    let shipped: BTreeSet<&str> = shipped.filter_map(|(name, _)| Some(name.split_once("-v")?.0)).collect();
    let narrow = format!("lines = {shipped:?}").replace('{', "[").replace('}', "]");
    let every = "lines = [\"*\"]";
    let told = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, told.replace(every, &narrow)).unwrap();
    let (mut gateway, _behind) = gateway_of(&up, &mirror.url, "");
    let name = format!("gateway-{}", gateway.l8.port());
    let state = up.dir.join(&name).join("authorities").join("semgate.test");
    let size = || {
        let note = up.authority("/checkpoint").body;
        let dir = up.dir.join("note");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("checkpoint"), note).unwrap();
        plain_size(&dir)
    };
    let first = size();
    assert_eq!(listed(&mirror), [format!("{PAGES}0-{first}")]);
    assert_eq!(verdict(&gateway), (200, String::new()));
    assert_eq!(position(&state)["upto"], first);

    end(&mut gateway, &mirror);
    gateway.start_again();
    assert_eq!(listed(&mirror), [""; 0], "nothing that was looked through");
    end(&mut gateway, &mirror);
    publish(&up, "urn:contexts:acme:v1.0");
    gateway.start_again();
    assert_eq!(listed(&mirror), [format!("{PAGES}{first}-{}", first + 1)], "what came after");

    // more lines than before
    end(&mut gateway, &mirror);
    let config = up.dir.join(format!("{name}.toml"));
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, settings.replace(&narrow, every)).unwrap();
    gateway.start_again();
    let whole = [format!("{PAGES}0-{}", first + 1)];
    assert_eq!(listed(&mirror), whole, "what the other lines had before");
    assert_eq!(position(&state)["lines"], serde_json::json!(["*"]));

    // nothing is left but the position
    end(&mut gateway, &mirror);
    for entry in std::fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => std::fs::remove_dir_all(&path).unwrap(),
            false if text(&path).ends_with("looked.json") => {}
            false => std::fs::remove_file(&path).unwrap(),
        }
    }
    gateway.start_again();
    assert_eq!(listed(&mirror), whole, "a position without what it is of");
    assert_eq!(verdict(&gateway), (200, String::new()));
}

/// How far it is remembered to have looked.
fn position(state: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(state.join("looked.json")).unwrap()).unwrap()
}
