//! What asks by a word: `is`, `in`, `has` and `like`, with what other languages have behind them or before.

use super::Slip;
use super::calls::{PATTERN, PRESENT};
use super::spot::{Spot, is_digits, is_kind, is_name, is_text};

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [is_not(spot), is_value(spot), is_action(spot), not_asked(spot), has_not(spot), pattern(spot)]
        .into_iter()
        .flatten()
        .collect()
}

/// The last `is` before the word here, with nothing but what it asks between.
fn is_before(spot: &Spot<'_>) -> Option<usize> {
    (1..=3).filter_map(|less| spot.here.checked_sub(less)).find(|at| spot.word(Some(*at)) == "is")
}

fn is_value_word(word: &str) -> bool {
    is_text(word) || is_digits(word) || matches!(word, "true" | "false" | "-")
}

/// Whether a name stands for nothing elsewhere.
fn is_nothing(word: &str) -> bool {
    matches!(word, "null" | "nil" | "None" | "undefined")
}

/// `resource.currency is not "CHF"`, `resource is not payment::transfer`.
fn is_not(spot: &Spot<'_>) -> Option<Slip> {
    let is = is_before(spot)
        .or_else(|| Some(spot.here).filter(|at| spot.word(Some(*at)) == "is"))
        .filter(|at| spot.word(Some(at + 1)).eq_ignore_ascii_case("not"))?;
    let member = is.checked_sub(1)?;
    let from = spot.member(member);
    let right = is + 2;
    let start = spot.range(is, is).start;
    if is_nothing(spot.word(Some(right))) && from < member {
        let meant = format!("{} has {}", spot.slice(from, member - 2), spot.word(Some(member)));
        let hint = super::variables::absent(spot, from, member, &meant);
        return Some(Slip::tried(start, vec![(spot.range(from, right), meant)], hint));
    }
    let last = spot.name_end(right);
    let entity = is_kind(spot.word(Some(right))) && is_text(spot.word(Some(last)));
    if is_value_word(spot.word(Some(right))) || (entity && spot.word(Some(right)) != "Group") {
        let edit = (spot.range(is, is + 1), "!=".to_owned());
        return Some(Slip::tried(start, vec![edit], "did you mean `!=`?"));
    }
    let (asks, right) = match () {
        () if entity => ("in", right),
        () if spot.word(Some(right)) == "in" => ("in", right + 1),
        () if is_name(spot.word(Some(right))) => ("is", right),
        () => return None,
    };
    let last = spot.name_end(right);
    let meant = format!("!({} {asks} {})", spot.slice(from, member), spot.slice(right, last));
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(start, vec![(spot.range(from, last), meant)], hint))
}

/// `resource.currency is "USD"`, `principal is Agent::"x"`, `principal is in Group::"x"`.
fn is_value(spot: &Spot<'_>) -> Option<Slip> {
    let is = is_before(spot)?;
    let right = is + 1;
    let word = spot.word(Some(right));
    let range = spot.range(is, is);
    if word == "in" {
        let edit = (spot.range(is, right), "in".to_owned());
        return Some(Slip::tried(range.start, vec![edit], "leave `is` out: did you mean `in`?"));
    }
    if !spot.why.starts_with("right hand side of an `is`") {
        return None;
    }
    if word.starts_with("\"urn:") {
        const TYPE: &str = "a type is named by line and concept, as in `resource is payment::transfer`";
        return Some(Slip::sure(spot.at, TYPE));
    }
    let by = |sign: &str| {
        let hint = format!("did you mean `{sign}`?");
        Some(Slip::tried(range.start, vec![(range.clone(), sign.to_owned())], hint))
    };
    let entity = is_kind(word) && is_text(spot.word(Some(spot.name_end(right))));
    let of_scope = spot.in_scope();
    match () {
        () if entity && word == "Group" => by("in"),
        () if entity => by("=="),
        () if is_text(word) && of_scope && spot.commas() == 0 => {
            let meant = format!("== Agent::{word}");
            let hint = format!("did you mean `principal {meant}`?");
            Some(Slip::tried(range.start, vec![(spot.range(is, right), meant)], hint))
        }
        // a type that stands in quotation marks
        () if is_value_word(word) && !of_scope && !word.contains("::") => by("=="),
        () => None,
    }
}

/// `action is REQUEST`, in the scope.
fn is_action(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("`is` cannot appear in the action scope") || spot.on(1) != "is" {
        return None;
    }
    let right = spot.here + 2;
    let word = spot.word(Some(right));
    let last = if is_kind(word) { spot.name_end(right) } else { right };
    let name = spot.word(Some(last)).trim_matches('"');
    let meant = format!("action == Action::\"{name}\"");
    let hint = format!("did you mean `{meant}`?");
    is_name(name).then(|| Slip::tried(spot.at, vec![(spot.range(spot.here, last), meant)], hint))
}

/// `principal not in Group::"x"`, `resource not has memo`.
fn not_asked(spot: &Spot<'_>) -> Option<Slip> {
    let asks = spot.on(1);
    if !spot.on(0).eq_ignore_ascii_case("not") || !matches!(asks, "in" | "has" | "like" | "is") {
        return None;
    }
    let left = spot.here.checked_sub(1).filter(|at| is_name(spot.word(Some(*at))))?;
    let from = spot.member(left);
    let to = spot.name_end(spot.here + 2);
    let meant = format!("!({} {asks} {})", spot.slice(from, left), spot.slice(spot.here + 2, to));
    if spot.in_scope() {
        return Some(Slip::sure(spot.at, super::scope::NOT));
    }
    // values, which no entity is among
    let listed = spot.on(2) == "[" && (is_text(spot.on(3)) || is_digits(spot.on(3)));
    let meant = match spot.word(Some(left)) {
        "principal" | "action" | "resource" | "receiver" | "credentials" if listed => return None,
        _ if listed && asks == "in" => {
            format!("!{}.contains({})", spot.slice(spot.here + 2, to), spot.slice(from, left))
        }
        _ => meant,
    };
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(spot.range(spot.here, spot.here).start, vec![(spot.range(from, to), meant)], hint))
}

/// `resource has not memo`, `resource hasnot memo`.
fn has_not(spot: &Spot<'_>) -> Option<Slip> {
    let at = [Some(spot.here), spot.here.checked_sub(1), spot.here.checked_sub(2)];
    let has = at.into_iter().flatten().find(|at| {
        let word = spot.word(Some(*at)).to_ascii_lowercase();
        word == "hasnot" || (word == "has" && spot.word(Some(at + 1)).eq_ignore_ascii_case("not"))
    });
    if let Some(has) = has {
        let left = has.checked_sub(1)?;
        let from = spot.member(left);
        let name = has + 1 + usize::from(spot.word(Some(has)).eq_ignore_ascii_case("has"));
        let meant = format!("!({} has {})", spot.slice(from, left), spot.word(Some(name)));
        let hint = format!("did you mean `{meant}`?");
        let start = spot.range(has, has).start;
        return Some(Slip::tried(start, vec![(spot.range(from, name), meant)], hint));
    }
    // `resource.memo has`
    (spot.before(1) == "has" && matches!(spot.on(0), "}" | ")" | "&" | "|"))
        .then(|| Slip::sure(spot.at, PRESENT))
}

/// `resource.memo like DE*`, without quotation marks.
fn pattern(spot: &Spot<'_>) -> Option<Slip> {
    let ends = |at: &usize| matches!(spot.word(Some(*at)), ";" | "{" | "}" | "&" | "|");
    let near = (spot.here.saturating_sub(8)..=spot.here).rev();
    let like =
        near.take_while(|at| *at == spot.here || !ends(at)).find(|at| spot.word(Some(*at)) == "like")?;
    let first = like + 1;
    let word = spot.word(Some(first));
    if is_text(word) || matches!(word, "principal" | "action" | "resource" | "context") {
        let other =
            "what stands behind `like` is written out in quotation marks; two members are compared by `==`";
        return (spot.why.starts_with("right hand side of a `like`") && !is_text(word))
            .then(|| Slip::sure(spot.at, other));
    }
    if word == "/" {
        return Some(Slip::sure(spot.range(first, first).start, PATTERN));
    }
    let mut last = first;
    while spot.joined(last) && !matches!(spot.word(Some(last + 1)), ")" | "}" | ";" | "," | "&" | "|") {
        last += 1;
    }
    let own = spot.slice(first, last);
    let range = spot.range(first, last);
    let text = format!("\"{own}\"");
    let hint = format!("a pattern stands in quotation marks: did you mean `{text}`?");
    (!own.is_empty() && !own.contains(['"', '\\', '\'', '`', '“', '„', '(']))
        .then(|| Slip::tried(range.start, vec![(range, text)], hint))
}
