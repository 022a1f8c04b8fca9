//! A duration in the file: an integer of seconds, or `"250ms"`, `"90s"`, `"10m"`, `"1h"`, `"30d"`.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// The two forms of a duration, for the schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) enum SpanText {
    Seconds(u64),
    Text(#[schemars(regex(pattern = r"^[0-9]+(ms|s|m|h|d)$"))] String),
}

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The text of a duration in its largest whole unit.
pub(super) fn text(duration: Duration) -> String {
    let ms = duration.as_millis();
    let whole = UNITS.iter().rev().find(|(_, scale)| ms > 0 && ms.is_multiple_of(u128::from(*scale)));
    whole.map_or_else(|| "0s".to_owned(), |(unit, scale)| format!("{}{unit}", ms / u128::from(*scale)))
}

/// Reads `<digits><unit>`.
fn parse(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(Duration::from_millis(number.parse::<u64>().ok()?.checked_mul(*scale)?))
}

pub(super) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&text(*duration))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected seconds, or a duration such as `10m`")]
    enum Form {
        Seconds(i64),
        Text(String),
    }
    match Form::deserialize(from)? {
        Form::Seconds(seconds) => {
            let seconds =
                u64::try_from(seconds).map_err(|_| D::Error::custom("a duration is not negative"))?;
            Ok(Duration::from_secs(seconds))
        }
        Form::Text(text) => parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` is not a duration; write seconds or a number with `ms`, `s`, `m`, `h` or `d`"
            ))
        }),
    }
}

/// The same for a duration that need not be set.
pub(super) mod optional {
    use super::{Deserializer, Duration, Serializer};

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        super::deserialize(from).map(Some)
    }
}
