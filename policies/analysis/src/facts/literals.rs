//! Literals of policies held against rules that Cedar cannot express: patterns, lengths, multiples, single addresses.
//!
//! A literal that no value can equal becomes the fact that the member differs from it.

use std::sync::Arc;

use semgate_contexts::json::{self, Limits};
use semgate_contexts::schema::{Plain, compile_plain};
use serde_json::{Map, Value};

use super::Fact;
use super::members::{BOUNDS, Member, Schemas};
use crate::expression::{Mentions, quoted};

/// Keywords that judge a text by itself.
const OF_TEXTS: [&str; 4] = ["pattern", "minLength", "maxLength", "format"];
/// Ten-thousandths, the unit of a decimal.
const UNIT: i64 = 10_000;

#[derive(Debug, Clone)]
enum Rule {
    /// A text must fit each of these.
    Text(Arc<Vec<Plain>>),
    /// A single address, no network.
    Address,
    /// A multiple of this many ten-thousandths.
    Decimal(i64),
    /// A multiple of this.
    Long(i64),
    /// Each item lies between these.
    Items(i64, i64),
}

/// The checks of one version of a type.
#[derive(Debug, Default)]
pub struct Checks(Vec<(Member, Rule)>);

impl Checks {
    /// A text under its pattern, its lengths and its format.
    pub fn text(&mut self, member: &Member, schemas: &Schemas<'_>) {
        let mut all = Vec::new();
        for keyword in OF_TEXTS {
            for value in schemas.keyword(keyword) {
                let schema = Map::from_iter([(keyword.to_owned(), value.clone())]);
                all.extend(compile_plain(&Value::Object(schema)));
            }
        }
        if !all.is_empty() {
            self.0.push((member.clone(), Rule::Text(Arc::new(all))));
        }
    }

    /// An address.
    pub fn address(&mut self, member: &Member) {
        self.0.push((member.clone(), Rule::Address));
    }

    /// A decimal under `multipleOf`.
    pub fn decimal(&mut self, member: &Member, schemas: &Schemas<'_>) {
        let steps = schemas.keyword("multipleOf").filter_map(super::members::decimal);
        for step in steps.filter_map(|step| ten_thousandths(&step)).filter(|step| *step > 1) {
            self.0.push((member.clone(), Rule::Decimal(step)));
        }
    }

    /// An integer under `multipleOf`.
    pub fn long(&mut self, member: &Member, schemas: &Schemas<'_>) {
        for step in schemas.keyword("multipleOf").filter_map(Value::as_i64).filter(|step| *step > 1) {
            self.0.push((member.clone(), Rule::Long(step)));
        }
    }

    /// Integers of a set under their bounds.
    pub fn items(&mut self, member: &Member, items: &Schemas<'_>) {
        let (mut least, mut most) = (i64::MIN, i64::MAX);
        for (keyword, sign) in BOUNDS {
            for bound in items.keyword(keyword).filter_map(Value::as_i64) {
                match sign {
                    ">=" => least = least.max(bound),
                    "<=" => most = most.min(bound),
                    ">" => least = least.max(bound.saturating_add(1)),
                    _ => most = most.min(bound.saturating_sub(1)),
                }
            }
        }
        if (least, most) != (i64::MIN, i64::MAX) {
            self.0.push((member.clone(), Rule::Items(least, most)));
        }
    }

    /// The facts about the literals of a question, for the members that it asks for.
    pub fn facts(&self, asked: &Mentions) -> Vec<Fact> {
        let asked_for = self.0.iter().filter(|(member, _)| asked.keys.contains(&member.key));
        asked_for.flat_map(|(member, rule)| rule.facts(member, asked)).collect()
    }
}

impl Rule {
    fn facts(&self, member: &Member, asked: &Mentions) -> Vec<Fact> {
        let literals = |function: &'static str| {
            asked.literals.iter().filter(move |(name, _)| name == function).map(|(_, text)| text.as_str())
        };
        match self {
            Self::Text(schemas) => {
                let unfit =
                    asked.texts.iter().filter(|text| !schemas.iter().all(|schema| fits(schema, text)));
                unfit.map(|text| member.fact(&format!("{{}} != {}", quoted(text)))).collect()
            }
            Self::Address => {
                let networks = literals("ip").filter(|text| is_network(text));
                networks.map(|text| member.fact(&format!("{{}} != ip({})", quoted(text)))).collect()
            }
            Self::Decimal(step) => {
                let off = literals("decimal")
                    .filter(|text| ten_thousandths(text).is_some_and(|number| number % step != 0));
                off.map(|text| member.fact(&format!("{{}} != decimal({})", quoted(text)))).collect()
            }
            Self::Long(step) => {
                let off = asked.integers.iter().filter(|number| *number % step != 0);
                off.map(|number| member.fact(&format!("{{}} != {number}"))).collect()
            }
            Self::Items(least, most) => {
                let off = asked.integers.iter().filter(|number| !(*least..=*most).contains(number));
                off.map(|number| member.fact(&format!("!{{}}.contains({number})"))).collect()
            }
        }
    }
}

/// True if a text fits a schema. A text that the strict reader refuses fits none, and is left to other rules.
fn fits(schema: &Plain, text: &str) -> bool {
    let written = Value::String(text.to_owned()).to_string();
    json::read(written.as_bytes(), &Limits::default()).map_or(true, |value| schema.accepts(&value).is_ok())
}

/// True if a literal of `ip` has a prefix shorter than the address.
fn is_network(text: &str) -> bool {
    let whole = if text.contains(':') { 128 } else { 32 };
    text.split_once('/')
        .and_then(|(_, prefix)| prefix.parse::<u32>().ok())
        .is_some_and(|prefix| prefix < whole)
}

fn ten_thousandths(text: &str) -> Option<i64> {
    let (whole, places) = text.split_once('.')?;
    let fraction: i64 = format!("{places:0<4}").parse().ok()?;
    let number = whole.parse::<i64>().ok()?.checked_mul(UNIT)?;
    if whole.starts_with('-') { number.checked_sub(fraction) } else { number.checked_add(fraction) }
}

#[cfg(test)]
mod tests {
    use super::{fits, is_network, ten_thousandths};
    use semgate_contexts::schema::compile_plain;
    use serde_json::json;

    #[test]
    fn literals_are_held_against_what_cedar_cannot_express() {
        assert!(is_network("10.0.0.0/8") && is_network("::/64"));
        assert!(!is_network("10.0.0.1/32") && !is_network("10.0.0.1") && !is_network("::1/128"));
        assert_eq!(ten_thousandths("1.5"), Some(15_000));
        assert_eq!(ten_thousandths("-0.25"), Some(-2_500));
        let pattern = compile_plain(&json!({"pattern": "^DE[0-9]+$"})).unwrap();
        assert!(fits(&pattern, "DE1") && !fits(&pattern, "de1"));
    }
}
