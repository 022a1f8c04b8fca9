//! Files that are written in another language as a whole: of each that is told once, and nothing of what the parser stops at.

use crate::sense::tokens::Token;

use super::spot::{is_effect, is_name, is_text};

/// What a policy looks like.
const FORM: &str = "a policy is written in Cedar, as in `permit (principal in Group::\"partners\", action, resource is payment::transfer) when { … };`";

/// Where a file of another language begins, with what is to be written.
pub(super) fn told(text: &str, words: &[Token<'_>]) -> Option<(usize, String)> {
    let word = |at: usize| words.get(at).map_or("", |word| word.text);
    let first = words.first()?;
    let begins = text.get(first.at..)?;
    let language = match (first.text, word(1)) {
        ("{", second) if is_text(second) || second == "}" => "JSON",
        ("[", "{" | "]") => "JSON",
        ("[", second) if is_name(second) && word(2) == "]" => "TOML",
        ("-", _) if begins.starts_with("---\n") || begins.starts_with("---\r") => "YAML",
        ("-", second) if begins.starts_with("- ") && is_name(second) && word(2) == ":" => "YAML",
        (name, ":") if is_name(name) && !is_effect(name) => "YAML",
        ("<", "?" | "!") => "XML",
        ("package", second) if is_name(second) => "Rego",
        ("default", second) if is_name(second) && matches!(word(2), "=" | ":") => "Rego",
        (effect, "{" | "if" | "contains") if is_effect(effect) && has_rules(words) => "Rego",
        ("namespace", second) if is_name(second) => return Some((first.at, schema())),
        ("entity", second) if is_name(second) && matches!(word(2), ";" | "," | "in" | "{" | "=") => {
            return Some((first.at, schema()));
        }
        _ => return None,
    };
    Some((first.at, format!("this is {language} ({FORM})")))
}

fn schema() -> String {
    "this is a schema and no policy (it is generated from the contexts, and printed by `semgate policy check --schema`)".to_owned()
}

/// Whether what follows asks for `input`, as rules of Rego do.
fn has_rules(words: &[Token<'_>]) -> bool {
    words.windows(2).any(|pair| matches!(pair, [one, other] if one.text == "input" && other.text == "."))
}
