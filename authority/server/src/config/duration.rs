//! A duration in the file: an integer of seconds, or `"250ms"`, `"90s"`, `"10m"`, `"1h"`, `"30d"`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A [`Duration`] in a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConfigDuration(pub Duration);

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl ConfigDuration {
    /// Reads `<digits><unit>`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no duration; write seconds or a number with `ms`, `s`, `m`, `h` or `d`");
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        number.checked_mul(*scale).map(|ms| Self(Duration::from_millis(ms))).ok_or_else(wrong)
    }
}

impl fmt::Display for ConfigDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        for (unit, scale) in UNITS.iter().rev() {
            if ms > 0 && ms.is_multiple_of(u128::from(*scale)) {
                return write!(f, "{}{unit}", ms / u128::from(*scale));
            }
        }
        write!(f, "0s")
    }
}

impl Serialize for ConfigDuration {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ConfigDuration {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = ConfigDuration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds, or a duration such as `10m`")
            }
            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<ConfigDuration, E> {
                let seconds = u64::try_from(seconds).map_err(|_| E::custom("a duration is not negative"))?;
                Ok(ConfigDuration(Duration::from_secs(seconds)))
            }
            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<ConfigDuration, E> {
                Ok(ConfigDuration(Duration::from_secs(seconds)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ConfigDuration, E> {
                ConfigDuration::parse(text).map_err(E::custom)
            }
        }
        from.deserialize_any(Reader)
    }
}
