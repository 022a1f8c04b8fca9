//! Operators and comments of other languages, signs that only look like those of Cedar, and numbers.

use super::calls::PATTERN;
use super::speech::IMPLIES;
use super::spot::{Spot, is_digits, is_name, is_text};
use super::{Edit, Slip};

/// What operators are made of here and elsewhere.
const MADE_OF: [&str; 14] = ["=", "!", "<", ">", "~", ":", "&", "|", "≤", "≥", "≠", "∧", "∨", "¬"];

/// Letters of other alphabets that look like those behind them.
const ALIKE: [(char, char); 26] = [
    ('ԁ', 'd'),
    ('ӏ', 'l'),
    ('ɑ', 'a'),
    ('ϲ', 'c'),
    ('․', '.'),
    ('。', '.'),
    ('а', 'a'),
    ('с', 'c'),
    ('е', 'e'),
    ('һ', 'h'),
    ('і', 'i'),
    ('ј', 'j'),
    ('о', 'o'),
    ('р', 'p'),
    ('ѕ', 's'),
    ('х', 'x'),
    ('у', 'y'),
    ('А', 'A'),
    ('В', 'B'),
    ('С', 'C'),
    ('Е', 'E'),
    ('М', 'M'),
    ('О', 'O'),
    ('Р', 'P'),
    ('Т', 'T'),
    ('ο', 'o'),
];

pub(super) fn rules(spot: &Spot<'_>) -> Vec<Slip> {
    let one = [
        parted(spot),
        operator(spot),
        word(spot),
        comment(spot),
        look_alike(spot),
        choice(spot),
        escape(spot),
    ];
    one.into_iter().flatten().collect()
}

/// `> =` and `& &`: one sign with a blank in it.
fn parted(spot: &Spot<'_>) -> Option<Slip> {
    let is_one = |at: &usize| {
        let two = (spot.word(Some(*at)), spot.word(Some(at + 1)));
        let known = matches!(two, ("=" | "!" | "<" | ">", "=") | ("&", "&") | ("|", "|"));
        let end = spot.range(*at, *at).end;
        let between = spot.text.get(end..spot.range(at + 1, at + 1).start).unwrap_or_default();
        let alone = |sign: &str| !MADE_OF.contains(&sign);
        known
            && !between.is_empty()
            && between.trim().is_empty()
            && alone(spot.word(at.checked_sub(1)))
            && alone(spot.word(Some(at + 2)))
    };
    let near = [Some(spot.here), spot.here.checked_sub(1)].into_iter().flatten();
    let near =
        near.chain(spot.why.starts_with("'='").then_some(spot.here..spot.words.len()).into_iter().flatten());
    let at = near.into_iter().take_while(|at| spot.word(Some(*at)) != ";").find(is_one)?;
    let (range, meant) =
        (spot.range(at, at + 1), format!("{}{}", spot.word(Some(at)), spot.word(Some(at + 1))));
    let hint = format!("did you mean `{meant}`, without a blank?");
    Some(Slip::tried(range.start, vec![(range, meant)], hint))
}

/// What `=>` is between two parts of a condition: at least, or what follows from something; nothing where it may be either.
fn arrow(spot: &Spot<'_>, from: usize, to: usize) -> Option<&'static str> {
    let (left, right) = (spot.word(from.checked_sub(1)), spot.word(Some(to + 1)));
    let compares = |word: &str| matches!(word, "=" | "!" | "<" | ">" | "in" | "is" | "has" | "like");
    let value = is_digits(right) || right == "-" || matches!(right, "datetime" | "duration" | "decimal");
    let behind = spot.operand_end(to + 1).map_or("", |last| spot.word(Some(last + 1)));
    let member = from.checked_sub(1).map_or(0, |last| spot.member(last));
    match () {
        () if value && !compares(behind) => Some(">="),
        () if matches!(left, "locked" | "free_text" | "true" | "false") => Some("||"),
        () if matches!(right, "!" | "true" | "false") || compares(behind) => Some("||"),
        () if compares(spot.word(member.checked_sub(1))) => Some("||"),
        () => None,
    }
}

fn operator(spot: &Spot<'_>) -> Option<Slip> {
    let is_part = |at: usize| MADE_OF.contains(&spot.word(Some(at)));
    let ends = |at: usize| {
        let mut from = at;
        while from > 0 && is_part(from - 1) && spot.joined(from - 1) {
            from -= 1;
        }
        let mut to = at;
        while spot.joined(to) && is_part(to + 1) {
            to += 1;
        }
        (from, to)
    };
    let text = |(from, to): (usize, usize)| spot.text.get(spot.range(from, to)).unwrap_or_default();
    let (from, to) = if spot.why.starts_with("'='") {
        (spot.here..spot.words.len())
            .filter(|at| is_part(*at))
            .map(ends)
            .find(|run| matches!(text(*run), "=" | "=!"))?
    } else {
        let at = if is_part(spot.here) {
            spot.here
        } else {
            spot.here.checked_sub(1).filter(|at| is_part(*at))?
        };
        ends(at)
    };
    // a function of one's own: `c => c == "x"`
    let alone = from.checked_sub(1).is_some_and(|left| {
        let word = spot.word(Some(left));
        is_name(word) && spot.word(left.checked_sub(1)) != "." && !matches!(word, "true" | "false")
    });
    if text((from, to)) == "=>" && alone {
        let hint = "what is in a set is asked with `contains`, `containsAny` and `containsAll`, without functions of one's own";
        return Some(Slip::sure(spot.range(from, to).start, hint));
    }
    let meant = match text((from, to)) {
        "=" | "===" | ":=" => "==",
        "<>" | "~=" | "!==" | "≠" => "!=",
        "=~" | "!~" | "~" | "~~" => return Some(Slip::sure(spot.range(from, to).start, PATTERN)),
        // `!` may belong to what stands behind
        "=!" if is_digits(spot.word(Some(to + 1))) || is_text(spot.word(Some(to + 1))) => "!=",
        "=>" => match arrow(spot, from, to) {
            Some(">=") => ">=",
            Some(_) => return Some(implied(spot.range(from, to))),
            None => {
                let hint = format!("at least is `>=`, and {IMPLIES}");
                let range = spot.range(from, to);
                return Some(Slip::tried(range.start, vec![(range, ">=".to_owned())], hint));
            }
        },
        "==>" => return Some(implied(spot.range(from, to))),
        ">==" | "≥" => ">=",
        "<==" => "<=",
        "=<" | "≤" => "<=",
        "&" | "∧" | "&&&" => "&&",
        "|" | "∨" | "|||" => "||",
        "¬" => "!",
        _ => return None,
    };
    let range = spot.range(from, to);
    Some(Slip::tried(range.start, vec![(range, meant.to_owned())], format!("did you mean `{meant}`?")))
}

fn implied(range: std::ops::Range<usize>) -> Slip {
    Slip::tried(range.start, vec![(range, "||".to_owned())], IMPLIES)
}

/// `and`, `or` and `not`.
fn word(spot: &Spot<'_>) -> Option<Slip> {
    let is = |at: usize, name: &str| spot.word(Some(at)).eq_ignore_ascii_case(name);
    let before = spot.here.checked_sub(1);
    let (at, meant, by) = match () {
        () if is(spot.here, "and") => (spot.here, "&&", "&&"),
        () if is(spot.here, "or") => (spot.here, "||", "||"),
        () if is(spot.here, "not") => (spot.here, "!", "!"),
        () => (before.filter(|at| is(*at, "not"))?, "!", "!"),
    };
    // of another question than a truth: `is not`, `not in`, `has not`
    let asks = |word: &str| matches!(word.to_ascii_lowercase().as_str(), "in" | "is" | "has" | "like");
    if meant == "!" && (asks(spot.word(at.checked_sub(1))) || asks(spot.word(Some(at + 1)))) {
        return None;
    }
    if meant == "!"
        && let Some(slip) = not_compared(spot, at)
    {
        return Some(slip);
    }
    let range = spot.range(at, at);
    Some(Slip::tried(range.start, vec![(range, by.to_owned())], format!("did you mean `{meant}`?")))
}

/// `not resource.currency == "EUR"`: `!` alone would be said of the member.
fn not_compared(spot: &Spot<'_>, not: usize) -> Option<Slip> {
    let operand = spot.operand_end(not + 1)?;
    let sign = spot.word(Some(operand + 1)).to_ascii_lowercase();
    if !matches!(sign.as_str(), "=" | "!" | "<" | ">" | "in" | "is" | "has" | "like" | "between") {
        return None;
    }
    if sign == "between" {
        let hint = "what is not so is asked as in `!(context.major >= 1 && context.major <= 2)`";
        let range = spot.range(not, not);
        return Some(Slip::tried(range.start, vec![(range, "!".to_owned())], hint));
    }
    let mut last = operand + 1;
    let ends = |word: &str| {
        matches!(word, "" | "&" | "|" | ")" | "]" | "}" | ";" | "," | "then" | "else")
            || word.eq_ignore_ascii_case("and")
            || word.eq_ignore_ascii_case("or")
    };
    while !ends(spot.word(Some(last + 1))) {
        last += 1;
        if matches!(spot.word(Some(last)), "(" | "[" | "{") {
            last = spot.closed(last)?;
        }
    }
    let (range, end) = (spot.range(not, not), spot.range(last, last).end);
    let open = range.start..spot.range(not + 1, not + 1).start;
    let edits = vec![(open, "!(".to_owned()), (end..end, ")".to_owned())];
    let hint = format!("did you mean `!({})`?", spot.slice(not + 1, last));
    Some(Slip::tried(range.start, edits, hint))
}

fn comment(spot: &Spot<'_>) -> Option<Slip> {
    const HINT: &str = "a comment begins with `//`, on each of its lines";
    let line = |at: usize| spot.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let before = |at: usize| spot.text.get(line(at)..at).unwrap_or_default().trim_end();
    // the lines that begin so, since a comment has several
    let lines = |mark: &str| -> Vec<Edit> {
        let mut edits = Vec::new();
        let mut at = 0;
        for line in spot.text.split_inclusive('\n') {
            let own = at + (line.len() - line.trim_start().len());
            if line.trim_start().starts_with(mark) {
                edits.push((own..own + mark.len(), "//".to_owned()));
            }
            at += line.len();
        }
        edits
    };
    let at = spot.words.get(spot.here)?.at;
    if spot.on(0) == "#" && before(at).is_empty() {
        return Some(Slip::tried(at, lines("#"), HINT));
    }
    if spot.on(0) == "#" && before(at).ends_with([';', ',', '{', '}', ')']) {
        return Some(Slip::tried(at, vec![(at..at + 1, "//".to_owned())], HINT));
    }
    let between_policies = spot.why.ends_with("expected `@` or identifier");
    if between_policies
        && before(at).is_empty()
        && spot.text.get(at..).is_some_and(|rest| rest.starts_with("--"))
    {
        return Some(Slip::tried(at, lines("--"), HINT));
    }
    let open = [Some(spot.here), spot.here.checked_sub(1)].into_iter().flatten().find(|at| {
        spot.word(Some(*at)) == "/" && spot.joined(*at) && spot.word(Some(at + 1)).starts_with('*')
    })?;
    let start = spot.words.get(open)?.at;
    let end = start + spot.text.get(start..)?.find("*/")? + 2;
    Some(Slip::tried(start, vec![(start..end, " ".to_owned())], HINT))
}

/// Signs and letters that look like others: of full width, dashes, and of another alphabet.
fn look_alike(spot: &Spot<'_>) -> Option<Slip> {
    if !spot.why.starts_with("invalid token") {
        return None;
    }
    let found = spot.text.get(spot.at..)?.chars().next()?;
    let wide = |c: char| {
        let code = u32::from(c);
        (0xff01..=0xff5e).contains(&code).then(|| char::from_u32(code - 0xfee0)).flatten()
    };
    if wide(found).is_some() {
        let all = spot.words.iter().filter_map(|word| {
            let narrow: Option<String> = word.text.chars().map(wide).collect();
            Some((word.range(), narrow?))
        });
        let hint =
            "a sign of full width is none of Cedar's: write it without an input method for East Asian text";
        return Some(Slip::tried(spot.at, all.collect(), hint));
    }
    if matches!(found, '\u{2010}'..='\u{2015}' | '\u{2212}') {
        let edit = (spot.at..spot.at + found.len_utf8(), "-".to_owned());
        return Some(Slip::tried(spot.at, vec![edit], "a dash is not a minus: did you mean `-`?"));
    }
    let word = spot.words.get(spot.here)?;
    let own: String = word.text.chars().map(latin).collect();
    is_name(&own).then(|| {
        let hint = format!(
            "`{found}` (U+{:04X}) only looks like `{}`: did you mean `{own}`?",
            u32::from(found),
            latin(found)
        );
        Slip::tried(spot.at, vec![(word.range(), own)], hint)
    })
}

/// The letter or sign that one of another alphabet looks like; others as they are.
pub(crate) fn latin(c: char) -> char {
    let wide = char::from_u32(u32::from(c).wrapping_sub(0xfee0)).filter(char::is_ascii_graphic);
    let alike = || ALIKE.iter().find(|(other, _)| *other == c).map(|(_, own)| *own);
    wide.or_else(alike).unwrap_or(c)
}

/// `a ? b : c`, and `if` without `else`.
fn choice(spot: &Spot<'_>) -> Option<Slip> {
    let closes = matches!(spot.on(0), "}" | ")" | ";");
    let half = spot.why.ends_with("expected `else`") && closes;
    let asks = spot.on(0) == "?"
        && spot.words.iter().skip(spot.here).take_while(|word| word.text != ";").any(|word| word.text == ":");
    let hint = if half {
        "`if … then …` needs an `else …`; what must hold besides is joined by `&&`"
    } else if asks {
        "a choice is written `if … then … else …`"
    } else {
        return None;
    };
    Some(Slip::sure(spot.at, hint))
}

fn escape(spot: &Spot<'_>) -> Option<Slip> {
    spot.why.ends_with("is not a valid escape").then(|| {
        Slip::sure(
            spot.at,
            "in a text a backslash is `\\\\`; a pattern has no sign of its own but `*`, and `\\*` is a star",
        )
    })
}
