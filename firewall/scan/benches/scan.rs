//! Scores of a text of 200 characters.
//!
//! `cargo bench -p semgate-scan --bench scan`
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

fn main() {
    println!("see the next commit");
}
