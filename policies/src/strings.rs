//! The strings that a schema lets a member be, as far as it says so in one place: those that it lists, else by length, pattern and
//! format. Whatever is not recognised leaves every string open.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use cedar_policy::pst::PatternElem;
use semgate_contexts::json::{self, Json};
use semgate_contexts::{Context, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

use crate::openness::Place;

/// Versions of one member that say different things of it; where there are more, nothing is known.
const MAX_RULES: usize = 8;

/// Keywords that say what a string can be.
const KEYWORDS: [&str; 7] = ["minLength", "maxLength", "pattern", "format", "enum", "const", "x-free-text"];

/// What a member can be, over its versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Strings {
    /// All of them, where they are known.
    pub listed: Option<Arc<BTreeSet<String>>>,
    /// What holds of each in one version or another, where every version says something.
    pub rules: Option<Arc<Vec<Rule>>>,
}

impl Strings {
    /// These, as the schema at a place has them.
    pub fn of(listed: Option<Arc<BTreeSet<String>>>, place: Option<Place<'_>>) -> Self {
        let rule = place.and_then(Rule::of).filter(|_| listed.is_none());
        Self { listed, rules: rule.map(|rule| Arc::new(vec![rule])) }
    }

    /// What either lets through.
    pub fn or(&self, other: &Self) -> Self {
        let listed = self
            .listed
            .as_ref()
            .zip(other.listed.as_ref())
            .map(|(a, b)| if a == b { Arc::clone(a) } else { Arc::new(a.union(b).cloned().collect()) });
        let rules = self.rules.as_ref().zip(other.rules.as_ref()).map(|(a, b)| either(a, b));
        Self { listed, rules: rules.filter(|rules| rules.len() <= MAX_RULES) }
    }
}

/// The rules of both, sorted, each once.
pub(crate) fn either(a: &Arc<Vec<Rule>>, b: &Arc<Vec<Rule>>) -> Arc<Vec<Rule>> {
    if a == b {
        return Arc::clone(a);
    }
    let mut all: Vec<Rule> = a.iter().chain(b.iter()).cloned().collect();
    all.sort();
    all.dedup();
    Arc::new(all)
}

/// What one version says of a string, as its validator understands it.
#[derive(Clone)]
pub(crate) struct Rule(Arc<Said>);

struct Said {
    /// The schemas as text, by which two rules are told apart.
    text: String,
    schemas: Vec<Value>,
    probe: OnceLock<Option<Context>>,
}

impl Rule {
    /// What the schema at a place says; none if it says nothing.
    fn of(place: Place<'_>) -> Option<Self> {
        let said = |schema: &Value| {
            let own =
                KEYWORDS.iter().filter_map(|name| Some(((*name).to_owned(), schema.get(*name)?.clone())));
            Value::Object(own.collect::<Map<_, _>>())
        };
        let says = |schema: &Value| schema.as_object().is_some_and(|members| !members.is_empty());
        let schemas: Vec<Value> = place.all_of().into_iter().map(said).filter(says).collect();
        (!schemas.is_empty()).then(|| Self::saying(schemas))
    }

    fn saying(schemas: Vec<Value>) -> Self {
        let text = Value::Array(schemas.clone()).to_string();
        Self(Arc::new(Said { text, schemas, probe: OnceLock::new() }))
    }

    /// Whether a string is as it says. What cannot be compiled by itself is taken to let everything be.
    pub fn fits(&self, text: &str) -> bool {
        let bytes = json!({ "text": text }).to_string();
        let Ok(Json::Object(object)) = json::read(bytes.as_bytes(), &json::Limits::default()) else {
            return true;
        };
        let probe = self.0.probe.get_or_init(|| probe(&self.0.schemas)).as_ref();
        let shape = probe.and_then(|context| context.shapes().next());
        shape.is_none_or(|shape| shape.conform(&object, None).is_ok())
    }

    /// Whether some string that is as it says could be as Cedar's `like` asks. Of a pattern with wildcards that is told by the number of its
    /// characters and by which they are.
    pub fn may_be_like(&self, pattern: &[PatternElem]) -> bool {
        let written = pattern.iter().filter_map(|part| match part {
            PatternElem::Char(c) => Some(*c),
            PatternElem::Wildcard => None,
        });
        let written: String = written.collect();
        if !pattern.contains(&PatternElem::Wildcard) {
            return self.fits(&written);
        }
        let distinct: BTreeSet<char> = written.chars().collect();
        let strange = |alphabet: Self| distinct.iter().any(|c| !alphabet.fits(&c.to_string()));
        let patterns = self.0.schemas.iter().filter_map(|schema| schema.get("pattern")?.as_str());
        count(&written) <= self.most() && !patterns.filter_map(alphabet).any(strange)
    }

    fn bounds(&self, keyword: &str) -> impl Iterator<Item = u64> {
        self.0.schemas.iter().filter_map(move |schema| schema.get(keyword)?.as_u64())
    }

    fn most(&self) -> u64 {
        self.bounds("maxLength").min().unwrap_or(u64::MAX)
    }

    /// What a string that is not as it says would have to be, in words.
    pub fn asks(&self, text: &str) -> String {
        let least = self.bounds("minLength").max().unwrap_or(0);
        if count(text) < least {
            return format!("it has at least {least} character(s)");
        }
        self.asks_having(text)
    }

    /// The same of one that has these characters, and perhaps others.
    pub fn asks_having(&self, text: &str) -> String {
        let most = self.most();
        if count(text) > most {
            return format!("it has at most {most} character(s)");
        }
        let said = |keyword: &str| self.0.schemas.iter().find_map(|schema| schema.get(keyword)?.as_str());
        match (said("pattern"), said("format")) {
            (Some(pattern), _) => format!("its `pattern` is `{}`", in_one_line(pattern)),
            (None, Some(format)) => format!("its `format` is `{}`", in_one_line(format)),
            (None, None) => "its schema says otherwise".to_owned(),
        }
    }
}

/// The same with controls by their codes: whoever publishes a context writes it, and what is told is one line.
fn in_one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

fn count(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

/// A context of one string, so that what holds of it is judged as it is of messages.
fn probe(schemas: &[Value]) -> Option<Context> {
    let mut text = match schemas {
        [Value::Object(one)] => one.clone(),
        all => Map::from_iter([("allOf".to_owned(), Value::Array(all.to_vec()))]),
    };
    text.insert("type".to_owned(), json!("string"));
    let concept = json!({"type": "object", "properties": {"text": text}, "additionalProperties": false});
    let document = json!({"context": "urn:contexts:probe:v1.0", "concepts": {"probe": concept}}).to_string();
    Context::check(document.as_bytes(), &Prefix::default(), &DocumentLimits::default().published()).ok()
}

/// The characters that a pattern about whole strings knows, where it is a row of characters and classes with their repetitions.
fn alphabet(pattern: &str) -> Option<Rule> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let (mut atoms, mut rest) = (Vec::new(), inner.chars());
    while let Some(c) = rest.next() {
        match c {
            '*' | '+' | '?' => {}
            '{' => {
                rest.by_ref().find(|c| *c == '}')?;
            }
            '(' | ')' | '|' | '^' | '$' | ']' | '}' => return None,
            '\\' => {
                let escaped = rest.next()?;
                if escaped.is_alphanumeric() && !"dDwWsS".contains(escaped) {
                    return None;
                }
                atoms.push(format!("\\{escaped}"));
            }
            '[' => atoms.push(class(&mut rest)?),
            plain => atoms.push(plain.to_string()),
        }
    }
    let one = format!("^(?:{})$", atoms.join("|"));
    (!atoms.is_empty()).then(|| Rule::saying(vec![json!({ "pattern": one })]))
}

/// A class behind its opening bracket, as it is written.
fn class(rest: &mut std::str::Chars<'_>) -> Option<String> {
    let mut class = "[".to_owned();
    while let Some(c) = rest.next() {
        class.push(c);
        match c {
            '\\' => class.push(rest.next()?),
            '[' | '&' => return None,
            ']' if matches!(class.as_str(), "[]" | "[^]") => return None,
            ']' => return Some(class),
            _ => {}
        }
    }
    None
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for Rule {}

impl PartialOrd for Rule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.text.cmp(&other.0.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Strings;
    use crate::openness::Place;
    use cedar_policy::pst::PatternElem;
    use serde_json::{Value, json};

    fn rule(schema: &Value) -> super::Rule {
        let document = json!({"$defs": {"short": {"maxLength": 3}}});
        let strings = Strings::of(None, Some(Place::new(&document, schema)));
        strings.rules.unwrap().first().unwrap().clone()
    }

    #[test]
    fn a_string_is_judged_as_the_validator_judges_it() {
        for (schema, fits, others) in [
            (json!({"minLength": 1, "maxLength": 3}), vec!["a", "äöü"], vec!["", "abcd"]),
            (json!({"pattern": "^[A-Z]{2}$"}), vec!["DE"], vec!["de", "DEU", " DE"]),
            (json!({"pattern": "b"}), vec!["abc"], vec!["ac"]),
            (json!({"format": "uuid"}), vec!["123e4567-e89b-12d3-a456-426614174000"], vec!["x", ""]),
            (json!({"$ref": "#/$defs/short", "minLength": 2}), vec!["ab"], vec!["a", "abcd"]),
        ] {
            let rule = rule(&schema);
            for text in fits {
                assert!(rule.fits(text), "{schema} {text}");
            }
            for text in others {
                assert!(!rule.fits(text), "{schema} {text}");
            }
        }
    }

    #[test]
    fn what_no_string_of_a_schema_is_like_is_told_by_length_and_letters() {
        let pattern = |text: &str| -> Vec<PatternElem> {
            text.chars()
                .map(|c| if c == '*' { PatternElem::Wildcard } else { PatternElem::Char(c) })
                .collect()
        };
        let account = json!({"maxLength": 8, "pattern": "^[A-Za-z0-9][A-Za-z0-9._:/@-]*$"});
        let iban = json!({"pattern": "^[A-Z]{2}\\d{2} [A-Z\\]]+$"});
        let words = json!({"pattern": "^(a|b)*$"});
        for (schema, like, may) in [
            (&account, "a*", true),
            (&account, "*@bank*", true),
            (&account, "acc-*", true),
            (&account, "a b*", false),
            (&account, "*#", false),
            (&account, "*123456789*", false),
            (&account, "-a", false),
            (&iban, "DE*", true),
            (&iban, "*1 *]", true),
            (&iban, "de*", false),
            (&words, "c*", true),
            (&words, "c", false),
        ] {
            assert_eq!(rule(schema).may_be_like(&pattern(like)), may, "{schema} {like}");
        }
    }
}
