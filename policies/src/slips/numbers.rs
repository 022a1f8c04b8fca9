//! Numbers as other languages and people write them.

use super::Slip;
use super::spot::{Spot, is_digits};
use crate::catalogue::SCORES;

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    [pointed(spot), parted(spot), thousands(spot), short(spot), sign(spot)].into_iter().flatten().collect()
}

/// `10000.0`.
fn pointed(spot: &Spot<'_>) -> Option<Slip> {
    if spot.before(1) != "." || !is_digits(spot.before(2)) || !is_digits(spot.on(0)) {
        return None;
    }
    let mut first = spot.here - 2;
    // `1,000.0`
    while first > 1
        && spot.word(Some(first)).len() == 3
        && spot.word(Some(first - 1)) == ","
        && spot.joined(first - 1)
        && spot.joined(first - 2)
        && is_digits(spot.word(Some(first - 2)))
    {
        first -= 2;
    }
    let range = spot.range(first, spot.here);
    if let Some(member) = whole_beside(spot, first) {
        let digits = spot.slice(first, spot.here - 2).replace(',', "");
        if spot.on(0).bytes().any(|digit| digit != b'0') {
            return Some(Slip::sure(range.start, format!("`{member}` is a whole number")));
        }
        // where a point parts the thousands it is another number
        if spot.on(0).len() == 3 {
            let whole = format!("{digits}{}", spot.on(0));
            let hint = format!("`{member}` is a whole number, which has no point: `{digits}`, or `{whole}`");
            return Some(Slip::tried(range.start, vec![(range, digits)], hint));
        }
        let hint = format!("`{member}` is a whole number: did you mean `{digits}`?");
        return Some(Slip::tried(range.start, vec![(range, digits)], hint));
    }
    let text = format!("decimal(\"{}\")", spot.text.get(range.clone())?.replace(',', ""));
    let hint =
        format!("a number with a point is `{text}`, and compared by `lessThan`, `greaterThan` and the like");
    Some(Slip::tried(range.start, vec![(range, text)], hint))
}

/// A whole number of the context that the number from a position up to here is compared with.
fn whole_beside<'t>(spot: &Spot<'t>, first: usize) -> Option<&'t str> {
    let sign = |at: usize| matches!(spot.word(Some(at)), "=" | "!" | "<" | ">");
    let mut left = first.checked_sub(1)?;
    let compared = sign(left);
    while compared && sign(left) {
        left = left.checked_sub(1)?;
    }
    let mut right = spot.here + 1;
    while sign(right) {
        right += 1;
    }
    let (from, to) = match () {
        () if compared => (spot.member(left), left),
        () if right > spot.here + 1 => (right, spot.operand_end(right)?),
        () => return None,
    };
    let member = spot.slice(from, to);
    let whole = matches!(member, "context.major" | "context.minor")
        || SCORES.iter().any(|score| member.strip_prefix("context.scores.") == Some(score));
    whole.then_some(member)
}

/// `10_000`.
fn parted(spot: &Spot<'_>) -> Option<Slip> {
    let digits = spot.on(0).replace('_', "");
    (spot.on(0).contains('_') && spot.on(0).starts_with(|c: char| c.is_ascii_digit()) && is_digits(&digits))
        .then(|| {
            let range = spot.range(spot.here, spot.here);
            let hint = format!("a number is written without `_`: did you mean `{digits}`?");
            Slip::tried(range.start, vec![(range, digits)], hint)
        })
}

/// `1,000` and `1'000`, where no list goes on by a comma.
fn thousands(spot: &Spot<'_>) -> Option<Slip> {
    let mark = spot.on(0);
    let listed = spot.open().last().is_some_and(|open| matches!(spot.word(Some(*open)), "(" | "["));
    if !(mark == "'" || (mark == "," && !listed)) || !is_digits(spot.before(1)) {
        return None;
    }
    let first = spot.here.checked_sub(1)?;
    let mut last = first;
    while spot.word(Some(last + 1)) == mark
        && spot.joined(last)
        && spot.joined(last + 1)
        && is_digits(spot.word(Some(last + 2)))
        && spot.word(Some(last + 2)).len() == 3
    {
        last += 2;
    }
    let range = spot.range(first, last);
    let digits = spot.slice(first, last).replace(mark, "");
    let hint = format!("a number is written without `{mark}`: did you mean `{digits}`?");
    (last > first).then(|| Slip::tried(range.start, vec![(range, digits)], hint))
}

/// `10k`, `1e6`: a number and letters that belong to it.
fn short(spot: &Spot<'_>) -> Option<Slip> {
    let word = spot.words.get(spot.here)?;
    let letters = spot.text.get(spot.at..word.range().end)?;
    let number = spot.text.get(word.at..spot.at).filter(|number| is_digits(number))?;
    let zeros = match (letters, letters.strip_prefix(['e', 'E']).map(str::parse::<usize>)) {
        (_, Some(Ok(zeros))) if zeros <= 18 => zeros,
        ("k" | "K", _) => 3,
        ("m" | "M", _) => 6,
        _ => return None,
    };
    let whole = format!("{number}{}", "0".repeat(zeros));
    let hint = format!("a number is written out: did you mean `{whole}`?");
    Some(Slip::tried(word.at, vec![(word.range(), whole)], hint))
}

/// `$10000`, `10%`.
fn sign(spot: &Spot<'_>) -> Option<Slip> {
    let (at, sign) = match (spot.on(0), spot.before(1)) {
        (sign @ ("$" | "€" | "£"), _) if spot.joined(spot.here) && is_digits(spot.on(1)) => {
            (spot.here, sign)
        }
        (_, "%") if is_digits(spot.before(2)) => (spot.here.checked_sub(1)?, "%"),
        _ => return None,
    };
    let range = spot.range(at, at);
    let hint = format!("a number stands alone: take `{sign}` out");
    Some(Slip::tried(range.start, vec![(range, String::new())], hint))
}
