//! The operations of a description, with the pointers of their schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::legible;
use crate::terms::Terms;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Headers that OpenAPI describes elsewhere.
const OTHER_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// Chains of references between parts of a description.
const MAX_STEPS: usize = 16;

/// The longest kept description, in characters.
const MAX_WORDS: usize = 300;

/// One operation that a task can say.
pub(super) struct Operation {
    /// `operationId`, or method and path.
    pub label: String,
    /// `GET /path`.
    pub request: String,
    pub words: String,
    pub inputs: Vec<Input>,
    /// Pointers of the schemas of successful answers.
    pub answers: Vec<String>,
    /// True if every successful answer has a body.
    pub always_answers: bool,
}

/// One member of the parameters of a task.
pub(super) struct Input {
    pub member: String,
    /// The pointer of its schema; without one it takes anything.
    pub pointer: Option<String>,
    pub required: bool,
}

impl Operation {
    /// True if a choice by this name means it.
    pub fn is(&self, name: &str) -> bool {
        self.label == name || self.request == name
    }

    /// The pointers of all its schemas: inputs, then answers.
    pub fn pointers(&self) -> impl Iterator<Item = &str> {
        let inputs = self.inputs.iter().filter_map(|input| input.pointer.as_deref());
        inputs.chain(self.answers.iter().map(String::as_str))
    }
}

/// A segment of a JSON Pointer.
pub(super) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

/// Every operation that a task can say. Others become remarks.
pub(super) fn operations(source: &Value, terms: &mut Terms) -> Vec<Operation> {
    let mut all = Vec::new();
    let paths = source.get("paths").and_then(Value::as_object);
    for path in paths.into_iter().flat_map(Map::keys) {
        let Some((at, item)) = followed(source, format!("/paths/{}", escaped(path))) else { continue };
        for method in METHODS {
            if item.get(method).is_some() {
                let reader =
                    OperationReader { source, terms, at: format!("{at}/{method}"), item: at.clone() };
                all.extend(reader.read(format!("{} {path}", method.to_uppercase())));
            }
        }
    }
    if source.get("webhooks").is_some() {
        terms.remark("/webhooks", "is left out: only operations become tasks");
    }
    all
}

/// The part at a pointer, with the pointer that its references lead to.
fn followed(source: &Value, pointer: String) -> Option<(String, &Value)> {
    let mut at = pointer;
    for _ in 0..MAX_STEPS {
        let part = source.pointer(&at)?;
        match part.get("$ref").and_then(Value::as_str) {
            None => return Some((at, part)),
            Some(reference) => at = reference.strip_prefix('#')?.replace("%7B", "{").replace("%7D", "}"),
        }
    }
    None
}

/// The reader of one operation.
struct OperationReader<'r> {
    source: &'r Value,
    terms: &'r mut Terms,
    /// Pointer of the operation.
    at: String,
    /// Pointer of its path.
    item: String,
}

impl OperationReader<'_> {
    fn read(mut self, request: String) -> Option<Operation> {
        let operation = self.source.pointer(&self.at)?;
        let text = |member: &str| operation.get(member).and_then(Value::as_str);
        let label =
            text("operationId").filter(|id| !id.is_empty()).map_or_else(|| request.clone(), str::to_owned);
        let words = text("summary").or_else(|| text("description")).unwrap_or_default();
        let words: String = legible(words).chars().take(MAX_WORDS).collect();
        let mut inputs = self.inputs();
        match self.body() {
            Ok(body) => inputs.extend(body),
            Err(kinds) => {
                self.terms.remark(self.at, format!("is left out: its body is no JSON ({kinds})"));
                return None;
            }
        }
        if operation.get("callbacks").is_some() {
            self.terms.remark(format!("{}/callbacks", self.at), "is left out: only operations become tasks");
        }
        let (answers, always_answers) = match self.answers() {
            Ok(answers) => answers,
            Err(kinds) => {
                self.terms.remark(self.at, format!("is left out: its answer is no JSON ({kinds})"));
                return None;
            }
        };
        Some(Operation { label, request, words, inputs, answers, always_answers })
    }

    /// Parameters of the path and of the operation, which win.
    fn inputs(&mut self) -> Vec<Input> {
        let mut by_key: BTreeMap<[String; 2], Input> = BTreeMap::new();
        let mut order = Vec::new();
        for owner in [self.item.clone(), self.at.clone()] {
            let list = format!("{owner}/parameters");
            let count = self.source.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
            for index in 0..count {
                let Some((at, parameter)) = followed(self.source, format!("{list}/{index}")) else {
                    self.terms
                        .remark(format!("{list}/{index}"), "is left out: it refers to no part of the source");
                    continue;
                };
                let text = |member: &str| {
                    parameter.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                let (name, kind) = (text("name"), text("in"));
                if kind == "header" && OTHER_HEADERS.contains(&name.to_lowercase().as_str()) {
                    continue;
                }
                let pointer = [format!("{at}/schema"), self.json_content(&at).unwrap_or_default()];
                let pointer =
                    pointer.into_iter().find(|one| !one.is_empty() && self.source.pointer(one).is_some());
                if pointer.is_none() {
                    self.terms.remark(at, "has no schema: it takes anything");
                }
                let required = kind == "path" || parameter.get("required") == Some(&Value::Bool(true));
                let key = [kind, name.clone()];
                if by_key.insert(key.clone(), Input { member: name, pointer, required }).is_none() {
                    order.push(key);
                }
            }
        }
        let names: Vec<String> = order.iter().map(|[_, name]| name.clone()).collect();
        let taken = |name: &str| name == "body" || names.iter().filter(|one| *one == name).count() > 1;
        let named = order.iter().filter_map(|key| {
            let mut input = by_key.remove(key)?;
            let [kind, name] = key;
            if taken(name) {
                input.member = format!("{kind}_{name}");
            }
            Some(input)
        });
        named.collect()
    }

    /// The pointer of the JSON schema of a part with `content`.
    fn json_content(&self, at: &str) -> Option<String> {
        let content = self.source.pointer(&format!("{at}/content"))?.as_object()?;
        let is_json = |kind: &&String| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            matches!(kind, "application/json" | "*/*" | "application/*") || kind.ends_with("+json")
        };
        let form = |kind: &&String| kind.as_str() == "application/x-www-form-urlencoded";
        let kind = content.keys().find(is_json).or_else(|| content.keys().find(form))?;
        Some(format!("{at}/content/{}/schema", escaped(kind)))
    }

    fn kinds(&self, at: &str) -> String {
        let content = self.source.pointer(&format!("{at}/content")).and_then(Value::as_object);
        let kinds: Vec<&str> = content.into_iter().flat_map(Map::keys).map(String::as_str).take(4).collect();
        crate::schema::legible(&kinds.join(", "))
    }

    /// The request body; an error with its media types if none is JSON.
    fn body(&mut self) -> Result<Option<Input>, String> {
        let own = format!("{}/requestBody", self.at);
        if self.source.pointer(&own).is_none() {
            return Ok(None);
        }
        let Some((at, body)) = followed(self.source, own) else {
            return Err("a broken reference".to_owned());
        };
        let required = body.get("required") == Some(&Value::Bool(true));
        let Some(pointer) = self.json_content(&at) else {
            return Err(self.kinds(&at));
        };
        let pointer = Some(pointer).filter(|one| self.source.pointer(one).is_some());
        if pointer.is_none() {
            self.terms.remark(at, "has no schema: it takes anything");
        }
        Ok(Some(Input { member: "body".to_owned(), pointer, required }))
    }

    /// The schemas of successful answers; an error with the media types if there are answers, and none is JSON.
    fn answers(&mut self) -> Result<(Vec<String>, bool), String> {
        let own = format!("{}/responses", self.at);
        let statuses: Vec<String> = self
            .source
            .pointer(&own)
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect();
        let mut good: Vec<&String> = statuses.iter().filter(|status| status.starts_with('2')).collect();
        if good.is_empty() {
            good.extend(statuses.iter().filter(|status| *status == "default"));
        }
        let others: Vec<&str> =
            statuses.iter().filter(|one| !good.contains(one)).map(String::as_str).collect();
        if !others.is_empty() {
            self.terms.remark(
                own.as_str(),
                format!("answers of other statuses are left out: {}", others.join(", ")),
            );
        }
        let (mut pointers, mut always, mut strange) = (Vec::new(), true, Vec::new());
        for status in good {
            let Some((at, answer)) = followed(self.source, format!("{own}/{status}")) else { continue };
            if answer.get("headers").is_some() {
                self.terms.remark(format!("{at}/headers"), "is left out");
            }
            match self.json_content(&at) {
                Some(pointer) if self.source.pointer(&pointer).is_some() => pointers.push(pointer),
                Some(_) => always = false,
                None => {
                    always = false;
                    let kinds = self.kinds(&at);
                    if !kinds.is_empty() {
                        strange.push(kinds);
                    }
                }
            }
        }
        if pointers.is_empty() && !strange.is_empty() {
            return Err(strange.join(", "));
        }
        if !strange.is_empty() {
            self.terms.remark(own, format!("answers that are no JSON are left out ({})", strange.join(", ")));
        }
        Ok((pointers, always))
    }
}
