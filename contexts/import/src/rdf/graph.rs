//! Questions to a graph.

use std::collections::BTreeSet;

use oxrdf::{Graph, NamedNode, NamedNodeRef, NamedOrBlankNode, Term};

use super::vocabulary::RDF;

/// The longest list that is read.
const MAX_LIST: usize = 20_000;

/// A graph with its questions.
pub(super) struct Reader {
    pub graph: Graph,
}

/// The subject that a term can be; none for a literal.
pub(super) fn node(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(name) => Some(name.clone().into()),
        Term::BlankNode(blank) => Some(blank.clone().into()),
        Term::Literal(_) => None,
    }
}

/// The IRI of a term.
pub(super) fn iri(term: &Term) -> Option<&str> {
    match term {
        Term::NamedNode(name) => Some(name.as_str()),
        _ => None,
    }
}

impl Reader {
    /// The objects of a subject and predicate, in a stable order.
    pub fn objects(&self, subject: &NamedOrBlankNode, predicate: &str) -> Vec<Term> {
        let predicate = NamedNodeRef::new_unchecked(predicate);
        let mut all: Vec<Term> =
            self.graph.objects_for_subject_predicate(subject.as_ref(), predicate).map(Term::from).collect();
        all.sort_by_key(ToString::to_string);
        all
    }

    /// The first of them.
    pub fn object(&self, subject: &NamedOrBlankNode, predicate: &str) -> Option<Term> {
        self.objects(subject, predicate).into_iter().next()
    }

    /// The text of a literal.
    pub fn text(&self, subject: &NamedOrBlankNode, predicate: &str) -> Option<String> {
        self.objects(subject, predicate).into_iter().find_map(|term| match term {
            Term::Literal(literal) => Some(literal.value().to_owned()),
            _ => None,
        })
    }

    /// True for a literal `true`.
    pub fn is(&self, subject: &NamedOrBlankNode, predicate: &str) -> bool {
        self.text(subject, predicate).is_some_and(|text| text == "true" || text == "1")
    }

    /// A literal that counts.
    pub fn count(&self, subject: &NamedOrBlankNode, predicate: &str) -> Option<u64> {
        self.text(subject, predicate)?.parse().ok()
    }

    /// True if the subject has this type.
    pub fn has_type(&self, subject: &NamedOrBlankNode, class: &str) -> bool {
        self.objects(subject, &format!("{RDF}type")).iter().any(|term| iri(term) == Some(class))
    }

    /// The named subjects of this type, in order.
    pub fn of_type(&self, class: &str) -> Vec<NamedNode> {
        let (kind, class) = (format!("{RDF}type"), NamedNodeRef::new_unchecked(class));
        let subjects = self.graph.subjects_for_predicate_object(NamedNodeRef::new_unchecked(&kind), class);
        let names: BTreeSet<String> = subjects
            .filter_map(|subject| match subject {
                oxrdf::NamedOrBlankNodeRef::NamedNode(name) => Some(name.as_str().to_owned()),
                oxrdf::NamedOrBlankNodeRef::BlankNode(_) => None,
            })
            .collect();
        names.into_iter().map(NamedNode::new_unchecked).collect()
    }

    /// The predicates of a subject, in order.
    pub fn predicates(&self, subject: &NamedOrBlankNode) -> BTreeSet<String> {
        self.graph
            .triples_for_subject(subject.as_ref())
            .map(|triple| triple.predicate.as_str().to_owned())
            .collect()
    }

    /// The items of a list; none where it is broken or has a loop.
    pub fn list(&self, head: &Term) -> Option<Vec<Term>> {
        let (mut items, mut at) = (Vec::new(), head.clone());
        while items.len() <= MAX_LIST {
            if iri(&at) == Some(&format!("{RDF}nil")) {
                return Some(items);
            }
            let cell = node(&at)?;
            items.push(self.object(&cell, &format!("{RDF}first"))?);
            at = self.object(&cell, &format!("{RDF}rest"))?;
        }
        None
    }
}
