//! Scores of texts, for calibration and evaluation: a JSON list of texts on standard input, one line of numbers for each on
//! standard output: raw score, `injection`, number of markers, `hidden`, and the names of the markers. With a JSON list of texts of
//! a field as argument also `unusual` at the end, and what the baseline found among held-out texts on standard error.
//!
//! `cargo run --release -p semgate-scan --example scores [FIELD.json] < texts.json`
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a tool that prints")]

use semgate_scan::{Baseline, Model, Scanner, Wanted};

fn main() {
    let texts: Vec<String> = serde_json::from_reader(std::io::stdin()).unwrap();
    let scanner = Scanner { model: Model::shipped() };
    let field = std::env::args().nth(1).map(|file| {
        let texts: Vec<String> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let (baseline, held) = Baseline::learn(&texts).unwrap();
        eprintln!("{held:?}");
        baseline
    });
    let wanted = Wanted { hidden: true, markers: true, injection: true, unusual: true };
    for text in &texts {
        let scores = scanner.scan(text, field.as_ref(), wanted);
        let names: Vec<_> = scores.markers.names().collect();
        let (raw, count) = (scanner.raw(text), scores.markers.count());
        let unusual = scores.unusual.map_or(String::new(), |rank| format!(" {rank}"));
        println!("{raw} {} {count} {} {}{unusual}", scores.injection, scores.hidden, names.join(","));
    }
}
