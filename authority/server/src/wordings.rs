//! Texts of a document that read like instructions to a model: models read descriptions of concepts. A warning, never a refusal.

use semgate_contexts::Context;
use semgate_scan::{MAX_CHARACTERS, Model, Scanner, Wanted};

/// The lowest `injection` that is warned of.
const LEAST: u8 = 75;
/// The most warnings about one document.
const MOST: usize = 16;
/// The name of the warning.
pub const RULE: &str = "reads-as-instruction";

/// A text of a document that looks like an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspiciousWording {
    /// JSON Pointer into the document.
    pub pointer: String,
    /// Its score `injection`, 75 to 100.
    pub injection: u8,
}

impl SuspiciousWording {
    /// The consequence, in words for the publisher.
    #[must_use]
    pub fn what(&self) -> String {
        format!(
            "this text reads like an instruction to a model (score {} of 100), and models read it: describe, do not instruct",
            self.injection
        )
    }
}

/// The texts of a document that look like instructions, by the model in the program; at most 16.
#[must_use]
pub fn suspicious_wordings(document: &Context) -> Vec<SuspiciousWording> {
    let scanner = Scanner { model: Model::shipped() };
    let wanted = Wanted { injection: true, ..Wanted::default() };
    let scored = document.wordings().into_iter().map(|wording| {
        // the limits of a document bound all of its texts together
        let text: String = wording.text.chars().take(MAX_CHARACTERS).collect();
        let injection = scanner.scan(&text, None, wanted).injection;
        SuspiciousWording { pointer: wording.pointer, injection }
    });
    scored.filter(|one| one.injection >= LEAST).take(MOST).collect()
}

#[cfg(test)]
mod tests;
