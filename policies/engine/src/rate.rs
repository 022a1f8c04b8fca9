//! How often: `10/minute`, `600/hour burst 50`, and for whom it is counted. One grammar for annotations and for `limits.json`.

use std::fmt;

use crate::suggest::closest;

/// The most that one limit counts, and the largest burst: a million, far past what one gateway judges in a second.
const MOST: u32 = 1_000_000;

/// Seconds of ten years: a bucket that fills more slowly is a slip of the pen.
const LONGEST: u64 = 10 * 366 * 86_400;

/// The period of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Period {
    /// One second.
    Second,
    /// 60 seconds.
    Minute,
    /// 3,600 seconds.
    Hour,
    /// 86,400 seconds.
    Day,
}

impl Period {
    const ALL: [Self; 4] = [Self::Second, Self::Minute, Self::Hour, Self::Day];

    /// Its length in seconds.
    #[must_use]
    pub const fn seconds(self) -> u32 {
        match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
            Self::Day => 86_400,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }
}

/// A token bucket: it holds `burst` units at most and gets `count` back over each `per`, evenly. 1 to 1,000,000 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rate {
    /// Units that come back over each period.
    pub count: u32,
    /// The period.
    pub per: Period,
    /// Units that can be spent at once after a pause; `count` unless something else is written.
    pub burst: u32,
}

impl Rate {
    /// Reads `COUNT/PERIOD` or `COUNT/PERIOD burst COUNT`.
    ///
    /// # Errors
    /// Anything else, in words for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "a limit is written as in `10/minute` or `600/hour burst 50`";
        let mut words = text.split(' ');
        let (rate, rest) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
        let (count, per) = rate.split_once('/').ok_or(form)?;
        let count = number(count)?;
        let per = Period::ALL.into_iter().find(|known| known.as_str() == per).ok_or_else(|| {
            let near = closest(per, Period::ALL.iter().map(|known| known.as_str()));
            match near {
                Some(near) => {
                    format!("`second`, `minute`, `hour` or `day` is the period (did you mean `{near}`?)")
                }
                None => "`second`, `minute`, `hour` or `day` is the period".to_owned(),
            }
        })?;
        let burst = match rest.as_slice() {
            [] => count,
            ["burst", burst] => number(burst)?,
            _ => return Err(form.to_owned()),
        };
        let rate = Self { count, per, burst };
        if rate.window() > LONGEST {
            return Err("an empty bucket would not be full again within ten years".to_owned());
        }
        Ok(rate)
    }

    /// Seconds in which an empty bucket is full again, rounded up: the window of `RateLimit-Policy`.
    #[must_use]
    pub fn window(&self) -> u64 {
        (u64::from(self.burst) * u64::from(self.per.seconds())).div_ceil(u64::from(self.count.max(1))).max(1)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.per.as_str())?;
        if self.burst == self.count { Ok(()) } else { write!(f, " burst {}", self.burst) }
    }
}

fn number(text: &str) -> Result<u32, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
    let fault = || format!("a count is a number from 1 to {MOST}, without sign or leading zero");
    text.parse().ok().filter(|count| plain && (1..=MOST).contains(count)).ok_or_else(fault)
}

/// The key of a bucket. The sender is always part of it, so no agent ever spends from another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct RateKey {
    /// One for each receiver (`pair`).
    pub receiver: bool,
    /// One for each concept or task of each line (`concept`).
    pub concept: bool,
    /// One for each context line (`line`).
    pub line: bool,
}

impl RateKey {
    const NAMES: [&'static str; 4] = ["agent", "pair", "concept", "line"];

    /// Reads `agent`, `pair`, `concept`, `line`, or several of them separated by commas: one bucket for each combination.
    ///
    /// # Errors
    /// Another word, one word twice, or none, in words for the operator.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut key = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for word in text.split(',').map(str::trim) {
            if seen.contains(&word) {
                return Err(format!("`{word}` occurs twice"));
            }
            match word {
                "agent" => {}
                "pair" => key.receiver = true,
                "concept" => key.concept = true,
                "line" => key.line = true,
                other => {
                    let known = "is counted for `agent`, `pair`, `concept`, `line`, or several of them separated by commas";
                    return Err(match closest(other, Self::NAMES.into_iter()) {
                        Some(near) => format!("it {known} (did you mean `{near}`?)"),
                        None => format!("it {known}"),
                    });
                }
            }
            seen.push(word);
        }
        Ok(key)
    }
}

impl RateKey {
    /// For whom it is counted, in words: `the sender`, `the sender and pair`.
    #[must_use]
    pub fn whom(&self) -> String {
        if *self == Self::default() { "the sender".to_owned() } else { format!("the sender and {self}") }
    }
}

/// As it is written, with the names in one order; `agent` where the sender alone is counted.
impl fmt::Display for RateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [(self.receiver, "pair"), (self.concept, "concept"), (self.line, "line")];
        let named: Vec<&str> = named.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
        f.write_str(&if named.is_empty() { "agent".to_owned() } else { named.join(", ") })
    }
}

#[cfg(test)]
mod tests;
