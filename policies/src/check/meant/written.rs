//! What was meant where the words at the place of a fault say it: credentials by `in` and `==`, a group as a set, the kind of a message as a
//! member.

use super::members::is_kind;
use crate::catalogue::Catalogue;
use crate::sense::tokens;

/// The words from a place on, up to the end of this part of a condition.
fn part(own: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let within = |word: &&str| {
        match *word {
            "(" | "[" => depth += 1,
            ")" | "]" if depth == 0 => return false,
            ")" | "]" => depth -= 1,
            ";" | "&" | "|" | "}" => return false,
            _ => {}
        }
        true
    };
    tokens::all(own).into_iter().map(|token| token.text).take_while(within).collect()
}

fn is_text(word: &str) -> bool {
    word.len() > 1 && word.starts_with('"') && word.ends_with('"')
}

/// The member that words begin with, and how many they are: `context.receiver`.
fn member(words: &[&str]) -> Option<(String, usize)> {
    let is_name = |word: &&str| word.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    words.first().filter(|word| is_name(word))?;
    let mut taken = 1;
    while words.get(taken) == Some(&".") && words.get(taken + 1).is_some_and(is_name) {
        taken += 2;
    }
    Some((words.get(..taken)?.concat(), taken))
}

/// `principal.credentials in ["auditor"]`, `!principal.credentials == "auditor"`, `"auditor" in principal.credentials`.
pub(super) fn held(own: &str) -> Option<String> {
    let (not, own) = own.strip_prefix('!').map_or(("", own), |own| ("!", own));
    let words = part(own);
    let by = |not: &str, of: &str, text: &str| Some(format!("did you mean `{not}{of}.contains({text})`?"));
    if let [text, "in", rest @ ..] = words.as_slice()
        && is_text(text)
    {
        let (of, taken) = member(rest)?;
        return by(not, &of, text).filter(|_| of.ends_with(".credentials") && rest.len() == taken);
    }
    if let ["principal", "has", "credentials", ".", name] = words.as_slice() {
        return by(not, "principal.credentials", &format!("\"{name}\""));
    }
    let (of, taken) = member(&words)?;
    if !of.ends_with(".credentials") {
        return None;
    }
    let of = of.as_str();
    match words.get(taken..)? {
        ["in" | "has", text] | ["in", "[", text, "]"] | ["=", "=", text] if is_text(text) => {
            by(not, of, text)
        }
        ["has", name] => by(not, of, &format!("\"{name}\"")),
        // what is not, said twice
        ["!", "=", text] if is_text(text) && not.is_empty() => by("!", of, text),
        ["in", "[", list @ .., "]"]
            if !list.is_empty() && list.iter().all(|word| is_text(word) || *word == ",") =>
        {
            let any = format!("{not}{of}.containsAny([{}])", list.join("").replace(',', ", "));
            Some(match not {
                "" => format!(
                    "that one of several is held is asked as in `{any}`, and that all are with `containsAll`"
                ),
                _ => format!("that none of several is held is asked as in `{any}`"),
            })
        }
        _ => None,
    }
}

/// `Group::"partners".contains(principal)`.
pub(super) fn group(before: &str, own: &str) -> String {
    let words = part(own);
    let (open, close) = if before.ends_with('!') { ("(", ")") } else { ("", "") };
    let meant = match words.as_slice() {
        ["Group", "::", name, ".", "contains", "(", rest @ .., ")"] if is_text(name) => member(rest)
            .filter(|(of, taken)| {
                *taken == rest.len() && matches!(of.as_str(), "principal" | "context.receiver")
            })
            .map(|(of, _)| format!("did you mean `{open}{of} in Group::{name}{close}`?")),
        _ => None,
    };
    meant.unwrap_or_else(|| "who is in a group is asked as in `principal in Group::\"partners\"`".to_owned())
}

/// What asks for the message instead of `resource.concept_type == "transfer"`, if there is one of this name.
pub(crate) fn kind(own: &str, catalogue: &Catalogue) -> Option<String> {
    let words = part(own);
    let (not, text) = match words.as_slice() {
        ["resource", ".", member, sign @ ("=" | "!"), "=", text, ..] if is_text(text) && is_kind(member) => {
            (*sign == "!", text)
        }
        _ => return None,
    };
    let name = text.trim_matches('"');
    let is_it = |of: &&str| *of == name || of.rsplit("::").next() == Some(name);
    let mut all = catalogue.types.iter().map(|info| info.name.as_str()).filter(is_it);
    let one = all.next().filter(|_| all.next().is_none())?;
    Some(match not {
        true => format!("did you mean `!(resource is {one})`?"),
        false => format!("did you mean `resource is {one}`?"),
    })
}
