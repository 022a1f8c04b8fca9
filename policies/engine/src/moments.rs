//! Dates, durations and addresses of JSON Schema's formats, as Cedar writes them: exactly, or not at all.

use std::net::IpAddr;

pub(crate) const SECOND: i64 = 1_000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
/// A day is 24 hours, as in Cedar, whatever clocks do that day.
pub(crate) const DAY: i64 = 24 * HOUR;

/// A `date` or `date-time` (RFC 3339) as the text of Cedar's `datetime`: a date is its midnight in UTC, an instant keeps its offset,
/// and Cedar compares instants. `None` for what Cedar has no value for: a leap second, or digits other than zero behind the
/// millisecond.
pub(crate) fn datetime(text: &str) -> Option<String> {
    let date = text.get(..10)?;
    is_day(date)?;
    let Some(time) = text.get(10..).filter(|rest| !rest.is_empty()) else {
        return Some(date.to_owned());
    };
    let time = time.strip_prefix(['T', 't'])?;
    let clock = time.get(..8)?;
    is_clock(clock)?;
    let rest = time.get(8..)?;
    let (fraction, offset) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?),
        None => ("0", rest),
    };
    let (shown, lost) = fraction.split_at(fraction.len().min(3));
    if fraction.is_empty() || lost.bytes().any(|digit| digit != b'0') {
        return None;
    }
    Some(format!("{date}T{clock}.{shown:0<3}{}", offset_of(offset)?))
}

/// `YYYY-MM-DD`, a day that exists.
fn is_day(date: &str) -> Option<()> {
    let (year, rest) = date.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=last).contains(&day).then_some(())
}

/// `HH:MM:SS`, no leap second.
fn is_clock(clock: &str) -> Option<()> {
    let (hours, rest) = clock.split_once(':')?;
    let (minutes, seconds) = rest.split_once(':')?;
    (digits(hours, 2)? < 24 && digits(minutes, 2)? < 60 && digits(seconds, 2)? < 60).then_some(())
}

/// `Z`, `+HH:MM` or `-HH:MM` as Cedar writes it, without the colon.
fn offset_of(offset: &str) -> Option<String> {
    if matches!(offset, "Z" | "z") {
        return Some("Z".to_owned());
    }
    let sign = offset.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let fits = digits(hours, 2)? < 24 && digits(minutes, 2)? < 60;
    fits.then(|| format!("{sign}{hours}{minutes}"))
}

fn digits(text: &str, count: usize) -> Option<u32> {
    let plain = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// A `duration` (RFC 3339, Appendix A) in milliseconds, as Cedar's `duration` holds it. `None` for years and months, which have no
/// length of their own, and for more than 64 bits hold (some 292 million years).
pub(crate) fn duration(text: &str) -> Option<i64> {
    let mut rest = text.strip_prefix('P')?;
    let (mut sum, mut timed, mut some) = (0_i64, false, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T').filter(|_| !timed) {
            (rest, timed) = (time, true);
            continue;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let amount: i64 = rest.get(..end)?.parse().ok()?;
        let unit = rest.get(end..)?.chars().next()?;
        let length = match (unit, timed) {
            ('W', false) => 7 * DAY,
            ('D', false) => DAY,
            ('H', true) => HOUR,
            ('M', true) => MINUTE,
            ('S', true) => SECOND,
            ('Y' | 'M', false) if amount == 0 => 0,
            _ => return None,
        };
        sum = sum.checked_add(amount.checked_mul(length)?)?;
        rest = rest.get(end + 1..)?;
        some = true;
    }
    some.then_some(sum)
}

/// An `ipv4` or `ipv6` as the text of Cedar's `ipaddr`, which takes no dots in an IPv6 address.
pub(crate) fn ip(text: &str) -> Option<String> {
    Some(match text.parse::<IpAddr>().ok()? {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => address.segments().map(|part| format!("{part:x}")).join(":"),
    })
}

#[cfg(test)]
mod tests;
