//! Keywords that we check ourselves: patterns, free text, code lists, and `multipleOf` by digits instead of by doubles.

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::check::is_bare;
use super::matcher::Matchers;
use super::meter::{LOOK, charge, charge_text, session_model};
use super::node::{Node, Tree};
use super::source::count;
use crate::json::{Decimal, Number};
use crate::vectors::{VectorFault, VectorType};

type KeywordResult<'a> = Result<Box<dyn for<'i> Keyword<'i, Tree>>, ValidationError<'a>>;

/// A keyword that is a predicate. Its error is empty: path and name of the keyword are added around it.
struct Rule<P>(P);

impl<'i, P> Keyword<'i, Tree> for Rule<P>
where
    P: Fn(Node<'i>) -> bool + Send + Sync,
{
    fn validate(&self, instance: Node<'i>) -> Result<(), ValidationError<'i>> {
        if (self.0)(instance) { Ok(()) } else { Err(ValidationError::custom("refused")) }
    }

    fn is_valid(&self, instance: Node<'i>) -> bool {
        (self.0)(instance)
    }
}

/// `x-free-text: true`.
pub(super) fn free_text<'a>(_: &'a Map<String, Value>, _: &'a Value, _: Location) -> KeywordResult<'a> {
    Ok(Box::new(Rule(|node: Node<'_>| {
        node.text().is_none_or(|text| charge_text(text) && !text.chars().any(is_refused))
    })))
}

/// `pattern`. Skips a text that `maxLength` refuses anyway, so that a match costs no more than the document's bound.
pub(super) fn pattern<'a>(
    matchers: &Matchers,
    schema: &'a Map<String, Value>,
    value: &'a Value,
) -> KeywordResult<'a> {
    let matcher = value.as_str().and_then(|pattern| matchers.get(pattern));
    let matcher = matcher.ok_or_else(|| ValidationError::custom("no pattern"))?;
    let most = most_bytes(schema).and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    Ok(Box::new(Rule(move |node: Node<'_>| {
        node.text().is_none_or(|text| text.len() <= most && matcher.matches(text))
    })))
}

/// The bytes of the longest string that `maxLength` takes: a character has four at most.
pub(super) fn most_bytes(schema: &Map<String, Value>) -> Option<u64> {
    schema.get("maxLength").and_then(count).map(|most| most.saturating_mul(4))
}

/// Characters that free text must not hold. They change the visible text without being visible:
///
/// - controls (Unicode `Cc`): U+0000–001F (line feed and tab too), U+007F–009F;
/// - line and paragraph separators U+2028, U+2029;
/// - bidirectional marks, embeddings, overrides and isolates: U+061C, U+200E, U+200F, U+202A–202E, U+2066–2069;
/// - tag characters U+E0000–E007F, which carry hidden ASCII.
pub fn is_refused(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Characters that change what a person reads without being seen. They are those that no free text may hold ([`is_refused`])
/// and those without width. The joiners U+200C and U+200D are not among them, since some languages spell with them.
pub fn is_unseen(c: char) -> bool {
    is_refused(c)
        || matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// The code lists of a document, sorted: one copy for all schemas that name them.
#[derive(Clone, Default)]
pub(super) struct Codes(Arc<BTreeMap<String, Arc<[Box<str>]>>>);

impl Codes {
    pub(super) fn new(lists: &BTreeMap<String, Vec<String>>) -> Self {
        let sorted = |list: &Vec<String>| {
            let mut list: Vec<Box<str>> = list.iter().map(|code| code.as_str().into()).collect();
            list.sort_unstable();
            list.into()
        };
        Self(Arc::new(lists.iter().map(|(name, list)| (name.clone(), sorted(list))).collect()))
    }
}

/// Steps of a search in a code list: fourteen comparisons in one of 8,192 codes.
const LOOKS_A_CODE: u64 = 100;

/// `x-code-list`, by its name.
pub(super) fn code_list<'a>(lists: &Codes, name: &'a Value) -> KeywordResult<'a> {
    let codes = name.as_str().and_then(|name| lists.0.get(name)).map(Arc::clone);
    let codes = codes.ok_or_else(|| ValidationError::custom("names no code list"))?;
    Ok(Box::new(Rule(move |node: Node<'_>| {
        node.text().is_none_or(|text| {
            charge(LOOK + LOOKS_A_CODE) && codes.binary_search_by(|code| (**code).cmp(text)).is_ok()
        })
    })))
}

/// `x-embedding`. Its error names the rule of the fault.
struct Embedding(VectorType);

/// Steps of one component: a look, its place in the sum, and its square.
const COMPONENT: u64 = 2 * LOOK;

impl Embedding {
    fn judge(&self, node: Node<'_>) -> Result<(), VectorFault> {
        match node {
            Node::Value(value) => self.0.judge(value, session_model(), || charge(COMPONENT)),
            // a whole instance is no vector, nor is a name
            Node::Root(_) | Node::Name(_) => Err(VectorFault::Form),
        }
    }
}

impl<'i> Keyword<'i, Tree> for Embedding {
    fn validate(&self, instance: Node<'i>) -> Result<(), ValidationError<'i>> {
        self.judge(instance).map_err(|fault| ValidationError::custom(fault.rule()))
    }

    fn is_valid(&self, instance: Node<'i>) -> bool {
        self.judge(instance).is_ok()
    }
}

/// `x-embedding`.
pub(super) fn embedding<'a>(
    schema: &'a Map<String, Value>,
    value: &'a Value,
    _: Location,
) -> KeywordResult<'a> {
    // an emitted schema lists both types unless arrays alone are taken
    let bare = is_bare(schema) && schema.get("type").is_some_and(Value::is_string);
    let vector = VectorType::of(value, bare, Arc::default()).map_err(ValidationError::custom)?;
    Ok(Box::new(Embedding(vector)))
}

/// `multipleOf`.
pub(super) fn multiple_of<'a>(_: &'a Map<String, Value>, value: &'a Value, _: Location) -> KeywordResult<'a> {
    let text = value.to_string();
    let Ok(step) = Number::parse(&text).map(|number| number.magnitude()) else {
        return Err(ValidationError::custom("not a number within bounds"));
    };
    if step.digits == 0 || text.starts_with('-') {
        return Err(ValidationError::custom("not above zero"));
    }
    Ok(Box::new(Rule(move |node: Node<'_>| {
        node.number().is_none_or(|number| {
            let value = number.magnitude();
            charge(multiple_steps(value, step)) && value.is_multiple_of(step)
        })
    })))
}

/// Steps of [`Decimal::is_multiple_of`]: two divisions of 128 bits for each binary digit of the difference of the exponents.
fn multiple_steps(value: Decimal, of: Decimal) -> u64 {
    let shift = i32::from(value.exponent).abs_diff(i32::from(of.exponent));
    LOOK + 50 * u64::from(u32::BITS - shift.leading_zeros())
}

/// Returns true if policies can hold multiples of this number: it is a multiple of 0.0001.
pub(super) fn is_decimal4(value: &Value) -> bool {
    let step = Decimal { digits: 1, exponent: -4 };
    Number::parse(&value.to_string()).is_ok_and(|number| number.magnitude().is_multiple_of(step))
}

#[cfg(test)]
mod tests;
