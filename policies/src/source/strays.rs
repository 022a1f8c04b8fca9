//! What lies in a policy directory and is not read: near misses, which nobody means to be left aside, and the rest.

use std::path::Path;

use semgate_contexts::schema::is_unseen;

use super::{ENTITIES, LIMITS, PolicySource};
use crate::slips::latin;

/// The ending of a policy file.
const CEDAR: &str = "cedar";

/// The ending of a file of cases.
const JSON: &str = "json";

/// How many names are told of one directory: more of them say that it is another directory that was meant.
const MAX_TOLD: usize = 16;

/// Endings by which people and programs set a copy aside.
const ASIDE: [&str; 9] = ["bak", "old", "orig", "rej", "save", "tmp", "swp", "disabled", "example"];

/// Endings of what is kept beside policies and is nobody's mistake: pages, and the schema for an editor.
const BESIDE: [&str; 2] = ["md", "cedarschema"];

/// What a matrix is written to (`semgate policy matrix --snapshot`).
const SNAPSHOT: &str = "matrix.txt";

/// Directories whose policies are for trying out.
const TRIALS: [&str; 2] = ["tests", "cases"];

impl PolicySource {
    /// What lies in the directory, or one below it as a policy, and is not read: a line of words for each name, sorted. A file of a set
    /// that is hidden (`.pay.cedar`) or has a further ending (`pay.cedar.md`) is told. Not told are other names that begin with a dot,
    /// `*.md`, `*.cedarschema`, `matrix.txt`, and directories without policies, or of tests and cases.
    #[must_use]
    pub fn strays(dir: &Path) -> Vec<String> {
        let unread = names(dir).into_iter().filter(|name| !Self::takes(name));
        let mut told: Vec<String> = unread.filter_map(|name| stray(dir, &name)).collect();
        let more = told.len().saturating_sub(MAX_TOLD);
        if more > 0 {
            told.truncate(MAX_TOLD);
            told.push(format!("{more} more are not read"));
        }
        told
    }

    /// The name that was meant by one that nearly ends in `.json`, for whoever reads files of cases: in another case, one slip of typing
    /// away, or with the `.txt` that some editors put behind it. `.jsonl` and `.json5` are endings of their own.
    #[must_use]
    pub fn nearly_json(name: &str) -> Option<String> {
        let lower = name.to_ascii_lowercase();
        let plain = lower.strip_suffix(".txt").unwrap_or(&lower);
        let (stem, ending) = plain.trim_end_matches('.').rsplit_once('.')?;
        let own = name.get(..stem.len()).filter(|own| !own.is_empty())?;
        let meant = format!("{own}.{JSON}");
        (ending.len() <= JSON.len() && is_near(ending, JSON) && meant != name).then_some(meant)
    }
}

fn stray(dir: &Path, name: &str) -> Option<String> {
    let (own, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let path = dir.join(name);
    if name.starts_with('.') {
        let hidden = is_hidden(name) && !path.is_dir();
        return hidden.then(|| format!("`{name}` is not read: its name begins with a dot"));
    }
    // a page that is named after a policy may as well be one that an editor gave another ending
    let beside = BESIDE.contains(&ending) && !is_policy(own);
    if beside || name == SNAPSHOT {
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

/// Whether a name ends as that of a policy, in any case.
fn is_policy(name: &str) -> bool {
    name.to_ascii_lowercase().strip_suffix(CEDAR).is_some_and(|own| own.len() > 1 && own.ends_with('.'))
}

/// Whether a name would be one of a set but for the dot before it. Locks of Emacs (`.#w.cedar`), what macOS keeps beside a copy (`._w.cedar`) and
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

/// The name of a set that was meant by one that is nearly it: in another case, with one letter too many, too few or wrong, with two
/// neighbours swapped, with another sign in place of the dot, or with the `.txt` that some editors put behind it. What is set aside by its ending, or by a character
/// behind `.cedar` that is no letter, is meant so.
pub(super) fn nearly(name: &str) -> Option<String> {
    if let Some(meant) = seen_as(name).filter(|_| !PolicySource::takes(name)) {
        return Some(meant);
    }
    if PolicySource::takes(name) || name.starts_with(['.', '#']) || name.ends_with(['~', '#']) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let plain = lower.strip_suffix(".txt").unwrap_or(&lower);
    if ASIDE.iter().any(|aside| plain.rsplit_once('.').is_some_and(|(_, ending)| ending == *aside)) {
        return None;
    }
    if let Some(meant) = [ENTITIES, LIMITS].into_iter().find(|meant| is_near(plain, meant)) {
        return Some(meant.to_owned());
    }
    let plain = plain.strip_suffix('.').unwrap_or(plain);
    // another sign in place of the dot, or none
    if let Some(own) = plain.strip_suffix(CEDAR).filter(|own| !own.is_empty() && !own.ends_with('.')) {
        let own = name.get(..own.trim_end_matches([',', '-', '_', ' ']).len())?;
        return (!own.is_empty()).then(|| format!("{own}.{CEDAR}"));
    }
    let (stem, ending) = plain.rsplit_once('.')?;
    // nobody's slip is `.cedar_` or `.cedar1`: a policy was taken out of the set
    if ending.strip_prefix(CEDAR).is_some_and(|more| {
        let mut behind = more.chars();
        behind.next().is_some_and(|one| !one.is_alphabetic()) && behind.next().is_none()
    }) {
        return None;
    }
    let own = name.get(..stem.len())?;
    (!own.is_empty() && (is_near(ending, CEDAR) || is_garbled(ending))).then(|| format!("{own}.{CEDAR}"))
}

/// The name of a set that a name is shown as, and is not: it holds characters that are not seen, other blanks at its ends, or letters and signs that
/// look like those of `.cedar`, `entities.json` and `limits.json`. What stands before `.cedar` may be of any alphabet.
fn seen_as(name: &str) -> Option<String> {
    let unseen = |c: char| is_unseen(c) || (c.is_whitespace() && c != ' ');
    let shown: String = name.chars().filter(|c| !unseen(*c)).collect();
    let shown = shown.trim();
    let plain: String = shown.chars().map(latin).collect();
    let meant =
        [ENTITIES, LIMITS].into_iter().find(|meant| plain == *meant).map(str::to_owned).or_else(|| {
            let from = plain.chars().count().checked_sub(CEDAR.len() + 1)?;
            let ending: String = plain.chars().skip(from).collect();
            let own: String = shown.chars().take(from).collect();
            (ending == format!(".{CEDAR}") && !own.is_empty()).then(|| format!("{own}{ending}"))
        })?;
    (meant != name && !meant.starts_with('.')).then_some(meant)
}

/// A name with what is not seen in it, or looks like something else, by its code: `pay.cedar\u{200b}`.
pub(crate) fn spelt_out(name: &str) -> String {
    let hidden = |c: char| is_unseen(c) || (c.is_whitespace() && c != ' ') || latin(c) != c;
    let shown = |c: char| if hidden(c) { c.escape_unicode().to_string() } else { c.to_string() };
    name.chars().map(shown).collect()
}

/// Whether two slips made it of `cedar`: of its letters, with the first and the last in their places and one more or one less, or two of them
/// swapped (`cder`, `cader`). `cer` and `car` are endings of their own.
fn is_garbled(ending: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<std::collections::BTreeSet<char>>();
    let of_it = letters(ending).is_subset(&letters(CEDAR)) && letters(ending).len() >= 4;
    of_it && (4..=6).contains(&ending.len()) && ending.starts_with('c') && ending.ends_with('r')
}

/// The same, or one slip of typing away; the singular of a plural too.
pub(crate) fn is_near(name: &str, meant: &str) -> bool {
    let head = name.chars().zip(meant.chars()).take_while(|(a, b)| a == b).count();
    let rest = |text: &str, skipped: usize| text.chars().skip(head + skipped).collect::<String>();
    let (left, other) = (rest(name, 0), rest(meant, 0));
    let same = |of_name: usize, of_meant: usize| rest(name, of_name) == rest(meant, of_meant);
    let two = |text: &str| text.chars().next().zip(text.chars().nth(1));
    let swapped = two(&left).zip(two(&other)).is_some_and(|((a, b), (c, d))| (a, b) == (d, c));
    let singular = left.starts_with('y') && other.starts_with("ies");
    let slip = (!left.is_empty() && same(1, 0))
        || (!other.is_empty() && same(0, 1))
        || (!left.is_empty() && !other.is_empty() && same(1, 1));
    left == other || slip || (swapped && same(2, 2)) || (singular && same(1, 3))
}

#[cfg(test)]
mod tests {
    use super::{PolicySource, nearly};

    #[test]
    fn a_file_of_cases_whose_ending_is_one_slip_away_is_near_and_other_endings_are_not() {
        for name in ["p.JSON", "p.json.txt", "p.json.", "p.jsn", "p.josn", "p.jso", "p.Json"] {
            assert_eq!(PolicySource::nearly_json(name).as_deref(), Some("p.json"), "{name}");
        }
        for name in [
            "p.json",
            "p.jsonl",
            "p.json5",
            "p.json.bak",
            "p.json~",
            "p.txt",
            "p.md",
            "p.js",
            ".json",
            "json",
        ] {
            assert_eq!(PolicySource::nearly_json(name), None, "{name}");
        }
    }

    #[test]
    fn a_name_that_is_one_slip_away_is_near_and_what_is_set_aside_is_not() {
        for (name, meant) in [
            ("limit.json", "limits.json"),
            ("Limits.json", "limits.json"),
            ("limits.jsn", "limits.json"),
            ("limist.json", "limits.json"),
            ("limits.json.txt", "limits.json"),
            ("entites.json", "entities.json"),
            ("entitties.json", "entities.json"),
            ("entity.json", "entities.json"),
            ("ENTITIES.JSON", "entities.json"),
            ("w.ceder", "w.cedar"),
            ("W.CEDAR", "W.cedar"),
            ("w.cedr", "w.cedar"),
            ("w.cedra", "w.cedar"),
            ("w.cder", "w.cedar"),
            ("w.cader", "w.cedar"),
            ("w.ceadr", "w.cedar"),
            ("a.b.cedars", "a.b.cedar"),
            ("w.cedar.txt", "w.cedar"),
            ("w.cedar.", "w.cedar"),
            ("wcedar", "w.cedar"),
            ("W,cedar", "W.cedar"),
            ("w-cedar", "w.cedar"),
            ("w_Cedar", "w.cedar"),
        ] {
            assert_eq!(nearly(name).as_deref(), Some(meant), "{name}");
        }
        let others = "w.cedar entities.json limits.json README.md matrix.txt notes.txt lists.json units.json agents.json w.cedar.bak \
                      limits.json.old w.cedar~ w.cedar_ w.cedar- w.cedar1 W.CEDAR_ limits.json~ #limits.json# .w.ceder .cedar w.cedarschema w.cer w.car w.crd w.cedar.json cedar ceder \
                      .gitignore entities.example.json w.cedar.disabled";
        for name in others.split_whitespace() {
            assert_eq!(nearly(name), None, "{name}");
        }
        for (name, meant) in [
            ("pay.cedar\u{200b}", "pay.cedar"),
            ("pay.ced\u{200b}ar", "pay.cedar"),
            ("pay.cedar\u{feff}", "pay.cedar"),
            ("pay.cedar\u{a0}", "pay.cedar"),
            ("pay.cedar ", "pay.cedar"),
            ("pay\u{ad}.ced\u{ad}ar", "pay.cedar"),
            ("pay.сedar", "pay.cedar"),
            ("pay.cedаr", "pay.cedar"),
            ("pay．cedar", "pay.cedar"),
            ("pay․cedar", "pay.cedar"),
            ("зарплата.сedar", "зарплата.cedar"),
            ("limits.json\u{200b}", "limits.json"),
            ("\u{200b}limits.json", "limits.json"),
            ("lіmits.json", "limits.json"),
            ("entities.jsоn", "entities.json"),
        ] {
            assert_eq!(nearly(name).as_deref(), Some(meant), "{}", name.escape_unicode());
        }
        for name in
            ["зарплата.cedar", "зарплата.md", "выбор.txt", "pay notes.txt", "支付.cedar", ".\u{200b}cedar"]
        {
            assert_eq!(nearly(name), None, "{name}");
        }
        let told = super::stray(std::path::Path::new("nowhere"), "w.cedar_").unwrap_or_default();
        assert!(told.starts_with("`w.cedar_` is not read"), "{told}");
    }

    #[test]
    fn bug_a_policy_that_was_hidden_or_had_an_ending_of_a_page_was_passed_over_in_silence() {
        let told = |name: &str| super::stray(std::path::Path::new("nowhere"), name);
        for name in [".w.cedar", ".W.CEDAR", ".entities.json", ".limits.json"] {
            let why = told(name).unwrap_or_default();
            assert_eq!(why, format!("`{name}` is not read: its name begins with a dot"));
        }
        for name in [
            "w.cedar.md",
            "W.CEDAR.md",
            "w.cedar.cedarschema",
            "w.cedar.bak",
            "w.cedar~",
            "#w.cedar#",
            "w.cedar.json",
        ] {
            let why = told(name).unwrap_or_default();
            assert!(
                why.starts_with(&format!("`{name}` is not read: files of a set end in `.cedar`")),
                "{name}: {why}"
            );
        }
        let others = ".#w.cedar ._w.cedar .~w.cedar ..data ..2026_11_23_10_00_00.123456789 .w.cedar.swp .w.cedar.tmp12 .w.cedar.Xq81Zc \
                      .nfs0000000000a1b2c3 .git .gitignore .cedar .md README.md w.md cedar.md .cedar.md w.cedarschema matrix.txt";
        for name in others.split_whitespace() {
            assert_eq!(told(name), None, "{name}");
        }
    }
}
