//! A question as an audit record keeps it: everything that any policy could read, and of the message's values only what the operator
//! asked for (`docs/design/firewall.md` §8). `semgate policy replay` reads it back.

use std::collections::{BTreeMap, BTreeSet};

use semgate_contexts::Digest;
use semgate_contexts::json::{Json, Object};
use serde_json::{Value, json};

use crate::check::unknown_type;
use crate::suggest::closest;
use crate::{Credentials, Policies, Question, Scores, Verdict};

/// The form in which a record keeps one member of a concept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepAs {
    /// Its value.
    Values,
    /// SHA-256 of its value as it is written: enough to see that two are equal, and no secret where values can be guessed.
    Digests,
    /// That it was there.
    #[default]
    Nothing,
}

impl KeepAs {
    /// Reads `values`, `digests` or `nothing`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Values, Self::Digests, Self::Nothing].into_iter().find(|known| known.as_str() == text)
    }

    /// As configurations write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Digests => "digests",
            Self::Nothing => "nothing",
        }
    }
}

/// The members that audit records keep of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    fields: BTreeMap<String, KeepAs>,
    otherwise: KeepAs,
    max_bytes: usize,
}

impl Keep {
    /// These members, `payment::transfer.amount`, and nothing of any other. What is kept of one message takes at most so many bytes;
    /// of a message of which it would be more, nothing is kept but its size.
    #[must_use]
    pub const fn new(fields: BTreeMap<String, KeepAs>, max_bytes: usize) -> Self {
        Self { fields, otherwise: KeepAs::Nothing, max_bytes }
    }

    /// Every value, of a message that is not recorded anywhere: for explaining it.
    #[must_use]
    pub const fn everything() -> Self {
        Self { fields: BTreeMap::new(), otherwise: KeepAs::Values, max_bytes: usize::MAX }
    }

    fn of(&self, of_type: &str, member: &str) -> KeepAs {
        if self.fields.is_empty() {
            return self.otherwise;
        }
        self.fields.get(&format!("{of_type}.{member}")).copied().unwrap_or(self.otherwise)
    }
}

impl Policies {
    /// Members that records are to keep and of which nothing can be kept, since no context has them or no policy sees them: each with
    /// what is wrong, in words for the operator.
    #[must_use]
    pub fn unkept(&self, keep: &Keep) -> Vec<String> {
        let catalogue = &self.asker().catalogue;
        let wrong = |named: &String| {
            let (of_type, member) = named.rsplit_once('.').unwrap_or((named, ""));
            let Some(info) = catalogue.types.iter().find(|info| info.name == of_type) else {
                let hint = unknown_type(of_type, catalogue).unwrap_or_default();
                return Some(with_hint(format!("`{named}`: no context has the type `{of_type}`"), &hint));
            };
            match info.attributes.members.get(member) {
                Some(known) if known.kind.is_some() || self.floors().has(of_type, member) => None,
                Some(_) => Some(format!(
                    "`{named}`: policies do not see `{member}`, so the record holds nothing of it"
                )),
                None => {
                    let members = info.attributes.members.iter();
                    let seen = members.filter(|(_, known)| known.kind.is_some());
                    let near = closest(member, seen.map(|(name, _)| name.as_str()));
                    let hint = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
                    Some(with_hint(format!("`{named}`: `{of_type}` has no member `{member}`"), &hint))
                }
            }
        };
        keep.fields.keys().filter_map(wrong).collect()
    }
}

fn with_hint(why: String, hint: &str) -> String {
    if hint.is_empty() { why } else { format!("{why} ({hint})") }
}

/// All questions of one message as one text of JSON, without a line feed.
#[derive(Debug)]
pub struct Keeper<'k> {
    keep: &'k Keep,
    questions: Vec<String>,
    around: Option<Value>,
    steps: u64,
    scanner: Option<Digest>,
}

impl<'k> Keeper<'k> {
    /// Keeps what `keep` says.
    #[must_use]
    pub const fn new(keep: &'k Keep) -> Self {
        Self { keep, questions: Vec::new(), around: None, steps: 0, scanner: None }
    }

    /// The same for a message whose sender made so many permitted steps in its session before.
    #[must_use]
    pub fn after_steps(self, steps: u64) -> Self {
        Self { steps, ..self }
    }

    /// The same with the digest of the model that made the scores of text.
    #[must_use]
    pub fn scored_by(self, model: Option<Digest>) -> Self {
        Self { scanner: model, ..self }
    }

    /// Adds a question with its answer; `learnt` of a concept that no context defines. `redacted` are the members that policies took out of
    /// this instance before it was asked about, with dots between levels; `None` in a message that nothing was taken out of.
    pub fn add(
        &mut self,
        policies: &Policies,
        question: &Question<'_>,
        learnt: bool,
        verdict: &Verdict,
        redacted: Option<&BTreeSet<String>>,
    ) {
        if self.around.is_none() {
            self.around = Some(around(question, self.steps));
        }
        let catalogue = &policies.asker().catalogue;
        let shape = if learnt {
            catalogue.learnt(question.shape.name())
        } else {
            catalogue.shape(question.context.digest(), question.shape.name())
        };
        let of_type = shape.and_then(|shape| catalogue.types.get(shape.of_type));
        let mut kept = Kept::default();
        if let (Some(shape), Some(of_type)) = (shape, of_type) {
            for (name, attribute) in &shape.attributes.members {
                let value = question.value.get(name).filter(|_| question.without != Some(name));
                let read = attribute.kind.is_some() || policies.floors().has(&of_type.name, name);
                if let (Some(value), true) = (value, read) {
                    kept.add(name, value, self.keep.of(&of_type.name, name));
                }
            }
        }
        let mut head = json!({
            "context": question.context.urn().as_str(),
            "digest": question.context.digest().to_string(),
            "shape": question.shape.name(),
            "learnt": learnt,
            "performative": question.action.as_str(),
            "verdict": verdict.word(question, &|| self.steps),
            "policies": verdict.policies().to_vec(),
            "free_text": question.has_free_text(),
        });
        if let (Some(members), Some(redacted)) = (head.as_object_mut(), redacted) {
            members.insert("redacted".to_owned(), json!(redacted));
        }
        let text = question.circumstances.scores.text;
        if let Some(members) = head.as_object_mut().filter(|_| text.made.any()) {
            let scores = text.made().map(|(name, score)| (name.to_owned(), json!(score))).collect();
            members.insert("text".to_owned(), Value::Object(scores));
        }
        let head = head.to_string();
        self.questions.push(format!("{},{}}}", head.strip_suffix('}').unwrap_or(&head), kept.text()));
    }

    /// The text.
    #[must_use]
    pub fn finish(self) -> String {
        let mut around = self.around.unwrap_or_else(|| json!({}));
        if let (Some(members), Some(model)) = (around.as_object_mut(), self.scanner) {
            members.insert("scan_model".to_owned(), json!(model.to_string()));
        }
        let text = format!("{{\"around\":{around},\"questions\":[{}]}}", self.questions.join(","));
        if text.len() > self.keep.max_bytes { format!("{{\"too_large\":{}}}", text.len()) } else { text }
    }
}

/// Members by what is kept of them.
#[derive(Default)]
struct Kept {
    values: Vec<String>,
    digests: Vec<String>,
    unkept: Vec<String>,
}

impl Kept {
    fn add(&mut self, name: &str, value: &Json<'_>, keep: KeepAs) {
        let name = quoted(name);
        match keep {
            KeepAs::Values => self.values.push(format!("{name}:{}", text_of(value))),
            KeepAs::Digests => {
                self.digests.push(format!("{name}:\"{}\"", Digest::of(text_of(value).as_bytes())));
                self.unkept.push(name);
            }
            KeepAs::Nothing => self.unkept.push(name),
        }
    }

    fn text(&self) -> String {
        format!(
            "\"values\":{{{}}},\"digests\":{{{}}},\"unkept\":[{}]",
            self.values.join(","),
            self.digests.join(","),
            self.unkept.join(",")
        )
    }
}

/// The part that all questions of a message share.
fn around(question: &Question<'_>, steps: u64) -> Value {
    let around = &question.circumstances;
    let shows =
        |held: &Credentials| held.iter().map(|(name, until)| (name.to_owned(), json!(until))).collect();
    let Scores { message_bytes, concepts, ambiguous, beside, text: _ } = around.scores;
    let mut kept = json!({
        "now": around.now,
        "protocol_version": around.protocol_version,
        "session_expires": around.session.map(|session| session.expires_at),
        "message_bytes": message_bytes,
        "concepts": concepts,
        "ambiguous": ambiguous,
        "sender_shows": Value::Object(shows(around.sender_holds)),
        "receiver_shows": Value::Object(shows(around.receiver_holds)),
    });
    for (name, count) in [("beside", beside), ("steps", steps)] {
        if let Some(members) = kept.as_object_mut().filter(|_| count > 0) {
            members.insert(name.to_owned(), json!(count));
        }
    }
    kept
}

/// A value as JSON, numbers as they were written: none is rounded.
fn text_of(value: &Json<'_>) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.text().to_owned(),
        Json::String(text) => quoted(text),
        Json::Array(items) => format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(",")),
        Json::Object(members) => object_text(members),
    }
}

fn object_text(members: &Object<'_>) -> String {
    let member = |(name, value): (&str, &Json<'_>)| format!("{}:{}", quoted(name), text_of(value));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
