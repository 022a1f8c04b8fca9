//! Names of tasks and definitions: distinct for distinct tools, and independent of the order in which a server lists its tools.

use std::collections::{BTreeMap, BTreeSet};

use semgate_contexts::{Digest, RESERVED_NAMES};

/// The longest name that a context can hold.
pub(crate) const MAX_NAME: usize = 64;

/// Names of the definitions in one draft, all distinct.
pub type Used = BTreeSet<String>;

/// The suffix for the results of a task.
const RESULTS: &str = "_results";

/// A valid context name, apart from its length: a letter, then letters, digits and `_`.
pub(crate) fn word(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.starts_with(|c: char| c.is_ascii_alphabetic()) { text } else { format!("t_{text}") }
}

/// The name with the start of a digest of `of` at its end, at most 64 characters. Repeats the digest until `is_free` accepts the name.
pub(crate) fn marked(name: &str, of: &str, is_free: impl Fn(&str) -> bool) -> String {
    let mut digest = Digest::of(of.as_bytes()).to_string();
    loop {
        let mark: String = digest.rsplit(':').next().unwrap_or_default().chars().take(8).collect();
        let prefix: String = name.chars().take(MAX_NAME - 1 - mark.len()).collect();
        let marked = format!("{prefix}_{mark}");
        if is_free(&marked) {
            return marked;
        }
        digest = Digest::of(digest.as_bytes()).to_string();
    }
}

/// The task of each of these tools or skills, all distinct. If two would share a name, the one spelt so keeps it. A name that is too long,
/// reserved, or that of another task's results gets a digest of the tool's exact name.
pub fn tasks<'t>(tools: impl Iterator<Item = &'t str>) -> BTreeMap<&'t str, String> {
    let mut claims: BTreeMap<String, BTreeSet<&'t str>> = BTreeMap::new();
    for tool in tools {
        claims.entry(word(tool)).or_default().insert(tool);
    }
    let is_results = |name: &str| name.strip_suffix(RESULTS).is_some_and(|task| claims.contains_key(task));
    let (mut names, mut used, mut unnamed) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
    for (name, tools) in &claims {
        let fits = name.len() <= MAX_NAME && !RESERVED_NAMES.contains(&name.as_str()) && !is_results(name);
        for tool in tools {
            if fits && (tools.len() == 1 || name == tool) {
                used.insert(name.clone());
                names.insert(*tool, name.clone());
            } else {
                unnamed.push((name, *tool));
            }
        }
    }
    for (name, tool) in unnamed {
        let is_free = |name: &str| !used.contains(name) && !used.contains(&format!("{name}{RESULTS}"));
        let name = marked(name, tool, is_free);
        used.insert(name.clone());
        names.insert(tool, name);
    }
    names
}

/// A unique name for the definition of a task at a JSON Pointer of one of its sides; `part` makes it readable.
pub fn definition(task: &str, side: &str, part: &str, pointer: &str, used: &mut BTreeSet<String>) -> String {
    let name = word(&format!("{task}_{side}{part}"));
    let is_free = |name: &str| !used.contains(name);
    let name = if name.len() <= MAX_NAME && is_free(&name) {
        name
    } else {
        marked(&name, &format!("{task} {side} {pointer}"), is_free)
    };
    used.insert(name.clone());
    name
}

/// A label of a line: letters, digits and inner hyphens.
pub fn label(name: &str) -> String {
    let text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let text: String = text.trim_matches('-').chars().take(MAX_NAME - 1).collect();
    let text = text.trim_end_matches('-');
    if text.is_empty() { "tools".to_owned() } else { text.to_owned() }
}

/// A unique name for a part that several terms share: the readable word where it is free, else with a digest of `of`.
pub(crate) fn shared(part: &str, of: &str, used: &mut BTreeSet<String>) -> String {
    let name = word(part);
    let is_free =
        |name: &str| name.len() <= MAX_NAME && !used.contains(name) && !RESERVED_NAMES.contains(&name);
    let name = if is_free(&name) { name } else { marked(&name, of, is_free) };
    used.insert(name.clone());
    name
}
