//! Names of tasks and definitions: distinct for distinct tools, and the same whatever order a server lists its tools in.

use std::collections::{BTreeMap, BTreeSet};

use semgate_contexts::{Digest, RESERVED_NAMES};

/// The longest name that a context can hold.
const MAX_NAME: usize = 64;

/// A name that a context can hold, if it is not too long: a letter, then letters, digits and `_`.
fn word(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("t_{text}") }
}

/// The name with the digest of what it stands for at its end, at most 64 characters.
fn marked(name: &str, of: &str) -> String {
    let digest = Digest::of(of.as_bytes()).to_string();
    let mark: String = digest.rsplit(':').next().unwrap_or_default().chars().take(8).collect();
    let kept: String = name.chars().take(MAX_NAME - 1 - mark.len()).collect();
    format!("{kept}_{mark}")
}

/// The task of each of these tools or skills. Where two would have one name, the one that is spelt so keeps it; names that are too
/// long, reserved, or those of another task's results are marked with a digest of the tool's exact name.
pub(super) fn tasks<'t>(tools: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, String> {
    let mut claims: BTreeMap<String, BTreeSet<&'t str>> = BTreeMap::new();
    for tool in tools {
        claims.entry(word(tool)).or_default().insert(tool);
    }
    let is_results = |name: &str| name.strip_suffix("_results").is_some_and(|task| claims.contains_key(task));
    let mut names = BTreeMap::new();
    for (name, tools) in &claims {
        let fits = name.len() <= MAX_NAME && !RESERVED_NAMES.contains(&name.as_str()) && !is_results(name);
        for tool in tools {
            let alone = tools.len() == 1 || name == tool;
            names.insert(*tool, if fits && alone { name.clone() } else { marked(name, tool) });
        }
    }
    names
}

/// A name for the definition `part` of a task, which no other definition has yet.
pub(super) fn definition(task: &str, part: &str, used: &mut BTreeSet<String>) -> String {
    let name = word(&format!("{task}_{part}"));
    let free = name.len() <= MAX_NAME && !used.contains(&name);
    let name = if free { name } else { marked(&name, &format!("{task} {part}")) };
    used.insert(name.clone());
    name
}

/// A label of a line: letters, digits and inner hyphens.
pub(super) fn label(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let text: String = text.trim_matches('-').chars().take(MAX_NAME - 1).collect();
    let text = text.trim_end_matches('-');
    if text.is_empty() { "tools".to_owned() } else { text.to_owned() }
}
