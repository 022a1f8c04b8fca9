//! What asks by a word: `is`, `in`, `has` and `like`, with what other languages have behind them or before.

use super::Slip;
use super::calls::{PATTERN, PRESENT};
use super::present::is_nothing;
use super::scope::TYPE;
use super::spot::{Spot, is_digits, is_kind, is_name, is_text};

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    let rules = [
        is_not(spot),
        is_value(spot),
        is_action(spot),
        not_asked(spot),
        in_not(spot),
        called(spot),
        has_not(spot),
        pattern(spot),
    ];
    rules.into_iter().flatten().collect()
}

/// How a list of values that is written out is asked for the member from one word to another; nothing where an entity may stand there.
pub(super) fn one_of(spot: &Spot<'_>, (from, left): (usize, usize), list: usize) -> Option<String> {
    let first = spot.word(Some(list + 1));
    let listed = spot.word(Some(list)) == "[" && (is_text(first) || is_digits(first));
    let entity =
        matches!(spot.word(Some(left)), "principal" | "action" | "resource" | "receiver" | "credentials");
    (listed && !entity && is_name(spot.word(Some(left))))
        .then(|| format!("{}.contains({})", spot.slice(list, spot.name_end(list)), spot.slice(from, left)))
}

/// How credentials are asked for what stands behind `in`, or before it, and what is said of that.
pub(super) fn held(
    spot: &Spot<'_>,
    (from, left): (usize, usize),
    right: usize,
    not: bool,
) -> Option<(String, String)> {
    let sign = if not { "!" } else { "" };
    let by = |held: &str, text: &str| {
        let meant = format!("{sign}{held}.contains({text})");
        let hint = format!("did you mean `{meant}`?");
        Some((meant, hint))
    };
    if is_text(spot.word(Some(left))) && from == left {
        let last = spot.operand_end(right)?;
        let held = spot.slice(right, last);
        return by(held, spot.word(Some(left))).filter(|_| held.ends_with(".credentials"));
    }
    let (held, first) = (spot.slice(from, left), spot.word(Some(right + 1)));
    if spot.word(Some(left)) != "credentials" || from == left {
        return None;
    }
    if is_text(spot.word(Some(right))) {
        return by(held, spot.word(Some(right)));
    }
    if spot.word(Some(right)) != "[" || !is_text(first) {
        return None;
    }
    let last = spot.closed(right)?;
    if last == right + 2 {
        return by(held, first);
    }
    let meant = format!("{sign}{held}.containsAny({})", spot.slice(right, last));
    let hint = match not {
        true => format!("that none of several is held is asked as in `{meant}`"),
        false => format!(
            "that one of several is held is asked as in `{meant}`, and that all are with `containsAll`"
        ),
    };
    Some((meant, hint))
}

/// The last `is` before the word here, with nothing but what it asks between.
fn is_before(spot: &Spot<'_>) -> Option<usize> {
    (1..=3).filter_map(|less| spot.here.checked_sub(less)).find(|at| spot.word(Some(*at)) == "is")
}

fn is_value_word(word: &str) -> bool {
    is_text(word) || is_digits(word) || matches!(word, "true" | "false" | "-")
}

/// `is` or `isnt` before the word here with `not`, if that is so, and the first word behind.
fn not_is(spot: &Spot<'_>) -> Option<(usize, usize)> {
    let lower = |at: usize| spot.word(Some(at)).to_ascii_lowercase();
    let near = (0..=3).filter_map(|less| spot.here.checked_sub(less));
    near.into_iter().find_map(|at| match (lower(at).as_str(), lower(at + 1).as_str()) {
        ("is", "not") => Some((at, at + 2)),
        ("isnt" | "isnot", _) => Some((at, at + 1)),
        ("isn", "'" | "’") if lower(at + 2) == "t" => Some((at, at + 3)),
        _ => None,
    })
}

/// `resource.currency is not "CHF"`, `resource is not payment::transfer`, `context.locked isnt true`.
fn is_not(spot: &Spot<'_>) -> Option<Slip> {
    let (is, right) = not_is(spot)?;
    let member = is.checked_sub(1)?;
    let from = spot.member(member);
    let start = spot.range(is, is).start;
    if is_nothing(spot.word(Some(right))) && from < member {
        let meant = format!("{} has {}", spot.slice(from, member - 2), spot.word(Some(member)));
        let hint = super::present::absent(spot, from, member, &meant);
        return Some(Slip::tried(start, vec![(spot.range(from, right), meant)], hint));
    }
    let last = spot.name_end(right);
    let entity = is_kind(spot.word(Some(right))) && is_text(spot.word(Some(last)));
    if is_value_word(spot.word(Some(right))) || (entity && spot.word(Some(right)) != "Group") {
        let edit = (spot.range(is, right - 1), "!=".to_owned());
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
    let asks = spot.on(1).to_ascii_lowercase();
    if !spot.on(0).eq_ignore_ascii_case("not") || !matches!(asks.as_str(), "in" | "has" | "like" | "is") {
        return None;
    }
    let right = spot.here + 2;
    let left = spot.here.checked_sub(1)?;
    let from = spot.member(left);
    let range = spot.range(spot.here, spot.here);
    if spot.in_scope() {
        return Some(Slip::sure(spot.at, super::scope::NOT));
    }
    if let Some((meant, hint)) = held(spot, (from, left), right, true).filter(|_| asks == "in") {
        let whole = spot.range(from, spot.operand_end(right)?);
        return Some(Slip::tried(range.start, vec![(whole, meant)], hint));
    }
    if !is_name(spot.word(Some(left))) {
        return None;
    }
    let to = spot.name_end(right);
    // values, which no entity is among
    let listed = spot.on(2) == "[" && (is_text(spot.on(3)) || is_digits(spot.on(3)));
    let pattern = super::speech::starred(spot.on(2)).filter(|_| spot.on(1) == "LIKE");
    let meant = match one_of(spot, (from, left), right).filter(|_| asks == "in") {
        Some(meant) => format!("!{meant}"),
        None if listed => return None,
        None => {
            let right = pattern.as_deref().unwrap_or(spot.slice(right, to));
            format!("!({} {asks} {right})", spot.slice(from, left))
        }
    };
    let hint = format!("did you mean `{meant}`?");
    Some(Slip::tried(range.start, vec![(spot.range(from, to), meant)], hint))
}

/// `principal in not Group::"x"`.
fn in_not(spot: &Spot<'_>) -> Option<Slip> {
    let not = [Some(spot.here), spot.here.checked_sub(1)].into_iter().flatten();
    let not = not.into_iter().find(|at| {
        spot.word(Some(*at)).eq_ignore_ascii_case("not") && spot.word(at.checked_sub(1)) == "in"
    })?;
    let left = not.checked_sub(2).filter(|left| is_name(spot.word(Some(*left))) && !spot.in_scope())?;
    let (from, to) = (spot.member(left), spot.name_end(not + 1));
    let entity = is_kind(spot.word(Some(not + 1))) && is_text(spot.word(Some(to)));
    let meant = format!("!({} in {})", spot.slice(from, left), spot.slice(not + 1, to));
    let hint = format!("did you mean `{meant}`?");
    let start = spot.range(not, not).start;
    entity.then(|| Slip::tried(start, vec![(spot.range(from, to), meant)], hint))
}

/// `resource.memo.like("a*")`, `like(resource.memo, "a*")`, `principal.in(Group::"x")`.
fn called(spot: &Spot<'_>) -> Option<Slip> {
    let asks = spot.why.strip_prefix("this identifier is reserved and cannot be used: ")?;
    if !matches!(asks, "like" | "in" | "is") || spot.on(0) != asks || spot.on(1) != "(" {
        return None;
    }
    let close = spot.closed(spot.here + 1)?;
    let (from, left, right) = match spot.before(1) {
        "." => {
            let left = spot.here.checked_sub(2)?;
            (spot.member(left), left, spot.here + 2)
        }
        _ => {
            let left = spot.operand_end(spot.here + 2).filter(|left| spot.word(Some(left + 1)) == ",")?;
            (spot.here + 2, left, left + 2)
        }
    };
    let list = format!("[{}]", spot.slice(right, close - 1));
    if asks == "in"
        && (right..close).all(|at| is_text(spot.word(Some(at))) || spot.word(Some(at)) == ",")
        && right < close
        && spot.before(1) == "."
        && from < left
    {
        let meant = format!("{list}.contains({})", spot.slice(from, left));
        let hint = format!("did you mean `{meant}`?");
        return Some(Slip::tried(spot.at, vec![(spot.range(from, close), meant)], hint));
    }
    let one = spot.operand_end(right) == close.checked_sub(1);
    let first = if spot.before(1) == "." { from } else { spot.here };
    let (word, last) = (spot.word(Some(right)), spot.word(close.checked_sub(1)));
    let fits = match asks {
        "like" => is_text(word) && right + 1 == close,
        "in" => is_kind(word) && is_text(last),
        _ => is_name(word) && is_name(last),
    };
    let meant = format!("{} {asks} {}", spot.slice(from, left), spot.slice(right, close - 1));
    let meant = spot.enclosed(first, close, meant);
    let hint = format!("did you mean `{meant}`?");
    let start = spot.range(spot.here, spot.here).start;
    (one && fits && is_name(spot.word(Some(left))))
        .then(|| Slip::tried(start, vec![(spot.range(first, close), meant)], hint))
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
