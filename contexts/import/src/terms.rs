//! One document from the terms of a source.

use std::collections::BTreeSet;

use semgate_contexts::{Context, DocumentFault, DocumentLimits, Prefix};
use serde_json::{Map, Value, json};

use crate::draft::Naming;
use crate::fault::ImportFault;
use crate::remark::Remark;
use crate::repair::{reached, replaceable};
use crate::schema::Translator;

/// Rounds of repairs: each one removes every fault that the last one showed.
const ROUNDS: usize = 32;

/// The most names that a hint lists.
const MAX_LISTED: usize = 12;

/// The difference that every draft has, whatever its source.
const MESSAGES: &str =
    "a message holds numbers up to 2^53 - 1 with at most 17 digits, and texts up to 262144 bytes";

/// The parts of a document that is being drafted.
#[derive(Debug, Default, Clone)]
pub struct Terms {
    /// Schemas by concept.
    pub concepts: Map<String, Value>,
    /// Tasks by name, as in a document.
    pub tasks: Map<String, Value>,
    /// Definitions; those that nothing refers to are left out.
    pub definitions: Map<String, Value>,
    /// Code lists; those that nothing refers to are left out.
    pub codes: Map<String, Value>,
    /// Relations, as in a document.
    pub relations: Vec<Value>,
    /// The differences from the source.
    pub remarks: Vec<Remark>,
    /// The description of the document.
    pub description: String,
}

/// A checked draft.
#[derive(Debug)]
pub struct ContextDraft {
    /// The context.
    pub context: Context,
    /// Its document, for a reviewer.
    pub document: Value,
    /// Everything that the source says and the document does not, or says otherwise. Sorted, each once.
    pub remarks: Vec<Remark>,
}

impl Terms {
    /// Adds a remark.
    pub fn remark(&mut self, at: impl Into<String>, what: impl Into<String>) {
        self.remarks.push(Remark::new(at, what));
    }

    /// Adds everything that a translator has made.
    pub(crate) fn take(&mut self, translator: &mut Translator<'_>) {
        self.definitions.append(&mut translator.definitions);
        self.codes.append(&mut translator.codes);
        self.remarks.append(&mut translator.remarks);
    }

    /// Adds a concept. A schema that only refers to a definition takes its content, and other references lead to the concept.
    pub(crate) fn concept(&mut self, name: &str, schema: Value) {
        let reference = schema
            .get("$ref")
            .and_then(Value::as_str)
            .filter(|_| schema.as_object().is_some_and(|map| map.len() == 1));
        let definition = reference.and_then(|to| to.strip_prefix("#/$defs/")).map(str::to_owned);
        let Some((definition, content)) =
            definition.and_then(|name| Some((name.clone(), self.definitions.remove(&name)?)))
        else {
            self.concepts.insert(name.to_owned(), schema);
            return;
        };
        self.concepts.insert(name.to_owned(), content);
        self.lead(&format!("#/$defs/{definition}"), &format!("#/concepts/{name}"));
    }

    /// Makes references to one part refer to another.
    pub(crate) fn lead(&mut self, old: &str, new: &str) {
        for part in [&mut self.concepts, &mut self.tasks, &mut self.definitions] {
            part.values_mut().for_each(|value| lead(value, old, new));
        }
    }

    /// The draft. `false`, which accepts nothing, replaces a schema that the profile refuses; a term that is refused as a whole is left
    /// out. Both are remarks. `choose` says how to take a part of the source.
    ///
    /// # Errors
    /// No term is left; the document is too large; or the line, version or title is refused.
    pub fn finish(mut self, naming: &Naming<'_>, choose: &str) -> Result<ContextDraft, ImportFault> {
        self.remark("", MESSAGES);
        let mut wordless = false;
        for _ in 0..ROUNDS {
            self.prune();
            if self.concepts.is_empty() && self.tasks.is_empty() {
                return Err(self.empty());
            }
            let document = self.document(naming);
            let bytes = serde_json::to_vec(&document)
                .map_err(|e| ImportFault::new(format_args!("writing the draft: {e}")))?;
            let limits = DocumentLimits::default();
            let fault = match Context::check(&bytes, &Prefix::default(), &limits) {
                Ok(context) => {
                    self.remarks.sort();
                    self.remarks.dedup();
                    return Ok(ContextDraft { context, document, remarks: self.remarks });
                }
                Err(fault) => fault,
            };
            if fault.path().is_some_and(|path| path.starts_with("/relations")) && !self.relations.is_empty() {
                self.relations.clear();
                self.remark("", format!("relations are left out: {fault}"));
                continue;
            }
            if matches!(&fault, DocumentFault::TooLarge { .. } | DocumentFault::Json(_)) && !wordless {
                wordless = true;
                self.drop_words();
                continue;
            }
            let faults = Context::faults(&bytes, &Prefix::default(), &limits, &|_| None);
            if !self.repair(document, &faults) {
                return Err(self.refused(&fault, choose));
            }
        }
        Err(ImportFault::new("the source has more faults than a draft can mend").hint(choose))
    }

    fn document(&self, naming: &Naming<'_>) -> Value {
        let mut document = Map::new();
        document.insert("context".to_owned(), Value::from(naming.urn(0)));
        for (member, text, most) in
            [("title", naming.title, 256), ("description", self.description.as_str(), 4_096)]
        {
            let mut text = crate::schema::legible(text);
            while text.len() > most {
                text.pop();
            }
            if !text.is_empty() {
                document.insert(member.to_owned(), Value::from(text));
            }
        }
        let parts = [
            ("concepts", &self.concepts),
            ("tasks", &self.tasks),
            ("codes", &self.codes),
            ("$defs", &self.definitions),
        ];
        for (member, part) in parts.into_iter().filter(|(_, part)| !part.is_empty()) {
            document.insert(member.to_owned(), Value::Object(part.clone()));
        }
        if !self.relations.is_empty() {
            document.insert("relations".to_owned(), json!(self.relations));
        }
        Value::Object(document)
    }

    /// Removes definitions and code lists that no term reaches, and relations of terms that are gone.
    fn prune(&mut self) {
        let terms = self.concepts.values().chain(self.tasks.values());
        let reached = reached(terms, &self.definitions);
        self.definitions.retain(|name, _| reached.definitions.contains(name));
        self.codes.retain(|name, _| reached.codes.contains(name));
        let (concepts, tasks) = (&self.concepts, &self.tasks);
        let is_known = |value: Option<&Value>| {
            let name = value.and_then(Value::as_str).unwrap_or_default();
            let term = name.split('/').next().unwrap_or_default();
            concepts.contains_key(term) || tasks.contains_key(term) || name.contains(':')
        };
        self.relations.retain(|one| is_known(one.get("subject")) && is_known(one.get("object")));
    }

    /// Removes the words for readers, to make room.
    fn drop_words(&mut self) {
        for part in [&mut self.concepts, &mut self.tasks, &mut self.definitions] {
            part.values_mut().for_each(|schema| without_words(schema, false));
        }
        self.remark(
            "",
            "descriptions and titles are left out, since the document would be too large with them",
        );
    }

    /// Mends what can be mended; false if nothing was.
    fn repair(&mut self, mut document: Value, faults: &[DocumentFault]) -> bool {
        let (mut gone, mut mended) = (BTreeSet::new(), false);
        for fault in faults {
            let DocumentFault::Schema { path, .. } = fault else { continue };
            let Some(at) = replaceable(fault, &document) else {
                gone.insert((path.clone(), fault.to_string()));
                continue;
            };
            if let Some(schema) = document.pointer_mut(&at).filter(|schema| **schema != Value::Bool(false)) {
                *schema = Value::Bool(false);
                mended = true;
                self.remark(at, format!("accepts nothing: {fault}"));
            }
        }
        for (member, part) in
            [("concepts", &mut self.concepts), ("tasks", &mut self.tasks), ("$defs", &mut self.definitions)]
        {
            if let Some(Value::Object(now)) = document.get_mut(member).map(Value::take) {
                *part = now;
            }
        }
        for (path, why) in gone {
            mended |= self.leave_out(&path, &why);
        }
        mended
    }

    /// Leaves out the term at fault, or every term that reaches the definition at fault.
    fn leave_out(&mut self, path: &str, why: &str) -> bool {
        let mut pieces = path.split('/').skip(1);
        let (Some(section), Some(name)) = (pieces.next(), pieces.next()) else { return false };
        let targets: Vec<String> = if section == "$defs" {
            let all = self.concepts.iter().chain(&self.tasks);
            let reaches = |schema: &Value| {
                reached(std::iter::once(schema), &self.definitions).definitions.contains(name)
            };
            all.filter(|(_, schema)| reaches(schema)).map(|(term, _)| term.clone()).collect()
        } else {
            vec![name.to_owned()]
        };
        let mut any = false;
        for term in targets {
            any |= self.concepts.remove(&term).is_some() | self.tasks.remove(&term).is_some();
            self.remark(term, format!("is left out: {why}"));
        }
        any
    }

    fn empty(&self) -> ImportFault {
        let reasons = self.remarks.iter().filter(|remark| remark.what.contains("left out"));
        let reasons: Vec<String> = reasons.take(8).map(|one| format!("`{}` {}", one.at, one.what)).collect();
        let fault = ImportFault::new("nothing of the source can become a term of a context");
        if reasons.is_empty() { fault } else { fault.hint(reasons.join("; ")) }
    }

    fn refused(&self, fault: &DocumentFault, choose: &str) -> ImportFault {
        let refused = ImportFault::new(format_args!("the draft is not a context: {fault}"));
        if !matches!(
            fault,
            DocumentFault::TooLarge { .. }
                | DocumentFault::TooMany { .. }
                | DocumentFault::Json(_)
                | DocumentFault::Schema { .. }
        ) {
            return refused.hint("name it with `--line` and `--version`");
        }
        let names: Vec<&str> = self.concepts.keys().chain(self.tasks.keys()).map(String::as_str).collect();
        let listed = names.iter().take(MAX_LISTED).copied().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(MAX_LISTED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        refused.hint(format_args!("{choose}; the source has {listed}{more}"))
    }
}

/// Makes references to one part refer to another.
fn lead(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                match inner {
                    Value::String(text) if key == "$ref" && text == old => new.clone_into(text),
                    inner => lead(inner, old, new),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| lead(item, old, new)),
        _ => {}
    }
}

/// Removes `title` and `description` of schemas; `named` where the keys are names of members.
fn without_words(value: &mut Value, named: bool) {
    match value {
        Value::Object(map) => {
            if !named {
                for word in ["title", "description"] {
                    map.remove(word);
                }
            }
            for (key, value) in map {
                let names =
                    !named && matches!(key.as_str(), "properties" | "patternProperties" | "dependentSchemas");
                if named || !matches!(key.as_str(), "enum" | "const" | "default" | "examples") {
                    without_words(value, names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_words(item, false)),
        _ => {}
    }
}
