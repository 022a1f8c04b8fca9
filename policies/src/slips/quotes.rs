//! Quotation marks of other languages, and those that are missing.

use super::Slip;
use super::spot::{Spot, is_digits, is_name, is_text};

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [other(spot), unclosed(spot), id(spot), annotation(spot)].into_iter().flatten().collect()
}

/// `'x'`, `` `x` ``, `“x”`, `„x“`, `«x»`, and one of them with a plain one.
fn other(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("invalid token") {
        return None;
    }
    let rest = spot.text.get(spot.at..).filter(|rest| !rest.starts_with("```"))?;
    let first = rest.chars().next()?;
    let closers: &[char] = match first {
        '\'' => &['\''],
        '`' => &['`', '\''],
        '‘' | '’' | '‚' => &['’', '‘', '\''],
        '“' | '”' | '„' => &['”', '“', '"'],
        '«' => &['»'],
        '»' => &['«'],
        '"' => &['”', '“'],
        _ => return None,
    };
    let within = rest.get(first.len_utf8()..)?;
    let end = within.find(closers)?;
    let own = within.get(..end)?;
    let last = within.get(end..)?.chars().next()?;
    if own.contains(['"', '\\', '\n']) {
        return None;
    }
    let text = format!("\"{own}\"");
    let hint = format!("a text stands in plain double quotation marks: did you mean `{text}`?");
    let end = spot.at + first.len_utf8() + end + last.len_utf8();
    Some(Slip::tried(spot.at, vec![(spot.at..end, text)], hint))
}

fn unclosed(spot: &Spot<'_>) -> Option<Slip> {
    let open = spot.why.starts_with("invalid token") && spot.text.get(spot.at..)?.starts_with('"');
    let last = open && !is_text(spot.on(0));
    last.then(|| Slip::sure(spot.at, "no quotation mark closes this one; one may be missing before it too"))
}

/// `Agent::retailer-7`, `Group::partners`.
fn id(spot: &Spot<'_>) -> Option<Slip> {
    let kind = (spot.here.saturating_sub(2)..spot.here + 1).find(|at| {
        matches!(spot.word(Some(*at)), "Agent" | "Group" | "Action") && spot.word(Some(at + 1)) == "::"
    })?;
    let mut last = kind + 2;
    if !is_name(spot.word(Some(last))) {
        return None;
    }
    // what an id is made of, and nothing between
    while spot.joined(last) && !matches!(spot.word(Some(last + 1)), "," | ")" | "]" | "}" | ";") {
        last += 1;
    }
    let range = spot.range(kind + 2, last);
    let own = spot.text.get(range.clone())?;
    if own.contains(['"', '\\', '(']) {
        return None;
    }
    let text = format!("\"{own}\"");
    let hint = format!("did you mean `{}::{text}`?", spot.word(Some(kind)));
    Some(Slip::tried(range.start, vec![(range, text)], hint))
}

/// `@id(pay)`, `@id = "pay"`, `@id "pay"`.
fn annotation(spot: &Spot<'_>) -> Option<Slip> {
    let at = spot.here.checked_sub(if spot.before(1) == "(" { 3 } else { 2 })?;
    let name = spot.word(Some(at + 1));
    if spot.word(Some(at)) != "@" || !is_name(name) {
        return None;
    }
    let (range, own) = if spot.before(1) == "(" {
        let close = (spot.here..spot.words.len()).find(|at| spot.word(Some(*at)) == ")")?;
        let own = spot.text.get(spot.range(spot.here, close - 1))?;
        (spot.range(at, close), (!own.contains(['"', '\\', '\n'])).then(|| format!("\"{own}\""))?)
    } else {
        let text = spot.here + usize::from(matches!(spot.on(0), "=" | ":"));
        let own = spot.word(Some(text));
        (spot.range(at, text), is_text(own).then(|| own.to_owned())?)
    };
    let number = own.trim_matches('"');
    let own = match name {
        "limit" if is_digits(number) => format!("\"{number}/minute\""),
        "limit" if !number.contains('/') => return None,
        _ => own,
    };
    let meant = format!("@{name}({own})");
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(range.start, vec![(range, meant)], hint))
}
