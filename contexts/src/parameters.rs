//! Subjects of a question of the control vocabulary (F0-26): the parameters of a context, and the codes that a text may mean as a
//! value of one (F0-27, F0-28).

use std::collections::BTreeSet;

use crate::label::{Labels, folded_label};
use crate::relation::{Relation, RelationKind};
use crate::term::{Shape, Term, TermKind};
use crate::{Context, ContextUrn, Field, FieldType};

impl Context {
    /// Shows every parameter by its name: each member, at any depth, of a concept or of a task's parameters, and none of its
    /// results. A name that several members have comes several times.
    pub fn each_parameter<'c>(&'c self, mut see: impl FnMut(&'c str, &'c Field)) {
        for term in self.terms() {
            // parameters come before results
            let count = if term.kind() == TermKind::Task { 1 } else { usize::MAX };
            for shape in term.shapes().take(count) {
                each(shape.fields(), &mut see);
            }
        }
    }
}

fn each<'c>(kind: &'c FieldType, see: &mut impl FnMut(&'c str, &'c Field)) {
    match kind.present() {
        FieldType::Record(fields) => {
            for (name, field) in fields {
                see(name, field);
                each(&field.kind, see);
            }
        }
        FieldType::Array(items) => each(items, see),
        _ => {}
    }
}

/// A context's definition of a parameter: all members of that name, at any depth, of its concepts and of the parameters of
/// its tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter<'c> {
    /// True if some member of this name takes values outside every list.
    pub open: bool,
    /// Code lists of the members with this name.
    pub lists: BTreeSet<&'c str>,
}

impl<'c> Parameter<'c> {
    /// The context's definition of a parameter; `None` if no member has this name.
    #[must_use]
    pub fn of(context: &'c Context, name: &str) -> Option<Self> {
        let mut parameter = Self::default();
        context.each_parameter(|own, field| {
            if own == name {
                match codes_of(&field.kind) {
                    Some(list) => drop(parameter.lists.insert(list)),
                    None => parameter.open = true,
                }
            }
        });
        (parameter.open || !parameter.lists.is_empty()).then_some(parameter)
    }

    /// The only code list of the parameter; `None` if it has several lists or an open member.
    #[must_use]
    pub fn list(&self) -> Option<&'c str> {
        let mut lists = self.lists.iter();
        match (self.open, lists.next(), lists.next()) {
            (false, Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// Code list of a code or of an array of codes.
fn codes_of(kind: &FieldType) -> Option<&str> {
    match kind.present() {
        FieldType::Text { code_list, .. } => code_list.as_deref(),
        FieldType::Array(items) => codes_of(items),
        _ => None,
    }
}

/// The ground on which codes were chosen for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ground {
    /// The text is a code, but perhaps for case.
    Code,
    /// The text is a label, but perhaps for case and blanks.
    Label,
}

impl Ground {
    /// A short stable name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Label => "label",
        }
    }
}

/// The codes that a text may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meaning<'c> {
    /// Codes, each once, in the order of the label. Each is in a code list of the parameter.
    pub codes: Vec<&'c str>,
    /// The ground.
    pub ground: Ground,
    /// The context that has the code or the label.
    pub by: ContextUrn,
}

impl Context {
    /// The relations that follow from `required`: each concept, and each task by its parameters, requires those members.
    /// Members of members and of results are not included. In the order of the names.
    #[must_use]
    pub fn derived_relations(&self) -> Vec<Relation> {
        let of_term = |term: &Term| {
            let required = parameters(term).into_iter().flat_map(required_members);
            let relation = |member: &str| Relation {
                subject: term.name().to_owned(),
                kind: RelationKind::Requires,
                object: format!("{}/{member}", term.name()),
            };
            required.map(relation).collect::<Vec<_>>()
        };
        self.terms().flat_map(of_term).collect()
    }

    /// The labels of a code list. A list that came with a schema of another context has the labels of that context.
    #[must_use]
    pub fn labels(&self, list: &str) -> Option<&Labels> {
        match list.split_once("#/codes/") {
            Some((urn, name)) => {
                self.references().iter().find(|other| other.urn().as_str() == urn)?.own_labels().get(name)
            }
            None => self.own_labels().get(list),
        }
    }

    /// The codes that `text` may mean as a value of the parameter: the code itself, or those of a label. Labels of this
    /// document come first, then those of `others` for a code list of the same name, and only codes that the parameter takes
    /// here. Nothing is guessed: without an equal code or label there is no meaning.
    #[must_use]
    pub fn meaning<'c>(
        &'c self,
        parameter: &Parameter<'c>,
        text: &str,
        others: &[&Context],
    ) -> Option<Meaning<'c>> {
        let text = folded_label(text);
        for list in &parameter.lists {
            let codes = self.code_list(list).unwrap_or_default();
            let same: Vec<&str> =
                codes.iter().map(String::as_str).filter(|code| folded_label(code) == text).collect();
            if !same.is_empty() {
                return Some(Meaning { codes: same, ground: Ground::Code, by: self.urn().clone() });
            }
        }
        std::iter::once(self).chain(others.iter().copied()).find_map(|labelled| {
            let mut codes = Vec::new();
            for list in &parameter.lists {
                let known = self.code_list(list).unwrap_or_default();
                let labels = labelled.labels(list).into_iter().flatten();
                let meant =
                    labels.filter(|(label, _)| folded_label(label) == text).flat_map(|(_, codes)| codes);
                for code in meant.filter_map(|code| known.iter().find(|known| *known == code)) {
                    if !codes.contains(&code.as_str()) {
                        codes.push(code.as_str());
                    }
                }
            }
            let by = labelled.urn().clone();
            (!codes.is_empty()).then_some(Meaning { codes, ground: Ground::Label, by })
        })
    }
}

/// The shape that holds the parameters: of a concept its only one.
fn parameters(term: &Term) -> Option<&Shape> {
    term.shapes().next()
}

fn required_members(shape: &Shape) -> impl Iterator<Item = &str> {
    let members = match shape.fields() {
        FieldType::Record(members) => Some(members),
        _ => None,
    };
    let required = members.into_iter().flatten().filter(|(_, field)| field.required);
    required.map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests;
