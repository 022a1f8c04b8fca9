//! Durations in configuration files: `900`, `"15m"`, `"90s"`, `"250ms"`, `"2h"`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A duration in a configuration file: an integer (seconds) or a string with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span(pub Duration);

impl Span {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = text.get(..digits)?.parse().ok()?;
        let millis = match text.get(digits..)? {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        Some(Self(Duration::from_millis(number.checked_mul(millis)?)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
            if millis > 0 && millis.is_multiple_of(size) {
                return write!(f, "{}{unit}", millis.checked_div(size).unwrap_or(0));
            }
        }
        write!(f, "{millis}ms")
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds, or a string such as `10m`, `90s` or `250ms`")
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Span, E> {
                let seconds = u64::try_from(seconds)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(seconds), &self))?;
                Ok(Span(Duration::from_secs(seconds)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                Span::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
