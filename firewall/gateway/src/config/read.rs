//! Values that are checked while they are read.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serializer;
use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A fault of one value. [`ConfigFault`](super::ConfigFault) adds its key and line.
pub(super) fn fault<E: de::Error>(must: impl fmt::Display) -> E {
    E::custom(format_args!("must be {must}"))
}

/// Reads a value that satisfies `fits`.
pub(super) fn checked<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    must: &str,
    fits: impl Fn(&T) -> bool,
) -> Result<T, D::Error> {
    let value = T::deserialize(deserializer)?;
    if fits(&value) { Ok(value) } else { Err(fault(must)) }
}

/// Reads a list whose entries differ.
pub(super) fn distinct<'de, D: Deserializer<'de>, T: Deserialize<'de> + PartialEq>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    checked(deserializer, "entries, each once", |all: &Vec<T>| {
        all.iter().enumerate().all(|(n, one)| !all.iter().take(n).any(|other| other == one))
    })
}

/// Reads a number within bounds.
pub(super) fn between<'de, D: Deserializer<'de>, T: TryFrom<u64>, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<T, D::Error> {
    let number = u64::deserialize(deserializer)?;
    let number = T::try_from(number).ok().filter(|_| (LEAST..=MOST).contains(&number));
    number.ok_or_else(|| fault(format_args!("between {LEAST} and {MOST}")))
}

/// Reads a name of letters, digits, hyphens, dots and underscores.
pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    checked(deserializer, "1 to 64 letters, digits, hyphens, dots", |text: &String| {
        (1..=64).contains(&text.len()) && text.bytes().all(named)
    })
}

/// A value that the file states as text.
pub(super) trait Text: Sized {
    /// # Errors
    /// Describes the required form.
    fn read(text: &str) -> Result<Self, String>;

    /// The spelling in the file.
    fn write(&self) -> String;
}

/// Implements [`Text`] through a parser that returns an option.
macro_rules! text {
    ($kind:ty, $must:expr, $parse:expr, $write:expr) => {
        impl $crate::config::read::Text for $kind {
            fn read(text: &str) -> Result<Self, String> {
                let parse: fn(&str) -> Option<Self> = $parse;
                parse(text).ok_or_else(|| $must.to_owned())
            }

            fn write(&self) -> String {
                let write: fn(&Self) -> String = $write;
                write(self)
            }
        }
    };
}
pub(super) use text;

/// Serde functions of a [`Text`].
pub(super) mod one {
    use super::{Deserialize, Deserializer, Serializer, Text, fault};

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>, T: Text>(d: D) -> Result<T, D::Error> {
        T::read(&String::deserialize(d)?).map_err(fault)
    }

    pub(in crate::config) fn serialize<S: Serializer, T: Text>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&value.write())
    }
}

/// Implements serde's traits through [`Text`].
macro_rules! as_text {
    ($kind:ty) => {
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::config::read::one::deserialize(deserializer)
            }
        }

        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::config::read::one::serialize(self, serializer)
            }
        }
    };
}
pub(super) use as_text;

/// Serde functions of a list of [`Text`].
pub(super) mod list {
    use super::{Deserialize, Deserializer, Serializer, Text, fault};

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>, T: Text>(
        d: D,
    ) -> Result<Vec<T>, D::Error> {
        let written = Vec::<String>::deserialize(d)?;
        written.iter().map(|text| T::read(text)).collect::<Result<_, _>>().map_err(fault)
    }

    pub(in crate::config) fn serialize<S: Serializer, T: Text>(all: &[T], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(all.iter().map(Text::write))
    }
}

/// Serde functions of a list of [`Text`] with at least one entry.
pub(super) mod some {
    pub(in crate::config) use super::list::serialize;
    use super::{Deserializer, Text, fault};

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>, T: Text>(
        d: D,
    ) -> Result<Vec<T>, D::Error> {
        let all = super::list::deserialize(d)?;
        if all.is_empty() { Err(fault("at least one")) } else { Ok(all) }
    }
}

/// The two forms of a duration, for the schema.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
pub(super) enum SpanText {
    Seconds(u64),
    Text(#[schemars(regex(pattern = r"^[0-9]+(ms|s|m|h)$"))] String),
}

/// A duration: an integer (seconds) or text with a unit, such as `250ms`, `90s`, `15m` or `2h`.
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

/// Reads a duration within bounds, in milliseconds.
pub(super) fn within<'de, D: Deserializer<'de>, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<Duration, D::Error> {
    let [least, most] = [LEAST, MOST].map(Duration::from_millis);
    let Span(time) = Span::deserialize(deserializer)?;
    let must = || fault(format_args!("between {} and {}", Span(least), Span(most)));
    if (least..=most).contains(&time) { Ok(time) } else { Err(must()) }
}

/// A default duration.
pub(super) fn seconds<const SECONDS: u64>() -> Duration {
    Duration::from_secs(SECONDS)
}

/// A default number.
pub(super) fn number<const NUMBER: u64>() -> u64 {
    NUMBER
}

/// Prints a duration.
pub(super) fn span<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Span(*time))
}

/// Serde functions of a timeout, 10 ms to 1 h. A zero timeout refuses everything; a longer one is none.
pub(super) mod timeout {
    pub(in crate::config) use super::span as serialize;
    use super::{Deserializer, Duration};

    pub(in crate::config) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        super::within::<_, 10, 3_600_000>(d)
    }
}

/// Names of the fields of `T`, as the file spells them.
pub(super) fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    drop(T::deserialize(Fields(&mut names)));
    names
}

/// A source without values, which keeps the names that a struct asks for.
struct Fields<'n>(&'n mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("no value"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(de::Error::custom("no value"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
