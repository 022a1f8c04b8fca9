//! Types with a JSON form of their own in the protobuf mapping: `Struct`, `Value`, `ListValue`, `Timestamp`, and maps.

use super::{
    decode::{inside, one, repeated, singles, twice, utf8, wire_type},
    print::Printer,
    shape::Kind,
};
use crate::{
    MessageFault,
    member::Read,
    wire::{Raw, int32},
};

/// The range of a `Timestamp` in seconds relative to the epoch: 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

const NANOS: std::ops::RangeInclusive<i32> = 0..=999_999_999;

const SECONDS_A_DAY: i64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

const DAYS_IN_400_YEARS: i64 = 146_097;

/// `google.protobuf.Value`. One that holds nothing is refused: some readers take it for null, others fail.
pub(super) fn value(bytes: &[u8], depth: usize, out: &mut Printer<'_>) -> Read<()> {
    let depth = out.deeper(depth)?;
    let parsed: [_; 6] = singles(bytes, out)?;
    let mut set = parsed.into_iter().enumerate().filter_map(|(n, raw)| raw.map(|raw| (n + 1, raw)));
    let (Some((number, raw)), None) = (set.next(), set.next()) else {
        return Err(MessageFault::malformed("", "is not exactly one value"));
    };
    match (number, raw) {
        (1, Raw::Varint(0)) => out.put("null"),
        (1, Raw::Varint(_)) => Err(MessageFault::malformed("", "is a number without a name")),
        (2, Raw::Fixed64(bits)) => out.double(f64::from_bits(bits)),
        (3, raw) => one(Kind::Text, raw, depth, out),
        (4, raw) => one(Kind::Bool, raw, depth, out),
        (5, raw) => one(Kind::Struct, raw, depth, out),
        (6, Raw::Bytes(bytes)) => list(bytes, depth, out),
        _ => Err(wire_type()),
    }
}

/// `google.protobuf.Struct`.
pub(super) fn structure(bytes: &[u8], depth: usize, out: &mut Printer<'_>) -> Read<()> {
    let depth = out.deeper(depth)?;
    let entries = repeated(bytes, out)?;
    map(entries.into_iter(), &Kind::Value, depth, out)
}

fn list(bytes: &[u8], depth: usize, out: &mut Printer<'_>) -> Read<()> {
    let depth = out.deeper(depth)?;
    let items = repeated(bytes, out)?;
    out.put("[")?;
    let mut first = true;
    for (n, raw) in items.into_iter().enumerate() {
        out.comma(&mut first)?;
        one(Kind::Value, raw, depth, out).map_err(|fault| inside(fault, &n.to_string()))?;
    }
    out.put("]")
}

/// The entries of a map. An absent key or value is the empty one, since some writers omit defaults. Refuses a key that is
/// there twice: readers keep the last.
pub(super) fn map<'b>(
    entries: impl Iterator<Item = Raw<'b>>,
    values: &Kind,
    depth: usize,
    out: &mut Printer<'_>,
) -> Read<()> {
    let mut keys = Vec::new();
    let mut first = true;
    out.put("{")?;
    for entry in entries {
        let Raw::Bytes(bytes) = entry else { return Err(wire_type()) };
        let depth = out.deeper(depth)?;
        let [key, value] = singles(bytes, out)?;
        let key = match key {
            None => "",
            Some(Raw::Bytes(key)) => utf8(key)?,
            Some(_) => return Err(wire_type()),
        };
        keys.push(key);
        out.comma(&mut first)?;
        out.string(key)?;
        out.put(":")?;
        // the default of a text, a message and a `Value` alike is no bytes
        let value = value.unwrap_or(Raw::Bytes(&[]));
        one(*values, value, depth, out).map_err(|fault| inside(fault, key))?;
    }
    out.put("}")?;
    keys.sort_unstable();
    match keys.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        Some([key, _]) => Err(inside(twice(), key)),
        _ => Ok(()),
    }
}

/// `google.protobuf.Timestamp`, as RFC 3339 in UTC with 0, 3, 6 or 9 digits of a second.
pub(super) fn timestamp(bytes: &[u8], depth: usize, out: &mut Printer<'_>) -> Read<()> {
    out.deeper(depth)?;
    let [seconds, nanos] = singles(bytes, out)?;
    let number = |raw| match raw {
        None => Ok(0),
        Some(Raw::Varint(number)) => Ok(number),
        Some(_) => Err(wire_type()),
    };
    let fault = || MessageFault::malformed("", "is not a time between the years 1 and 9999");
    let seconds = number(seconds)?.cast_signed();
    let nanos = int32(number(nanos)?).filter(|nanos| NANOS.contains(nanos)).ok_or_else(fault)?;
    if !SECONDS.contains(&seconds) {
        return Err(fault());
    }
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_A_DAY));
    let clock = seconds.rem_euclid(SECONDS_A_DAY);
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    let fraction = match nanos {
        0 => String::new(),
        n if n % 1_000_000 == 0 => format!(".{:03}", n / 1_000_000),
        n if n % 1_000 == 0 => format!(".{:06}", n / 1_000),
        n => format!(".{n:09}"),
    };
    out.put(&format!("\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z\""))
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar. Years are counted from March, so that the day that is
/// sometimes there is the last of its year.
const fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + DAYS_TO_EPOCH;
    let era = day.div_euclid(DAYS_IN_400_YEARS);
    let of_era = day.rem_euclid(DAYS_IN_400_YEARS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

/// The seconds since the epoch and the nanoseconds of a time as [`timestamp`] prints it, with any number of digits up to nine.
pub(super) fn seconds_of(text: &str) -> Option<(i64, u32)> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    if hour > 23
        || minute > 59
        || second > 59
        || fraction.len() > 9
        || !fraction.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    let days = day_of(year, month, day);
    // a day that the month does not have comes back as another
    let seconds = days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    (civil(days) == (year, month, day) && SECONDS.contains(&seconds)).then_some((seconds, nanos))
}

fn numbers(text: &str, by: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(by);
    let mut parsed = [0; 3];
    for (slot, width) in parsed.iter_mut().zip(widths) {
        let part =
            parts.next().filter(|part| part.len() == width && part.bytes().all(|b| b.is_ascii_digit()))?;
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(parsed)
}

/// The day of a date, counted from 1970-01-01: [`civil`] the other way.
const fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * march + 2) / 5 + day - 1;
    let day = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era * DAYS_IN_400_YEARS + day - DAYS_TO_EPOCH
}
