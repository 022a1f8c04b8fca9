//! Relations between terms: `requires`, `part_of` and `same_as`.

use std::collections::BTreeSet;

use oxrdf::{NamedNodeRef, NamedOrBlankNodeRef, TermRef};
use serde_json::{Value, json};

use super::graph::Reader;
use super::vocabulary::{DCTERMS, OWL, SKOS, local};
use crate::terms::Terms;

/// The relations of a document.
const MAX_RELATIONS: usize = 256;

/// The predicates of each relation.
fn predicates() -> [(String, &'static str); 7] {
    [
        (format!("{DCTERMS}requires"), "requires"),
        (format!("{DCTERMS}isPartOf"), "part_of"),
        ("https://schema.org/isPartOf".to_owned(), "part_of"),
        ("http://schema.org/isPartOf".to_owned(), "part_of"),
        (format!("{SKOS}exactMatch"), "same_as"),
        (format!("{OWL}equivalentClass"), "same_as"),
        (format!("{OWL}sameAs"), "same_as"),
    ]
}

/// Adds the relations between the terms of a draft, and `same_as` to terms elsewhere.
pub(super) fn add(reader: &Reader, terms: &mut Terms) {
    let mut all = BTreeSet::new();
    for (predicate, relation) in predicates() {
        for triple in reader.graph.triples_for_predicate(NamedNodeRef::new_unchecked(&predicate)) {
            let (NamedOrBlankNodeRef::NamedNode(from), TermRef::NamedNode(to)) =
                (triple.subject, triple.object)
            else {
                terms.remark(
                    triple.subject.to_string(),
                    format!("`{relation}` of something without a name is left out"),
                );
                continue;
            };
            let object =
                named(terms, to.as_str()).or_else(|| (relation == "same_as").then(|| to.as_str().to_owned()));
            let (Some(subject), Some(object)) = (named(terms, from.as_str()), object) else {
                terms.remark(
                    from.as_str(),
                    format!("`{relation}` is left out: one side is no term of the draft"),
                );
                continue;
            };
            if relation != "requires" || !is_derived(terms, &subject, &object) {
                all.insert([subject, relation.to_owned(), object]);
            }
        }
    }
    if all.len() > MAX_RELATIONS {
        terms.remark("", format!("relations beyond {MAX_RELATIONS} are left out"));
    }
    let relation = |[subject, relation, object]: [String; 3]| json!({"subject": subject, "relation": relation, "object": object});
    terms.relations = all.into_iter().take(MAX_RELATIONS).map(relation).collect();
}

/// `TERM` or `TERM/PARAMETER` for an IRI.
fn named(terms: &Terms, iri: &str) -> Option<String> {
    let is_term = |name: &str| terms.concepts.contains_key(name) || terms.tasks.contains_key(name);
    let end = iri.split_once('#').map_or_else(|| local(iri), |(_, end)| end);
    let (term, parameter) = end.split_once('/').map_or((end, None), |(term, rest)| (term, Some(rest)));
    if !is_term(term) {
        return is_term(local(iri)).then(|| local(iri).to_owned());
    }
    match parameter {
        None => Some(term.to_owned()),
        Some(parameter) => schema(terms, term)
            .and_then(|schema| schema.get("properties")?.get(parameter))
            .map(|_| end.to_owned()),
    }
}

fn schema<'t>(terms: &'t Terms, term: &str) -> Option<&'t Value> {
    terms.concepts.get(term).or_else(|| terms.tasks.get(term)?.get("parameters"))
}

/// True if `required` of the schema says the same.
fn is_derived(terms: &Terms, subject: &str, object: &str) -> bool {
    let Some(parameter) = object.strip_prefix(subject).and_then(|rest| rest.strip_prefix('/')) else {
        return false;
    };
    let required = schema(terms, subject).and_then(|schema| schema.get("required")?.as_array());
    required.is_some_and(|required| required.iter().any(|name| name == parameter))
}
