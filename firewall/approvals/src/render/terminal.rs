//! The terminal: coloured text.

use std::fmt::Write;

use super::card::Card;
use super::quote::{Line, lines};

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

/// The whole card, with colours if asked for. Only the gateway's labels carry escape sequences.
pub fn terminal(card: &Card, coloured: bool) -> String {
    let [bold, dim, plain] = if coloured { [BOLD, DIM, PLAIN] } else { [""; 3] };
    let mut shown = format!("{bold}{}{plain}\n\n", card.title);
    // writing to a string does not fail
    for fact in &card.facts {
        let _ = writeln!(shown, "  {bold}{}{plain}: {}", fact.label, fact.value);
    }
    for line in lines(&card.quotes) {
        let _ = match line {
            Line::Label(text) => writeln!(shown, "\n  {bold}{text}{plain}"),
            Line::Agent(text) => writeln!(shown, "  {dim}{text}{plain}"),
        };
    }
    shown
}
