//! The member `relations` of a document: its form when the envelope is read, its names once the terms are compiled.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::envelope::{closed, is_name, member, path, within};
use super::{DocumentFault, DocumentLimits};
use crate::relation::{Relation, RelationKind, has_parameter};
use crate::schema::is_unseen;
use crate::term::Term;

/// The members of a relation.
const MEMBERS: [&str; 3] = ["subject", "relation", "object"];

const LIST: &str = "must be a list of relations, not empty";
const FORM: &str = "must be `requires`, `part_of` or `same_as`";
const TEXT: &str = "must be a string";
const NAME: &str = "names no concept, task or `NAME/PARAMETER` of this document";
const IRI: &str = "must be a name of this document, or with `same_as` an absolute IRI";

/// The relations of a document, by their form alone.
pub(super) fn read(
    document: &Map<String, Value>,
    limits: &DocumentLimits,
) -> Result<Vec<Relation>, DocumentFault> {
    let Some(list) = document.get("relations") else { return Ok(Vec::new()) };
    let list = list.as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| member("/relations", LIST))?;
    within("/relations", "relations", list.len(), limits.max_relations)?;
    let mut seen = BTreeSet::new();
    let mut relations = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let relation = one(value, &format!("/relations/{index}"), limits)?;
        if !seen.insert(relation.clone()) {
            return Err(member(&format!("/relations/{index}"), "stands here twice"));
        }
        relations.push(relation);
    }
    Ok(relations)
}

fn one(value: &Value, at: &str, limits: &DocumentLimits) -> Result<Relation, DocumentFault> {
    let map = value.as_object().ok_or_else(|| member(at, "must be an object"))?;
    closed(map, at, &MEMBERS)?;
    let text = |name: &str| {
        let at = format!("{at}{}", path(&[name]));
        let text = map.get(name).ok_or_else(|| member(&at, "missing"))?;
        let text = text.as_str().ok_or_else(|| member(&at, TEXT))?;
        within(&at, "bytes", text.len(), limits.max_related_bytes)?;
        Ok::<_, DocumentFault>(text)
    };
    let (subject, word, object) = (text("subject")?, text("relation")?, text("object")?);
    let kind = RelationKind::parse(word).ok_or_else(|| member(&format!("{at}/relation"), FORM))?;
    if subject == object {
        return Err(member(at, "relates a name to itself"));
    }
    Ok(Relation { subject: subject.to_owned(), kind, object: object.to_owned() })
}

/// Checks that every name of the relations is one of the document.
pub(super) fn check(relations: &[Relation], terms: &BTreeMap<String, Term>) -> Result<(), DocumentFault> {
    for (index, relation) in relations.iter().enumerate() {
        if !is_known(&relation.subject, terms) {
            return Err(member(&format!("/relations/{index}/subject"), NAME));
        }
        let foreign = relation.kind == RelationKind::SameAs && is_iri(&relation.object);
        if !foreign && !is_known(&relation.object, terms) {
            return Err(member(&format!("/relations/{index}/object"), IRI));
        }
    }
    Ok(())
}

fn is_known(name: &str, terms: &BTreeMap<String, Term>) -> bool {
    match name.split_once('/') {
        None => terms.contains_key(name),
        Some((term, parameter)) => terms.get(term).is_some_and(|term| has_parameter(term, parameter)),
    }
}

/// An absolute IRI (RFC 3987) as far as relations need it: a scheme, a colon, and more, without blanks, hidden characters and
/// the characters that no IRI holds. A name of a document has no colon before its slash, so nothing is both.
fn is_iri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let refused = |c: char| {
        c.is_whitespace() || is_unseen(c) || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '\\' | '^' | '`')
    };
    is_scheme && !rest.is_empty() && !text.chars().any(refused) && !is_name(text)
}
