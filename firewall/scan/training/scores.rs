//! Scores of texts, for calibration and evaluation: a JSON list of texts on standard input, one line of numbers for each on
//! standard output: raw score, `injection`, number of markers, `hidden`, and the names of the markers.
//!
//! `cargo run --release -p semgate-scan --example scores < texts.json`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a tool that prints")]

use semgate_scan::{Model, Scanner, Wanted};

fn main() {
    let texts: Vec<String> = serde_json::from_reader(std::io::stdin()).unwrap();
    let scanner = Scanner { model: Model::shipped() };
    let wanted = Wanted { hidden: true, markers: true, injection: true, unusual: false };
    for text in &texts {
        let scores = scanner.scan(text, None, wanted);
        let names: Vec<_> = scores.markers.names().collect();
        let (raw, count) = (scanner.raw(text), scores.markers.count());
        println!("{raw} {} {count} {} {}", scores.injection, scores.hidden, names.join(","));
    }
}
