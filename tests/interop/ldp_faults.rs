//! The reliability experiment of the LDP paper, with real faults: forty of four kinds, under the unmodified client and delegate. The paper
//! simulates it and completes all by falling back to text. Text is a poorer mode that nobody can check, so here it is the route that
//! decides: where it admits text all complete, and where it does not all end in a clean failure. No session breaks.

use crate::support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::gateway::{Gateway, free_address};
use support::ldp::{Client, Delegate, Route, up};

/// Faults of each kind on each route.
const EACH: usize = 5;
/// The faults, and the code that the client is shown.
const FAULTS: [(&str, &str, &str); 4] = [
    ("schema mismatch", "schema", "reply_refused"),
    ("codec incompatibility", "codec", "upstream_invalid"),
    ("version mismatch", "version", "upstream_invalid"),
    ("timeout degradation", "slow 3", "upstream_timeout"),
];

/// How the task of a client ended.
#[derive(Debug, PartialEq)]
enum End {
    Completed,
    CleanFailure,
}

fn establish(client: &mut Client) -> Value {
    client.does(&json!({"do": "forget"}));
    client.does(&json!({"do": "establish"}))
}

/// One fault: the frame fails with this code, then the client falls back to text as the protocol says.
fn recover(frames: &mut Client, texts: &mut Client, code: &str) -> End {
    let failed = frames.classifies();
    let raised = failed["raised"].as_str().unwrap_or_else(|| panic!("the fault shows: {failed}"));
    assert!(raised.starts_with(&format!("RuntimeError: Task failed [{code}]: ")), "{raised}");
    let opened = establish(texts);
    if let Some(raised) = opened["raised"].as_str() {
        assert!(raised.starts_with("ConnectionError: Session rejected [policy_denied]: "), "{raised}");
        return End::CleanFailure;
    }
    assert_eq!(opened["mode"], "text");
    let answered =
        texts.does(&json!({"do": "submit", "skill": "classify", "input": "Classify sentiment: ok"}));
    assert_eq!(answered["output"], "done: Classify sentiment: ok", "{answered}");
    End::Completed
}

#[test]
fn ldp_forty_faults() {
    let delegate = Delegate::python(&json!({}));
    let up = up();
    let [strict, lenient] = [free_address(), free_address()];
    let route = |listen, more: &str| {
        Route { listen, agent: Some("retailer-7"), upstream: delegate.address, more: more.to_owned() }
            .written(&up)
    };
    let routes = route(strict, "") + &route(lenient, "admit = [\"text\"]\nmin_payload_mode = \"text\"\n");
    let _gateway = Gateway::serving(&up, strict, &routes, "[limits]\nupstream_timeout = \"1s\"\n");
    let mut ends = Vec::new();
    let mut took = Duration::ZERO;
    for (listen, expected) in [(strict, End::CleanFailure), (lenient, End::Completed)] {
        let url = format!("http://{listen}");
        let mut frames = Client::python(&url, &json!({}));
        let mut texts = Client::python(&url, &json!({"modes": ["text"]}));
        establish(&mut frames);
        for (kind, behaviour, code) in FAULTS {
            for n in 0..EACH {
                delegate.behaves(behaviour);
                let began = Instant::now();
                let end = recover(&mut frames, &mut texts, code);
                took += began.elapsed();
                assert_eq!(end, expected, "{kind} {n}");
                // the session that met the fault goes on
                delegate.behaves("");
                let good = frames.classifies();
                assert_eq!(good["output"]["label"], "positive", "{kind} {n}: {good}");
                ends.push(end);
            }
        }
    }
    assert_eq!(ends.len(), 40);
    let completed = ends.iter().filter(|end| **end == End::Completed).count();
    println!(
        "{completed} completed in text, {} failed cleanly, {} ms each",
        40 - completed,
        took.as_millis() / 40
    );
    assert_eq!(completed, 20);
}
