//! Files of a policy directory that are not read: names that are nearly those of a set, and the rest.

use std::path::Path;

use semgate_contexts::schema::is_unseen;

use super::{ENTITIES, LIMITS, PolicySource};

/// The ending of a policy file.
const CEDAR: &str = "cedar";

/// Names that are reported of one directory; more of them mean that another directory was meant.
const MAX_REPORTED: usize = 16;

/// Endings by which people and programs set a copy aside.
const ASIDE: [&str; 9] = ["bak", "old", "orig", "rej", "save", "tmp", "swp", "disabled", "example"];

/// Endings of what belongs beside policies: pages, and the schema for an editor.
const COMPANIONS: [&str; 2] = ["md", "cedarschema"];

/// The file of `semgate policy matrix --snapshot`.
const SNAPSHOT: &str = "matrix.txt";

/// Directories whose policies are for trying out.
const TRIALS: [&str; 2] = ["tests", "cases"];

impl PolicySource {
    /// One line for each name in the directory that is not read, sorted. Names that begin with a dot are reported only where the rest of
    /// the name is one of a set. `*.md`, `*.cedarschema`, `matrix.txt` and directories of tests, of cases or without policies are not
    /// reported.
    #[must_use]
    pub fn strays(dir: &Path) -> Vec<String> {
        let unread = names(dir).into_iter().filter(|name| !Self::takes(name));
        let mut reported: Vec<String> = unread.filter_map(|name| stray(dir, &name)).collect();
        let more = reported.len().saturating_sub(MAX_REPORTED);
        if more > 0 {
            reported.truncate(MAX_REPORTED);
            reported.push(format!("{more} more are not read"));
        }
        reported
    }

    /// The name of a file of cases that was probably meant by one that nearly ends in `.json`: in another case, one slip of typing away, or
    /// with the `.txt` of some editors. `.jsonl` and `.json5` are endings of their own.
    #[must_use]
    pub fn nearly_json(name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_suffix(".txt").unwrap_or(&lower);
        let (stem, ending) = plain.trim_end_matches('.').rsplit_once('.')?;
        let own = name.get(..stem.len()).filter(|own| !own.is_empty())?;
        let meant = format!("{own}.json");
        (ending.len() <= 4 && is_near(ending, "json") && meant != name).then_some(meant)
    }
}

fn stray(dir: &Path, name: &str) -> Option<String> {
    let (own, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let path = dir.join(name);
    if name.starts_with('.') {
        let hidden = is_hidden(name) && !path.is_dir();
        return hidden.then(|| format!("`{name}` is not read: its name begins with a dot"));
    }
    // a page that is named after a policy may be a policy with another ending
    if (COMPANIONS.contains(&ending) && !is_policy(own)) || name == SNAPSHOT {
        return None;
    }
    if !path.is_dir() {
        return Some(format!(
            "`{name}` is not read: files of a set end in `.cedar`, or are `entities.json` and `limits.json`"
        ));
    }
    let within = names(&path).into_iter().filter(|name| name.ends_with(".cedar")).count();
    (within > 0 && !TRIALS.contains(&name))
        .then(|| format!("`{name}/` holds {within} `*.cedar` and is not read: subdirectories are not"))
}

/// Returns true if a name ends as that of a policy, in any case.
fn is_policy(name: &str) -> bool {
    name.to_ascii_lowercase().strip_suffix(CEDAR).is_some_and(|own| own.len() > 1 && own.ends_with('.'))
}

/// Returns true if a name would be one of a set without the dot before it. Locks of Emacs (`.#w.cedar`), files of macOS (`._w.cedar`) and
/// unfinished copies (`.~w.cedar`) are none.
fn is_hidden(name: &str) -> bool {
    let own = name.strip_prefix('.').filter(|own| !own.starts_with(['.', '#', '_', '~']));
    own.is_some_and(|own| PolicySource::takes(own) || is_policy(own))
}

/// The names in a directory, sorted; none if it cannot be read.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The name of a set that was meant by a name that is nearly one: it looks the same, has another case, a slip of typing, another sign for
/// the dot, or the `.txt` of some editors. A name that was set aside by its ending or by one sign behind `.cedar` is none.
pub(super) fn nearly(name: &str) -> Option<String> {
    if PolicySource::takes(name) {
        return None;
    }
    if let Some(meant) = looks_like(name) {
        return Some(meant);
    }
    if name.starts_with(['.', '#']) || name.ends_with(['~', '#']) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".txt").unwrap_or(&lower);
    if plain.rsplit_once('.').is_some_and(|(_, ending)| ASIDE.contains(&ending)) {
        return None;
    }
    if let Some(meant) = [ENTITIES, LIMITS].into_iter().find(|meant| is_near(plain, meant)) {
        return Some(meant.to_owned());
    }
    let plain = plain.strip_suffix('.').unwrap_or(plain);
    if let Some(own) = plain.strip_suffix(CEDAR).filter(|own| !own.is_empty() && !own.ends_with('.')) {
        let own = name.get(..own.trim_end_matches([',', '-', '_', ' ']).len())?;
        return (!own.is_empty()).then(|| format!("{own}.{CEDAR}"));
    }
    let (stem, ending) = plain.rsplit_once('.')?;
    let own = name.get(..stem.len()).filter(|own| !own.is_empty())?;
    let letters = ending.len() >= 4 && ending.bytes().all(|byte| byte.is_ascii_alphabetic());
    let slip = ending.starts_with('c') && ending != "cedarschema" && strsim::osa_distance(ending, CEDAR) <= 2;
    (letters && slip).then(|| format!("{own}.{CEDAR}"))
}

/// The name of a set that a name is shown as: it holds characters that are not seen, or letters of another alphabet in an ending that is
/// ASCII in a set.
fn looks_like(name: &str) -> Option<String> {
    let unseen = |c: &char| is_unseen(*c) || (c.is_whitespace() && *c != ' ');
    let shown: String = name.chars().filter(|c| !unseen(c)).collect();
    let shown: Vec<char> = shown.trim().chars().collect();
    let like = |part: &[char], whole: &str| {
        let same = part.iter().zip(whole.chars()).filter(|(own, c)| **own == *c).count();
        let others = part.iter().filter(|c| !c.is_ascii()).count();
        part.len() == whole.len() && same >= 3 && same + others == part.len()
    };
    let ending = shown.len().checked_sub(CEDAR.len() + 1).filter(|own| *own > 0);
    let policy = ending.and_then(|at| Some((shown.get(..at)?, shown.get(at..)?)));
    let meant = [ENTITIES, LIMITS].into_iter().find(|meant| like(&shown, meant)).map(str::to_owned);
    let meant = meant.or_else(|| {
        let (own, ending) = policy?;
        like(ending, ".cedar").then(|| format!("{}.{CEDAR}", own.iter().collect::<String>()))
    })?;
    (meant != name && !meant.starts_with('.')).then_some(meant)
}

/// A name with every character outside of ASCII by its code: `pay.cedar\u{200b}`.
pub(crate) fn spelt_out(name: &str) -> String {
    let shown = |c: char| if c.is_ascii() { c.to_string() } else { c.escape_unicode().to_string() };
    name.chars().map(shown).collect()
}

fn is_near(name: &str, meant: &str) -> bool {
    strsim::osa_distance(name, meant) <= 1
}

#[cfg(test)]
mod tests;
