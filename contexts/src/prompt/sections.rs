//! The sections of a prompt: one for each concept and task, each code list, and the relations.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::members::{Member, about, ask_check, members, more_rules};
use super::quote::{name, quoted};
use super::sheet::{Entry, Section};
use crate::document::Context;
use crate::field::FieldType;
use crate::performative::PerformativeSet;
use crate::relation::Relation;
use crate::term::{Shape, Term, TermKind};

/// The parts of a context that a prompt is about.
pub(super) enum Part<'p> {
    /// All of it.
    Whole,
    /// This term and the code lists that it uses.
    Term(&'p str),
}

/// Codes of each list that get room before the rest of any list: enough to see what a list is about.
const FIRST_CODES: usize = 32;

/// Ranks: who gets room first when not all fits.
mod rank {
    pub const PARAMETERS: u8 = 1;
    pub const FIRST_CODES: u8 = 2;
    pub const LABELS: u8 = 3;
    pub const CODES: u8 = 4;
    pub const RESULTS: u8 = 5;
    pub const RELATIONS: u8 = 5;
    pub const TEXTS: u8 = 6;
    pub const DERIVED: u8 = 7;
}

const ASK_TERM: &str = "lookup_concept";
const ASK_CODES: &str = "list_codes";

/// The sections, in the order in which they stand.
pub(super) fn of(context: &Context, part: &Part<'_>) -> Vec<Section> {
    let document = context.bundled();
    let wanted = |term: &&Term| match part {
        Part::Whole => true,
        Part::Term(name) => term.name() == *name,
    };
    let mut sections = vec![texts(&document)];
    sections.extend(context.terms().filter(wanted).map(|term| of_term(term, &document)));
    let mut lists: BTreeSet<String> = BTreeSet::new();
    if matches!(part, Part::Whole) {
        lists.extend(context.code_lists().map(str::to_owned));
    }
    context.terms().filter(wanted).flat_map(Term::shapes).for_each(|shape| used(shape.fields(), &mut lists));
    sections.extend(lists.iter().filter_map(|list| of_codes(context, list)));
    sections.extend(of_relations(context, part));
    sections
}

/// Title and description of the document.
fn texts(document: &Value) -> Section {
    let text = |member: &str| document.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
    let entry = |member: &str| {
        let text = format!("{member}: {}", quoted(text(member)?));
        Some(Entry { lead: "\n", text, rank: rank::TEXTS, parent: None, noun: "descriptions" })
    };
    Section {
        heading: String::new(),
        name: "title".to_owned(),
        noun: "document texts",
        rank: rank::TEXTS,
        entries: ["title", "description"].into_iter().filter_map(entry).collect(),
        unshowable: Vec::new(),
        ask: ASK_TERM,
    }
}

fn of_term(term: &Term, document: &Value) -> Section {
    let (word, noun) = match term.kind() {
        TermKind::Concept => ("Concept", "concepts"),
        TermKind::Task => ("Task", "tasks"),
    };
    let mut section = Section {
        heading: format!("## {word} {}", term.name()),
        name: term.name().to_owned(),
        noun,
        rank: rank::PARAMETERS,
        entries: Vec::new(),
        unshowable: Vec::new(),
        ask: ASK_TERM,
    };
    let all = term.shapes().fold(PerformativeSet::default(), |all, shape| {
        shape.performatives().iter().fold(all, PerformativeSet::with)
    });
    if all != PerformativeSet::ALL {
        let words: Vec<&str> = all.iter().map(|performative| performative.as_str()).collect();
        section.line(format!("performatives: {}", words.join(" ")), rank::PARAMETERS, "notes");
    }
    if term.requires_approval().is_some() {
        section.line("a person must approve each request".to_owned(), rank::PARAMETERS, "notes");
    }
    for (index, shape) in term.shapes().enumerate() {
        let (word, noun, rank) = match (term.kind(), index) {
            (TermKind::Concept, _) => ("members", "members", rank::PARAMETERS),
            (TermKind::Task, 0) => ("parameters", "parameters", rank::PARAMETERS),
            (TermKind::Task, _) => ("results", "results", rank::RESULTS),
        };
        section.shape(shape, document, &Words { word, noun, rank });
    }
    section
}

/// The words for one shape of a term.
struct Words {
    word: &'static str,
    noun: &'static str,
    rank: u8,
}

impl Section {
    fn line(&mut self, text: String, rank: u8, noun: &'static str) {
        self.entries.push(Entry { lead: "\n", text, rank, parent: None, noun });
    }

    fn shape(&mut self, shape: &Shape, document: &Value, words: &Words) {
        let members = members(shape, document);
        let text = if members.is_empty() {
            format!("{}: none with a name", words.word)
        } else {
            format!("{}:", words.word)
        };
        let first = self.entries.len();
        self.line(text, words.rank, "notes");
        if let Some(text) = about(shape.schema(), document) {
            let entry =
                Entry { lead: " ", text, rank: rank::TEXTS, parent: Some(first), noun: "descriptions" };
            self.entries.push(entry);
        }
        let more = more_rules(shape, document);
        if more > 0 {
            self.line(format!("({})", ask_check(more)), words.rank, "notes");
        }
        for Member { line, about } in members {
            let Some(text) = line else {
                self.unshowable.push(words.noun);
                continue;
            };
            let own = self.entries.len();
            let parent = Some(first);
            self.entries.push(Entry { lead: "\n- ", text, rank: words.rank, parent, noun: words.noun });
            if let Some(text) = about {
                let parent = Some(own);
                self.entries.push(Entry {
                    lead: ", ",
                    text,
                    rank: rank::TEXTS,
                    parent,
                    noun: "descriptions",
                });
            }
        }
    }
}

/// The code lists that a type uses.
fn used(kind: &FieldType, lists: &mut BTreeSet<String>) {
    match kind.present() {
        FieldType::Text { code_list: Some(list), .. } => drop(lists.insert(list.clone())),
        FieldType::Record(fields) => fields.values().for_each(|field| used(&field.kind, lists)),
        FieldType::Array(items) => used(items, lists),
        _ => {}
    }
}

fn of_codes(context: &Context, list: &str) -> Option<Section> {
    let codes = context.code_list(list)?;
    let shown = name(list).unwrap_or_else(|| quoted(list));
    let mut section = Section {
        heading: format!("## Codes {shown} ({})", codes.len()),
        name: shown,
        noun: "code lists",
        rank: rank::FIRST_CODES,
        entries: Vec::new(),
        unshowable: Vec::new(),
        ask: ASK_CODES,
    };
    for (index, code) in codes.iter().enumerate() {
        match name(code) {
            Some(text) => {
                // the first code begins the line on which the others stand
                let parent = (!section.entries.is_empty()).then_some(0);
                let lead = if parent.is_none() { "\n" } else { " " };
                let rank = if index < FIRST_CODES { rank::FIRST_CODES } else { rank::CODES };
                section.entries.push(Entry { lead, text, rank, parent, noun: "codes" });
            }
            None => section.unshowable.push("codes"),
        }
    }
    for (label, codes) in context.labels(list).into_iter().flatten() {
        let codes: Option<Vec<String>> = codes.iter().map(|code| name(code)).collect();
        match codes {
            Some(codes) => {
                let text = format!("{} may mean {}", quoted(label), codes.join(" "));
                section.line(text, rank::LABELS, "labels");
            }
            None => section.unshowable.push("labels"),
        }
    }
    Some(section)
}

fn of_relations(context: &Context, part: &Part<'_>) -> Option<Section> {
    let is_wanted = |relation: &&Relation| match part {
        Part::Whole => true,
        Part::Term(name) => [&relation.subject, &relation.object]
            .into_iter()
            .any(|side| side.split_once('/').map_or(side.as_str(), |(term, _)| term) == *name),
    };
    let mut section = Section {
        heading: "## Relations".to_owned(),
        name: "relations".to_owned(),
        noun: "lists of relations",
        rank: rank::RELATIONS,
        entries: Vec::new(),
        unshowable: Vec::new(),
        ask: ASK_TERM,
    };
    for relation in context.relations().iter().filter(is_wanted) {
        match related(&relation.subject).zip(related(&relation.object)) {
            Some((subject, object)) => {
                section.line(format!("{subject} {} {object}", relation.kind), rank::RELATIONS, "relations");
            }
            None => section.unshowable.push("relations"),
        }
    }
    let mut required: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for relation in context.derived_relations().iter().filter(is_wanted) {
        match related(&relation.object) {
            Some(object) => required.entry(relation.subject.clone()).or_default().push(object),
            None => section.unshowable.push("relations"),
        }
    }
    for (subject, objects) in required {
        section.line(format!("{subject} requires {}", objects.join(" ")), rank::DERIVED, "relations");
    }
    (!section.entries.is_empty() || !section.unshowable.is_empty()).then_some(section)
}

/// A side of a relation: a term, a term with a parameter, or an IRI, which is quoted.
fn related(side: &str) -> Option<String> {
    match side.split_once('/') {
        Some((term, parameter)) if !term.contains(':') => {
            Some(format!("{}/{}", name(term)?, name(parameter)?))
        }
        _ => name(side),
    }
}
