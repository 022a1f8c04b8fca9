//! The scores against frozen texts: vectors bit for bit, rates on sets, disguises as properties.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]

mod bounds;
mod disguises;
mod fields;
mod floors;
mod golden;

use semgate_scan::{Model, Scanner, TextScores, Wanted};

const ALL: Wanted = Wanted { hidden: true, markers: true, injection: true, unusual: true };

fn scanner() -> Scanner {
    Scanner { model: Model::shipped() }
}

fn scan(text: &str) -> TextScores {
    scanner().scan(text, None, ALL)
}

/// Our own texts: business texts with look-alikes, attacks in the clear, and attacks in disguise.
#[derive(serde::Deserialize)]
struct OwnTexts {
    benign: Vec<String>,
    attacks: Vec<String>,
    disguised: Vec<Disguised>,
}

#[derive(serde::Deserialize)]
struct Disguised {
    disguise: String,
    text: String,
}

fn own_texts() -> OwnTexts {
    serde_json::from_str(include_str!("own.json")).unwrap()
}

fn proptest_config() -> proptest::test_runner::Config {
    let cases = std::env::var("SEMGATE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    proptest::test_runner::Config { cases, failure_persistence: None, ..Default::default() }
}
