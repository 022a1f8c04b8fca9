//! Times and lengths of time as other languages and people write them, where no other reading of them is likely.

use crate::moments;

/// What was meant by the text of a `duration`, if there is one reading of it. `08:00` is one of the day alone, which is told by what it is compared with.
pub(super) fn duration(text: &str, of_day: bool) -> Option<String> {
    let units = match clock(text).filter(|_| of_day) {
        Some(units) => units,
        None => iso(text).or_else(|| spoken(text))?,
    };
    let whole: String = units
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, unit)| format!("{number}{unit}"))
        .collect();
    let whole = if whole.is_empty() { "0h".to_owned() } else { whole };
    (whole != text).then(|| format!("did you mean `duration(\"{whole}\")`?"))
}

type Units = Vec<(u32, &'static str)>;

fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// `22:00` and `08:30:00`.
fn clock(text: &str) -> Option<Units> {
    let mut parts = text.split(':').map(|part| number(part).filter(|_| part.len() <= 2));
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = parts.next().unwrap_or(Some(0))?;
    (parts.next().is_none() && hours <= 24 && minutes < 60 && seconds < 60)
        .then(|| vec![(hours, "h"), (minutes, "m"), (seconds, "s")])
}

/// `PT8H` and `P1DT12H30M`.
fn iso(text: &str) -> Option<Units> {
    let (days, rest) = text.strip_prefix('P')?.split_once('T').map_or((text.get(1..)?, ""), |split| split);
    let mut units = Units::new();
    let mut read = |part: &str, known: &[(char, &'static str)]| -> Option<()> {
        let mut from = 0;
        for (at, sign) in part.char_indices().filter(|(_, c)| !c.is_ascii_digit()) {
            let (_, unit) = known.iter().find(|(other, _)| *other == sign)?;
            units.push((number(part.get(from..at)?)?, *unit));
            from = at + sign.len_utf8();
        }
        (from == part.len()).then_some(())
    };
    read(days, &[('D', "d")])?;
    read(rest, &[('H', "h"), ('M', "m"), ('S', "s")])?;
    (!units.is_empty()).then_some(units)
}

/// `8 h`, `8H`, `30min`, `2 days`.
fn spoken(text: &str) -> Option<Units> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let unit = match text.get(end..)?.trim().to_ascii_lowercase().as_str() {
        "d" | "day" | "days" => "d",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        // `M` may be a month
        "min" | "mins" | "minute" | "minutes" => "m",
        "m" if text.ends_with('m') => "m",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "ms" => "ms",
        _ => return None,
    };
    Some(vec![(number(text.get(..end)?)?, unit)])
}

/// What was meant by the text of a `datetime`: a day whose year stands first.
pub(super) fn datetime(text: &str) -> Option<String> {
    let mut parts = text.split(['-', '/', '.']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let in_order = parts.next().is_none() && year.len() == 4 && month.len() <= 2 && day.len() <= 2;
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let whole = format!("{year:04}-{month:02}-{day:02}");
    let known = in_order && moments::milliseconds(&whole).is_some();
    (known && whole != text).then(|| format!("did you mean `datetime(\"{whole}\")`?"))
}

#[cfg(test)]
mod tests {
    use super::{datetime, duration};

    #[test]
    fn a_length_of_time_with_one_reading_is_read_and_others_are_not() {
        for (text, of_day, meant) in [
            ("22:00", true, Some("22h")),
            ("22:30", true, Some("22h30m")),
            ("08:00:05", true, Some("8h5s")),
            ("00:00", true, Some("0h")),
            ("22:00", false, None),
            ("25:00", true, None),
            ("22:75", true, None),
            ("1:2:3:4", true, None),
            ("PT8H", false, Some("8h")),
            ("P1DT2H30M", false, Some("1d2h30m")),
            ("P1M", false, None),
            ("P", false, None),
            ("PT", false, None),
            ("8 h", false, Some("8h")),
            ("8H", false, Some("8h")),
            ("30min", false, Some("30m")),
            ("2 days", false, Some("2d")),
            ("5 m", false, Some("5m")),
            ("5M", false, None),
            ("22", true, None),
            ("h", false, None),
            ("-8 h", false, None),
            ("", true, None),
        ] {
            let told = meant.map(|meant| format!("did you mean `duration(\"{meant}\")`?"));
            assert_eq!(duration(text, of_day), told, "{text}");
        }
    }

    #[test]
    fn a_day_whose_year_stands_first_is_read_and_others_are_not() {
        for (text, meant) in [
            ("2030-1-1", Some("2030-01-01")),
            ("2030/12/31", Some("2030-12-31")),
            ("2030-2-31", None),
            ("2028-2-29", Some("2028-02-29")),
            ("2030.1.31", Some("2030-01-31")),
            ("01.02.2030", None),
            ("01/02/2030", None),
            ("2030-31-1", None),
            ("2030-01-01", None),
            ("2030-01-01 10:00", None),
            ("2030", None),
        ] {
            let told = meant.map(|meant| format!("did you mean `datetime(\"{meant}\")`?"));
            assert_eq!(datetime(text), told, "{text}");
        }
    }
}
