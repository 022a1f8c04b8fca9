//! The formats `date`, `time` and `date-time` (RFC 3339 §5.6). The validator's own (0.60.2) take `2024-0*-01` and
//! `1-:30:00Z`: they read two digits as one number and lose the borrow between them.

/// `full-date`: a day that the calendar has.
pub(super) fn date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let part = |from, to| bytes.get(from..to).and_then(number);
    let (Some(year), Some(month), Some(day)) = (part(0, 4), part(5, 7), part(8, 10)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    bytes.len() == 10
        && bytes.get(4) == Some(&b'-')
        && bytes.get(7) == Some(&b'-')
        && (1..=days).contains(&day)
}

/// `full-time`, with its offset. A leap second is valid only at 23:59:60 in UTC.
pub(super) fn time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let Some((hour, minute, second)) = clock_of(clock.as_bytes()) else { return false };
    let offset = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => {
            let offset = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if offset.len() == fraction.len() {
                return false;
            }
            offset
        }
    };
    let Some(east) = minutes_east(offset) else { return false };
    second < 60 || (hour * 60 + minute + 24 * 60 - east).rem_euclid(24 * 60) == 23 * 60 + 59
}

/// `date-time`: both, with `T` or `t` between them.
pub(super) fn date_time(text: &str) -> bool {
    text.split_once(['T', 't']).is_some_and(|(day, clock)| date(day) && time(clock))
}

/// Hours, minutes and seconds of `12:30:59`.
fn clock_of(bytes: &[u8]) -> Option<(i32, i32, i32)> {
    let part = |from, to| bytes.get(from..to).and_then(number).and_then(|n| i32::try_from(n).ok());
    let (hour, minute, second) = (part(0, 2)?, part(3, 5)?, part(6, 8)?);
    let apart = bytes.get(2) == Some(&b':') && bytes.get(5) == Some(&b':');
    (apart && hour < 24 && minute < 60 && second <= 60).then_some((hour, minute, second))
}

/// The offset of a time from UTC.
fn minutes_east(offset: &str) -> Option<i32> {
    if matches!(offset, "Z" | "z") {
        return Some(0);
    }
    let (sign, rest) = match offset.as_bytes().split_first()? {
        (b'+', rest) => (1, rest),
        (b'-', rest) => (-1, rest),
        _ => return None,
    };
    let part = |from, to| rest.get(from..to).and_then(number).and_then(|n| i32::try_from(n).ok());
    let (hours, minutes) = (part(0, 2)?, part(3, 5)?);
    let well_formed = rest.len() == 5 && rest.get(2) == Some(&b':') && hours < 24 && minutes < 60;
    well_formed.then_some(sign * (hours * 60 + minutes))
}

/// ASCII digits and nothing else; at most four.
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum: u32, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))
}

#[cfg(test)]
mod tests;
