//! Safe output for a terminal: foreign texts never move its cursor, hide themselves, or reorder the rest.

mod people;

pub use people::{Progress, heading, is_coloured_output, local};

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use semgate_statement::statement::is_unseen;
use serde_json::Value;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::debug_fn;

use crate::fault::{Doing, Fault};

/// True if results are JSON for a machine.
static JSON: AtomicBool = AtomicBool::new(false);

/// Switches results to JSON.
pub fn read_by_machine() {
    JSON.store(true, Ordering::Relaxed);
}

/// A result for printing: [`json`] for a machine, else [`plain`], with colour on a terminal.
pub fn shown(text: fmt::Arguments<'_>) -> String {
    match JSON.load(Ordering::Relaxed) {
        true => json(&text.to_string()),
        false => people::tinted(plain(&text.to_string()), &std::io::stdout()),
    }
}

/// A remark for people on standard error: [`plain`], with colour on a terminal.
pub fn remark(text: &str) -> String {
    people::tinted(plain(text), &std::io::stderr())
}

/// A text for people. Guarantees no control characters but newline and tab, and no invisible characters: each is written as `\u{202e}`.
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) { plain.extend(c.escape_unicode()) } else { plain.push(c) }
    }
    plain
}

/// Writes the fields of a log line: each as [`plain`] text on the one line, whatever its source.
pub fn log_fields() -> impl for<'w> FormatFields<'w> {
    debug_fn(|writer, field, value| {
        let text = plain(&format!("{value:?}")).replace('\n', "\\n");
        match field.name() {
            "message" => write!(writer, "{text}"),
            name => write!(writer, "{name}={text}"),
        }
    })
    .delimited(" ")
}

/// Equivalent JSON: characters that [`plain`] would not show are escaped as `\u202e`; they can only be within strings. Line ends and tabs
/// between its parts stay.
pub fn json(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\r' {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| json.push_str(&format!("\\u{unit:04x}")));
        } else {
            json.push(c);
        }
    }
    json
}

/// Hides the joiners U+200C and U+200D too: some languages spell with them, but they make two names look the same.
fn is_hidden(c: char) -> bool {
    !matches!(c, '\n' | '\t') && (is_unseen(c) || matches!(c, '\u{200c}' | '\u{200d}'))
}

/// True if a person can answer: standard input and standard error are terminals.
pub fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on the terminal; only `yes` confirms.
///
/// # Errors
/// Standard input cannot be read.
pub fn confirmed(question: &str) -> Result<bool, Fault> {
    let mut answer = String::new();
    let _ = write!(std::io::stderr(), "{}", plain(question));
    std::io::stdin().read_line(&mut answer).doing("the answer")?;
    Ok(answer.trim() == "yes")
}

/// Prints effective settings, given as TOML.
///
/// # Errors
/// None in practice: TOML that was written can be read.
pub fn print_settings(effective: &str, json: bool) -> Result<(), Fault> {
    if json {
        let value: toml::Value = toml::from_str(effective).doing("effective settings")?;
        out!("{}", serde_json::to_string(&value).doing("effective settings")?);
    } else {
        out_raw!("{effective}");
    }
    Ok(())
}

/// Members that are times in seconds since the epoch.
const TIMES: [&str; 4] = ["logged_at", "issued_at", "next_update", "not_after"];

/// Prints an object: as it is, or one member a line; on a terminal in columns, with local times.
pub fn print_members(value: &Value, json: bool) {
    let Some(object) = value.as_object().filter(|_| !json) else {
        out!("{value}");
        return;
    };
    let longest = object.keys().map(|name| name.chars().count().saturating_add(1)).max();
    let width = longest.filter(|_| people::is_shown()).unwrap_or_default();
    for (name, member) in object {
        let time = member.as_u64().filter(|_| width > 0 && TIMES.contains(&name.as_str()));
        let text = match (time.and_then(local), member.as_str()) {
            (Some(time), _) => time,
            (None, Some(text)) => text.to_owned(),
            (None, None) => member.to_string(),
        };
        let name = format!("{name}:");
        out!("{name:<width$} {text}");
    }
}

#[cfg(test)]
mod tests;
